import RelayBase
import WebSocketProtocol

/// Decoding is a function of the bytes, not of how they were cut: whole, byte by byte and in random chunks give the same events and the same fault.
///
/// Input: one byte of choices (role, compression, limits), one byte of seed for the chunks, then the bytes of the wire.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzWebSocketInbound(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    guard input.count >= 2 else { return 0 }
    let wire = Array(input[2...])
    let configuration = configuration(choices: input[0])

    let whole = decode(wire, configuration) { wire.count }
    for event in whole { check(event, configuration) }
    let single = decode(wire, configuration) { 1 }
    precondition(single == whole, "byte by byte differs")
    var generator = SeededGenerator(seed: UInt64(input[1]))
    let chunked = decode(wire, configuration) { Int.random(in: 0...48, using: &generator) }
    precondition(chunked == whole, "chunked differs")
    return 0
}

private enum Outcome: Equatable {
    case message(WebSocketMessageKind, compressed: Bool, [UInt8])
    case ping([UInt8])
    case pong([UInt8])
    case close(WebSocketCloseCode?, [UInt8])
    case fault(WebSocketFault)
}

private func configuration(choices: UInt8) -> WebSocketInboundConfiguration {
    var configuration = WebSocketInboundConfiguration(role: choices & 1 == 0 ? .server : .client, limits: Limits())
    configuration.allowsCompression = choices & 2 != 0
    if choices & 4 != 0 {
        configuration.textBytesMax = 40
        configuration.binaryBytesMax = 300
    }
    if choices & 8 != 0 {
        configuration.messageFragmentsMax = 5
        configuration.smallFragmentsFree = 2
        configuration.fragmentBytesMin = 3
    }
    return configuration
}

private func decode(_ wire: [UInt8], _ configuration: WebSocketInboundConfiguration, chunkSize: () -> Int) -> [Outcome] {
    var inbound = WebSocketInbound(configuration)
    var outcomes: [Outcome] = []
    var offset = 0
    while offset < wire.count {
        let size = min(chunkSize(), wire.count - offset)
        // A block of exactly this size, so that the sanitizer sees a byte read or written beside it.
        let block = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 1)
        defer { unsafe block.deallocate() }
        unsafe block.copyBytes(from: wire[offset..<offset + size])
        offset += size
        guard unsafe pull(&inbound, block, into: &outcomes) else { return outcomes }
        precondition(inbound.heldBytes <= 2 * offset + 256, "memory grows with what has arrived")
        precondition(inbound.isFinished || inbound.nextDeadline >= .zero)
    }
    return outcomes
}

private func pull(_ inbound: inout WebSocketInbound, _ block: UnsafeMutableRawBufferPointer, into outcomes: inout [Outcome]) -> Bool {
    var rest = unsafe block
    while true {
        let step: WebSocketInboundStep
        do {
            step = try unsafe inbound.next(rest, now: .zero)
        } catch {
            outcomes.append(.fault(error))
            precondition(inbound.isFinished && inbound.heldBytes == 0, "a fault ends everything")
            return false
        }
        precondition(step.consumed >= 0 && step.consumed <= rest.count, "consumes what is there")
        switch step.event {
        case .needMoreBytes, .finished:
            precondition(step.consumed == rest.count, "takes everything")
            return true
        case .message(let kind, let compressed, let location):
            outcomes.append(.message(kind, compressed: compressed, unsafe Array(inbound.payload(location, in: rest))))
        case .ping(let location):
            outcomes.append(.ping(unsafe Array(inbound.payload(location, in: rest))))
        case .pong(let location):
            outcomes.append(.pong(unsafe Array(inbound.payload(location, in: rest))))
        case .close(let code, let location):
            outcomes.append(.close(code, unsafe Array(inbound.payload(location, in: rest))))
        }
        unsafe rest = UnsafeMutableRawBufferPointer(rebasing: rest[step.consumed...])
    }
}

private func check(_ outcome: Outcome, _ configuration: WebSocketInboundConfiguration) {
    switch outcome {
    case .message(.text, let compressed, let payload):
        precondition(payload.count <= configuration.textBytesMax, "text within its limit")
        precondition(compressed || String(validating: payload, as: UTF8.self) != nil, "text is UTF-8")
        precondition(!compressed || configuration.allowsCompression)
    case .message(.binary, let compressed, let payload):
        precondition(payload.count <= configuration.binaryBytesMax, "binary within its limit")
        precondition(!compressed || configuration.allowsCompression)
    case .ping(let payload), .pong(let payload):
        precondition(payload.count <= WebSocketFrameHeader.controlPayloadBytesMax)
    case .close(let code, let reason):
        precondition(code?.mayBeReceived ?? reason.isEmpty)
        precondition(String(validating: reason, as: UTF8.self) != nil, "a reason is UTF-8")
    case .fault(let fault):
        precondition(fault.closeCode.mayBeReceived)
    }
}
