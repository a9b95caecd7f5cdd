/// Why an HTTP/2 connection ended by the peer's doing. Every case has connection scope: faults of one stream are answered with RST_STREAM by the
/// session itself and show as ``HTTP2Event/streamClosed(_:_:)``.
package enum HTTP2Fault: Error, Hashable, Sendable {
    /// The client's first bytes are not the connection preface (RFC 9113 §3.4).
    case badPreface
    /// A violation that the framing layer found; the code is the one that GOAWAY carries.
    case connectionError(HTTP2ErrorCode)
    /// A SETTINGS acknowledgement without SETTINGS to acknowledge (RFC 9113 §6.5).
    case unexpectedSettingsAcknowledgement
    /// A SETTINGS acknowledgement with a payload (RFC 9113 §6.5).
    case malformedSettingsAcknowledgement
    /// DATA or HEADERS on a closed stream that the peer itself had ended or reset (RFC 9113 §5.1).
    case frameAfterStreamEnd
    /// PRIORITY on stream 0 (RFC 9113 §6.3).
    case priorityOnConnection
    /// The peer resets streams faster than any honest one: Rapid Reset, CVE-2023-44487.
    case rapidReset
    /// The peer makes this end reset streams by invalid frames: MadeYouReset, CVE-2025-8671.
    case provokedResets
    /// A header block in too many CONTINUATION frames, or of too many bytes: CVE-2024-27316.
    case continuationFlood
    /// A header block that was begun and not finished in time.
    case headerBlockTimeout
    /// CVE-2019-9515.
    case settingsFlood
    /// CVE-2019-9512.
    case pingFlood
    /// DATA, HEADERS or CONTINUATION frames that carry nothing: CVE-2019-9518.
    case emptyFrameFlood
    /// PRIORITY and PRIORITY_UPDATE: CVE-2019-9513.
    case priorityFlood
    /// A PRIORITY_UPDATE frame that is too short, or names no stream (RFC 9218 §7.1).
    case malformedPriorityUpdate(HTTP2ErrorCode)
    /// WINDOW_UPDATE out of all proportion to the data sent.
    case windowUpdateFlood
    /// Frames of types that this end ignores.
    case unknownFrameFlood
    /// The peer provokes answers and does not read them.
    case controlQueueOverflow
    /// The peer did not acknowledge SETTINGS in time (RFC 9113 §6.5.3); a client that never finishes its preface ends here too.
    case settingsTimeout
    /// No stream was open for the idle time.
    case idle
    /// The HTTP/2 library failed: out of memory or a fault of this end.
    case internalFailure

    /// The code that the GOAWAY frame carries.
    package var errorCode: HTTP2ErrorCode {
        switch self {
        case .connectionError(let code), .malformedPriorityUpdate(let code): code
        case .badPreface, .unexpectedSettingsAcknowledgement, .priorityOnConnection: .protocolError
        case .malformedSettingsAcknowledgement: .frameSizeError
        case .frameAfterStreamEnd: .streamClosed
        case .rapidReset, .provokedResets, .continuationFlood, .headerBlockTimeout, .settingsFlood, .pingFlood, .emptyFrameFlood, .priorityFlood,
            .windowUpdateFlood, .unknownFrameFlood, .controlQueueOverflow:
            .enhanceYourCalm
        case .settingsTimeout: .settingsTimeout
        case .idle: .noError
        case .internalFailure: .internalError
        }
    }

    /// The reason under which closes are counted: one label for each case.
    package var label: String {
        switch self {
        case .badPreface: "http2_bad_preface"
        case .connectionError: "http2_connection_error"
        case .unexpectedSettingsAcknowledgement: "http2_unexpected_settings_acknowledgement"
        case .malformedSettingsAcknowledgement: "http2_malformed_settings_acknowledgement"
        case .frameAfterStreamEnd: "http2_frame_after_stream_end"
        case .priorityOnConnection: "http2_priority_on_connection"
        case .rapidReset: "http2_rapid_reset"
        case .provokedResets: "http2_provoked_resets"
        case .continuationFlood: "http2_continuation_flood"
        case .headerBlockTimeout: "http2_header_block_timeout"
        case .settingsFlood: "http2_settings_flood"
        case .pingFlood: "http2_ping_flood"
        case .emptyFrameFlood: "http2_empty_frame_flood"
        case .priorityFlood: "http2_priority_flood"
        case .malformedPriorityUpdate: "http2_malformed_priority_update"
        case .windowUpdateFlood: "http2_window_update_flood"
        case .unknownFrameFlood: "http2_unknown_frame_flood"
        case .controlQueueOverflow: "http2_control_queue_overflow"
        case .settingsTimeout: "http2_settings_timeout"
        case .idle: "http2_idle"
        case .internalFailure: "http2_internal_failure"
        }
    }
}

/// Why this end could not open a request (client role). Nothing was sent.
package enum HTTP2RequestRefusal: Error, Hashable, Sendable {
    /// The server did not send SETTINGS_ENABLE_CONNECT_PROTOCOL = 1 (RFC 8441 §3), or not yet.
    case extendedConnectNotEnabled
    /// GOAWAY was sent or received, or the connection has failed.
    case goingAway
    /// All 2³⁰ stream identifiers are used up; a new connection is needed.
    case streamIdentifiersExhausted
}

/// What became of bytes given to ``HTTP2Session/write(_:_:)``.
package enum HTTP2WriteResult: Hashable, Sendable {
    case queued
    /// The stream's queue would pass ``HTTP2Configuration/outboundBytesMax``; nothing was taken.
    case overflow
    /// The stream is closed, ended by this end, or not answered yet; nothing was taken.
    case closed
}
