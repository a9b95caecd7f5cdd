import Foundation
import Reactor
import Testing

@testable import NATSTransport

/// A nats-server of a test's own, on a port that the kernel chose, with its store in a folder that goes with it.
private final class NATSServer {
    let port: UInt16
    private let folder: URL
    private var process: Process?

    static var path: String? {
        (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/sbin:/usr/bin").split(separator: ":").map { "\($0)/nats-server" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
            ?? ["/usr/sbin/nats-server", "/usr/bin/nats-server"].first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "nats-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let probe = try Socket.listen(on: .loopback(port: 0), backlog: 1, reusePort: false, calls: .linux)
        port = try Socket.localAddress(of: probe, calls: .linux).port
        SystemCalls.linux.close(probe)
        try start()
    }

    deinit {
        stop()
        try? FileManager.default.removeItem(at: folder)
    }

    func start() throws {
        let process = Process()
        process.executableURL = URL(filePath: try #require(NATSServer.path))
        process.arguments = ["--addr", "127.0.0.1", "--port", "\(port)", "--jetstream", "--store_dir", folder.path(), "--log", folder.path() + "log"]
        process.standardInput = FileHandle.nullDevice
        try process.run()
        self.process = process
    }

    func stop() {
        process?.terminate()
        process?.waitUntilExit()
        process = nil
    }
}

/// What has come from a connection, in its order.
private final class Reader {
    let connection: NATSConnection
    private let wake: EventFD
    private var events: [NATSEvent] = []

    init(_ server: NATSServer, watching buckets: [KeyValueBucket] = []) throws {
        wake = try EventFD()
        connection = NATSConnection(NATSSettings(servers: ["nats://127.0.0.1:\(server.port)"], name: "test"), wake: wake)
        for bucket in buckets { connection.watch(bucket) }
        try connection.start()
    }

    deinit { connection.stop() }

    /// The first event that is looked for; it is taken out, with those before it.
    func next<Found>(_ what: String, _ look: (NATSEvent) -> Found?) throws -> Found {
        let deadline = Date().addingTimeInterval(60)
        while Date() < deadline {
            connection.takeEvents(into: &events)
            for (place, event) in events.enumerated() {
                guard let found = look(event) else { continue }
                events.removeFirst(place + 1)
                return found
            }
            usleep(5_000)
        }
        Issue.record("no \(what) within a minute")
        throw KeyValueFault.timedOut
    }

    func hasMessage(of wanted: String) -> Bool {
        connection.takeEvents(into: &events)
        return events.contains { if case .message(wanted, _) = $0 { true } else { false } }
    }

    func connected() throws {
        _ = try next("connection") { if case .connected = $0 { true } else { nil } } as Bool
    }

    func answer(_ request: UInt64) throws -> Result<KeyValueAnswer, KeyValueFault> {
        try next("answer \(request)") { if case .answered(request, let result) = $0 { result } else { nil } }
    }

    func message() throws -> (String, [UInt8]) {
        try next("message") { if case .message(let subject, let payload) = $0 { (subject, payload) } else { nil } }
    }

    func change() throws -> KeyValueChange {
        try next("change") { if case .keyValue(let change) = $0 { change } else { nil } }
    }
}

@Suite("NATS", .enabled(if: NATSServer.path != nil, "nats-server is not installed: Deploy/install test"), .serialized)
struct NATSTransportTests {
    private static let bucket = KeyValueBucket(name: "test", ttlMilliseconds: 0)

    @Test("what is published on a subject comes to who has subscribed to it, whole and in order")
    func messages() throws {
        let server = try NATSServer()
        let (one, other) = (try Reader(server), try Reader(server))
        try one.connected()
        try other.connected()
        other.connection.subscribe("a.*")
        other.connection.subscribe("ready")
        // A subscription takes its time: asked until it is there.
        for _ in 0..<2_000 where !other.hasMessage(of: "ready") {
            _ = one.connection.publish("ready", [])
            usleep(10_000)
        }
        for count in 0..<500 { #expect(one.connection.publish("a.\(count % 2)", [UInt8](repeating: UInt8(count % 251), count: count)) == .sent) }
        for count in 0..<500 {
            var (subject, payload) = try other.message()
            while subject == "ready" { (subject, payload) = try other.message() }
            #expect(subject == "a.\(count % 2)" && payload == [UInt8](repeating: UInt8(count % 251), count: count))
        }
        #expect(one.connection.publish("a.1", [UInt8](repeating: 0, count: (1 << 20) + 1)) == .tooLarge)
    }

    @Test("nobody who listens is told to who asks")
    func nobody() throws {
        let server = try NATSServer()
        let reader = try Reader(server)
        try reader.connected()
        reader.connection.subscribe("replies.*")
        reader.connection.probe("nowhere", [1], reply: "replies.7")
        let reply: String = try reader.next("word of nobody") { if case .nobody(let reply) = $0 { reply } else { nil } }
        #expect(reply == "replies.7")
    }

    @Test("an entry is made once, changed and deleted only as it was seen")
    func compareAndSet() throws {
        let server = try NATSServer()
        let reader = try Reader(server)
        try reader.connected()
        let connection = reader.connection
        let key = KeyValueKey(encoding: Array("board 9/ä".utf8))
        #expect(key.bytes == Array("board 9/ä".utf8))
        connection.get(Self.bucket, key: key, request: 1)
        #expect(try reader.answer(1) == .failure(.missing))
        connection.create(Self.bucket, key: key, value: [1], request: 2)
        let made = try reader.answer(2).get().revision
        connection.create(Self.bucket, key: key, value: [2], request: 3)
        #expect(try reader.answer(3) == .failure(.exists))
        connection.update(Self.bucket, key: key, value: [3], revision: made + 7, request: 4)
        #expect(try reader.answer(4) == .failure(.conflict))
        connection.update(Self.bucket, key: key, value: [4], revision: made, request: 5)
        let changed = try reader.answer(5).get().revision
        connection.get(Self.bucket, key: key, request: 6)
        #expect(try reader.answer(6) == .success(KeyValueAnswer(revision: changed, value: [4])))
        connection.delete(Self.bucket, key: key, revision: made, request: 7)
        #expect(try reader.answer(7) == .failure(.conflict))
        connection.delete(Self.bucket, key: key, revision: changed, request: 8)
        _ = try reader.answer(8).get()
        connection.get(Self.bucket, key: key, request: 9)
        #expect(try reader.answer(9) == .failure(.missing))
        connection.create(Self.bucket, key: key, value: [5], request: 10)
        #expect(try reader.answer(10).get().revision > changed)
    }

    @Test("a watch tells what is there and what changes, and all of it again when the server comes back; meanwhile nothing is sent")
    func watching() throws {
        let server = try NATSServer()
        let reader = try Reader(server, watching: [Self.bucket])
        try reader.connected()
        let key = KeyValueKey(encoding: [1, 2, 3])
        _ = try reader.next("beginning") { if case .watching = $0 { true } else { nil } } as Bool
        reader.connection.put(Self.bucket, key: key, value: [9], request: 1)
        let change = try reader.change()
        #expect(change.key == key && change.value == [9] && change.bucket == Self.bucket.name)
        server.stop()
        _ = try reader.next("end") { if case .disconnected = $0 { true } else { nil } } as Bool
        #expect(reader.connection.publish("a", [1]) == .notConnected)
        reader.connection.get(Self.bucket, key: key, request: 2)
        #expect(try reader.answer(2) == .failure(.notConnected))
        try server.start()
        try reader.connected()
        #expect(try reader.change().value == [9])
        _ = try reader.next("beginning") { if case .watching = $0 { true } else { nil } } as Bool
        reader.connection.delete(Self.bucket, key: key, revision: nil, request: 3)
        #expect(try reader.change().value == nil)
    }

    @Test("a server that is not there is waited for; what it is asked meanwhile is answered, and the end comes all the same")
    func absent() throws {
        let server = try NATSServer()
        server.stop()
        let reader = try Reader(server)
        _ = try reader.next("fault") { if case .disconnected = $0 { true } else { nil } } as Bool
        reader.connection.create(Self.bucket, key: KeyValueKey(encoding: [1]), value: [1], request: 1)
        #expect(try reader.answer(1) == .failure(.notConnected))
        try server.start()
        try reader.connected()
    }

    @Test("keys that are somebody else's are none of ours", arguments: ["abc", "zz", "0g"])
    func strangeKeys(text: String) {
        #expect(KeyValueKey(text: text).bytes == nil)
    }
}
