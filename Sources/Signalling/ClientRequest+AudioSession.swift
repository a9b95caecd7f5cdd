/// What a client says of its audio session; words and numbers are the platform's (`AVAudioSession`).
extension ClientRequest {
    package struct SetCategory: Codable, Sendable, Equatable {
        /// A name as `playAndRecord`, or its four characters as `plar`.
        package var category: String
        /// Absent: `default`.
        package var mode: String?
        /// The platform's bits; absent: none.
        package var options: UInt32?

        package init(category: String, mode: String? = nil, options: UInt32? = nil) {
            self.category = category
            self.mode = mode
            self.options = options
        }
    }

    package struct SetActive: Codable, Sendable, Equatable {
        package var active: Bool
        /// Deactivating: whoever was interrupted may go on.
        package var notifyOthersOnDeactivation: Bool?
        /// Deactivating: stops running streams instead of being refused.
        package var force: Bool?
        /// Activating: the app is in the background.
        package var background: Bool?
        /// Activating: 0 (absent) to 100; a session of lower priority than the active one is refused.
        package var priority: Int?

        package init(
            active: Bool, notifyOthersOnDeactivation: Bool? = nil, force: Bool? = nil, background: Bool? = nil, priority: Int? = nil
        ) {
            self.active = active
            self.notifyOthersOnDeactivation = notifyOthersOnDeactivation
            self.force = force
            self.background = background
            self.priority = priority
        }
    }

    package struct InterruptionBegan: Codable, Sendable, Equatable {
        /// Absent: `default`.
        package var reason: String?

        package init(reason: String? = nil) {
            self.reason = reason
        }
    }

    package struct InterruptionEnded: Codable, Sendable, Equatable {
        /// Absent: false.
        package var shouldResume: Bool?

        package init(shouldResume: Bool? = nil) {
            self.shouldResume = shouldResume
        }
    }

    package struct RouteChanged: Codable, Sendable, Equatable {
        /// `AVAudioSession.RouteChangeReason`.
        package var reason: Int
        package var route: AudioRoute?
        /// The route as older systems write it, in place of ``route``; empty: silent.
        package var legacyRoute: String?
        /// The room may see the ports' names too; absent: false.
        package var sharesNames: Bool?

        package init(reason: Int, route: AudioRoute? = nil, legacyRoute: String? = nil, sharesNames: Bool? = nil) {
            self.reason = reason
            self.route = route
            self.legacyRoute = legacyRoute
            self.sharesNames = sharesNames
        }
    }

    package struct StreamStart: Codable, Sendable, Equatable {
        package var stream: UInt32
        /// The media time to start at, in units of the stream's timescale; absent: now.
        package var at: UInt32?

        package init(stream: UInt32, at: UInt32? = nil) {
            self.stream = stream
            self.at = at
        }
    }

    package struct StreamStop: Codable, Sendable, Equatable {
        package var stream: UInt32
        /// Absent: immediate.
        package var mode: StopMode?

        package init(stream: UInt32, mode: StopMode? = nil) {
            self.stream = stream
            self.mode = mode
        }
    }

    package enum StopMode: String, CaseIterable, Codable, Sendable {
        case immediate
        /// What is queued goes out first.
        case drain
    }

    package struct SetParameters: Codable, Sendable, Equatable {
        package var stream: UInt32
        /// 0 to 1.
        package var volume: Float?
        /// How long the volume takes to get there; absent: at once.
        package var rampMilliseconds: Double?
        /// 0.5 to 2.
        package var rate: Float?
        /// -1 (left) to 1 (right).
        package var pan: Float?
        /// Of the frame with which all this takes effect, when it plays; absent: at once.
        package var at: UInt32?

        package init(stream: UInt32) {
            self.stream = stream
        }
    }
}

/// Where a client's sound goes in and out, as in `AVAudioSessionRouteDescription`.
package struct AudioRoute: Codable, Sendable, Equatable {
    package var inputs: [AudioPort]
    package var outputs: [AudioPort]

    package init(inputs: [AudioPort], outputs: [AudioPort]) {
        self.inputs = inputs
        self.outputs = outputs
    }
}

package struct AudioPort: Codable, Sendable, Equatable {
    /// A name of ``AudioSession/PortType``.
    package var type: String
    package var name: String?
    /// Hz.
    package var sampleRate: Double?
    package var channels: Int?
    /// Seconds.
    package var latency: Double?

    package init(type: String, name: String? = nil, sampleRate: Double? = nil, channels: Int? = nil, latency: Double? = nil) {
        self.type = type
        self.name = name
        self.sampleRate = sampleRate
        self.channels = channels
        self.latency = latency
    }
}
