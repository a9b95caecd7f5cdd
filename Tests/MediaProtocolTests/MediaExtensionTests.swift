import RelayBase
import Testing

@testable import MediaProtocol

@Suite("Media extensions")
struct MediaExtensionTests {
    func read(_ frame: [UInt8]) throws(MediaFault) -> MediaExtensions {
        try withSpan(frame) { span throws(MediaFault) in
            try MediaExtensions(frame: span, flags: MediaHeader(parsing: span).flags)
        }
    }

    /// A frame of 8 payload bytes whose extension block is `block`.
    func frame(block: [UInt8]) -> [UInt8] {
        var frame = encode(header(flags: [.extensionPresent]), payload: block + Array(repeating: 0xEE, count: 8))
        frame[1] |= 0x20
        return frame
    }

    @Test("All items come back, and the payload starts behind the block")
    func roundTrip() throws {
        var writer = ExtensionWriter()
        try writer.append(captureTime: NTPTime(rawValue: 0x0102_0304_0506_0708))
        try writer.append(compositionOffset: -3_003)
        try writer.append(duration: 3_000)
        let table = [
            PacketDescription(startOffset: 0, dataByteSize: 2), PacketDescription(startOffset: 2, variableFramesInPacket: 9, dataByteSize: 3),
        ]
        try writer.append(packetTable: table)
        try withSpan([1, 2, 3, 4, 5]) { span throws(MediaFault) in try writer.append(attachments: span) }
        let payload: [UInt8] = [10, 11, 12, 13, 14]
        let encoded = encode(header(.video), extensions: writer, payload: payload)
        let extensions = try read(encoded)
        #expect(extensions.captureTime == NTPTime(rawValue: 0x0102_0304_0506_0708))
        #expect(extensions.compositionOffset == -3_003)
        #expect(extensions.duration == 3_000)
        #expect(extensions.payloadOffset == 16 + writer.byteCount)
        #expect(encoded[extensions.payloadOffset...].elementsEqual(payload))
        #expect(encoded[try #require(extensions.attachments)].elementsEqual([1, 2, 3, 4, 5]))
        let tableRange = try #require(extensions.packetTable)
        withSpan(encoded) { span in
            let read = PacketTable(span.extracting(tableRange))
            #expect(read.count == 2 && read[0] == table[0] && read[1] == table[1])
        }
        try #expect(validate(encoded).payload == extensions.payloadOffset..<encoded.count)
    }

    @Test("The first value is 8-byte aligned, every item 4-byte aligned, whatever lengths come before")
    func alignment() throws {
        for length in 0..<9 {
            var writer = ExtensionWriter()
            try withSpan(Array(repeating: 0xAB, count: length)) { span throws(MediaFault) in try writer.append(attachments: span) }
            try writer.append(duration: 1)
            let encoded = encode(header(), extensions: writer, payload: [])
            let extensions = try read(encoded)
            #expect(extensions.attachments?.lowerBound == 24)
            #expect(extensions.attachments?.count == length)
            #expect(extensions.duration == 1)
            #expect(extensions.payloadOffset % 4 == 0)
        }
    }

    @Test("Items of unknown type are skipped")
    func unknownSkipped() throws {
        var writer = ExtensionWriter()
        for type: UInt8 in [0, 6, 200, 255, 255] {
            try withSpan([1, 2, 3]) { span throws(MediaFault) in try writer.appendItem(type: type, value: span) }
        }
        try writer.append(compositionOffset: 5)
        let extensions = try read(encode(header(), extensions: writer, payload: [1]))
        #expect(extensions.compositionOffset == 5)
        #expect(extensions.captureTime == nil && extensions.duration == nil && extensions.packetTable == nil && extensions.attachments == nil)
    }

    @Test("Without the flag there is no block")
    func absent() throws {
        let extensions = try read(encode(header(), payload: [0, 1, 0, 0]))
        #expect(extensions.payloadOffset == 16)
    }

    static let malformedCases: [([UInt8], MediaFault)] = [
        ([0, 9, 0, 0], .extensionBlockTruncated),
        ([0xFF, 0xFF, 0, 0], .extensionBlockTruncated),
        ([0, 0, 0, 1], .extensionReservedNotZero),
        ([0, 2, 0, 0, 2, 0, 0, 5, 1, 2, 3, 4], .extensionItemTruncated(type: 2)),
        ([0, 2, 0, 0, 99, 0, 0xFF, 0xFF, 1, 2, 3, 4], .extensionItemTruncated(type: 99)),
        ([0, 2, 0, 0, 2, 7, 0, 4, 1, 2, 3, 4], .extensionReservedNotZero),
        ([0, 2, 0, 0, 4, 0, 0, 3, 1, 2, 3, 4], .extensionReservedNotZero),
        ([0, 2, 0, 0, 2, 0, 0, 3, 1, 2, 3, 0], .extensionItemLength(type: 2, byteCount: 3)),
        ([0, 2, 0, 0, 1, 0, 0, 4, 1, 2, 3, 4], .extensionItemLength(type: 1, byteCount: 4)),
        ([0, 2, 0, 0, 3, 0, 0, 4, 1, 2, 3, 4], .extensionItemLength(type: 3, byteCount: 4)),
        ([0, 1, 0, 0, 3, 0, 0, 0], .extensionItemLength(type: 3, byteCount: 0)),
        ([0, 1, 0, 0, 5, 0, 0, 0], .extensionItemLength(type: 5, byteCount: 0)),
        ([0, 4, 0, 0, 5, 0, 0, 4, 0, 0, 0, 1, 5, 0, 0, 4, 0, 0, 0, 2], .extensionItemRepeated(type: 5)),
        ([0, 2, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0], .extensionItemRepeated(type: 4)),
    ]

