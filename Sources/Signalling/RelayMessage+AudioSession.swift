/// What the relay says of audio sessions: to whose they are, and to the room.
extension RelayMessage {
    /// A client's session as the relay has it.
    package struct SessionState: Codable, Sendable, Equatable {
        package enum State: String, CaseIterable, Codable, Sendable {
            case uninitialised
            case inactive
            case active
            case interrupted
        }

        package var state: State
        package var category: String?
        package var mode: String?
        package var options: UInt32?
        /// The user paused playback, or the headset was pulled: nothing is sent until `playback.continue`.
        package var paused: Bool?
        /// What is sent to the client is fitted to this.
        package var format: ReceiveFormat?

        package init(state: State) {
            self.state = state
        }
    }

    /// What a client's output takes.
    package struct ReceiveFormat: Codable, Sendable, Equatable {
        /// Hz.
        package var sampleRate: Double
        package var channels: Int
        /// Opus' audio bandwidth (RFC 6716 §2): `narrowband`, `mediumband`, `wideband`, `superwideband`, `fullband`.
        package var bandwidth: String
        /// Seconds from the relay's last sample to the ear, as far as the client knows.
        package var latency: Double?

        package init(sampleRate: Double, channels: Int, bandwidth: String, latency: Double? = nil) {
            self.sampleRate = sampleRate
            self.channels = channels
            self.bandwidth = bandwidth
            self.latency = latency
        }
    }

    package struct InterruptionBegan: Codable, Sendable, Equatable {
        package var reason: String
        /// The device that interrupts, as it named itself.
        package var device: String?

        package init(reason: String, device: String? = nil) {
            self.reason = reason
            self.device = device
        }
    }

    package struct InterruptionEnded: Codable, Sendable, Equatable {
        package var shouldResume: Bool
        /// What ended it: `deactivated`, `left`, `activated`, `media`, `timeout`.
        package var cause: String

        package init(shouldResume: Bool, cause: String) {
            self.shouldResume = shouldResume
            self.cause = cause
        }
    }

    /// The session changed without its client's having asked.
    package struct SessionChange: Codable, Sendable, Equatable {
        package var session: SessionState
        package var cause: String

        package init(session: SessionState, cause: String) {
            self.session = session
            self.cause = cause
        }
    }

    package struct Duck: Codable, Sendable, Equatable {
        /// Decibels that a client, or the relay's mixer, lowers by.
        package var gainDecibels: Double
        package var rampMilliseconds: Double

        package init(gainDecibels: Double, rampMilliseconds: Double) {
            self.gainDecibels = gainDecibels
            self.rampMilliseconds = rampMilliseconds
        }
    }

    /// A route change that the relay itself brings about.
    package struct RouteNotice: Codable, Sendable, Equatable {
        package var reason: Int

        package init(reason: Int) {
            self.reason = reason
        }
    }

    /// A stream, own or subscribed, that the session no longer carries.
    package struct StreamStopped: Codable, Sendable, Equatable {
        package var stream: UInt32
        /// `category`, `deactivated`.
        package var reason: String

        package init(stream: UInt32, reason: String) {
            self.stream = stream
            self.reason = reason
        }
    }

    /// Where a subscribed stream stands: refreshed on change, extrapolated by the reader.
    package struct StreamPlayback: Codable, Sendable, Equatable {
        package enum State: String, Codable, Sendable, CaseIterable {
            case stopped
            case waiting
            case playing
            case paused
        }

        package var stream: UInt32
        package var state: State
        /// Seconds of media that were sent on.
        package var elapsed: Double
        package var rate: Double
        /// Milliseconds since 1970-01-01T00:00Z at the relay, when that was so.
        package var at: Double

        package init(stream: UInt32, state: State, elapsed: Double, rate: Double, at: Double) {
            self.stream = stream
            self.state = state
            self.elapsed = elapsed
            self.rate = rate
            self.at = at
        }
    }

    /// What could be played at once of a stream.
    package struct Primed: Codable, Sendable, Equatable {
        package var frames: Int
        package var milliseconds: Double

        package init(frames: Int, milliseconds: Double) {
            self.frames = frames
            self.milliseconds = milliseconds
        }
    }

    /// What the best of an audio stream's subscribers can use of it.
    package struct FormatWanted: Codable, Sendable, Equatable {
        package var stream: UInt32
        package var channels: Int
        package var bandwidth: String

        package init(stream: UInt32, channels: Int, bandwidth: String) {
            self.stream = stream
            self.channels = channels
            self.bandwidth = bandwidth
        }
    }

    package struct ParticipantInterrupted: Codable, Sendable, Equatable {
        package var participant: UInt32
        package var interrupted: Bool
        package var reason: String?

        package init(participant: UInt32, interrupted: Bool, reason: String? = nil) {
            self.participant = participant
            self.interrupted = interrupted
            self.reason = reason
        }
    }

    /// Nothing comes from the participant, and nothing goes to it, until further notice.
    package struct ParticipantHeld: Codable, Sendable, Equatable {
        package var participant: UInt32
        package var held: Bool

        package init(participant: UInt32, held: Bool) {
            self.participant = participant
            self.held = held
        }
    }

    package struct ParticipantRoute: Codable, Sendable, Equatable {
        package var participant: UInt32
        package var inputs: [AudioPort]
        package var outputs: [AudioPort]

        package init(participant: UInt32, inputs: [AudioPort], outputs: [AudioPort]) {
            self.participant = participant
            self.inputs = inputs
            self.outputs = outputs
        }
    }

    /// What a participant's audio session is for: its category and mode.
    package struct ParticipantMode: Codable, Sendable, Equatable {
        package var participant: UInt32
        package var category: String
        package var mode: String

        package init(participant: UInt32, category: String, mode: String) {
            self.participant = participant
            self.category = category
            self.mode = mode
        }
    }
}
