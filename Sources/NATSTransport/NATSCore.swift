internal import CNATS
internal import Glibc
internal import Reactor
internal import Synchronization

/// What a connection's threads share. libnats' own threads hold it for good: it is never freed, as long as the process lives.
@safe
// The connection's pointer is written once, by the thread that connects, before `isConnected`; all else is constant or locked.
final class NATSCore: @unchecked Sendable {  // Safe: see above.
    enum Outgoing: Sendable {
        case publish(String, [UInt8])
        case probe(String, [UInt8], reply: String)
        case subscribe(String)
    }

    struct Watched: Sendable {
        let bucket: KeyValueBucket
        let silenceMilliseconds: UInt64
    }

    struct Request: Sendable {
        enum Act: Sendable {
            case create([UInt8])
            case update([UInt8], UInt64)
            case put([UInt8])
            case get
            case delete(UInt64?)

            var byteCount: Int {
                switch self {
                case .create(let value), .update(let value, _), .put(let value): value.count
                case .get, .delete: 0
                }
            }
        }

        static let byteCount = 128

        let act: Act
        let bucket: KeyValueBucket
        let key: KeyValueKey
        let number: UInt64
    }

    let settings: NATSSettings
    let events: EventQueue
    let outgoing = WorkQueue<Outgoing>(bytesMax: NATSConnection.outgoingBytesMax)
    let requests = WorkQueue<Request>(bytesMax: NATSConnection.outgoingBytesMax)
    let bulkRequests = WorkQueue<Request>(bytesMax: NATSConnection.outgoingBytesMax)
    let watched = Locked<[Watched]>([])
    let isConnected = Atomic<Bool>(false)
    let isStopping = Atomic<Bool>(false)
    let payloadBytesMax = Atomic<Int>(1 << 20)
    /// Counts connections: watches begin anew with each.
    let connections = Atomic<Int>(0)
    private(set) var connection: OpaquePointer?

    init(_ settings: NATSSettings, _ events: EventQueue) {
        self.settings = settings
        self.events = events
        _ = unsafe Unmanaged.passRetained(self)
    }

    func stop() {
        isStopping.store(true, ordering: .releasing)
        outgoing.close()
        requests.close()
        bulkRequests.close()
    }

    func close() {
        guard let connection = unsafe connection else { return }
        unsafe natsConnection_Close(connection)
    }

    // MARK: The thread that connects and publishes

    func runOutgoing() {
        guard connect() else { return }
        while true {
            let items = outgoing.takeAll()
            guard !items.isEmpty else { break }
            for item in items {
                switch item {
                case .publish(let subject, let bytes):
                    guard isConnected.load(ordering: .acquiring) else { continue }
                    _ = unsafe bytes.withUnsafeBytes { unsafe natsConnection_Publish(connection, subject, $0.baseAddress, Int32($0.count)) }
                case .probe(let subject, let bytes, let reply):
                    guard isConnected.load(ordering: .acquiring) else { continue }
                    _ = unsafe bytes.withUnsafeBytes {
                        unsafe natsConnection_PublishRequest(connection, subject, reply, $0.baseAddress, Int32($0.count))
                    }
                case .subscribe(let subject): subscribe(subject)
                }
            }
        }
        _ = unsafe natsConnection_FlushTimeout(connection, NATSCore.lastFlushMilliseconds)
    }

    private static let lastFlushMilliseconds: Int64 = 200
    private static let pendingMessagesMax: Int32 = 1 << 20

    private func subscribe(_ subject: String) {
        var subscription: OpaquePointer?
        guard unsafe natsConnection_Subscribe(&subscription, connection, subject, received, Unmanaged.passUnretained(self).toOpaque()) == NATS_OK
        else { return }
        _ = unsafe natsSubscription_SetPendingLimits(subscription, NATSCore.pendingMessagesMax, Int32(NATSConnection.incomingBytesMax))
    }

    /// Tries until it succeeds or the end comes.
    private func connect() -> Bool {
        var reported = ""
        while !isStopping.load(ordering: .acquiring) {
            guard let options = unsafe makeOptions() else { return false }
            defer { unsafe natsOptions_Destroy(options) }
            var made: OpaquePointer?
            let status = unsafe natsConnection_Connect(&made, options)
            if status == NATS_OK, let made = unsafe made {
                unsafe connection = made
                unsafe becameConnected(made)
                return true
            }
            let reason = NATSCore.text(of: status)
            if reason != reported { events.post(.disconnected(reason: reason)) }
            reported = reason
            usleep(UInt32(clamping: settings.reconnectMilliseconds * 1_000))
        }
        return false
    }

    func becameConnected(_ connection: OpaquePointer) {
        payloadBytesMax.store(Int(clamping: unsafe natsConnection_GetMaxPayload(connection)), ordering: .relaxed)
        isConnected.store(true, ordering: .releasing)
        connections.add(1, ordering: .acquiringAndReleasing)
        var server = [CChar](repeating: 0, count: 256)
        _ = unsafe natsConnection_GetConnectedUrl(connection, &server, server.count)
        events.post(.connected(server: String(decoding: server.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)))
    }

