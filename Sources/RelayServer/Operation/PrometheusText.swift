import Reactor
import RelayRooms

/// The relay's metrics in the Prometheus text exposition format 0.0.4.
struct PrometheusText {
    private(set) var text = ""

    static func render(
        _ loops: [LoopCounters], audio: [AudioSnapshot], cluster: ClusterCounters? = nil, readiness: DrainState, auditLost: UInt64,
        uptimeSeconds: Double
    ) -> String {
        var writer = PrometheusText()
        var sum = LoopCounters()
        for loop in loops { sum.add(loop) }
        writer.process(readiness: readiness, uptimeSeconds: uptimeSeconds)
        writer.single(
            "segue_audit_records_lost_total", "counter",
            "Records of the audit that were not kept: too many at once, or the file could not be written.",
            Double(auditLost))
        writer.connections(sum)
        writer.proxies(sum)
        writer.media(sum)
        writer.liveness(sum.liveness)
        writer.flow(sum)
        writer.audio(audio)
        if let cluster { writer.cluster(cluster, sum) }
        writer.loops(loops)
        return writer.text
    }

    private mutating func process(readiness: DrainState, uptimeSeconds: Double) {
        single("segue_up_seconds", "gauge", "Seconds since the relay started.", uptimeSeconds)
        single("segue_draining", "gauge", "1 while the relay takes no new sessions.", readiness.isDraining ? 1 : 0)
        let stale = readiness.stale
        byLabel(
            "segue_reload_failed", "gauge", "1 while changed files of a part of the configuration could not be taken over.", "part",
            Dictionary(uniqueKeysWithValues: ReloadPart.allCases.map { ($0.rawValue, stale.contains($0) ? 1 : 0) }))
        single("segue_grants_unsaved", "gauge", "1 while the grants of pairs could not be written down.", readiness.grantsAreUnsaved ? 1 : 0)
        single(
            "segue_ocsp_responses_stale", "gauge", "OCSP responses past their nextUpdate, or that could not be taken over.",
            Double(readiness.staleStaples))
        single(
            "segue_congestion_control_refused_total", "counter", "Listening sockets that did not take the configured congestionControl.",
            Double(readiness.congestionControlsRefused))
        let cpu = CPUUsage.ofProcess()
        single("process_cpu_seconds_total", "counter", "User and system CPU time.", Double(cpu.totalNanoseconds) / 1e9)
        if let memory = try? MemoryUsage.ofProcess(calls: .linux) {
            single("process_resident_memory_bytes", "gauge", "Resident memory.", Double(memory.residentBytes))
        }
    }

    private mutating func connections(_ sum: LoopCounters) {
        single("segue_connections", "gauge", "Open connections.", Double(sum.connections))
        single("segue_connections_accepted_total", "counter", "Connections accepted.", Double(sum.accepted))
        byLabel("segue_connections_refused_total", "counter", "Connections refused before a handshake.", "reason", sum.connectionsRefused)
        single(
            "segue_connections_refused_descriptors_total", "counter", "Connections refused for want of file descriptors.",
            Double(sum.refusedOutOfDescriptors))
        byLabel("segue_connections_closed_total", "counter", "Connections that ended.", "reason", sum.connectionsClosed)
        single("segue_handshakes_total", "counter", "TLS handshakes completed.", Double(sum.handshakes))
        single("segue_handshakes_resumed_total", "counter", "TLS handshakes that resumed a session.", Double(sum.resumedHandshakes))
        byLabel("segue_handshake_failures_total", "counter", "TLS handshakes that failed.", "reason", sum.handshakeFailures)
        single("segue_http_requests_total", "counter", "HTTP requests, WebSocket upgrades included.", Double(sum.httpRequests))
        let responses = Dictionary(uniqueKeysWithValues: sum.responses.map { (String($0.key), $0.value) })
        byLabel("segue_http_responses_total", "counter", "HTTP responses.", "status", responses)
        single("segue_websockets", "gauge", "Open WebSockets.", Double(sum.webSockets))
        single("segue_websockets_opened_total", "counter", "WebSockets opened.", Double(sum.webSocketsOpened))
        byLabel("segue_websockets_closed_total", "counter", "WebSockets that ended.", "reason", sum.webSocketsClosed)
        single("segue_sessions", "gauge", "Sessions that said hello.", Double(sum.sessions))
        resumption(sum)
        single(
            "segue_sessions_held", "gauge", "Sessions whose audio session is interrupted, or inactive after it was active.",
            Double(sum.sessionsHeld))
        byLabel(
            "segue_interruptions_total", "counter", "Interruptions of audio sessions that began, by reason.", "reason", sum.interruptions)
        single("segue_tokens_accepted_total", "counter", "Bearer tokens accepted.", Double(sum.tokensAccepted))
        byLabel("segue_tokens_refused_total", "counter", "Bearer tokens refused.", "reason", sum.tokensRefused)
        byLabel("segue_request_errors_total", "counter", "Requests that were answered with an error.", "code", sum.requestErrors)
    }

