import RelayBase
import Testing

@testable import MediaProtocol

@Suite("Key-frame sniffing")
struct KeyFrameSnifferTests {
    struct Case: CustomTestStringConvertible {
        var name: String
        var codec: VideoCodec
        var payload: [UInt8]
        var isKey: Bool

        var testDescription: String { name }
    }

    /// A unit of `count` bytes that starts with `head` and then never looks like a start code.
    static func unit(_ head: [UInt8], _ count: Int) -> [UInt8] {
        head + Array(repeating: 0x5A, count: count - head.count)
    }

    static func prefixed(_ size: Int, _ units: [[UInt8]]) -> [UInt8] {
        units.flatMap { unit in (0..<size).map { UInt8(truncatingIfNeeded: unit.count >> (8 * (size - 1 - $0))) } + unit }
    }

    static let start3: [UInt8] = [0, 0, 1]
    static let start4: [UInt8] = [0, 0, 0, 1]
    static let sps = unit([0x67, 0x42, 0x00, 0x1F], 12)
    static let pps = unit([0x68, 0xCE], 4)
    static let idr = unit([0x65, 0x88], 600)
    static let slice = unit([0x41, 0x9A], 40)
    static let disposable = unit([0x01, 0x9A], 40)
    static let sei = unit([0x06, 0x05], 20)

