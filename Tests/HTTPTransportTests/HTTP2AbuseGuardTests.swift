import HTTPTransport
import RelayBase
import Testing

@Suite struct HTTP2AbuseGuardTests {
    typealias FrameType = HTTP2FrameHeader.FrameType

    private func header(_ type: UInt8, flags: UInt8 = 0, length: UInt32 = 0, padLength: UInt8? = nil) -> HTTP2FrameHeader {
        HTTP2FrameHeader(length: length, type: type, flags: flags, streamID: 1, padLength: padLength)
    }

    private func at(_ milliseconds: UInt64) -> MonotonicInstant { MonotonicInstant.zero.advanced(byMilliseconds: milliseconds) }

    private func makeGuard(_ limits: HTTP2AbuseLimits = HTTP2AbuseLimits(), settingsSent: Int = 0, swallows: Bool = false) -> HTTP2AbuseGuard {
        HTTP2AbuseGuard(limits: limits, settingsSent: settingsSent, swallowsLastAcknowledgement: swallows, now: .zero)
    }

    @Test("a budget allows its burst at once and its rate for ever", arguments: [(3, 2), (1, 1), (50, 10)] as [(UInt32, UInt32)])
    func budget(burst: UInt32, perSecond: UInt32) throws {
        var limits = HTTP2AbuseLimits()
        limits.pings = .init(burst: burst, perSecond: perSecond)
        var abuse = makeGuard(limits)
        for _ in 0..<burst { _ = try abuse.receive(header(FrameType.ping, length: 8), now: .zero) }
        #expect(throws: HTTP2Fault.pingFlood) { _ = try abuse.receive(header(FrameType.ping, length: 8), now: .zero) }
        for count in 1...500 as ClosedRange<UInt64> {
            let now = MonotonicInstant(nanoseconds: count * 1_000_000_000 / UInt64(perSecond))
            _ = try abuse.receive(header(FrameType.ping, length: 8), now: now)
            #expect(throws: HTTP2Fault.pingFlood) { _ = try abuse.receive(header(FrameType.ping, length: 8), now: now) }
        }
        // A long pause fills the burst and no more; a clock at its end does not trap.
        for _ in 0..<burst { _ = try abuse.receive(header(FrameType.ping, length: 8), now: .distantFuture) }
        #expect(throws: HTTP2Fault.pingFlood) { _ = try abuse.receive(header(FrameType.ping, length: 8), now: .distantFuture) }
    }

    @Test("DATA that carries bytes or ends the stream is not empty")
    func emptyData() throws {
        var abuse = makeGuard()
        for _ in 0..<1_000 {
            _ = try abuse.receive(header(FrameType.data, length: 1), now: .zero)
            _ = try abuse.receive(header(FrameType.data, flags: HTTP2FrameHeader.Flag.endStream), now: .zero)
            _ = try abuse.receive(header(FrameType.data, flags: HTTP2FrameHeader.Flag.padded, length: 5, padLength: 3), now: .zero)
        }
        for _ in 0..<100 { _ = try abuse.receive(header(FrameType.data, flags: HTTP2FrameHeader.Flag.padded, length: 5, padLength: 4), now: .zero) }
        #expect(throws: HTTP2Fault.emptyFrameFlood) { _ = try abuse.receive(header(FrameType.data), now: .zero) }
    }

    @Test("received and provoked resets draw on one budget")
    func sharedResets() throws {
        var abuse = makeGuard()
        for _ in 0..<100 {
            _ = try abuse.receive(header(FrameType.rstStream, length: 4), now: .zero)
            try abuse.resetProvoked(now: .zero)
        }
        #expect(throws: HTTP2Fault.provokedResets) { try abuse.resetProvoked(now: .zero) }
        #expect(throws: HTTP2Fault.rapidReset) { _ = try abuse.receive(header(FrameType.rstStream, length: 4), now: .zero) }
    }

    @Test("only the last acknowledgement is swallowed, and only where it is asked for", arguments: [false, true])
    func acknowledgements(swallows: Bool) throws {
        var abuse = makeGuard(settingsSent: 2, swallows: swallows)
        let acknowledgement = HTTP2FrameHeader(length: 0, type: FrameType.settings, flags: 1, streamID: 0)
        #expect(abuse.nextDeadline == at(10_000))
        #expect(try abuse.receive(acknowledgement, now: .zero) == .pass)
        #expect(try abuse.receive(acknowledgement, now: .zero) == (swallows ? .swallow : .pass))
        #expect(abuse.nextDeadline == at(60_000))
        #expect(throws: HTTP2Fault.unexpectedSettingsAcknowledgement) { _ = try abuse.receive(acknowledgement, now: .zero) }
    }

    @Test("the scanner finds the same headers however the bytes are cut", arguments: 1...100 as ClosedRange<UInt64>)
    func scanner(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var bytes = Raw.preface
        var expected: [HTTP2FrameHeader] = []
        for _ in 0..<40 {
            let type = UInt8.random(in: 0...3, using: &generator)
            let flags = UInt8.random(in: 0...15, using: &generator)
            let payload = pattern(Int.random(in: 0...30, using: &generator)).map { $0 ^ 0x5a }
            let stream = UInt32.random(in: 0...UInt32(Int32.max), using: &generator)
            let isPadded = type == 0 && flags & 8 != 0
            expected.append(
                HTTP2FrameHeader(
                    length: UInt32(payload.count), type: type, flags: flags, streamID: stream, padLength: isPadded ? payload.first : nil))
            bytes += Raw.frame(type, flags: flags, stream: stream | (Bool.random(using: &generator) ? 1 << 31 : 0), payload)
        }
        var scanner = HTTP2FrameScanner(expectsPreface: true)
        var found: [HTTP2FrameHeader] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            let piece = Array(rest.prefix(Int.random(in: 1...25, using: &generator)))
            rest = rest.dropFirst(piece.count)
            unsafe piece.withUnsafeBytes { chunk in
                var position = 0
                while true {
                    guard case .header(let header, let start, let heldBefore) = unsafe scanner.next(in: chunk, at: &position) else { return }
                    #expect(position - start + heldBefore == (header.padLength == nil ? 9 : 10))
                    found.append(header)
                }
            }
        }
        #expect(found == expected)
        #expect(scanner.isAtFrameBoundary)
    }
}
