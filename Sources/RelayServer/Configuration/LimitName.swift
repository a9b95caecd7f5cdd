import RelayBase

/// A limit as the configuration names it: the property's own name.
struct LimitName: Sendable {
    let name: String
    let range: ClosedRange<Int>
    let set: @Sendable (inout Limits, Int) -> Void

    private init(_ name: String, _ range: ClosedRange<Int>, _ set: @escaping @Sendable (inout Limits, Int) -> Void) {
        self.name = name
        self.range = range
        self.set = set
    }

    private static let bytes = 1...(1 << 30)
    private static let count = 1...10_000_000
    private static let time = 1...86_400_000
    static let flushHoldMicroseconds = 0...20_000

    static let all: [LimitName] = messages + http + connections + sound + rooms + realTime

    private static let messages = [
        LimitName("controlMessageBytesMax", 1_024...(1 << 24)) { $0.controlMessageBytesMax = $1 },
        LimitName("audioFrameBytesMax", 64...(1 << 20)) { $0.audioFrameBytesMax = $1 },
        LimitName("videoFrameBytesMax", 1_024...(1 << 26)) { $0.videoFrameBytesMax = $1 },
        LimitName("dataFrameBytesMax", 64...(1 << 24)) { $0.dataFrameBytesMax = $1 },
        LimitName("incompleteMessageMillisecondsMax", time) { $0.incompleteMessageMillisecondsMax = UInt64($1) },
        LimitName("messageFragmentsMax", count) { $0.messageFragmentsMax = $1 },
        LimitName("fragmentBytesMin", 0...65_536) { $0.fragmentBytesMin = $1 },
        LimitName("smallFragmentsFree", 0...65_536) { $0.smallFragmentsFree = $1 },
    ]

    private static let http = [
        LimitName("requestHeadBytesMax", 1_024...(1 << 20)) { $0.requestHeadBytesMax = $1 },
        LimitName("requestFieldsMax", 8...10_000) { $0.requestFieldsMax = $1 },
        LimitName("requestHeadMillisecondsMax", time) { $0.requestHeadMillisecondsMax = UInt64($1) },
        LimitName("http2StreamsMax", 1...10_000) { $0.http2StreamsMax = $1 },
        LimitName("webFilesMax", 1...65_536) { $0.webFilesMax = $1 },
        LimitName("webBytesMax", bytes) { $0.webBytesMax = $1 },
        LimitName("liveWatchersMax", 1...1_024) { $0.liveWatchersMax = $1 },
    ]

    private static let connections = [
        LimitName("connectionsMax", count) { $0.connectionsMax = $1 },
        LimitName("connectionsPerAddressMax", count) { $0.connectionsPerAddressMax = $1 },
        LimitName("handshakesInFlightMax", count) { $0.handshakesInFlightMax = $1 },
        LimitName("handshakesInFlightPerAddressMax", count) { $0.handshakesInFlightPerAddressMax = $1 },
        LimitName("proxyHeaderBytesMax", 232...65_551) { $0.proxyHeaderBytesMax = $1 },
        LimitName("proxyHeaderMillisecondsMax", time) { $0.proxyHeaderMillisecondsMax = UInt64($1) },
        LimitName("handshakeMillisecondsMax", time) { $0.handshakeMillisecondsMax = UInt64($1) },
        LimitName("helloMillisecondsMax", time) { $0.helloMillisecondsMax = UInt64($1) },
        LimitName("idleHTTPMillisecondsMax", time) { $0.idleHTTPMillisecondsMax = UInt64($1) },
        LimitName("pingMilliseconds", time) { $0.pingMilliseconds = UInt64($1) },
        LimitName("silenceMillisecondsMax", time) { $0.silenceMillisecondsMax = UInt64($1) },
        LimitName("stallMillisecondsMax", time) { $0.stallMillisecondsMax = UInt64($1) },
        LimitName("tcpUserTimeoutMilliseconds", 0...86_400_000) { $0.tcpUserTimeoutMilliseconds = UInt64($1) },
        LimitName("closeHandshakeMillisecondsMax", time) { $0.closeHandshakeMillisecondsMax = UInt64($1) },
        LimitName("resumeMilliseconds", 0...3_600_000) { $0.resumeMilliseconds = UInt64($1) },
        LimitName("parkedSessionsMax", count) { $0.parkedSessionsMax = $1 },
        LimitName("parkedSessionsPerIdentityMax", count) { $0.parkedSessionsPerIdentityMax = $1 },
        LimitName("interruptionMillisecondsMax", time) { $0.interruptionMillisecondsMax = UInt64($1) },
        LimitName("audioSessionsPerIdentityMax", 1...1_024) { $0.audioSessionsPerIdentityMax = $1 },
    ]

    private static let sound = [
        LimitName("pacedVariantsMax", 1...64) { $0.pacedVariantsMax = $1 },
        LimitName("mixStreamsMax", 1...1_000) { $0.mixStreamsMax = $1 },
        LimitName("mixSpeakersMax", 1...16) { $0.mixSpeakersMax = $1 },
        LimitName("mixPersonalMax", 0...256) { $0.mixPersonalMax = $1 },
    ]

    private static let rooms = [
        LimitName("roomsMax", count) { $0.roomsMax = $1 },
        LimitName("participantsPerRoomMax", count) { $0.participantsPerRoomMax = $1 },
        LimitName("publishersPerRoomMax", count) { $0.publishersPerRoomMax = $1 },
        LimitName("lobbyMax", 1...100_000) { $0.lobbyMax = $1 },
        LimitName("speakersMax", 1...64) { $0.speakersMax = $1 },
        LimitName("streamsPerParticipantMax", 1...1_024) { $0.streamsPerParticipantMax = $1 },
        LimitName("roomNameBytesMax", 1...1_024) { $0.roomNameBytesMax = $1 },
        LimitName("controlQueueBytesMax", 65_536...(1 << 28)) { $0.controlQueueBytesMax = $1 },
        LimitName("controlMessagesPerSecondMax", count) { $0.controlMessagesPerSecondMax = $1 },
    ]

