import ClusterProtocol
import FoundationEssentials
import RelayRooms

/// What goes to another node: to one of its loops, to all of them, or to its gateway.
struct NodeEnvelope: Codable {
    let loop: Int
    let message: NodeMessage
}

/// Messages between nodes as JSON, under this node's number: places in them are written and read by it.
final class NodeCoder {
    private let loops: Int
    private let encoder = JSONEncoder()
    private let decoder = JSONDecoder()

    /// - Parameter loops: threads of this node that somebody may be at.
    init(loops: Int) { self.loops = loops }

    func number(_ node: Int) {
        guard let key = NodeReader.key else { return }
        let reader = NodeReader(node: node, loops: loops)
        encoder.userInfo[key] = reader
        decoder.userInfo[key] = reader
    }

    func encode(_ value: some Encodable) -> [UInt8]? { (try? encoder.encode(value)).map { Array($0) } }

    /// `nil`: it is no message, or says what makes no sense.
    func decode(_ bytes: [UInt8]) -> NodeEnvelope? {
        guard let envelope = decode(NodeEnvelope.self, bytes), envelope.message.isSane else { return nil }
        return envelope
    }

    func decode<Value: Decodable>(_ type: Value.Type, _ bytes: [UInt8]) -> Value? { try? decoder.decode(type, from: Data(bytes)) }
}
