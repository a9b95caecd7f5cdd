import NATSTransport
import RelayRooms

/// What the cluster calls things in NATS: a subject for the control of each node and one for its media, and buckets for nodes and rooms.
final class ClusterSubjects {
    let nodes: KeyValueBucket
    let rooms: KeyValueBucket
    let sessions: KeyValueBucket
    private let prefix: String
    private var controls: [Int: String] = [:]
    private var medias: [Int: String] = [:]

    init(cluster: String) {
        prefix = "segue.\(cluster)"
        nodes = KeyValueBucket(name: "segue-\(cluster)-nodes", ttlMilliseconds: 600_000)
        rooms = KeyValueBucket(name: "segue-\(cluster)-rooms", ttlMilliseconds: 0)
        sessions = KeyValueBucket(name: "segue-\(cluster)-sessions", ttlMilliseconds: ClusterSubjects.sessionMilliseconds, isBulk: true)
    }

    /// Tickets of nodes that were killed, and whose clients never came back, are gone after that.
    private static let sessionMilliseconds: Int64 = 86_400_000

    func prepare(own: Int) {
        _ = control(of: own)
        _ = media(of: own)
    }

    func control(of node: Int) -> String {
        if let known = controls[node] { return known }
        let subject = "\(prefix).node.\(node)"
        controls[node] = subject
        return subject
    }

    func media(of node: Int) -> String {
        if let known = medias[node] { return known }
        let subject = "\(prefix).media.\(node)"
        medias[node] = subject
        return subject
    }

    /// Where the server says that nobody listens to a node.
    func probe(of node: Int, by own: Int) -> String { "\(prefix).probe.\(own).\(node)" }
    func probes(by own: Int) -> String { "\(prefix).probe.\(own).*" }
    func node(ofProbe subject: String) -> Int? { subject.split(separator: ".").last.flatMap { Int($0) } }

    func key(of node: Int) -> KeyValueKey { KeyValueKey(encoding: Array("\(node)".utf8)) }

    func key(of room: RoomName) -> KeyValueKey { KeyValueKey(encoding: Array(room.text.utf8)) }

    func key(ofTicket digest: String) -> KeyValueKey { KeyValueKey(encoding: Array(digest.utf8)) }

    func number(ofKey key: KeyValueKey) -> Int? { key.bytes.flatMap { Int(String(decoding: $0, as: UTF8.self)) } }
}