    private static let realTime = [
        LimitName("audioDeadlineMilliseconds", time) { $0.audioDeadlineMilliseconds = UInt64($1) },
        LimitName("videoDeadlineMilliseconds", time) { $0.videoDeadlineMilliseconds = UInt64($1) },
        LimitName("dataDeadlineMilliseconds", time) { $0.dataDeadlineMilliseconds = UInt64($1) },
        LimitName("flushHoldMicroseconds", flushHoldMicroseconds) { $0.flushHoldMicroseconds = $1 },
        LimitName("audioLogBytesMax", bytes) { $0.audioLogBytesMax = $1 },
        LimitName("videoLogBytesMax", bytes) { $0.videoLogBytesMax = $1 },
        LimitName("dataLogBytesMax", bytes) { $0.dataLogBytesMax = $1 },
        LimitName("replayBytesMax", 0...(1 << 30)) { $0.replayBytesMax = $1 },
        LimitName("gopCacheBytesMax", bytes) { $0.gopCacheBytesMax = $1 },
        LimitName("gopCacheMillisecondsMax", time) { $0.gopCacheMillisecondsMax = UInt64($1) },
        LimitName("cacheBytesMax", 1...(1 << 40)) { $0.cacheBytesMax = $1 },
        LimitName("keyFrameRequestMillisecondsMin", time) { $0.keyFrameRequestMillisecondsMin = UInt64($1) },
        LimitName("keyFrameBitRateSharePercent", 1...100) { $0.keyFrameBitRateSharePercent = $1 },
    ]
}

extension ServerConfiguration {
    /// The keys' paths and the variables that set them: `tls.clientCertificates` is `SEGUE_TLS_CLIENT_CERTIFICATES`.
    static let settablePaths: [[String]] =
        [
            ["listen"], ["node"], ["loops"], ["audioWorkers"], ["drainMilliseconds"], ["reloadCheckMilliseconds"], ["congestionControl"], ["origins"],
            ["policy"],
            ["state"], ["auditLog"], ["web"],
            ["tls", "clientAuthorities"],
            ["tls", "revocationLists"], ["tls", "clientCertificates"], ["tls", "revocation"], ["tls", "minimumVersion"], ["tls", "maximumVersion"],
            ["echo", "enabled"], ["echo", "messageBytesMax"], ["enrolment", "authority"], ["enrolment", "renewalLifePercent"],
            ["enrolment", "attemptsPerMinute"],
            ["proxies", "listen"], ["proxies", "networks"], ["proxies", "protocol"],
            ["proxies", "tlsProtocol"], ["proxies", "identities"], ["proxies", "clientCertificate"], ["proxies", "agent"],
            ["cluster", "servers"], ["cluster", "name"], ["cluster", "trustedCertificates"], ["cluster", "certificate"], ["cluster", "privateKey"],
            ["cluster", "leaseMilliseconds"], ["cluster", "address"],
            ["tokens", "keys"], ["tokens", "issuer"], ["tokens", "audience"], ["tokens", "leewaySeconds"],
        ] + LimitName.all.map { ["limits", $0.name] }

    private static let listPaths: Set<[String]> = [
        ["proxies", "listen"], ["proxies", "networks"], ["proxies", "identities"], ["listen"], ["origins"], ["tls", "clientAuthorities"],
        ["tls", "revocationLists"], ["cluster", "servers"],
    ]
    private static let textPaths: Set<[String]> = [
        ["tokens", "keys"], ["tokens", "issuer"], ["tokens", "audience"],
        ["enrolment", "authority"], ["cluster", "name"], ["cluster", "trustedCertificates"], ["cluster", "certificate"], ["cluster", "privateKey"],
        ["cluster", "address"],
        ["proxies", "protocol"], ["proxies", "tlsProtocol"], ["proxies", "clientCertificate"], ["proxies", "agent"],
        ["node"], ["policy"], ["state"], ["auditLog"], ["web"], ["tls", "clientCertificates"], ["tls", "revocation"], ["tls", "minimumVersion"],
        ["tls", "maximumVersion"],
    ]

    static func variable(of path: [String]) -> String {
        "SEGUE_" + path.map { snakeCased($0).uppercased() }.joined(separator: "_")
    }

    static func path(ofVariable name: String) -> [String]? {
        settablePaths.first { variable(of: $0) == name }
    }

    /// Lists are separated by commas; everything else is read as the key's type.
    static func value(ofVariable text: String, path: [String]) -> JSONValue {
        if listPaths.contains(path) { return .array(text.split(separator: ",").map { .string(String($0)) }) }
        if textPaths.contains(path) { return .string(text) }
        if let number = Double(text) { return .number(number) }
        if text == "true" || text == "false" { return .bool(text == "true") }
        return .string(text)
    }

    static func set(_ members: inout [String: JSONValue], _ path: [String], _ value: JSONValue) {
        guard let first = path.first else { return }
        guard path.count > 1 else {
            members[first] = value
            return
        }
        var nested: [String: JSONValue] = [:]
        if case .object(let object)? = members[first] { nested = object }
        set(&nested, Array(path.dropFirst()), value)
        members[first] = .object(nested)
    }
}