    func lostConnection(_ reason: String) {
        isConnected.store(false, ordering: .releasing)
        events.post(.disconnected(reason: reason))
    }

    private func makeOptions() -> OpaquePointer? {
        var made: OpaquePointer?
        guard unsafe natsOptions_Create(&made) == NATS_OK, let options = unsafe made else { return nil }
        let own = unsafe Unmanaged.passUnretained(self).toOpaque()
        var failed = false
        func check(_ status: natsStatus) { if status != NATS_OK { failed = true } }
        unsafe settings.servers.withCStrings { servers in
            unsafe check(natsOptions_SetServers(options, servers.baseAddress, Int32(servers.count)))
        }
        unsafe check(natsOptions_SetName(options, settings.name))
        unsafe check(natsOptions_SetMaxReconnect(options, -1))
        unsafe check(natsOptions_SetReconnectWait(options, settings.reconnectMilliseconds))
        unsafe check(natsOptions_SetReconnectJitter(options, settings.reconnectMilliseconds / 2, settings.reconnectMilliseconds / 2))
        // What could not be sent is not sent late: it would be old.
        unsafe check(natsOptions_SetReconnectBufSize(options, 0))
        unsafe check(natsOptions_SetPingInterval(options, settings.pingMilliseconds))
        unsafe check(natsOptions_SetMaxPingsOut(options, 2))
        unsafe check(natsOptions_SetTimeout(options, settings.answerMillisecondsMax))
        unsafe check(natsOptions_SetSendAsap(options, true))
        unsafe check(natsOptions_SetFailRequestsOnDisconnect(options, true))
        unsafe check(natsOptions_SetDisconnectedCB(options, disconnected, own))
        unsafe check(natsOptions_SetReconnectedCB(options, reconnected, own))
        unsafe check(natsOptions_SetErrorHandler(options, erred, own))
        if let authorities = settings.trustedCertificates {
            unsafe check(natsOptions_SetSecure(options, true))
            unsafe check(natsOptions_LoadCATrustedCertificates(options, authorities))
            if let certificate = settings.certificate, let key = settings.privateKey {
                unsafe check(natsOptions_LoadCertificatesChain(options, certificate, key))
            }
        }
        guard !failed else {
            events.post(.disconnected(reason: "the configuration of NATS is not usable: \(NATSCore.text(of: NATS_ERR))"))
            unsafe natsOptions_Destroy(options)
            return nil
        }
        return unsafe options
    }

    static func text(of status: natsStatus) -> String {
        var last = NATS_OK
        if let text = unsafe nats_GetLastError(&last), unsafe strlen(text) > 0 { return unsafe String(cString: text) }
        guard let text = unsafe natsStatus_GetText(status) else { return "\(status.rawValue)" }
        return unsafe String(cString: text)
    }
}

extension [String] {
    fileprivate func withCStrings(_ body: (UnsafeMutableBufferPointer<UnsafePointer<CChar>?>) -> Void) {
        var pointers: [UnsafePointer<CChar>?] = unsafe map { unsafe UnsafePointer(strdup($0)) }
        unsafe pointers.withUnsafeMutableBufferPointer { unsafe body($0) }
        unsafe pointers.forEach { unsafe free(UnsafeMutablePointer(mutating: $0)) }
    }
}

// MARK: From libnats' threads: free functions, as C wants them

private func received(_: OpaquePointer?, _: OpaquePointer?, _ message: OpaquePointer?, _ closure: UnsafeMutableRawPointer?) {
    defer { unsafe natsMsg_Destroy(message) }
    guard let closure = unsafe closure, let subject = unsafe natsMsg_GetSubject(message) else { return }
    let core = unsafe Unmanaged<NATSCore>.fromOpaque(closure).takeUnretainedValue()
    guard unsafe !natsMsg_IsNoResponders(message) else {
        core.events.post(.nobody(reply: unsafe String(cString: subject)))
        return
    }
    let count = unsafe Int(natsMsg_GetDataLength(message))
    let bytes = unsafe UnsafeRawBufferPointer(start: natsMsg_GetData(message), count: count)
    unsafe core.events.post(.message(subject: String(cString: subject), payload: Array(bytes)), droppableBytes: count + 1)
}

private func disconnected(_: OpaquePointer?, _ closure: UnsafeMutableRawPointer?) {
    guard let closure = unsafe closure else { return }
    unsafe Unmanaged<NATSCore>.fromOpaque(closure).takeUnretainedValue().lostConnection("the connection was lost")
}

private func reconnected(_ connection: OpaquePointer?, _ closure: UnsafeMutableRawPointer?) {
    guard let closure = unsafe closure, let connection = unsafe connection else { return }
    unsafe Unmanaged<NATSCore>.fromOpaque(closure).takeUnretainedValue().becameConnected(connection)
}

/// Slow consumers and the like: what is lost by them shows in the counts of whoever reads.
private func erred(_: OpaquePointer?, _: OpaquePointer?, _ status: natsStatus, _ closure: UnsafeMutableRawPointer?) {
    guard let closure = unsafe closure, status == NATS_SLOW_CONSUMER else { return }
    unsafe Unmanaged<NATSCore>.fromOpaque(closure).takeUnretainedValue().events.post(.overflowed(count: 1))
}
