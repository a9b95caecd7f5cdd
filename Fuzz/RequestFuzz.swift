import AudioSession
import FoundationEssentials
import RelayBase
import Signalling

/// Text messages of either direction: arbitrary bytes never trap, and whatever decodes is written back to the same.
///
/// Input: the bytes of one text message, tried as a request and as a relay's message alike.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzRequest(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    fuzzIncomingRequest(bytes)
    if let message = try? RelayMessage.decode(bytes) {
        precondition((try? RelayMessage.decode(message.encoded)) == message, "a message that was written is read back")
    }
    return 0
}

private func fuzzIncomingRequest(_ bytes: [UInt8]) {
    do {
        let incoming = try IncomingRequest(decoding: bytes)
        precondition(incoming.id < 1 << 53, "every id is a whole number that a Float64 holds")
        let written = incoming.request.encoded(id: incoming.id)
        precondition((try? IncomingRequest(decoding: written)) == incoming, "a request that was written is read back")
        switch incoming.request {
        case .publish(let publish): _ = publish.description?.memberOutOfRange
        case .routeChanged(let change): fuzzRoute(change)
        default: break
        }
    } catch {
        answer(error)
    }
}

/// What a fault is answered with is a message itself, whatever the peer put into it.
private func answer(_ fault: SignallingFault) {
    let message: RelayMessage
    switch fault {
    case .notJSON: return
    case .malformed(let id, let detail): message = .error(id: id, .malformed(detail))
    case .unknownType(let id, let type): message = .error(id: id, .unknownType(type))
    }
    precondition((try? RelayMessage.decode(message.encoded)) == message, "a refusal that was written is read back")
}

/// Whatever a client says of its route is refused with a sentence of bounded length, or comes to something that the room may see.
private func fuzzRoute(_ change: ClientRequest.RouteChanged) {
    func ports(_ ports: [AudioPort]) throws(RouteFault) -> [RoutePort] {
        try ports.map { port throws(RouteFault) in
            try RoutePort(named: port.type, name: port.name, sampleRate: port.sampleRate, channels: port.channels, latency: port.latency)
        }
    }
    do throws(RouteFault) {
        let route = try change.route.map { said throws(RouteFault) in
            try RouteDescription(inputs: try ports(said.inputs), outputs: try ports(said.outputs))
        }
        let legacy = try change.legacyRoute.map { text throws(RouteFault) in RouteDescription(try LegacyRoute(named: text)) }
        var state = RouteState()
        let outcome = state.apply(RouteChange(RouteChangeReason.reading(wire: change.reason).reason, route: route ?? legacy))
        precondition(outcome.shown?.outputs.allSatisfy { $0.name == nil } ?? true, "names are private")
        if let format = outcome.receiveFormat { precondition((1...2).contains(format.channels)) }
    } catch {
        precondition(error.text.utf8.count < 512, "a refusal is short")
    }
}
