import HTTPTransport
import RelayBase

/// A server's HTTP/2 connection against an arbitrary peer: nothing traps, memory stays bounded, every announced stream is closed
/// and every fault is final, whichever way the bytes are cut.
///
/// Input: one byte of choices (opening, limits), one byte of seed for the chunks and for what the application does, then what follows the preface.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzHTTP2(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    guard input.count >= 2 else { return 0 }
    let choices = input[0]
    var wire = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
    if choices & 1 != 0 {
        // The client's SETTINGS, and its acknowledgement of the server's two.
        wire += [0, 0, 0, 4, 0, 0, 0, 0, 0]
        for _ in 0..<2 { wire += [0, 0, 0, 4, 1, 0, 0, 0, 0] }
    }
    wire += input[2...]

    var driver = Driver(configuration(choices), seed: UInt64(input[1]), isBusy: true)
    driver.run(wire)
    var whole = Driver(configuration(choices), seed: 0, isBusy: false)
    whole.receive(wire[...])
    var single = Driver(configuration(choices), seed: 0, isBusy: false)
    for index in wire.indices where single.session.fault == nil { single.receive(wire[index...index]) }
    // The two may end differently: a frame on a stream that this end has reset meets the stream as long as the reset has not been written.
    return 0
}

private func configuration(_ choices: UInt8) -> HTTP2Configuration {
    var configuration = HTTP2Configuration()
    if choices & 2 != 0 {
        configuration.streamsMax = 2
        configuration.streamWindowBytes = 100
        configuration.headerListBytesMax = 200
        configuration.headerFieldsMax = 6
        configuration.outboundBytesMax = 1_000
    }
    if choices & 4 != 0 {
        configuration.abuse.resets = .init(burst: 3, perSecond: 1)
        configuration.abuse.settings = .init(burst: 3, perSecond: 1)
        configuration.abuse.pings = .init(burst: 3, perSecond: 1)
        configuration.abuse.continuationFramesMax = 2
        configuration.abuse.headerBlockBytesMax = 300
    }
    return configuration
}

/// The application and the network around one session. A busy one answers, writes, reads and resets by its seed, and time passes; one that is not
/// only pulls the events.
private struct Driver: ~Copyable {
    let session: HTTP2Session
    private let configuration: HTTP2Configuration
    private let isBusy: Bool
    private var generator: SeededGenerator
    private var now = MonotonicInstant.zero
    private var output = ByteQueue()
    private var lastChunk = 0
    /// Streams that were announced and whose end was not told yet.
    private var open: [HTTP2StreamID] = []

    init(_ configuration: HTTP2Configuration, seed: UInt64, isBusy: Bool) {
        session = HTTP2Session(role: .server, configuration: configuration, now: .zero)
        self.configuration = configuration
        self.isBusy = isBusy
        generator = SeededGenerator(seed: seed)
    }

    mutating func run(_ wire: [UInt8]) {
        var rest = wire[...]
        while !rest.isEmpty, session.fault == nil {
            let size = min(rest.count, Int.random(in: 1...64, using: &generator))
            receive(rest.prefix(size))
            rest = rest.dropFirst(size)
            if Int.random(in: 0..<4, using: &generator) == 0 { produce() }
            if Int.random(in: 0..<8, using: &generator) == 0 { pass(milliseconds: UInt64.random(in: 1...2_000, using: &generator)) }
        }
        produce()
        // Silence from here on: a peer that says nothing more is shut out in the end, unless a stream is open.
        for _ in 0..<3 where session.nextDeadline != .distantFuture { pass(milliseconds: 60_000) }
        precondition(session.fault != nil || session.openStreams > 0, "an idle connection ends")
        produce()
        precondition(session.fault == nil || (session.isFinished && !session.wantsOutput), "after a fault there is one last output")
        precondition(session.fault == nil || open.isEmpty, "every announced stream is closed")
    }

    mutating func receive(_ bytes: ArraySlice<UInt8>) {
        let before = session.fault
        // A block of exactly this size, so that the sanitizer sees a byte read beside it.
        let block = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
        defer { unsafe block.deallocate() }
        unsafe block.copyBytes(from: bytes)
        lastChunk = bytes.count
        do {
            try unsafe session.receive(UnsafeRawBufferPointer(block), now: now)
            precondition(session.fault == nil && before == nil, "a fault is thrown")
        } catch {
            check(error)
        }
        pullEvents()
    }

