import RelayBase
import Testing
import WebSocketProtocol

@Suite struct InboundMessageTests {
    @Test("§5.7 the examples of the RFC")
    func examples() {
        let hello = Array("Hello".utf8)
        #expect(receive([0x81, 0x05, 0x48, 0x65, 0x6C, 0x6C, 0x6F], .client) == [.text("Hello")])
        #expect(receive([0x81, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58]) == [.text("Hello")])
        #expect(receive([0x01, 0x03, 0x48, 0x65, 0x6C, 0x80, 0x02, 0x6C, 0x6F], .client) == [.text("Hello")])
        #expect(receive([0x89, 0x05] + hello, .client) == [.ping(hello)])
        #expect(receive([0x8A, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58]) == [.pong(hello)])
        let long = (0..<256).map { UInt8($0) }
        #expect(receive([0x82, 0x7E, 0x01, 0x00] + long, .client) == [.binary(long)])
        let longer = [UInt8](repeating: 7, count: 65_536)
        #expect(receive([0x82, 0x7F, 0, 0, 0, 0, 0, 1, 0, 0] + longer, .client) == [.binary(longer)])
    }

    @Test("§5.4 control frames between fragments come out at once, in order", arguments: [1, 2, 5, 1000])
    func interleavedControlFrames(chunk: Int) {
        let bytes =
            Wire.frame(1, Array("He".utf8), fin: false, mask: Wire.key) + Wire.frame(9, [1, 2, 3], mask: Wire.key)
            + Wire.frame(0, Array("ll".utf8), fin: false, mask: Wire.key) + Wire.frame(10, mask: Wire.key)
            + Wire.frame(0, Array("o".utf8), mask: Wire.key) + Wire.frame(2, [9], mask: Wire.key)
        #expect(receive(bytes, chunkSize: { chunk }) == [.ping([1, 2, 3]), .pong([]), .text("Hello"), .binary([9])])
    }

    @Test("§5.4 empty frames and empty messages")
    func empty() {
        let bytes =
            Wire.frame(1, mask: Wire.key) + Wire.frame(2, fin: false, mask: Wire.key) + Wire.frame(0, fin: false, mask: Wire.key)
            + Wire.frame(0, mask: Wire.key) + Wire.frame(9, mask: Wire.key)
        #expect(receive(bytes) == [.text(""), .binary([]), .ping([])])
    }

    @Test("A whole single-frame message is handed out in place, unmasked, and nothing is allocated for it")
    func inPlace() throws {
        var inbound = WebSocketInbound(.server)
        var bytes = Wire.frame(2, [1, 2, 3, 4, 5], mask: Wire.key) + Wire.frame(9, [6], mask: Wire.key)
        try unsafe bytes.withUnsafeMutableBytes {
            let first = try unsafe inbound.next($0, now: .zero)
            #expect(first == WebSocketInboundStep(consumed: 11, event: .message(.binary, compressed: false, .inPlace(6..<11))))
            #expect(unsafe Array($0[6..<11]) == [1, 2, 3, 4, 5])
            let second = try unsafe inbound.next(UnsafeMutableRawBufferPointer(rebasing: $0[11...]), now: .zero)
            #expect(second == WebSocketInboundStep(consumed: 7, event: .ping(.inPlace(6..<7))))
        }
        #expect(inbound.heldBytes == 0)
    }

    @Test("Memory grows with the bytes received, not with the length announced, and a big message's memory is given back")
    func memory() {
        var inbound = WebSocketInbound(.server)
        var observed: [Observed] = []
        let payload = [UInt8](repeating: 3, count: 1 << 20)
        let bytes = Wire.frame(2, payload, mask: Wire.key)
        inbound.feed(bytes[..<1_014], into: &observed)
        #expect(inbound.heldBytes >= 1_000 && inbound.heldBytes <= 2_048)
        inbound.feed(bytes[1_014...], into: &observed)
        #expect(observed == [.binary(payload)])
        #expect(inbound.heldBytes == 0)

        let small = Wire.frame(2, [1, 2, 3], mask: Wire.key)
        inbound.feed(small[..<8], into: &observed)
        inbound.feed(small[8...], into: &observed)
        #expect(inbound.heldBytes > 0)
        inbound.releaseIdleMemory()
        #expect(inbound.heldBytes == 0)
    }

    @Test("RFC 7692 §6 a compressed message is reported as such and its payload is not checked as text", arguments: [1, 1000])
    func compressed(chunk: Int) {
        let configuration = WebSocketInboundConfiguration.server.with { $0.allowsCompression = true }
        let bytes =
            Wire.frame(1, [0xFF, 0xC0], fin: false, rsv: 4, mask: Wire.key) + Wire.frame(0, [0x80], mask: Wire.key)
            + Wire.frame(1, [0x61], mask: Wire.key)
            + Wire.frame(2, [1], rsv: 4, mask: Wire.key) + Wire.frame(1, [0xFF], mask: Wire.key)
        #expect(
            receive(bytes, configuration, chunkSize: { chunk })
                == [
                    .message(.text, compressed: true, [0xFF, 0xC0, 0x80]), .text("a"), .message(.binary, compressed: true, [1]), .fault(.textNotUTF8),
                ])
    }
}

