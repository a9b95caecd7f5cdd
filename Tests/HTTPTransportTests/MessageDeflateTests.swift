import HTTPTransport
import RelayBase
import Testing

@Suite struct MessageDeflateTests {
    /// Text-like bytes with repetitions near and far.
    private func message(_ count: Int, _ generator: inout SeededGenerator) -> [UInt8] {
        let words = ["{\"type\":\"subscribe\",", "\"stream\":", "demo", "live", "0123456789", "é", "\n", "segue"].map { Array($0.utf8) }
        var bytes: [UInt8] = []
        while bytes.count < count {
            if Int.random(in: 0..<5, using: &generator) == 0 {
                bytes.append(UInt8.random(in: 0...255, using: &generator))
            } else {
                bytes += words[Int.random(in: 0..<words.count, using: &generator)]
            }
        }
        return Array(bytes.prefix(count))
    }

    private func pieces(_ bytes: [UInt8], _ generator: inout SeededGenerator) -> [[UInt8]] {
        var rest = bytes[...]
        var result: [[UInt8]] = []
        repeat {
            let piece = rest.prefix(Int.random(in: 0...max(1, bytes.count / 3), using: &generator))
            rest = rest.dropFirst(piece.count)
            result.append(Array(piece))
        } while !rest.isEmpty
        return result
    }

    private func compress(_ deflater: inout MessageDeflater, _ pieces: [[UInt8]]) throws -> [UInt8] {
        var queue = ByteQueue()
        for (index, piece) in pieces.enumerated() { try deflater.compress(piece, isLast: index == pieces.count - 1, into: &queue) }
        return unsafe Array(queue.readable)
    }

    private func inflate(_ inflater: inout MessageInflater, _ pieces: [[UInt8]], limit: Int = 1 << 20) throws(MessageDeflateFault) -> [UInt8] {
        var queue = ByteQueue()
        for (index, piece) in pieces.enumerated() {
            try inflater.inflate(piece, isLast: index == pieces.count - 1, limit: limit, into: &queue)
        }
        return unsafe Array(queue.readable)
    }

    @Test(
        "RFC 7692 §7.2 decode∘encode is the identity for all windows, takeover or not, however the messages are cut",
        arguments: 8...15, [true, false])
    func roundTrip(windowBits: Int, takeover: Bool) throws {
        var generator = SeededGenerator(seed: UInt64(windowBits))
        var deflater = MessageDeflater(windowBits: windowBits, contextTakeover: takeover)
        // The peer's window is just the negotiated one, 8 bits included.
        var inflater = MessageInflater(windowBits: windowBits, contextTakeover: takeover)
        for count in [0, 0, 1, 5, 100, 0, 3_000, 70_000, 2, 0, 40_000] {
            let message = message(count, &generator)
            let compressed = try compress(&deflater, pieces(message, &generator))
            #expect(!compressed.isEmpty)
            #expect(!compressed.suffix(4).elementsEqual([0, 0, 0xff, 0xff]))
            // Byte by byte zlib holds every reference against the window.
            let pieces = count < 10_000 ? compressed.map { [$0] } : pieces(compressed, &generator)
            #expect(try inflate(&inflater, pieces) == message)
        }
    }

    @Test("§7.1.1 with takeover the second equal message is tiny, without it is not")
    func takeover() throws {
        var generator = SeededGenerator(seed: 3)
        let text = (0..<400).map { _ in UInt8.random(in: 0...255, using: &generator) }
        var keeping = MessageDeflater(windowBits: 15, contextTakeover: true)
        var forgetting = MessageDeflater(windowBits: 15, contextTakeover: false)
        let first = try compress(&keeping, [text])
        let second = try compress(&keeping, [text])
        #expect(first.count > 400 && second.count < 20)
        #expect(try compress(&forgetting, [text]) == first)
        #expect(try compress(&forgetting, [text]) == first)
        // A receiver that forgets cannot follow a sender that remembers.
        var inflater = MessageInflater(windowBits: 15, contextTakeover: false)
        #expect(try inflate(&inflater, [first]) == text)
        #expect(throws: MessageDeflateFault.corrupt) { _ = try inflate(&inflater, [second]) }
        #expect(throws: MessageDeflateFault.corrupt) { _ = try inflate(&inflater, [first]) }
    }

