extension RouteChangeReason {
    /// Reads the number of a route change. One that the platform does not have (5, above 8, below 0) is ``unknown``, and worth a warning.
    package static func reading(wire number: Int) -> (reason: RouteChangeReason, warning: RouteWarning?) {
        guard let reason = RouteChangeReason(rawValue: number) else { return (.unknown, .unknownReason(number)) }
        return (reason, nil)
    }

    /// What the relay does on a change for this reason.
    ///
    /// | reason | actions |
    /// |---|---|
    /// | 0 unknown | none |
    /// | 1 newDeviceAvailable | renegotiatesFormat |
    /// | 2 oldDeviceUnavailable | pausesPlayback |
    /// | 3 categoryChange | rechecksRights |
    /// | 4 override | renegotiatesFormat |
    /// | 6 wakeFromSleep | startsFresh |
    /// | 7 noSuitableRouteForCategory | suspends |
    /// | 8 routeConfigurationChange | renegotiatesFormat, tellsLatency |
    package var actions: RouteActions {
        switch self {
        case .unknown: []
        case .newDeviceAvailable, .override: .renegotiatesFormat
        case .oldDeviceUnavailable: .pausesPlayback
        case .categoryChange: .rechecksRights
        case .wakeFromSleep: .startsFresh
        case .noSuitableRouteForCategory: .suspends
        case .routeConfigurationChange: [.renegotiatesFormat, .tellsLatency]
        }
    }
}

/// What is odd about a route change that is accepted nevertheless.
package enum RouteWarning: Equatable, Sendable {
    case unknownReason(Int)

    package var text: String {
        switch self {
        case .unknownReason(let number): "There is no reason \(number) for a change of route; taken as 0."
        }
    }
}

/// What a route change brings about, beside what follows from the route itself.
package struct RouteActions: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// What is sent to the client is fitted to its output anew. The format follows the route whatever the reason; these are the reasons that say it.
    package static let renegotiatesFormat = RouteActions(rawValue: 1 << 0)
    /// The headset was pulled: nothing is played until the client says continue, so that nothing blares from the speaker.
    package static let pausesPlayback = RouteActions(rawValue: 1 << 1)
    /// What the category does not allow any more is stopped, with an event per stream.
    package static let rechecksRights = RouteActions(rawValue: 1 << 2)
    /// Jitter buffers start again, key frames are asked for, media goes on at the live edge.
    package static let startsFresh = RouteActions(rawValue: 1 << 3)
    /// As by an interruption, until a change for another reason.
    package static let suspends = RouteActions(rawValue: 1 << 4)
    /// Jitter buffers are told the output latency, however little it changed.
    package static let tellsLatency = RouteActions(rawValue: 1 << 5)
}

/// What a client says of its route.
package struct RouteChange: Equatable, Sendable {
    package var reason: RouteChangeReason
    /// `nil`: not said; the route before still holds.
    package var route: RouteDescription?
    /// The room may see the ports' names.
    package var sharesNames: Bool

    package init(_ reason: RouteChangeReason, route: RouteDescription? = nil, sharesNames: Bool = false) {
        self.reason = reason
        self.route = route
        self.sharesNames = sharesNames
    }
}

/// What becomes of the jitter buffers of whoever plays to a route.
package enum JitterChange: Equatable, Sendable {
    case keep
    /// The output takes this many seconds now.
    case retarget(outputLatency: Double)
    /// Empty, as at the beginning.
    case reset
}

/// What a route change comes to.
package struct RouteOutcome: Equatable, Sendable {
    package var actions: RouteActions
    /// `nil`: the client is silent.
    package var receiveFormat: ReceiveFormat?
    package var receiveFormatChanged: Bool
    package var jitter: JitterChange
    /// False when a device went away and left no input: nothing is taken from the client until a route with one.
    package var uplinkGoesOn: Bool
    /// What the room is told; `nil`: nothing that it sees has changed.
    package var shown: RouteDescription?
}