    private mutating func resumption(_ sum: LoopCounters) {
        single("segue_sessions_parked", "gauge", "Of those, sessions whose connection was lost.", Double(sum.parked))
        single("segue_sessions_parked_total", "counter", "Sessions that were kept when their connection was lost.", Double(sum.sessionsParked))
        single("segue_sessions_resumed_total", "counter", "Sessions that went on over another connection.", Double(sum.sessionsResumed))
        byLabel("segue_resumes_refused_total", "counter", "Requests to resume a session that were refused.", "reason", sum.resumesRefused)
        single(
            "segue_connections_moved_total", "counter", "Connections that went to another loop, where the session was that they resumed.",
            Double(sum.connectionsMoved))
    }

    private mutating func proxies(_ sum: LoopCounters) {
        single("segue_proxy_headers_total", "counter", "PROXY protocol headers taken.", Double(sum.proxyHeaders))
        byLabel(
            "segue_proxy_headers_refused_total", "counter", "Connections closed for want of a good PROXY header.", "reason", sum.proxyHeadersRefused)
        single(
            "segue_forwarded_certificates_total", "counter", "Certificates passed on by trusted proxies and found good.",
            Double(sum.forwardedCertificates))
        byLabel("segue_forwarded_certificates_refused_total", "counter", "Those that were not.", "reason", sum.forwardedRefused)
        single(
            "segue_forwarded_certificates_ignored_total", "counter", "Requests and headers with certificates from peers that are not to pass any on.",
            Double(sum.forwardedIgnored))
    }

    private mutating func media(_ sum: LoopCounters) {
        single("segue_rooms", "gauge", "Rooms.", Double(sum.rooms))
        single("segue_participants", "gauge", "Participants in rooms.", Double(sum.participants))
        single("segue_participants_waiting", "gauge", "Clients in lobbies.", Double(sum.waiting))
        single("segue_streams", "gauge", "Published streams.", Double(sum.streams))
        single("segue_frames_received_total", "counter", "Media frames accepted from publishers.", Double(sum.framesIn))
        single("segue_frame_bytes_received_total", "counter", "Bytes of those frames, headers included.", Double(sum.bytesIn))
        single("segue_frames_unwatched_total", "counter", "Frames that nobody wanted.", Double(sum.framesWithoutSubscribers))
        single("segue_frames_after_end_total", "counter", "Frames of streams that had ended.", Double(sum.framesAfterEnd))
        byLabel(
            "segue_frames_refused_total", "counter", "Frames that did not go on from their publisher.", "reason",
            [
                "muted": sum.framesMuted, "bit_rate": sum.framesOverBitRate, "repeated": sum.framesRepeated, "interrupted": sum.framesInterrupted,
                "inactive": sum.framesInactive, "category": sum.framesWithoutRight, "route": sum.framesWithoutInput,
            ])
        single(
            "segue_configurations_dropped_total", "counter", "Configurations of publishers that may not be heard, dropped for want of cacheBytesMax.",
            Double(sum.configurationsDropped))
        single("segue_frames_entered_total", "counter", "Frames due to subscribers, counted once each.", Double(sum.frames.entered))
        let ends: [String: UInt64] = [
            "delivered": sum.frames.delivered, "expired": sum.frames.expired, "superseded": sum.frames.superseded,
            "interrupted": sum.frames.interrupted,
            "unsubscribed": sum.frames.unsubscribed, "refused": sum.frames.refused,
        ]
        byLabel("segue_frames_total", "counter", "Where frames due to subscribers ended.", "end", ends)
        single("segue_frames_pending", "gauge", "Frames queued for subscribers.", Double(sum.framesPending))
        single(
            "segue_frames_unaccounted", "counter", "Frames that an audit of the queues found in no counter, or in two: 0 always.",
            Double(sum.framesUnaccounted))
        single("segue_media_bytes_sent_total", "counter", "Plaintext bytes of media handed to TLS.", Double(sum.mediaBytesOut))
        single("segue_sends_total", "counter", "Writes to sockets with media or control.", Double(sum.sends))
        single("segue_key_frame_requests_total", "counter", "Key frames asked of publishers.", Double(sum.keyFrameRequests))
        single("segue_loop_frames_forwarded_total", "counter", "Frames copied to other loops.", Double(sum.framesToOtherLoops))
        single("segue_loop_frames_lost_total", "counter", "Frames that found the ring to another loop full.", Double(sum.framesLostBetweenLoops))
    }