@Suite struct InboundFaultTests {
    private static let small = WebSocketInboundConfiguration.server.with {
        $0.textBytesMax = 10
        $0.binaryBytesMax = 20
        $0.messageFragmentsMax = 6
        $0.smallFragmentsFree = 3
        $0.fragmentBytesMin = 4
    }

    private static func masked(_ opcode: UInt8, _ count: Int, fin: Bool = true) -> [UInt8] {
        Wire.frame(opcode, [UInt8](repeating: 0x61, count: count), fin: fin, mask: Wire.key)
    }

    private static let table: [(name: String, bytes: [UInt8], fault: WebSocketFault, code: UInt16)] = [
        ("§5.2 reserved bit", Wire.frame(1, rsv: 4, mask: Wire.key), .reservedBits, 1002),
        ("§5.2 reserved opcode", Wire.frame(5, mask: Wire.key), .reservedOpcode, 1002),
        ("§5.5 fragmented ping", Wire.frame(9, fin: false, mask: Wire.key), .controlFrameFragmented, 1002),
        ("§5.5 long ping", masked(9, 126), .controlFrameTooLong, 1002),
        ("§5.1 unmasked", Wire.frame(1), .frameNotMasked, 1002),
        ("§5.2 long form", [0x82, 0xFE, 0, 5] + Wire.key, .lengthNotMinimal, 1002),
        ("§5.2 high bit", [0x82, 0xFF, 0x80, 0, 0, 0, 0, 0, 0, 0] + Wire.key, .lengthHighBit, 1002),
        ("§5.4 lone continuation", masked(0, 1), .continuationWithoutMessage, 1002),
        ("§5.4 continuation after the end", masked(1, 1) + masked(0, 1), .continuationWithoutMessage, 1002),
        ("§5.4 new text inside", masked(1, 1, fin: false) + masked(1, 1), .messageInterrupted, 1002),
        ("§5.4 new binary inside", masked(1, 1, fin: false) + masked(2, 1), .messageInterrupted, 1002),
        ("§8.1 text", Wire.frame(1, [0xC3, 0x28], mask: Wire.key), .textNotUTF8, 1007),
        ("§8.1 text cut short", Wire.frame(1, [0xC3], mask: Wire.key), .textNotUTF8, 1007),
        ("text limit", masked(1, 11), .textTooBig, 1009),
        ("text limit over fragments", masked(1, 6, fin: false) + masked(0, 5), .textTooBig, 1009),
        ("binary limit", masked(2, 21), .binaryTooBig, 1009),
        ("longest length", [0x82, 0xFF, 0x7F] + [UInt8](repeating: 0xFF, count: 7) + Wire.key, .binaryTooBig, 1009),
        (
            "longest length in a continuation", masked(2, 1, fin: false) + [0x80, 0xFF, 0x7F] + [UInt8](repeating: 0xFF, count: 7) + Wire.key,
            .binaryTooBig, 1009
        ),
        (
            "small fragment", masked(2, 0, fin: false) + masked(0, 1, fin: false) + masked(0, 0, fin: false) + masked(0, 3, fin: false),
            .fragmentTooSmall, 1008
        ),
    ]

    @Test("Each violation gives its fault and close code, whole or byte by byte", arguments: table)
    func faults(name: String, bytes: [UInt8], fault: WebSocketFault, code: UInt16) {
        #expect(receive(bytes, Self.small).last == .fault(fault))
        #expect(receive(bytes, Self.small, chunkSize: { 1 }).last == .fault(fault))
        #expect(fault.closeCode.rawValue == code)
    }

    @Test("§5.1 a client refuses a masked frame with 1002")
    func maskedToClient() {
        #expect(receive(Self.masked(1, 1), .client) == [.fault(.frameMasked)])
        #expect(WebSocketFault.frameMasked.closeCode == .protocolError)
    }

    @Test("Limits themselves are allowed: sizes, fragment count, small final fragments")
    func atTheLimits() {
        #expect(receive(Self.masked(1, 10), Self.small).count == 1)
        #expect(receive(Self.masked(1, 6, fin: false) + Self.masked(0, 4), Self.small) == [.text("aaaaaaaaaa")])
        #expect(receive(Self.masked(2, 20), Self.small).count == 1)
        let most = Self.masked(2, 0, fin: false) + Self.masked(0, 1, fin: false) + Self.masked(0, 1, fin: false)
        let full = most + Self.masked(0, 4, fin: false) + Self.masked(0, 4, fin: false)
        #expect(receive(full + Self.masked(0, 0), Self.small) == [.binary([UInt8](repeating: 0x61, count: 10))])
        #expect(receive(full + Self.masked(0, 4, fin: false) + Self.masked(0, 0), Self.small) == [.fault(.tooManyFragments)])
        #expect(WebSocketFault.tooManyFragments.closeCode == .policyViolation)
    }

