package import Reactor
package struct NATSSettings: Sendable {
    package var servers: [String]
    package var trustedCertificates: String?
    package var certificate: String?
    package var privateKey: String?
    package var name: String
    package init(servers: [String], name: String) { self.servers = servers; self.name = name }
}
package struct KeyValueBucket: Sendable, Hashable {
    package let name: String
    package let ttlMilliseconds: UInt64
    package init(name: String, ttlMilliseconds: UInt64) { self.name = name; self.ttlMilliseconds = ttlMilliseconds }
}
package struct KeyValueKey: Sendable, Hashable {
    package let bytes: [UInt8]?
    package init(encoding: [UInt8]) { bytes = encoding }
}
package enum KeyValueFault: Error, Sendable { case exists, conflict, missing, timedOut, notConnected, failed(String) }
package struct KeyValueAnswer: Sendable { package let revision: UInt64; package let value: [UInt8]? }
package struct KeyValueChange: Sendable { package let bucket: String; package let key: KeyValueKey; package let revision: UInt64; package let value: [UInt8]? }
package enum NATSEvent: Sendable {
    case connected(server: String)
    case disconnected(reason: String)
    case message(subject: String, payload: [UInt8])
    case overflowed(count: Int)
    case keyValue(KeyValueChange)
    case watching(bucket: String)
    case answered(request: UInt64, Result<KeyValueAnswer, KeyValueFault>)
}
package enum PublishResult: Sendable { case sent, notConnected, full, tooLarge }
package struct PreparedSubject: Sendable { package let text: String; package init(_ text: String) { self.text = text } }
package final class NATSConnection: Sendable {
    package init(_ settings: NATSSettings, wake: EventFD) {}
    package func start() {}
    package func stop() {}
    package func takeEvents(into: inout [NATSEvent]) {}
    package func publish(_ subject: PreparedSubject, _ bytes: [UInt8]) -> PublishResult { .notConnected }
    package func subscribe(_ subject: String) {}
    package func flushSoon() {}
    package func watch(_ bucket: KeyValueBucket) {}
    package func create(_ bucket: KeyValueBucket, key: KeyValueKey, value: [UInt8], request: UInt64) {}
    package func update(_ bucket: KeyValueBucket, key: KeyValueKey, value: [UInt8], revision: UInt64, request: UInt64) {}
    package func put(_ bucket: KeyValueBucket, key: KeyValueKey, value: [UInt8], request: UInt64) {}
    package func get(_ bucket: KeyValueBucket, key: KeyValueKey, request: UInt64) {}
    package func delete(_ bucket: KeyValueBucket, key: KeyValueKey, revision: UInt64?, request: UInt64) {}
}
