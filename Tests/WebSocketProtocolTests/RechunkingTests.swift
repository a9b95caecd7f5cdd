import RelayBase
import Testing
import WebSocketProtocol

@Suite struct RechunkingTests {
    private struct Conversation {
        var bytes: [UInt8] = []
        var expected: [Observed] = []
    }

    private func payload(_ kind: WebSocketMessageKind, _ generator: inout SeededGenerator) -> [UInt8] {
        let count = [0, 1, 7, 125, 126, 127, 300, 4_000].randomElement(using: &generator) ?? 0
        switch kind {
        case .binary:
            return (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
        case .text:
            let characters: [Character] = ["a", "ß", "κ", "あ", "🎤", " "]
            return Array(String((0..<count / 2).map { _ in characters.randomElement(using: &generator) ?? "a" }).utf8)
        }
    }

    private func appendControl(_ conversation: inout Conversation, _ key: WebSocketMaskingKey?, _ generator: inout SeededGenerator) {
        let payload = (0..<Int.random(in: 0...125, using: &generator)).map { _ in UInt8.random(in: 0...255, using: &generator) }
        let isPing = Bool.random(using: &generator)
        append(isPing ? .ping : .pong, payload[...], isFinal: true, key, &conversation)
        conversation.expected.append(isPing ? .ping(payload) : .pong(payload))
    }

    private func append(
        _ opcode: WebSocketOpcode, _ payload: ArraySlice<UInt8>, isFinal: Bool, _ key: WebSocketMaskingKey?, _ conversation: inout Conversation
    ) {
        var queue = ByteQueue()
        unsafe payload.withUnsafeBytes { unsafe WebSocketFrameEncoder.append(opcode, $0, isFinal: isFinal, maskingKey: key, to: &queue) }
        conversation.bytes += unsafe Array(queue.readable)
    }

    /// Random messages in random fragments with random control frames between, encoded by the encoder.
    private func conversation(_ role: WebSocketRole, _ generator: inout SeededGenerator) -> Conversation {
        var conversation = Conversation()
        for _ in 0..<Int.random(in: 1...12, using: &generator) {
            let kind: WebSocketMessageKind = Bool.random(using: &generator) ? .text : .binary
            let payload = payload(kind, &generator)
            var cuts = [0, payload.count]
            for _ in 0..<Int.random(in: 0...5, using: &generator) { cuts.append(Int.random(in: 0...payload.count, using: &generator)) }
            cuts.sort()
            for index in 1..<cuts.count {
                let key = role.receivesMaskedFrames ? WebSocketMaskingKey(.random(in: 0 ... .max, using: &generator)) : nil
                if Bool.random(using: &generator) { appendControl(&conversation, key, &generator) }
                let opcode: WebSocketOpcode = index == 1 ? kind.opcode : .continuation
                append(opcode, payload[cuts[index - 1]..<cuts[index]], isFinal: index == cuts.count - 1, key, &conversation)
            }
            conversation.expected.append(.message(kind, compressed: false, payload))
        }
        return conversation
    }

    @Test("decode∘encode is the identity, however the bytes are cut", arguments: 0..<60)
    func anyChunks(seed: Int) {
        var generator = SeededGenerator(seed: UInt64(seed))
        let role: WebSocketRole = seed % 2 == 0 ? .server : .client
        let configuration = WebSocketInboundConfiguration(role: role, limits: Limits())
        let conversation = conversation(role, &generator)
        #expect(receive(conversation.bytes, configuration) == conversation.expected)
        for sizeMax in [1, 3, 17, 200, 5_000] {
            let observed = receive(conversation.bytes, configuration) { Int.random(in: 0...sizeMax, using: &generator) }
            #expect(observed == conversation.expected)
        }
    }

    @Test("Damaged bytes give the same events and the same fault, however they are cut", arguments: 0..<120)
    func damaged(seed: Int) {
        var generator = SeededGenerator(seed: UInt64(seed) + 1_000)
        let role: WebSocketRole = seed % 2 == 0 ? .server : .client
        let configuration = WebSocketInboundConfiguration(role: role, limits: Limits()).with { $0.allowsCompression = seed % 3 == 0 }
        var bytes = conversation(role, &generator).bytes
        for _ in 0..<Int.random(in: 1...4, using: &generator) {
            bytes[Int.random(in: 0..<bytes.count, using: &generator)] ^= 1 << UInt8.random(in: 0...7, using: &generator)
        }
        bytes.removeLast(Int.random(in: 0...min(20, bytes.count - 1), using: &generator))
        let whole = receive(bytes, configuration)
        for sizeMax in [1, 5, 300] {
            #expect(receive(bytes, configuration) { Int.random(in: 0...sizeMax, using: &generator) } == whole)
        }
    }
}
