import RelayBase
import Testing

@testable import MediaProtocol

@Suite("Frames from a publisher")
struct MediaFrameTests {
    static let limitCases: [(MediaKind, Int, FrameSizeLimit)] = [
        (.audio, Limits().audioFrameBytesMax, .audioFrameBytesMax), (.video, Limits().videoFrameBytesMax, .videoFrameBytesMax),
        (.data, Limits().dataFrameBytesMax, .dataFrameBytesMax), (.configuration, Limits().dataFrameBytesMax, .dataFrameBytesMax),
    ]

    @Test("A frame of the limit passes, one byte more is refused and names the limit", arguments: limitCases)
    func sizeLimit(kind: MediaKind, bound: Int, limit: FrameSizeLimit) throws {
        let fits = encode(header(kind), payload: Array(repeating: 0, count: bound - 16))
        try #expect(validate(fits).payload.count == bound - 16)
        let fault = MediaFault.frameTooLarge(limit: limit, byteCount: bound + 1)
        #expect(throws: fault) { try validate(fits + [0]) }
        #expect(fault.closeCode == 1009)
    }

    @Test("The limits that count are those given")
    func configuredLimit() {
        var limits = Limits()
        limits.audioFrameBytesMax = 20
        #expect(throws: MediaFault.frameTooLarge(limit: .audioFrameBytesMax, byteCount: 21)) {
            try validate(encode(header(), payload: [1, 2, 3, 4, 5]), limits: limits)
        }
    }

    @Test("An empty payload is a frame", arguments: [MediaKind.audio, .video, .data, .configuration])
    func emptyPayload(kind: MediaKind) throws {
        try #expect(validate(encode(header(kind), payload: [])).payload == 16..<16)
    }

    @Test("An encrypted frame is accepted whatever its payload")
    func encrypted() throws {
        try #expect(validate(encode(header(flags: [.encrypted]), payload: [0xFF, 0xFF])).header.flags == [.encrypted])
    }
}

@Suite("Bundles")
struct MediaBundleTests {
    func bundle(_ frames: [[UInt8]]) throws(MediaFault) -> [UInt8] {
        var writer = BundleWriter()
        for frame in frames { try withSpan(frame) { span throws(MediaFault) in try writer.append(span) } }
        return unsafe writer.span.withUnsafeBytes { bytes in unsafe Array(bytes) }
    }

    /// The bundle as bytes, without asking the writer.
    func raw(_ entries: [UInt8], flags: MediaFlags = []) -> [UInt8] {
        encode(header(.bundle, flags: flags), payload: entries)
    }

    func frames(_ bundle: [UInt8]) throws(MediaFault) -> [[UInt8]] {
        let frame = try validate(bundle)
        return try withSpan(bundle) { span throws(MediaFault) in
            var result: [[UInt8]] = []
            var reader = BundleReader(payload: span.extracting(frame.payload))
            while let range = try reader.next() {
                result.append(Array(bundle[frame.payload][frame.payload.lowerBound + range.lowerBound..<frame.payload.lowerBound + range.upperBound]))
            }
            return result
        }
    }

    @Test("The frames of a bundle come back byte for byte, in order", arguments: [31, 32, 33] as [UInt64])
    func identity(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<100 {
            let given = (0..<Int(1 + generator.next() % 9)).map { _ in
                encode(generator.header([.audio, .video, .data]), payload: generator.bytes(Int(generator.next() % 300)))
            }
            let bundle = try bundle(given)
            #expect(bundle[0] == 0x14)
            #expect(bundle.count == 16 + given.reduce(0) { $0 + 4 + $1.count })
            try #expect(frames(bundle) == given)
        }
    }

    @Test("A writer used again starts from nothing, and does not take what may not be bundled")
    func writer() throws {
        var writer = BundleWriter()
        for kind in [MediaKind.bundle, .configuration] {
            do {
                try withSpan(encode(header(kind), payload: [])) { span throws(MediaFault) in try writer.append(span) }
                Issue.record("\(kind) was bundled")
            } catch {
                #expect(error == (kind == .bundle ? .bundleNested : .bundleHoldsConfiguration))
            }
        }
        #expect(writer.count == 0 && writer.span.byteCount == 0)
        let frame = encode(header(), payload: [1])
        try withSpan(frame) { span throws(MediaFault) in try writer.append(span) }
        writer.removeAll()
        try withSpan(frame) { span throws(MediaFault) in try writer.append(span) }
        #expect(writer.count == 1 && writer.span.byteCount == 16 + 4 + 17)
    }

    static let malformedCases: [([UInt8], MediaFault)] = {
        let frame = encode(header(), payload: [])
        let entry = [0, 0, 0, 16] + frame
        let withExtension = encode(header(flags: [.extensionPresent]), payload: [])
        return [
            ([], .bundleEmpty),
            ([0, 0, 0], .bundleEntryTruncated),
            ([0, 0, 0, 17] + frame, .bundleEntryTruncated),
            ([0xFF, 0xFF, 0xFF, 0xFF] + frame, .bundleEntryTruncated),
            ([0, 0, 0, 0], .headerTruncated),
            ([0, 0, 0, 15] + frame, .headerTruncated),
            (entry + [0], .bundleEntryTruncated),
            (entry + [0, 0, 0, 16] + encode(header(.bundle), payload: []), .bundleNested),
            (entry + [0, 0, 0, 16] + encode(header(.configuration), payload: []), .bundleHoldsConfiguration),
            (entry + [0, 0, 0, 16, 0x25] + frame.dropFirst(), .versionUnsupported(2)),
            (entry + [0, 0, 0, 16] + withExtension, .extensionBlockTruncated),
            (
                [0, 0, 0x20, 1] + encode(header(), payload: Array(repeating: 0, count: 8_177)),
                .frameTooLarge(limit: .audioFrameBytesMax, byteCount: 8_193)
            ),
        ]
    }()

    @Test("A bundle that is empty, cut, nested, or holds a frame that is not allowed is refused", arguments: malformedCases)
    func malformed(entries: [UInt8], fault: MediaFault) {
        #expect(throws: fault) { try validate(raw(entries)) }
    }

    @Test("A bundle is not encrypted as a whole; its frames may be")
    func encrypted() throws {
        let inner = encode(header(flags: [.encrypted]), payload: [1])
        let entries = [0, 0, 0, UInt8(inner.count)] + inner
        #expect(throws: MediaFault.bundleEncrypted) { try validate(raw(entries, flags: [.encrypted])) }
        try #expect(frames(raw(entries)) == [inner])
    }
}
