internal import CNATS
internal import Glibc
internal import Reactor
internal import RelayBase
internal import Synchronization

/// Asking JetStream. Its calls wait for their answers, each on a thread that has nothing else to do.
extension NATSCore {
    /// One thread's view of the buckets, made anew where the server has lost them.
    @safe
    private struct Stores {
        var context: OpaquePointer?
        var stores: [KeyValueBucket: OpaquePointer] = unsafe [:]

        mutating func forget() {
            unsafe stores.values.forEach { unsafe kvStore_Destroy($0) }
            unsafe stores = [:]
            if let context = unsafe context { unsafe jsCtx_Destroy(context) }
            unsafe context = nil
        }
    }

    func runRequests(_ queue: WorkQueue<Request>) {
        var stores = Stores()
        defer { stores.forget() }
        var generation = 0
        while true {
            let items = queue.takeAll()
            guard !items.isEmpty else { return }
            for item in items {
                let current = connections.load(ordering: .acquiring)
                if current != generation { stores.forget() }
                generation = current
                let result = perform(item, &stores)
                if item.number != 0 { events.post(.answered(request: item.number, result)) }
            }
        }
    }

    private func store(_ bucket: KeyValueBucket, _ stores: inout Stores) throws(KeyValueFault) -> OpaquePointer {
        guard isConnected.load(ordering: .acquiring), let connection = unsafe connection else { throw .notConnected }
        if let known = unsafe stores.stores[bucket] { return unsafe known }
        if unsafe stores.context == nil {
            try check(unsafe segue_nats_jetstream(&stores.context, connection, settings.answerMillisecondsMax))
        }
        var store: OpaquePointer?
        try check(unsafe segue_nats_bucket(&store, stores.context, bucket.name, bucket.ttlMilliseconds, 1))
        guard let store = unsafe store else { throw .failed("no bucket") }
        unsafe stores.stores[bucket] = store
        return unsafe store
    }

    private func perform(_ request: Request, _ stores: inout Stores) -> Result<KeyValueAnswer, KeyValueFault> {
        do throws(KeyValueFault) {
            let store = try unsafe store(request.bucket, &stores)
            var revision: UInt64 = 0
            let key = request.key.text
            switch request.act {
            case .get: return .success(try unsafe get(store, key))
            case .create(let value):
                try check(
                    unsafe value.withUnsafeBytes { unsafe kvStore_Create(&revision, store, key, $0.baseAddress, Int32($0.count)) }, else: .exists)
            case .put(let value):
                try check(unsafe value.withUnsafeBytes { unsafe kvStore_Put(&revision, store, key, $0.baseAddress, Int32($0.count)) })
            case .update(let value, let last):
                try check(
                    unsafe value.withUnsafeBytes { unsafe kvStore_Update(&revision, store, key, $0.baseAddress, Int32($0.count), last) },
                    else: .conflict)
            case .delete(let last):
                // The library deletes in any case: what has to be of a revision is emptied by that first, and empty is as good as gone.
                if let last { try check(unsafe kvStore_Update(&revision, store, key, "", 0, last), else: .conflict) }
                try check(unsafe kvStore_Delete(store, key))
            }
            return .success(KeyValueAnswer(revision: revision, value: nil))
        } catch {
            if case .failed = error { stores.forget() }
            return .failure(error)
        }
    }

    private func get(_ store: OpaquePointer, _ key: String) throws(KeyValueFault) -> KeyValueAnswer {
        var entry: OpaquePointer?
        try check(unsafe kvStore_Get(&entry, store, key))
        defer { unsafe kvEntry_Destroy(entry) }
        let value = unsafe NATSCore.value(of: entry)
        guard !value.isEmpty else { throw .missing }
        return KeyValueAnswer(revision: unsafe kvEntry_Revision(entry), value: value)
    }

    private static func value(of entry: OpaquePointer?) -> [UInt8] {
        unsafe Array(UnsafeRawBufferPointer(start: kvEntry_Value(entry), count: Int(kvEntry_ValueLen(entry))))
    }