    static let cases: [Case] = [
        Case(name: "H.264 Annex B, 4-byte start codes", codec: .h264, payload: start4 + sps + start4 + pps + start4 + idr, isKey: true),
        Case(name: "H.264 Annex B, 3-byte start codes", codec: .h264, payload: start3 + sps + start3 + pps + start3 + idr, isKey: true),
        Case(name: "H.264 Annex B, both start codes", codec: .h264, payload: start4 + sps + start3 + pps + start3 + sei + start3 + idr, isKey: true),
        Case(name: "H.264 Annex B, bare IDR", codec: .h264, payload: start3 + idr, isKey: true),
        Case(name: "H.264 Annex B, P slice", codec: .h264, payload: start4 + slice, isKey: false),
        Case(name: "H.264 Annex B, P slice then IDR: the first slice decides", codec: .h264, payload: start4 + slice + start4 + idr, isKey: false),
        Case(name: "H.264 Annex B, parameter sets alone", codec: .h264, payload: start4 + sps + start4 + pps, isKey: false),
        Case(name: "H.264 AVCC, 4-byte lengths", codec: .h264, payload: prefixed(4, [sps, pps, idr]), isKey: true),
        Case(name: "H.264 AVCC, 2-byte lengths", codec: .h264, payload: prefixed(2, [sei, idr]), isKey: true),
        Case(name: "H.264 AVCC, 1-byte lengths", codec: .h264, payload: prefixed(1, [sei, unit([0x65], 200)]), isKey: true),
        Case(name: "H.264 AVCC, P slice", codec: .h264, payload: prefixed(4, [slice]), isKey: false),
        Case(name: "H.264 AVCC whose length looks like a start code", codec: .h264, payload: prefixed(4, [unit([0x65], 0x165)]), isKey: true),
        Case(
            name: "H.264 AVCC, P slice whose length looks like a start code and an IDR", codec: .h264, payload: prefixed(4, [unit([0x41], 0x165)]),
            isKey: false),
        Case(name: "H.264 AVCC with a length beyond the payload", codec: .h264, payload: [0, 0, 2, 0, 0x65, 1, 2], isKey: false),
        Case(name: "H.264 forbidden bit", codec: .h264, payload: start4 + unit([0xE5], 9), isKey: false),
        Case(name: "H.264 nothing", codec: .h264, payload: [], isKey: false),
        Case(name: "H.264 start code alone", codec: .h264, payload: start4, isKey: false),
        Case(name: "H.264 rubbish", codec: .h264, payload: unit([0x99], 100), isKey: false),
        Case(name: "HEVC IDR_W_RADL", codec: .hevc, payload: start4 + unit([0x40, 1], 9) + start4 + unit([0x26, 1], 90), isKey: true),
        Case(name: "HEVC CRA, length-prefixed", codec: .hevc, payload: prefixed(4, [unit([0x2A, 1], 90)]), isKey: true),
        Case(name: "HEVC TRAIL_R", codec: .hevc, payload: prefixed(4, [unit([0x02, 1], 90)]), isKey: false),
        Case(name: "HEVC reserved IRAP 22", codec: .hevc, payload: prefixed(4, [unit([0x2C, 1], 90)]), isKey: false),
        Case(name: "VP8 key", codec: .vp8, payload: [0x10, 0x02, 0x00, 0x9D, 0x01, 0x2A, 0x40, 0x01, 0xF0, 0x00, 0], isKey: true),
        Case(name: "VP8 inter", codec: .vp8, payload: [0x11, 0x02, 0x00, 0x9D, 0x01, 0x2A, 0x40, 0x01, 0xF0, 0x00], isKey: false),
        Case(name: "VP8 key without start code", codec: .vp8, payload: [0x10, 0x02, 0x00, 0x9D, 0x01, 0x2B, 0x40, 0x01, 0xF0, 0x00], isKey: false),
        Case(name: "VP8 short", codec: .vp8, payload: [0x10, 0x02, 0x00, 0x9D, 0x01, 0x2A], isKey: false),
        Case(name: "VP9 profile 0 key", codec: .vp9, payload: [0x82, 0x49, 0x83, 0x42, 0x00], isKey: true),
        Case(name: "VP9 profile 0 inter", codec: .vp9, payload: [0x86, 0x49, 0x83, 0x42, 0x00], isKey: false),
        Case(name: "VP9 show existing frame", codec: .vp9, payload: [0x88, 0x49, 0x83, 0x42, 0x00], isKey: false),
        Case(name: "VP9 profile 3 key", codec: .vp9, payload: [0xB1, 0x24, 0xC1, 0xA1, 0x00], isKey: true),
        Case(name: "VP9 wrong marker", codec: .vp9, payload: [0x42, 0x49, 0x83, 0x42, 0x00], isKey: false),
        Case(name: "VP9 short", codec: .vp9, payload: [0x82, 0x49, 0x83], isKey: false),
        Case(name: "AV1 delimiter, sequence header, shown key frame", codec: .av1, payload: [0x12, 0, 0x0A, 2, 0, 0, 0x32, 2, 0x10, 0], isKey: true),
        Case(name: "AV1 key frame not shown", codec: .av1, payload: [0x12, 0, 0x0A, 2, 0, 0, 0x32, 2, 0x00, 0], isKey: false),
        Case(name: "AV1 inter frame", codec: .av1, payload: [0x12, 0, 0x32, 2, 0x30, 0], isKey: false),
        Case(name: "AV1 show existing frame", codec: .av1, payload: [0x12, 0, 0x1A, 1, 0x90], isKey: false),
        Case(name: "AV1 reduced still picture", codec: .av1, payload: [0x0A, 1, 0x18, 0x32, 1, 0xFF], isKey: true),
        Case(name: "AV1 last unit without a size", codec: .av1, payload: [0x12, 0, 0x30, 0x10, 0], isKey: true),
        Case(name: "AV1 unit with an extension", codec: .av1, payload: [0x36, 0x00, 1, 0x10], isKey: true),
        Case(name: "AV1 size beyond the payload", codec: .av1, payload: [0x12, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F], isKey: false),
        Case(name: "AV1 size that never ends", codec: .av1, payload: [0x12] + Array(repeating: 0xFF, count: 20), isKey: false),
        Case(name: "AV1 extension cut off", codec: .av1, payload: [0x36], isKey: false),
        Case(name: "AV1 empty frame unit", codec: .av1, payload: [0x32, 0], isKey: false),
        Case(name: "AV1 nothing", codec: .av1, payload: [], isKey: false),
    ]

    @Test("A key frame is known by its first bytes", arguments: cases)
    func keyFrames(item: Case) {
        #expect(withSpan(item.payload) { item.codec.isKeyFrame($0) } == item.isKey)
    }