    /// RFC 7692 §7.2.3: the examples, each "Hello".
    static let hello = Array("Hello".utf8)

    @Test(
        "§7.2.3 the RFC's examples",
        arguments: [
            [0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00],
            [0x00, 0x05, 0x00, 0xfa, 0xff, 0x48, 0x65, 0x6c, 0x6c, 0x6f, 0x00],
            [0xf3, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00, 0x00],
            [0xf2, 0x48, 0x05, 0x00, 0x00, 0x00, 0xff, 0xff, 0xca, 0xc9, 0xc9, 0x07, 0x00],
        ] as [[UInt8]])
    func examples(bytes: [UInt8]) throws {
        var inflater = MessageInflater(windowBits: 15, contextTakeover: true)
        #expect(try inflate(&inflater, [bytes]) == Self.hello)
        #expect(try inflate(&inflater, bytes.map { [$0] }) == Self.hello)
    }

    @Test("§7.2.3.2 a message may refer to the one before")
    func sharedWindow() throws {
        var inflater = MessageInflater(windowBits: 15, contextTakeover: true)
        #expect(try inflate(&inflater, [[0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00]]) == Self.hello)
        #expect(try inflate(&inflater, [[0xf2, 0x00, 0x11, 0x00, 0x00]]) == Self.hello)
    }

    @Test("§7.2.3.4 the window lasts across a block with BFINAL set")
    func windowAcrossFinalBlock() throws {
        var inflater = MessageInflater(windowBits: 15, contextTakeover: true)
        #expect(try inflate(&inflater, [[0xf3, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00, 0x00]]) == Self.hello)
        #expect(try inflate(&inflater, [[0xf2, 0x00, 0x11, 0x00, 0x00]]) == Self.hello)
        // Two of them in one message, the second referring to the first.
        #expect(try inflate(&inflater, [[0xf3, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00, 0xf3, 0x00, 0x11, 0x00, 0x00]]) == Self.hello + Self.hello)
        // One that ends with the message, without the byte that §7.2.3.4 adds.
        #expect(try inflate(&inflater, [[0xf3, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00]]) == Self.hello)
        #expect(try inflate(&inflater, [[0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00]]) == Self.hello)
    }

    @Test("§7.2.3.6 an empty message is one zero byte")
    func emptyMessage() throws {
        var deflater = MessageDeflater(windowBits: 15, contextTakeover: true)
        #expect(try compress(&deflater, [[]]) == [0x00])
        #expect(try compress(&deflater, [[]]) == [0x00])
        #expect(try compress(&deflater, [[], [], []]) == [0x00])
        var inflater = MessageInflater(windowBits: 15, contextTakeover: true)
        #expect(try inflate(&inflater, [[0x00]]) == [])
    }

    @Test("a bomb stops at the limit, and the memory with it", arguments: [1_000, 65_536, 300_000])
    func bomb(limit: Int) throws {
        var deflater = MessageDeflater(windowBits: 15, contextTakeover: false)
        let bomb = try compress(&deflater, Array(repeating: Array(repeating: 0, count: 1 << 18), count: 16))
        #expect(bomb.count < 8_192)
        var inflater = MessageInflater(windowBits: 15, contextTakeover: false)
        var queue = ByteQueue()
        #expect(throws: MessageDeflateFault.tooLarge) { try inflater.inflate(bomb, isLast: true, limit: limit, into: &queue) }
        #expect(queue.count <= limit)
        #expect(queue.capacity <= 2 * limit + 64 << 10)
        #expect(throws: MessageDeflateFault.tooLarge) { try inflater.inflate([0], isLast: true, limit: limit, into: &queue) }
    }

    @Test("the limit is exact, also over fragments", arguments: [1, 16_383, 16_384, 16_385, 50_000])
    func limit(count: Int) throws {
        var generator = SeededGenerator(seed: 9)
        var deflater = MessageDeflater(windowBits: 15, contextTakeover: false)
        let message = message(count, &generator)
        let compressed = try compress(&deflater, [message])
        var exact = MessageInflater(windowBits: 15, contextTakeover: false)
        for _ in 0..<2 {
            #expect(try inflate(&exact, pieces(compressed, &generator), limit: count) == message)
        }
        #expect(throws: MessageDeflateFault.tooLarge) { _ = try inflate(&exact, pieces(compressed, &generator), limit: count - 1) }
    }