    /// - Parameter refusal: what it means when the server says no.
    private func check(_ status: natsStatus, else refusal: KeyValueFault? = nil) throws(KeyValueFault) {
        switch status {
        case NATS_OK: return
        case NATS_NOT_FOUND: throw .missing
        case NATS_TIMEOUT: throw .timedOut
        case NATS_CONNECTION_CLOSED, NATS_CONNECTION_DISCONNECTED, NATS_NO_SERVER, NATS_INSUFFICIENT_BUFFER, NATS_NO_RESPONDERS:
            throw .notConnected
        case NATS_ERR where refusal != nil: throw refusal ?? .missing
        default: throw .failed(NATSCore.text(of: status))
        }
    }

    // MARK: Watches

    private static let watchMilliseconds: Int64 = 250

    /// Watches the buckets, one after the other in short turns, and each anew after a reconnection.
    func runWatches() {
        let buckets = watched.withLock { $0 }
        var heard = Array(repeating: MonotonicClock.now(), count: buckets.count)
        var watchers: [OpaquePointer?] = unsafe Array(repeating: nil, count: buckets.count)
        var stores = Stores()
        defer {
            unsafe watchers.forEach { unsafe kvWatcher_Destroy($0) }
            stores.forget()
        }
        var generation = 0
        while !isStopping.load(ordering: .acquiring) {
            let current = connections.load(ordering: .acquiring)
            if current != generation {
                for place in unsafe watchers.indices {
                    unsafe kvWatcher_Destroy(watchers[place])
                    unsafe watchers[place] = nil
                }
                stores.forget()
                generation = current
            }
            guard !buckets.isEmpty, isConnected.load(ordering: .acquiring) else {
                usleep(UInt32(NATSCore.watchMilliseconds) * 1_000 / 5)
                continue
            }
            for (place, watched) in buckets.enumerated() {
                let bucket = watched.bucket
                if unsafe watchers[place] == nil {
                    guard let store = try? unsafe store(bucket, &stores) else {
                        stores.forget()
                        usleep(UInt32(NATSCore.watchMilliseconds) * 1_000)
                        continue
                    }
                    unsafe kvStore_WatchAll(&watchers[place], store, nil)
                    heard[place] = MonotonicClock.now()
                }
                let outcome = unsafe follow(watchers[place], bucket)
                let now = MonotonicClock.now()
                if outcome == .told { heard[place] = now }
                // A watch whose server-side half is gone brings nothing, and no fault either.
                if outcome == .ended || now.milliseconds(since: heard[place]) >= watched.silenceMilliseconds {
                    unsafe kvWatcher_Destroy(watchers[place])
                    unsafe watchers[place] = nil
                }
            }
        }
    }

    private enum WatchOutcome {
        case told
        case nothing
        case ended
    }

    /// Tells what has changed, for a turn.
    private func follow(_ watcher: OpaquePointer?, _ bucket: KeyValueBucket) -> WatchOutcome {
        guard let watcher = unsafe watcher else { return .nothing }
        var entry: OpaquePointer?
        let status = unsafe kvWatcher_Next(&entry, watcher, NATSCore.watchMilliseconds)
        if status == NATS_TIMEOUT { return .nothing }
        guard status == NATS_OK else { return .ended }
        guard let entry = unsafe entry else {
            events.post(.watching(bucket: bucket.name))
            return .told
        }
        defer { unsafe kvEntry_Destroy(entry) }
        let value = unsafe kvEntry_Operation(entry) == kvOp_Put ? unsafe NATSCore.value(of: entry) : []
        guard let key = unsafe kvEntry_Key(entry) else { return .told }
        events.post(
            .keyValue(
                KeyValueChange(
                    bucket: bucket.name, key: unsafe KeyValueKey(text: String(cString: key)), revision: unsafe kvEntry_Revision(entry),
                    value: value.isEmpty ? nil : value)))
        return .told
    }
}
