import AudioSession
import Signalling

/// A session's audio session as administrators see it: no names of ports, which are the client's own.
struct AdminAudioSession: Codable, Sendable, Equatable {
    struct Interruption: Codable, Sendable, Equatable {
        let reason: String
        /// The client said so; else another session of its identity has the audio.
        let own: Bool
    }

    /// Port types.
    struct Route: Codable, Sendable, Equatable {
        let inputs: [String]
        let outputs: [String]
    }

    let state: RelayMessage.SessionState.State
    let category: String
    let mode: String
    let options: UInt32
    let paused: Bool
    /// As the room sees it.
    let held: Bool
    let interruption: Interruption?
    let route: Route?

    init(_ snapshot: SessionSnapshot, _ route: RouteDescription?) {
        state = .init(snapshot.state)
        category = snapshot.category.rawValue
        mode = snapshot.mode.rawValue
        options = snapshot.options.rawValue
        paused = snapshot.isPaused
        held = snapshot.isHeld
        interruption = snapshot.interruption.map { Interruption(reason: $0.reason.rawValue, own: $0.isOwn) }
        self.route = route.map { Route(inputs: $0.inputs.map(\.type.rawValue), outputs: $0.outputs.map(\.type.rawValue)) }
    }
}
