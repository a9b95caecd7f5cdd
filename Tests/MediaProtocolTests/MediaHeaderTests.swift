import RelayBase
import Testing

@testable import MediaProtocol

@Suite("Media header")
struct MediaHeaderTests {
    @Test("The header is 16 bytes, big-endian, in the order of the protocol document")
    func layout() throws {
        let header = MediaHeader(
            kind: .video, flags: [.key, .endOfPicture, .encrypted], layer: MediaLayer(spatial: 2, temporal: 3),
            level: AudioLevel(voice: true, minusDecibelsOverload: 23), stream: StreamID(0x0102_0304), sequence: 0xA1A2_A3A4, timestamp: 0xFFFF_FF10)
        let expected: [UInt8] = [0x11, 0x51, 0x23, 0x97, 1, 2, 3, 4, 0xA1, 0xA2, 0xA3, 0xA4, 0xFF, 0xFF, 0xFF, 0x10]
        #expect(encode(header, payload: []) == expected)
        try #expect(withSpan(expected) { span throws(MediaFault) in try MediaHeader(parsing: span) } == header)
        #expect(header.layer.spatial == 2 && header.layer.temporal == 3)
        #expect(header.level.isVoice && header.level.minusDecibelsOverload == 23)
    }

    @Test("Decoding what was encoded gives the header back", arguments: [1, 2, 3] as [UInt64])
    func identity(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<500 {
            let header = generator.header()
            let encoded = encode(header, payload: generator.bytes(3))
            try unsafe encoded.withUnsafeBytes { bytes in
                try #expect(unsafe MediaHeader(parsing: bytes) == header)
            }
        }
    }

    static let faultCases: [([UInt8], MediaFault)] = [
        ([], .headerTruncated),
        (Array(repeating: 0x10, count: 15), .headerTruncated),
        ([0x00] + Array(repeating: 0, count: 15), .versionUnsupported(0)),
        ([0x20] + Array(repeating: 0, count: 15), .versionUnsupported(2)),
        ([0xF0] + Array(repeating: 0, count: 15), .versionUnsupported(15)),
        ([0x16] + Array(repeating: 0, count: 15), .kindUnknown(6)),
        ([0x1F] + Array(repeating: 0, count: 15), .kindUnknown(15)),
        ([0x10, 0x80] + Array(repeating: 0, count: 14), .reservedFlagSet),
        ([0x11, 0xFF] + Array(repeating: 0, count: 14), .reservedFlagSet),
    ]

    @Test("A header that is short, of another version or kind, or has the reserved flag is refused", arguments: faultCases)
    func faults(bytes: [UInt8], fault: MediaFault) {
        #expect(throws: fault) { try withSpan(bytes) { span throws(MediaFault) in try MediaHeader(parsing: span) } }
        #expect(throws: fault) { try validate(bytes) }
    }

    @Test("Patching an encoded header changes the named flags and the stream only")
    func patching() throws {
        var encoded = encode(header(.video, flags: [.key]), payload: [9, 9])
        let before = encoded
        unsafe encoded.withUnsafeMutableBytes { bytes in
            unsafe MediaHeader.insert([.discontinuity], intoEncoded: bytes)
            unsafe MediaHeader.setStream(StreamID(0xDEAD_BEEF), inEncoded: bytes)
        }
        #expect(encoded[1] == 0x05)
        #expect(encoded[4..<8] == [0xDE, 0xAD, 0xBE, 0xEF])
        unsafe encoded.withUnsafeMutableBytes { bytes in
            unsafe MediaHeader.remove([.discontinuity], fromEncoded: bytes)
            unsafe MediaHeader.setStream(StreamID(7), inEncoded: bytes)
        }
        #expect(encoded == before)
    }

    @Test("RFC 6464 §3 a level over 127 counts as 127", arguments: [(0, 0), (127, 127), (128, 127), (255, 127)] as [(UInt8, UInt8)])
    func level(given: UInt8, kept: UInt8) {
        #expect(AudioLevel(voice: true, minusDecibelsOverload: given).minusDecibelsOverload == kept)
        #expect(!AudioLevel(voice: false, minusDecibelsOverload: given).isVoice)
    }

    @Test("Every fault has a close code of the protocol and a name of its own")
    func closeCodes() {
        let faults: [MediaFault] = [
            .headerTruncated, .versionUnsupported(3), .kindUnknown(9), .reservedFlagSet,
            .frameTooLarge(limit: .audioFrameBytesMax, byteCount: 1), .frameTooLarge(limit: .videoFrameBytesMax, byteCount: 1),
            .frameTooLarge(limit: .dataFrameBytesMax, byteCount: 1), .extensionBlockTruncated, .extensionReservedNotZero,
            .extensionItemTruncated(type: 1), .extensionItemLength(type: 1, byteCount: 3), .extensionItemRepeated(type: 1), .extensionBlockTooLarge,
            .packetOutsidePayload(index: 0), .bundleEmpty, .bundleEntryTruncated, .bundleNested, .bundleHoldsConfiguration, .bundleEncrypted,
        ]
        #expect(faults.allSatisfy { [1002, 1003, 1009].contains($0.closeCode) })
        #expect(Set(faults.map(\.name.description)).count == faults.count)
        #expect(MediaFault.frameTooLarge(limit: .audioFrameBytesMax, byteCount: 1).name.description.hasSuffix("audioFrameBytesMax"))
    }
}

@Suite("Media timestamps")
struct MediaTimestampTests {
    @Test("Unwrapped timestamps follow the short way round, in both directions, over many wraps")
    func unwrap() {
        var generator = SeededGenerator(seed: 11)
        var unwrapper = TimestampUnwrapper()
        var truth = Int64(UInt32.max) - 5_000
        #expect(unwrapper.unwrap(UInt32(truncatingIfNeeded: truth)) == truth)
        for _ in 0..<2_000 {
            truth += Int64(Int32(truncatingIfNeeded: generator.next()) / 2) + 400_000_000
            #expect(unwrapper.unwrap(UInt32(truncatingIfNeeded: truth)) == truth)
        }
        #expect(truth > Int64(UInt32.max) * 10)
    }

    @Test("RFC 5905 §6 Unix time 0 is 2,208,988,800 s, and half a second is 2³¹ fractions")
    func ntp() {
        #expect(NTPTime(unixSeconds: 0, nanoseconds: 500_000_000).rawValue == (2_208_988_800 as UInt64) << 32 | 1 << 31)
        #expect(
            NTPTime(unixSeconds: UInt64.max, nanoseconds: .max)
                == NTPTime(unixSeconds: UInt64.max, nanoseconds: 999_999_999))
    }
}
