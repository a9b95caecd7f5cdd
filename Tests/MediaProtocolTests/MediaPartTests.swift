import RelayBase
import Testing

@testable import MediaProtocol

@Suite("Parts")
struct MediaPartTests {
    static func part(of frame: [UInt8], _ offset: Int, _ count: Int, total: Int? = nil) -> [UInt8] {
        var part = [UInt8](repeating: 0, count: MediaPart.overheadByteCount)
        unsafe frame.withUnsafeBytes { frame in
            unsafe part.withUnsafeMutableBytes { unsafe MediaPart.writeHead(of: frame, offset: offset, total: total ?? frame.count, into: $0) }
        }
        return part + frame[offset..<offset + count]
    }

    private func parse(_ bytes: [UInt8]) throws(MediaFault) -> MediaPart {
        try withSpan(bytes) { span throws(MediaFault) in try MediaPart(parsing: span) }
    }

    private let frame = encode(
        MediaHeader(kind: .video, flags: [.key], layer: MediaLayer(rawValue: 0x21), stream: StreamID(7), sequence: 5, timestamp: 900),
        payload: Array(0..<100))

    @Test("§4.6 a part repeats its frame's header with kind 5 and flags 0, and says where its bytes belong")
    func head() throws {
        let bytes = Self.part(of: frame, 40, 30)
        #expect(bytes[0] == 0x15 && bytes[1] == 0 && bytes[2..<16] == frame[2..<16])
        #expect(bytes[16..<24] == [0, 0, 0, 40, 0, 0, 0, 116])
        let part = try parse(bytes)
        #expect(part.offset == 40 && part.total == 116 && part.byteCount == 30 && !part.isFirst && !part.isLast)
        #expect(part.header.sequence == 5 && part.header.layer.rawValue == 0x21)
        #expect(try parse(Self.part(of: frame, 0, 116)).isLast)
    }

    static let faults: [(String, @Sendable (inout [UInt8]) -> Void, MediaFault)] = [
        ("no bytes", { $0.removeLast($0.count - 24) }, .partTruncated),
        ("no total", { $0.removeLast($0.count - 20) }, .partTruncated),
        ("flags", { $0[1] = 1 }, .partFlags),
        ("beyond the total", { $0[23] = 60 }, .partOutsideFrame),
        ("an offset at the end of the range", { $0.replaceSubrange(16..<20, with: [255, 255, 255, 255]) }, .partOutsideFrame),
        ("a total without a header", { $0.replaceSubrange(16..<24, with: [0, 0, 0, 0, 0, 0, 0, 15]) }, .partOutsideFrame),
        ("another kind", { $0[0] = 0x11 }, .kindUnknown(1)),
    ]

    @Test("§4.6 what is no part is refused", arguments: 0..<faults.count)
    func malformed(entry: Int) {
        let (name, change, fault) = Self.faults[entry]
        var bytes = Self.part(of: frame, 40, 30)
        change(&bytes)
        #expect(throws: fault, "\(name)") { try parse(bytes) }
    }

    private func take(_ assembler: inout PartAssembler, _ bytes: [UInt8], _ limits: Limits = Limits()) throws(MediaFault) -> [UInt8]? {
        try withSpan(bytes) { span throws(MediaFault) in try assembler.take(span, limits: limits) }
    }

    @Test("§4.6 parts of several streams come between each other; each frame comes out byte for byte", arguments: 0..<8 as Range<UInt64>)
    func assembles(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var assembler = PartAssembler()
        var frames: [[UInt8]] = []
        var offsets: [Int] = []
        for stream in 0..<UInt32(6) {
            let kind = [MediaKind.video, .data, .configuration][Int(stream % 3)]
            frames.append(encode(MediaHeader(kind: kind, stream: StreamID(stream), sequence: 9, timestamp: 1), payload: generator.bytes(700)))
            offsets.append(0)
        }
        var whole = 0
        while whole < frames.count {
            let place = Int.random(in: 0..<frames.count, using: &generator)
            let rest = frames[place].count - offsets[place]
            guard rest > 0 else { continue }
            let count = Int.random(in: 1...min(rest, 90), using: &generator)
            let frame = try take(&assembler, Self.part(of: frames[place], offsets[place], count))
            offsets[place] += count
            #expect((frame != nil) == (offsets[place] == frames[place].count))
            guard let frame else { continue }
            #expect(frame == frames[place])
            whole += 1
        }
        #expect(assembler.count == 0 && assembler.byteCount == 0)
    }

    @Test("§4.6 a receiver refuses parts that do not go on, frames between them, totals over the limit, and more than it keeps")
    func refuses() throws {
        var assembler = PartAssembler(streamsMax: 2, bytesMax: 250)
        #expect(throws: MediaFault.partOutOfOrder) { try take(&assembler, Self.part(of: frame, 40, 30)) }
        #expect(try take(&assembler, Self.part(of: frame, 0, 40)) == nil)
        #expect(throws: MediaFault.partOutOfOrder) { try take(&assembler, Self.part(of: frame, 41, 10)) }
        #expect(throws: MediaFault.partOutOfOrder) { try take(&assembler, Self.part(of: frame, 39, 10)) }
        #expect(throws: MediaFault.partOutOfOrder) { try take(&assembler, Self.part(of: frame, 0, 40)) }
        #expect(throws: MediaFault.partOutOfOrder) { try take(&assembler, Self.part(of: frame, 40, 10, total: 117)) }
        #expect(throws: MediaFault.partOutOfOrder) { try assembler.check(header(.video)) }
        try assembler.check(MediaHeader(kind: .audio, stream: StreamID(8), sequence: 0, timestamp: 0))
        let other = { (stream: UInt32) in
            encode(MediaHeader(kind: .video, stream: StreamID(stream), sequence: 0, timestamp: 0), payload: Array(repeating: 1, count: 300))
        }
        #expect(try take(&assembler, Self.part(of: other(8), 0, 100)) == nil)
        #expect(throws: MediaFault.partsTooMany) { try take(&assembler, Self.part(of: other(9), 0, 10)) }
        #expect(throws: MediaFault.partsTooMany) { try take(&assembler, Self.part(of: other(8), 100, 120)) }
        #expect(assembler.byteCount == 140)
        var limits = Limits()
        limits.videoFrameBytesMax = 200
        var fresh = PartAssembler()
        #expect(throws: MediaFault.frameTooLarge(limit: .videoFrameBytesMax, byteCount: 316)) {
            try take(&fresh, Self.part(of: other(8), 0, 10), limits)
        }
        // The parts say another frame than the one that they make, or one of a kind that is none.
        var liar = Self.part(of: frame, 0, 116)
        liar[11] = 9
        #expect(throws: MediaFault.partOutsideFrame) { try take(&fresh, liar) }
        var nested = Self.part(of: frame, 0, 116)
        nested[24] = 0x15
        nested[25] = 0
        #expect(throws: (any Error).self) { try take(&fresh, nested) }
    }
}