    private mutating func liveness(_ sum: LivenessCounters) {
        histogram("segue_ping_round_trip_seconds", "From the relay's pings to their pongs.", sum.roundTrips)
        single("segue_keepalives_total", "counter", "Keep-alive messages sent to clients that asked for them.", Double(sum.keepAlives))
        single("segue_receiver_reports_total", "counter", "Receiver reports taken.", Double(sum.receiverReports))
        single("segue_sessions_reporting", "gauge", "Sessions that have sent a receiver report within 10 s.", Double(sum.sessionsReporting))
        histogram("segue_receiver_concealed_ratio", "Share of frames that receivers had to conceal, by stream and report.", sum.concealedShares)
        histogram("segue_receiver_late_ratio", "Share of frames that came too late to be played, by stream and report.", sum.lateShares)
        histogram("segue_receiver_buffer_seconds", "What receivers' jitter buffers hold, by stream and report.", sum.buffers)
    }

    private mutating func loops(_ loops: [LoopCounters]) {
        series("segue_loop_iterations_total", "counter", "Turns of each loop.", loops) { Double($0.iterations) }
        series("segue_loop_busy_seconds_total", "counter", "Time each loop spent working.", loops) { Double($0.busyNanoseconds) / 1e9 }
        series("segue_loop_longest_turn_seconds", "gauge", "The longest turn of each loop so far.", loops) {
            Double($0.longestIterationNanoseconds) / 1e9
        }
        header("segue_loop_iteration_seconds", "histogram", "How long each turn took, from the return of the wait for events to the next wait.")
        for (index, loop) in loops.enumerated() { samples("segue_loop_iteration_seconds", loop.turns, label: "loop=\"\(index)\"") }
        series("segue_loop_slow_iterations_total", "counter", "Turns that took over 2 ms.", loops) { Double($0.slowTurns) }
        series("segue_flushes_held_total", "counter", "Times that a busy loop held a room's frames so that others join them.", loops) {
            Double($0.flushesHeld)
        }
        series("segue_flushes_joined_total", "counter", "Turns whose frames joined frames that were held.", loops) { Double($0.flushesJoined) }
    }

    mutating func header(_ name: String, _ type: String, _ help: String) {
        text += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
    }

    mutating func single(_ name: String, _ type: String, _ help: String, _ value: Double) {
        header(name, type, help)
        text += "\(name) \(PrometheusText.number(value))\n"
    }

    private mutating func histogram(_ name: String, _ help: String, _ histogram: Histogram) {
        header(name, "histogram", help)
        samples(name, histogram)
    }

    /// - Parameter label: which of several histograms of one name it is.
    private mutating func samples(_ name: String, _ histogram: Histogram, label: String? = nil) {
        let first = label.map { "\($0)," } ?? ""
        let alone = label.map { "{\($0)}" } ?? ""
        var below: UInt64 = 0
        for (bound, count) in zip(histogram.bounds, histogram.counts) {
            below &+= count
            text += "\(name)_bucket{\(first)le=\"\(PrometheusText.number(bound))\"} \(below)\n"
        }
        text += "\(name)_bucket{\(first)le=\"+Inf\"} \(histogram.total)\n"
        text += "\(name)_sum\(alone) \(PrometheusText.number(histogram.sum))\n\(name)_count\(alone) \(histogram.total)\n"
    }

    mutating func byLabel(_ name: String, _ type: String, _ help: String, _ label: String, _ values: [String: UInt64]) {
        header(name, type, help)
        for (key, value) in values.sorted(by: { $0.key < $1.key }) {
            text += "\(name){\(label)=\"\(PrometheusText.escape(key))\"} \(value)\n"
        }
    }

    /// A distribution of the moment: each class includes those below it.
    mutating func cumulative(_ name: String, _ help: String, _ classes: [(bound: String, count: Int)]) {
        header(name, "gauge", help)
        for entry in classes { text += "\(name){le=\"\(entry.bound)\"} \(entry.count)\n" }
    }

    private mutating func series(_ name: String, _ type: String, _ help: String, _ loops: [LoopCounters], _ value: (LoopCounters) -> Double) {
        header(name, type, help)
        for (index, loop) in loops.enumerated() { text += "\(name){loop=\"\(index)\"} \(PrometheusText.number(value(loop)))\n" }
    }

    private static func number(_ value: Double) -> String {
        value == value.rounded() && abs(value) < 1e15 ? String(Int64(value)) : String(value)
    }

    private static func escape(_ text: String) -> String {
        var escaped = ""
        for character in text {
            switch character {
            case "\\": escaped += "\\\\"
            case "\"": escaped += "\\\""
            case "\n": escaped += "\\n"
            default: escaped.append(character)
            }
        }
        return escaped
    }
}