    @Test("A message too big is refused from its header, before any payload")
    func headerDecides() {
        #expect(receive(Array(Self.masked(2, 21)[..<6]), Self.small) == [.fault(.binaryTooBig)])
    }

    @Test("§8.1 invalid text fails at its first bad byte, inside an unfinished frame")
    func failFast() {
        let good = Array("κόσμε".utf8)
        let bytes = Wire.frame(1, good + [0xF4, 0x90, 0x80, 0x80] + Array("edited".utf8), mask: Wire.key)
        var inbound = WebSocketInbound(.server)
        var observed: [Observed] = []
        // 0xF4 may begin a character, 0x90 may not follow it.
        let bad = 6 + good.count + 1
        for index in 0..<bad { inbound.feed(bytes[index...index], into: &observed) }
        #expect(observed == [])
        inbound.feed(bytes[bad...bad], into: &observed)
        #expect(observed == [.fault(.textNotUTF8)])
    }

    @Test("§8.1 a character may be split over fragments")
    func splitCharacter() {
        let bytes = Array("µ".utf8).enumerated().reduce(into: [UInt8]()) { bytes, next in
            bytes += Wire.frame(next.offset == 0 ? 1 : 0, [next.element], fin: false, mask: Wire.key)
        }
        #expect(receive(bytes + Wire.frame(0, mask: Wire.key)) == [.text("µ")])
    }

    @Test("§7.1.7 after a fault nothing is processed and no memory is held")
    func nothingAfterFault() {
        var inbound = WebSocketInbound(.server)
        var observed: [Observed] = []
        inbound.feed((Self.masked(2, 100, fin: false) + Wire.frame(5))[...], into: &observed)
        inbound.feed(Self.masked(2, 1)[...], into: &observed)
        #expect(observed == [.fault(.reservedOpcode)])
        #expect(inbound.isFinished && inbound.heldBytes == 0)
    }
}

@Suite struct InboundDeadlineTests {
    private let start = MonotonicInstant(nanoseconds: 5_000_000_000)
    private var late: MonotonicInstant { start.advanced(byMilliseconds: 10_000) }

    @Test(
        "An incomplete message, frame or header expires 10 s after its first byte, with 1008",
        arguments: [
            [0x82], Array(Wire.frame(2, [1, 2, 3], mask: Wire.key)[..<7]), Wire.frame(2, fin: false, mask: Wire.key),
            Array(Wire.frame(9, [1, 2], mask: Wire.key)[..<7]),
        ] as [[UInt8]])
    func expires(bytes: [UInt8]) {
        var inbound = WebSocketInbound(.server)
        var observed: [Observed] = []
        #expect(inbound.nextDeadline == .distantFuture)
        inbound.feed(bytes[...], now: start, into: &observed)
        #expect(inbound.nextDeadline == late)
        #expect(inbound.expired(now: MonotonicInstant(nanoseconds: late.nanoseconds - 1)) == nil)
        #expect(inbound.expired(now: late) == .messageIncompleteTooLong)
        #expect(inbound.expired(now: late) == nil)
        #expect(inbound.nextDeadline == .distantFuture && inbound.isFinished && observed.isEmpty)
        #expect(WebSocketFault.messageIncompleteTooLong.closeCode == .policyViolation)
    }

    @Test("Further fragments and control frames do not put the deadline off; the end of the message lifts it")
    func notPutOff() {
        var inbound = WebSocketInbound(.server)
        var observed: [Observed] = []
        inbound.feed(Wire.frame(1, [0x61], fin: false, mask: Wire.key)[...], now: start, into: &observed)
        let later = start.advanced(byMilliseconds: 6_000)
        inbound.feed((Wire.frame(0, [0x61], fin: false, mask: Wire.key) + Wire.frame(9, mask: Wire.key))[...], now: later, into: &observed)
        #expect(inbound.nextDeadline == late)
        inbound.feed((Wire.frame(0, mask: Wire.key) + [0x81])[...], now: later, into: &observed)
        #expect(observed == [.ping([]), .text("aa")])
        #expect(inbound.nextDeadline == later.advanced(byMilliseconds: 10_000))
        inbound.feed(Wire.frame(1, mask: Wire.key)[1...], now: later, into: &observed)
        #expect(inbound.nextDeadline == .distantFuture)
    }
}