    private func check(_ fault: HTTP2Fault) {
        precondition(session.fault == fault, "a fault is kept")
        precondition(fault != .internalFailure, "a peer brings about no failure of this end")
        precondition(session.openStreams == 0, "a fault closes every stream")
    }

    private mutating func pass(milliseconds: UInt64) {
        now = now.advanced(byMilliseconds: milliseconds)
        do {
            try session.deadlineReached(now: now)
            precondition(session.nextDeadline > now, "a deadline that has passed has its effect")
        } catch {
            check(error)
        }
        pullEvents()
    }

    private mutating func produce() {
        while session.produce(into: &output, upTo: Int.random(in: 0...2_000, using: &generator) + 1, now: now) {
            pullEvents()
            output.removeAll()
        }
        output.removeAll()
        pullEvents()
        if Int.random(in: 0..<8, using: &generator) == 0 { session.releaseIdleMemory() }
    }

    private mutating func pullEvents() {
        while let event = session.nextEvent() {
            switch event {
            case .request(let id, let fields, _):
                precondition(fields.count <= configuration.headerFieldsMax, "no more fields than allowed")
                announce(id)
            case .headerListTooLarge(let id):
                announce(id)
                if isBusy { session.respond(id, status: 431, fields: [], endOfStream: true) }
            case .dataAvailable(let id):
                precondition(open.contains(id), "data of an announced stream")
                // The initial 65,535 hold until SETTINGS are acknowledged; what comes in one call is taken before the reset for exceeding goes out.
                precondition(session.inboundCount(id) <= max(65_535, configuration.streamWindowBytes) + lastChunk, "no more unread than the window")
                if isBusy { read(id) }
            case .endOfStream(let id), .writable(let id):
                precondition(open.contains(id), "an event of an announced stream")
                if isBusy { act(on: id) }
            case .streamClosed(let id, _):
                precondition(open.contains(id), "an end of an announced stream")
                open.removeAll { $0 == id }
            case .response: preconditionFailure("a server gets no responses")
            case .settingsReceived, .goAwayReceived, .pingAcknowledged: break
            }
        }
    }

    private mutating func announce(_ id: HTTP2StreamID) {
        precondition(!open.contains(id) && id.value % 2 == 1, "a client's stream, announced once")
        open.append(id)
        if isBusy { act(on: id) }
    }

    private mutating func read(_ id: HTTP2StreamID) {
        let count = session.inboundCount(id)
        guard count > 0 else { return }
        session.consume(id, Int.random(in: 0...count, using: &generator))
        if Bool.random(using: &generator) { session.withInbound(id) { (queue: inout ByteQueue) in queue.removeAll() } }
    }

    private mutating func act(on id: HTTP2StreamID) {
        switch Int.random(in: 0..<12, using: &generator) {
        case 0: session.reset(id, .cancel)
        case 1: session.respond(id, status: 404, fields: [("content-length", "0")], endOfStream: true)
        case 2: session.endStream(id)
        case 3: session.setUrgency(id, UInt8.random(in: 0...7, using: &generator))
        case 4 where Int.random(in: 0..<4, using: &generator) == 0: session.goAway(.noError)
        case 5: session.ping(UInt64.random(in: .min ... .max, using: &generator))
        case 6 where Int.random(in: 0..<4, using: &generator) == 0: session.shutdownNotice()
        default:
            session.respond(id, status: 200, fields: [("sec-websocket-protocol", "segue.v1")], endOfStream: false)
            write(id)
        }
    }

    private mutating func write(_ id: HTTP2StreamID) {
        let count = Int.random(in: 0...600, using: &generator)
        let before = session.queuedCount(id)
        _ = session.sendCapacity(id, wanted: count)
        var bytes = ByteQueue()
        bytes.append([UInt8](repeating: 0x61, count: count))
        let result = unsafe session.write(id, UnsafeRawBufferPointer(bytes.readable))
        precondition(session.queuedCount(id) == before + (result == .queued ? count : 0), "a write is taken whole or not at all")
        precondition(session.queuedCount(id) <= configuration.outboundBytesMax, "no more queued than the bound")
    }
}
