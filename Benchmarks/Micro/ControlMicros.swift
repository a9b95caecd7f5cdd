import RelayRooms
import Signalling

/// Control messages and their JSON.
enum ControlMicros {
    static func all() -> [Micro] {
        let join = ClientRequest.join(.init(room: "rehearsal", displayName: "Ada")).encoded(id: 7)
        let subscribe = ClientRequest.subscribe(.init(streams: [4, 8, 15, 16, 23, 42], all: nil, delivery: .live)).encoded(id: 8)
        return [decode("join", join), decode("subscribe", subscribe), encode()]
    }

    private static func decode(_ name: String, _ text: [UInt8]) -> Micro {
        let block = Block(text)
        return Micro(
            name: "decode \(name)", unit: "message", floorName: "each byte read once",
            work: { units in for _ in 0..<units { use(try? IncomingRequest(decoding: text)) } },
            floor: { units in for _ in 0..<units { use(block.sum()) } })
    }

    private static func encode() -> Micro {
        var answer = RelayMessage.Answer()
        answer.subscribed = [4, 8, 15, 16, 23, 42]
        let message = RelayMessage.ok(id: 8, answer)
        let text = Block(message.encoded)
        return Micro(
            name: "encode ok", unit: "message", floorName: "each byte read once",
            work: { units in for _ in 0..<units { use(message.encoded) } },
            floor: { units in for _ in 0..<units { use(text.sum()) } })
    }
}
