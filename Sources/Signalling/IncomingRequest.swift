import FoundationEssentials

/// A request as it came: its `id`, and what it asks.
package struct IncomingRequest: Sendable, Equatable {
    package let id: UInt64
    package let request: ClientRequest

    /// Decodes one text message.
    ///
    /// - Throws: ``SignallingFault``; only ``SignallingFault/notJSON`` is a violation that closes the session.
    package init(decoding bytes: [UInt8]) throws(SignallingFault) {
        let data = Data(bytes)
        let decoder = JSONDecoder()
        let envelope: Envelope
        do {
            envelope = try decoder.decode(Envelope.self, from: data)
        } catch DecodingError.dataCorrupted where (try? decoder.decode(AnyValue.self, from: data)) == nil {
            throw .notJSON
        } catch {
            throw .malformed(id: nil, detail: "a request is an object with a string 'type' and a whole number 'id'")
        }
        guard let number = envelope.id, number <= Double(SignallingBounds.requestIDMax), let id = UInt64(exactly: number) else {
            throw .malformed(id: nil, detail: "the member 'id' is not a whole number from 0 to 2^53 - 1")
        }
        self.id = id
        request = try IncomingRequest.decode(envelope.type, id: id, data, decoder)
    }

    private struct Envelope: Decodable {
        let type: String
        /// Every whole number that JSON carries everywhere fits a Float64.
        let id: Double?
    }

    /// Whatever JSON there is, unread: the decoder calls both broken text and a number beyond its range corrupted data, and only the first fails here.
    private struct AnyValue: Decodable {
        init(from decoder: any Decoder) {}
    }

    private static func decode(_ type: String, id: UInt64, _ data: Data, _ decoder: JSONDecoder) throws(SignallingFault) -> ClientRequest {
        do {
            switch type {
            case "hello": return .hello(try decoder.decode(ClientRequest.Hello.self, from: data))
            case "join": return .join(try decoder.decode(ClientRequest.Join.self, from: data))
            case "leave": return .leave
            case "publish": return .publish(try decoder.decode(ClientRequest.Publish.self, from: data))
            case "unpublish": return .unpublish(try decoder.decode(ClientRequest.StreamReference.self, from: data))
            case "subscribe": return .subscribe(try decoder.decode(ClientRequest.Subscribe.self, from: data))
            case "unsubscribe": return .unsubscribe(try decoder.decode(ClientRequest.Unsubscribe.self, from: data))
            case "time": return .time(try decoder.decode(ClientRequest.TimeExchange.self, from: data))
            case "keyframe.request": return .requestKeyFrame(try decoder.decode(ClientRequest.StreamReference.self, from: data))
            case "report": return .report(try decoder.decode(ClientRequest.ReceiverReport.self, from: data))
            case "authenticate": return .authenticate(try decoder.decode(ClientRequest.Authenticate.self, from: data))
            default:
                if let request = try moderation(type, data, decoder) ?? pairing(type, data, decoder) ?? audioSession(type, data, decoder) {
                    return request
                }
            }
        } catch let error as DecodingError {
            throw .malformed(id: id, detail: IncomingRequest.describe(error))
        } catch {
            throw .malformed(id: id, detail: "the request could not be read")
        }
        throw .unknownType(id: id, type: String(type.prefix(64)))
    }

    private static func moderation(_ type: String, _ data: Data, _ decoder: JSONDecoder) throws -> ClientRequest? {
        switch type {
        case "mute": .mute(try decoder.decode(ClientRequest.Mute.self, from: data))
        case "remove": .remove(try decoder.decode(ClientRequest.ParticipantReference.self, from: data))
        case "promote": .promote(try decoder.decode(ClientRequest.Promote.self, from: data))
        case "lock": .lock(try decoder.decode(ClientRequest.Lock.self, from: data))
        case "end": .end
        case "admit": .admit(try decoder.decode(ClientRequest.ParticipantReference.self, from: data))
        case "deny": .deny(try decoder.decode(ClientRequest.ParticipantReference.self, from: data))
        default: nil
        }
    }

    private static func pairing(_ type: String, _ data: Data, _ decoder: JSONDecoder) throws -> ClientRequest? {
        switch type {
        case "pair.request": .pairRequest(try decoder.decode(ClientRequest.PairPeer.self, from: data))
        case "pair.accept": .pairAccept(try decoder.decode(ClientRequest.PairRequestReference.self, from: data))
        case "pair.decline": .pairDecline(try decoder.decode(ClientRequest.PairRequestReference.self, from: data))
        case "pair.cancel": .pairCancel(try decoder.decode(ClientRequest.PairRequestReference.self, from: data))
        case "pair.code": .pairCode
        case "pair.enter": .pairEnter(try decoder.decode(ClientRequest.PairCode.self, from: data))
        case "pair.list": .pairList
        case "pair.revoke": .pairRevoke(try decoder.decode(ClientRequest.PairReference.self, from: data))
        case "pair.devices": .pairDevices(try decoder.decode(ClientRequest.PairPeer.self, from: data))
        default: nil
        }
    }

    private static func audioSession(_ type: String, _ data: Data, _ decoder: JSONDecoder) throws -> ClientRequest? {
        switch type {
        case "session.init": .sessionInit
        case "session.setCategory": .setCategory(try decoder.decode(ClientRequest.SetCategory.self, from: data))
        case "session.setActive": .setActive(try decoder.decode(ClientRequest.SetActive.self, from: data))
        case "interruption.began": .interruptionBegan(try decoder.decode(ClientRequest.InterruptionBegan.self, from: data))
        case "interruption.ended": .interruptionEnded(try decoder.decode(ClientRequest.InterruptionEnded.self, from: data))
        case "route.changed": .routeChanged(try decoder.decode(ClientRequest.RouteChanged.self, from: data))
        case "playback.pause": .playbackPause
        case "playback.continue": .playbackContinue
        case "stream.start": .streamStart(try decoder.decode(ClientRequest.StreamStart.self, from: data))
        case "stream.prime": .streamPrime(try decoder.decode(ClientRequest.StreamReference.self, from: data))
        case "stream.pause": .streamPause(try decoder.decode(ClientRequest.StreamReference.self, from: data))
        case "stream.stop": .streamStop(try decoder.decode(ClientRequest.StreamStop.self, from: data))
        case "stream.flush": .streamFlush(try decoder.decode(ClientRequest.StreamReference.self, from: data))
        case "stream.reset": .streamReset(try decoder.decode(ClientRequest.StreamReference.self, from: data))
        case "stream.setParameters": .setParameters(try decoder.decode(ClientRequest.SetParameters.self, from: data))
        default: nil
        }
    }

    /// A sentence that names the member at fault, where the decoder tells it: of a number that does not fit and of broken escapes it does not.
    private static func describe(_ error: DecodingError) -> String {
        switch error {
        case .keyNotFound(let key, _): "the member '\(key.stringValue)' is missing"
        case .dataCorrupted(let context) where context.codingPath.isEmpty: "a member has a value out of range, or text that is no Unicode"
        case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
            "the member '\(context.codingPath.map(\.stringValue).joined(separator: "."))' has a wrong value"
        @unknown default: "the request could not be read"
        }
    }
}