    @Test("thousands of empty BFINAL blocks are taken in stride")
    func manyFinalBlocks() throws {
        var inflater = MessageInflater(windowBits: 15, contextTakeover: true)
        let blocks = Array(repeating: [0x03, 0x00] as [UInt8], count: 30_000).flatMap { $0 }
        #expect(try inflate(&inflater, [blocks + [0x00]]) == [])
        #expect(try inflate(&inflater, [[0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00]]) == Self.hello)
    }

    @Test(
        "data that is cut off, wrong, or reaches back past the window is refused",
        arguments: [
            ([0xf2, 0x48, 0xcd], MessageDeflateFault.truncated),
            ([], .truncated),
            ([0x06, 0x00], .corrupt),
            ([0x00, 0x05, 0x00, 0x00, 0x00], .corrupt),
            ([0xf2, 0x00, 0x11, 0x00, 0x00], .corrupt),
        ] as [([UInt8], MessageDeflateFault)])
    func refused(bytes: [UInt8], fault: MessageDeflateFault) {
        var inflater = MessageInflater(windowBits: 15, contextTakeover: true)
        #expect(throws: fault) { _ = try inflate(&inflater, [bytes]) }
    }

    @Test("a window of 8 bits is enforced")
    func smallWindow() throws {
        var generator = SeededGenerator(seed: 4)
        let noise = (0..<400).map { _ in UInt8.random(in: 0...255, using: &generator) }
        var deflater = MessageDeflater(windowBits: 9, contextTakeover: false)
        let far = try compress(&deflater, [noise + noise])
        // zlib's 9 bits never reach back past 256 bytes, which is why they serve for 8.
        var inflater = MessageInflater(windowBits: 8, contextTakeover: false)
        #expect(try inflate(&inflater, far.map { [$0] }) == noise + noise)
        var wide = MessageDeflater(windowBits: 15, contextTakeover: false)
        let wider = try compress(&wide, [noise + noise])
        #expect(throws: MessageDeflateFault.corrupt) { _ = try inflate(&inflater, wider.map { [$0] }) }
    }

    @Test("noise never traps and never passes the limit", arguments: 1...300 as ClosedRange<UInt64>)
    func noise(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var inflater = MessageInflater(windowBits: Int.random(in: 8...15, using: &generator), contextTakeover: true)
        for _ in 0..<20 {
            let noise = (0..<Int.random(in: 0...200, using: &generator)).map { _ in UInt8.random(in: 0...255, using: &generator) }
            var queue = ByteQueue()
            do throws(MessageDeflateFault) {
                try inflater.inflate(noise, isLast: Bool.random(using: &generator), limit: 10_000, into: &queue)
            } catch {
                #expect(error != .internalFailure)
            }
            #expect(queue.count <= 10_000)
        }
    }

    @Test("memory is given back between messages that share no context, and taken again")
    func releaseMemory() throws {
        var deflater = MessageDeflater(windowBits: 12, contextTakeover: false)
        var inflater = MessageInflater(windowBits: 12, contextTakeover: false)
        for _ in 0..<3 {
            #expect(try inflate(&inflater, [try compress(&deflater, [Self.hello])]) == Self.hello)
            deflater.releaseMemory()
            inflater.releaseMemory()
        }
    }
}

extension MessageDeflater {
    mutating func compress(_ bytes: [UInt8], isLast: Bool, into queue: inout ByteQueue) throws(MessageDeflateFault) {
        try unsafe bytes.span.bytes.withUnsafeBytes { (chunk: UnsafeRawBufferPointer) throws(MessageDeflateFault) in
            try unsafe compress(chunk, isLast: isLast, into: &queue)
        }
    }
}

extension MessageInflater {
    mutating func inflate(_ bytes: [UInt8], isLast: Bool, limit: Int, into queue: inout ByteQueue) throws(MessageDeflateFault) {
        try unsafe bytes.span.bytes.withUnsafeBytes { (chunk: UnsafeRawBufferPointer) throws(MessageDeflateFault) in
            try unsafe inflate(chunk, isLast: isLast, limit: limit, into: &queue)
        }
    }
}