    @Test("The summary names parameter sets, framing, the first slice's place, and whether the picture is needed")
    func summary() throws {
        let annexB = try #require(
            withSpan(Self.start4 + Self.sps + Self.start3 + Self.pps + Self.start4 + Self.idr) { NALSummary(codec: .h264, payload: $0) })
        #expect(annexB.framing == .annexB && annexB.hasSequenceParameterSet && annexB.hasPictureParameterSet && !annexB.hasVideoParameterSet)
        #expect(annexB.firstSliceOffset == 4 + 12 + 3 + 4)
        #expect(!annexB.isDiscardable)
        let avcc = try #require(withSpan(Self.prefixed(4, [Self.sei, Self.disposable])) { NALSummary(codec: .h264, payload: $0) })
        #expect(avcc.framing == .lengthPrefixed(4) && avcc.isDiscardable && !avcc.isKeyFrame && avcc.firstSliceOffset == 24)
        let hevc = try #require(
            withSpan(Self.prefixed(4, [[0x40, 1], [0x42, 1], [0x44, 1], [0x26, 1]])) { NALSummary(codec: .hevc, payload: $0) })
        #expect(hevc.hasVideoParameterSet && hevc.hasSequenceParameterSet && hevc.hasPictureParameterSet && hevc.isKeyFrame)
        #expect(withSpan(Self.idr) { NALSummary(codec: .vp8, payload: $0) } == nil)
    }

    @Test("An explicit framing is believed")
    func explicitFraming() {
        let payload = Self.prefixed(2, [Self.unit([0x65], 30)])
        #expect(withSpan(payload) { VideoCodec.h264.isKeyFrame($0, framing: .lengthPrefixed(2)) })
        #expect(!withSpan(payload) { VideoCodec.h264.isKeyFrame($0, framing: .annexB) })
        #expect(!withSpan(payload) { VideoCodec.h264.isKeyFrame($0, framing: .lengthPrefixed(3)) })
    }

    @Test("Work is bounded: an IDR behind 64 KiB of filler or 1,024 units is not looked for")
    func bounded() {
        let filler = Self.start4 + Self.unit([0x0C], 70_000) + Self.start4 + Self.idr
        #expect(!withSpan(filler) { VideoCodec.h264.isKeyFrame($0) })
        let many = Self.prefixed(4, Array(repeating: [0x0C], count: 1_024) + [Self.idr])
        #expect(!withSpan(many) { VideoCodec.h264.isKeyFrame($0) })
        let fewer = Self.prefixed(4, Array(repeating: [0x0C], count: 1_000) + [Self.idr])
        #expect(withSpan(fewer) { VideoCodec.h264.isKeyFrame($0) })
    }

    @Test("Random and mutated payloads never trap", arguments: VideoCodec.allCases)
    func hostile(codec: VideoCodec) {
        var generator = SeededGenerator(seed: UInt64(codec.rawValue) + 77)
        let seeds = Self.cases.filter { $0.codec == codec }.map(\.payload)
        for round in 0..<6_000 {
            var payload = round % 2 == 0 ? generator.bytes(Int(generator.next() % 40)) : seeds[Int(generator.next() % UInt64(seeds.count))]
            for _ in 0..<generator.next() % 4 where !payload.isEmpty {
                payload[Int(generator.next() % UInt64(payload.count))] = UInt8(truncatingIfNeeded: generator.next())
            }
            payload.removeLast(Int(generator.next() % UInt64(payload.count + 1)))
            for framing in [nil, .annexB, .lengthPrefixed(1), .lengthPrefixed(2), .lengthPrefixed(4)] as [NALFraming?] {
                withSpan(payload) { span in
                    if let offset = NALSummary(codec: codec, payload: span, framing: framing)?.firstSliceOffset {
                        #expect(offset < payload.count)
                    }
                    _ = codec.isKeyFrame(span, framing: framing)
                }
            }
        }
    }
}
