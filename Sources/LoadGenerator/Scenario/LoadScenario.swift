package import LoadReport
package import RelayRooms
package import Signalling

/// A load as a file says it: who there is, what they publish and hear, what happens meanwhile, and what is demanded. Read by ``init(text:)``; the files
/// under `LoadTests/Scenarios` explain the form.
package struct LoadScenario: Sendable, Equatable {
    package static let clientsMax = 100_000
    package static let secondsMax = 86_400.0

    package var name: String
    /// One paragraph for people.
    package var text: String
    package var groups: [ClientGroup]
    /// Clients of one room, counted over all groups; `nil`: all are in one room.
    package var clientsPerRoom: Int?
    /// Clients that begin in a second.
    package var rampPerSecond: Double
    /// The measured window, from when everybody is there.
    package var seconds: Double
    /// What may still come when nothing is published any more, in seconds.
    package var settleSeconds: Double
    package var events: [LoadEvent]
    package var limits: LoadLimits

    package var clientCount: Int { groups.reduce(0) { $0 + $1.count } }

    /// Another number of clients in all. Groups that are fixed keep theirs; the others share the rest as they did before, and each keeps at least one.
    ///
    /// - Returns: `nil` when there is no group whose number may change, or too few are left for one each.
    package func scaled(toClients wanted: Int) -> LoadScenario? {
        var scaled = self
        let elastic = groups.indices.filter { !groups[$0].isFixed }
        let before = elastic.reduce(0) { $0 + groups[$1].count }
        let room = wanted - groups.filter(\.isFixed).reduce(0) { $0 + $1.count }
        guard before > 0, room >= elastic.count else { return nil }
        var left = room
        for place in elastic.dropLast() {
            let share = Int((Double(groups[place].count) / Double(before) * Double(room)).rounded())
            let behind = elastic.count - 1 - (elastic.firstIndex(of: place) ?? 0)
            scaled.groups[place].count = max(1, min(share, left - behind))
            left -= scaled.groups[place].count
        }
        if let last = elastic.last { scaled.groups[last].count = left }
        return scaled
    }
}

/// Clients that are alike.
package struct ClientGroup: Sendable, Equatable {
    package var name: String
    package var count: Int
    /// Stays as many when the scenario is played with another number of clients.
    package var isFixed: Bool
    package var role: Role?
    /// False: they say hello and are idle.
    package var joins: Bool
    package var publishes: [StreamPlan]
    /// They hear every stream of the room but their own.
    package var subscribes: Bool
    /// The highest spatial layer that they want.
    package var maxLayer: Int?
    /// They have an audio session, which can be interrupted and has a route.
    package var hasAudioSession: Bool
    /// A lost connection is made anew and the session goes on.
    package var resumes: Bool
}

/// A stream that each client of a group publishes.
package struct StreamPlan: Sendable, Equatable {
    package var kind: StreamKind
    package var framesPerSecond: Double
    /// The encodings, lowest first: one, or simulcast.
    package var layers: [LayerPlan]
    /// A key frame at least so often; `nil`: on request only.
    package var keySeconds: Double?
    /// `nil`: without a pause.
    package var turns: TurnPlan?
}

package struct LayerPlan: Sendable, Equatable {
    /// Bytes of a frame, its 16-byte header included.
    package var bytes: Int
    package var keyBytes: Int
}

/// Of a group, so many speak at once, each for a while; then another does.
package struct TurnPlan: Sendable, Equatable {
    package var speaking: Int
    package var secondsMin: Double
    package var secondsMax: Double
}

/// What happens during the measured window.
package struct LoadEvent: Sendable, Equatable {
    package enum Action: Sendable, Equatable {
        /// Leaves for good; another comes in its place over a new connection.
        case replace
        /// The connection is cut off without a word. The client comes back so much later: to its session where its group resumes, else as a new one.
        case cut(awaySeconds: Double)
        case stopReading(seconds: Double)
        /// A phone call: an interruption of the audio session.
        case interrupt(seconds: Double)
        /// The headset is plugged in or pulled.
        case changeRoute
    }

    package enum Timing: Sendable, Equatable {
        /// At this time, so large a share of the group at once.
        case at(seconds: Double, share: Double)
        /// So many of the group a second, one after the other.
        case steadily(perSecond: Double, from: Double, until: Double)
    }

    package var action: Action
    package var group: Int
    package var timing: Timing
}
