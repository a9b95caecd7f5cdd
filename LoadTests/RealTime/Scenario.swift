import RelayClient

/// What can be played. The names are those of the command line.
enum Scenario: String, CaseIterable {
    case reader
    case rate
    case stall
    case control
    case keyframes
    case joins

    var summary: String {
        switch self {
        case .reader: "one reader of 100 stops reading for 30 s"
        case .rate: "2 Mbit/s, 200 kbit/s, 2 Mbit/s again, under audio and three-layer video"
        case .stall: "a subscriber's link stands still for 2 s"
        case .control: "control messages' round trip under a saturated downlink"
        case .keyframes: "200 KB key frames in four sessions, and audio, over one HTTP/2 connection of 5 Mbit/s"
        case .joins: "200 join a room with video within one second"
        }
    }

    /// Plays it, once for each variant. - Returns: the table's lines.
    func play(_ options: RealTimeOptions) throws -> [Outcome] {
        switch self {
        case .reader: try StoppedReader(options).play()
        case .rate: try options.congestionControls.flatMap { try ChangingRate(options, congestionControl: $0).play() }
        case .stall: try options.congestionControls.flatMap { try StalledLink(options, congestionControl: $0).play() }
        case .control:
            try options.congestionControls.flatMap { congestionControl in
                try [.http1, .http2].flatMap { try ControlUnderLoad(options, congestionControl: congestionControl, http: $0).play() }
            }
        case .keyframes: try options.congestionControls.flatMap { try KeyFramesShared(options, congestionControl: $0).play() }
        case .joins: try JoinRush(options).play()
        }
    }
}
