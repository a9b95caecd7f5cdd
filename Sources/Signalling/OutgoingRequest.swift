extension ClientRequest {
    /// The request as the bytes of a text frame: for clients.
    package func encoded(id: UInt64) -> [UInt8] {
        JSONText.encode(Outgoing(id: id, request: self)) ?? []
    }

    private struct Outgoing: Encodable {
        let id: UInt64
        let request: ClientRequest

        private struct Head: Encodable {
            let type: String
            let id: UInt64
        }

        func encode(to encoder: any Encoder) throws {
            try Head(type: request.type, id: id).encode(to: encoder)
            switch request {
            case .hello(let body): try body.encode(to: encoder)
            case .join(let body): try body.encode(to: encoder)
            case .leave, .end, .pairCode, .pairList, .sessionInit, .playbackPause, .playbackContinue: break
            case .publish(let body): try body.encode(to: encoder)
            case .unpublish(let body), .requestKeyFrame(let body): try body.encode(to: encoder)
            case .subscribe(let body): try body.encode(to: encoder)
            case .unsubscribe(let body): try body.encode(to: encoder)
            case .time(let body): try body.encode(to: encoder)
            case .authenticate(let body): try body.encode(to: encoder)
            case .report(let body): try body.encode(to: encoder)
            case .mute(let body): try body.encode(to: encoder)
            case .promote(let body): try body.encode(to: encoder)
            case .lock(let body): try body.encode(to: encoder)
            case .remove(let body), .admit(let body), .deny(let body): try body.encode(to: encoder)
            case .pairRequest(let body), .pairDevices(let body): try body.encode(to: encoder)
            case .pairAccept(let body), .pairDecline(let body), .pairCancel(let body): try body.encode(to: encoder)
            case .pairEnter(let body): try body.encode(to: encoder)
            case .pairRevoke(let body): try body.encode(to: encoder)
            case .setCategory(let body): try body.encode(to: encoder)
            case .setActive(let body): try body.encode(to: encoder)
            case .interruptionBegan(let body): try body.encode(to: encoder)
            case .interruptionEnded(let body): try body.encode(to: encoder)
            case .routeChanged(let body): try body.encode(to: encoder)
            case .streamStart(let body): try body.encode(to: encoder)
            case .streamPrime(let body), .streamPause(let body), .streamFlush(let body), .streamReset(let body): try body.encode(to: encoder)
            case .streamStop(let body): try body.encode(to: encoder)
            case .setParameters(let body): try body.encode(to: encoder)
            }
        }
    }
}
