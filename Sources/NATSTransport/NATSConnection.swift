internal import CNATS
package import Reactor
internal import Synchronization

/// A process' one connection to NATS, for one thread that has an event loop of its own.
///
/// libnats has threads of its own and its calls may block; here they are made by threads of this connection's, fed by bounded queues: one that connects and
/// publishes, two that ask JetStream. What comes is kept until it is taken, and the reader is woken. See record 47.
package final class NATSConnection: Sendable {
    package static let outgoingBytesMax = 32 << 20
    package static let incomingBytesMax = 64 << 20

    private let core: NATSCore
    private let threads = Locked<[LoopThread]>([])

    /// - Parameter wake: signalled when there are events to be taken.
    package init(_ settings: NATSSettings, wake: EventFD) {
        core = NATSCore(settings, EventQueue(wake: wake, bytesMax: NATSConnection.incomingBytesMax))
    }

    /// Connects, and again whenever the connection is lost, until ``stop()``. Answers at once.
    package func start() throws(SystemFault) {
        let core = core
        let outgoing = try LoopThread(name: "segue-nats") { core.runOutgoing() }
        let keyValue = try LoopThread(name: "segue-nats-kv") { core.runRequests(core.requests) }
        let bulk = try LoopThread(name: "segue-nats-kv2") { core.runRequests(core.bulkRequests) }
        let watch = try LoopThread(name: "segue-nats-watch") { core.runWatches() }
        threads.withLock { $0 = [outgoing, keyValue, bulk, watch] }
    }

    /// Ends the connection and its threads; what was asked before is still done, as far as that is quick.
    package func stop() {
        core.stop()
        let threads = threads.withLock { threads in
            defer { threads = [] }
            return threads
        }
        for thread in threads { thread.join() }
        core.close()
    }

    package func takeEvents(into events: inout [NATSEvent]) { core.events.take(into: &events) }

    /// Never blocks.
    package func publish(_ subject: String, _ bytes: [UInt8]) -> PublishResult {
        guard core.isConnected.load(ordering: .acquiring) else { return .notConnected }
        guard bytes.count <= core.payloadBytesMax.load(ordering: .relaxed) else { return .tooLarge }
        return core.outgoing.post(.publish(subject, bytes), byteCount: bytes.count + subject.utf8.count) ? .sent : .full
    }

    /// The same, asking to be told when nobody listens there (`nobody`). The reply subject must be one that is subscribed to.
    package func probe(_ subject: String, _ bytes: [UInt8], reply: String) {
        guard core.isConnected.load(ordering: .acquiring) else { return }
        _ = core.outgoing.post(.probe(subject, bytes, reply: reply), byteCount: bytes.count + subject.utf8.count)
    }

    /// Messages of a subject come as events from now on, and after each reconnection.
    package func subscribe(_ subject: String) { _ = core.outgoing.post(.subscribe(subject), byteCount: 0) }

    /// All keys of a bucket come as events, as they are and as they change. Before ``start()``.
    ///
    /// - Parameter silenceMilliseconds: somebody writes there more often than that: a watch that brings nothing for so long is begun anew.
    package func watch(_ bucket: KeyValueBucket, silenceMilliseconds: UInt64 = .max) {
        core.watched.withLock { $0.append(NATSCore.Watched(bucket: bucket, silenceMilliseconds: silenceMilliseconds)) }
    }

    // MARK: Key and value, each answered by one event

    package func create(_ bucket: KeyValueBucket, key: KeyValueKey, value: [UInt8], request: UInt64) { ask(.create(value), bucket, key, request) }

    package func update(_ bucket: KeyValueBucket, key: KeyValueKey, value: [UInt8], revision: UInt64, request: UInt64) {
        ask(.update(value, revision), bucket, key, request)
    }

    package func put(_ bucket: KeyValueBucket, key: KeyValueKey, value: [UInt8], request: UInt64) { ask(.put(value), bucket, key, request) }

    package func get(_ bucket: KeyValueBucket, key: KeyValueKey, request: UInt64) { ask(.get, bucket, key, request) }

    /// - Parameter revision: only if it is that still; `nil`: in any case.
    package func delete(_ bucket: KeyValueBucket, key: KeyValueKey, revision: UInt64?, request: UInt64) {
        ask(.delete(revision), bucket, key, request)
    }

    private func ask(_ act: NATSCore.Request.Act, _ bucket: KeyValueBucket, _ key: KeyValueKey, _ number: UInt64) {
        let queue = bucket.isBulk ? core.bulkRequests : core.requests
        let request = NATSCore.Request(act: act, bucket: bucket, key: key, number: number)
        guard queue.post(request, byteCount: act.byteCount + NATSCore.Request.byteCount) else {
            core.events.post(.answered(request: number, .failure(.full)))
            return
        }
    }
}