    @Test("A malformed block is refused with what is wrong", arguments: malformedCases)
    func malformed(block: [UInt8], fault: MediaFault) {
        #expect(throws: fault) { try read(frame(block: block)) }
        #expect(throws: fault) { try validate(frame(block: block)) }
    }

    @Test("A block head cut short is refused", arguments: 0..<4)
    func headTruncated(kept: Int) {
        let bytes = encode(header(flags: [.extensionPresent]), payload: Array(repeating: 0, count: kept))
        #expect(throws: MediaFault.extensionBlockTruncated) { try validate(bytes) }
    }

    @Test(
        "§6 a packet that is not wholly inside the payload is refused by its index",
        arguments: [
            (Int64(-1), 1), (0, 9), (8, 1), (9, 0), (Int64.max, 1), (Int64.min, 1), (1, UInt32.max), (Int64.max, UInt32.max),
        ] as [(Int64, UInt32)])
    func packetOutside(offset: Int64, size: UInt32) throws {
        var writer = ExtensionWriter()
        try writer.append(packetTable: [
            PacketDescription(startOffset: 8, dataByteSize: 0), PacketDescription(startOffset: 0, dataByteSize: 8),
            PacketDescription(startOffset: offset, dataByteSize: size),
        ])
        let bytes = encode(header(), extensions: writer, payload: Array(repeating: 0, count: 8))
        #expect(throws: MediaFault.packetOutsidePayload(index: 2)) { try validate(bytes) }
    }

    @Test("The writer refuses a block over 65,535 words and an item over 65,535 bytes, and stays whole")
    func writerBounds() throws {
        var writer = ExtensionWriter()
        let big = [UInt8](repeating: 1, count: 65_532)
        for _ in 0..<3 { try withSpan(big) { span throws(MediaFault) in try writer.appendItem(type: 99, value: span) } }
        do {
            try withSpan(big) { span throws(MediaFault) in try writer.appendItem(type: 99, value: span) }
            Issue.record("a fourth item of 64 KiB went in")
        } catch {
            #expect(error == .extensionBlockTooLarge)
        }
        do {
            try withSpan([UInt8](repeating: 1, count: 65_536)) { span throws(MediaFault) in try writer.append(attachments: span) }
            Issue.record("an item of 64 KiB went in")
        } catch {
            #expect(error == .extensionItemLength(type: 4, byteCount: 65_536))
        }
        do {
            try writer.append(packetTable: [])
            Issue.record("an empty packet table went in")
        } catch {
            #expect(error == .extensionItemLength(type: 3, byteCount: 0))
        }
        let encoded = encode(header(.video), extensions: writer, payload: [])
        try #expect(validate(encoded).payload.isEmpty)
        writer.removeAll()
        #expect(writer.isEmpty && writer.byteCount == 0)
    }

    @Test("Random bytes after a header either parse or give a typed fault, and never trap", arguments: [21, 22] as [UInt64])
    func hostile(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var accepted = 0
        var refused = 0
        for _ in 0..<20_000 {
            var bytes = encode(header(generator.next() % 4 == 0 ? .bundle : .video), payload: generator.bytes(Int(generator.next() % 48)))
            bytes[1] = UInt8(truncatingIfNeeded: generator.next()) & 0x7F
            for index in 16..<bytes.count where generator.next() % 3 != 0 { bytes[index] = UInt8(generator.next() % 9) }
            do {
                let frame = try validate(bytes)
                #expect(frame.payload.upperBound == bytes.count && frame.payload.lowerBound >= 16)
                accepted += 1
            } catch {
                refused += 1
            }
        }
        #expect(accepted > 1_000 && refused > 1_000)
    }
}

@Suite("Packets of a frame")
struct PacketTests {
    @Test(
        "§6 a missing table means an equal split with the remainder in the last packet",
        arguments: [
            (10, 3, [0..<3, 3..<6, 6..<10]), (9, 3, [0..<3, 3..<6, 6..<9]), (5, 1, [0..<5]), (3, 3, [0..<1, 1..<2, 2..<3]), (0, 1, [0..<0]),
        ] as [(Int, Int, [Range<Int>])])
    func equalSplit(byteCount: Int, packets: Int, expected: [Range<Int>]) throws {
        let split = try #require(EqualPacketSplit(payloadByteCount: byteCount, packetCount: packets))
        #expect((0..<split.count).map { split[$0] } == expected)
    }

    @Test("No packets, or more packets than bytes, cannot be split", arguments: [(10, 0), (10, -1), (2, 3), (0, 2), (-1, 1)])
    func noSplit(byteCount: Int, packets: Int) {
        #expect(EqualPacketSplit(payloadByteCount: byteCount, packetCount: packets) == nil)
    }

    @Test("§6 MP3 of 160 kbit/s at 44.1 kHz alternates packets of 522 and 523 bytes, of 26.122 ms each")
    func mp3() throws {
        var sizes = try #require(ConstantRatePacketSizes(bitsPerSecond: 160_000, sampleRate: 44_100, framesPerPacket: 1_152))
        let first = (0..<6).map { _ in sizes.next() }
        #expect(first == [522, 522, 523, 522, 523, 522])
        var total = first.reduce(0, +)
        for _ in 6..<441 {
            let size = sizes.next()
            #expect(size == 522 || size == 523)
            total += size
        }
        // 441 packets are 11.52 s exactly: 160,000 × 11.52 / 8 bytes.
        #expect(total == 230_400)
        #expect((1_152 * 1_000_000.0 / 44_100).rounded() == 26_122)
        #expect(ConstantRatePacketSizes(bitsPerSecond: 1, sampleRate: 0, framesPerPacket: 1) == nil)
    }
}
