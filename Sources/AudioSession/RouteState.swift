/// One client's route, as it said last. Held by the loop that has the client; survives a resume with it.
package struct RouteState: Equatable, Sendable {
    /// A smaller change of the output latency leaves jitter buffers alone. Seconds.
    package static let latencyToleranceSeconds = 0.02

    /// `nil`: the client has said nothing yet.
    package private(set) var route: RouteDescription?
    /// False: a device went away and left no input.
    package private(set) var uplinkGoesOn = true
    /// What the room was told; `nil`: nothing.
    package private(set) var shown: RouteDescription?
    /// Seconds of the output's latency that jitter buffers know. Small changes are measured from here, so that they do not add up unseen.
    package private(set) var toldLatency = 0.0

    package init() {}

    /// What is to be sent to the client; `nil`: it is silent. Whoever said nothing of its route gets everything.
    package var receiveFormat: ReceiveFormat? {
        guard let route else { return .full }
        return ReceiveFormat(route.outputs)
    }

    /// Takes over what the client says. The session itself (pause, suspension, rights) is the session machine's part, and follows the actions.
    package mutating func apply(_ change: RouteChange) -> RouteOutcome {
        let actions = change.reason.actions
        let formatBefore = receiveFormat
        if let new = change.route { route = new }
        let hasInput = route.map { !$0.inputs.isEmpty } ?? true
        if hasInput { uplinkGoesOn = true } else if change.reason == .oldDeviceUnavailable { uplinkGoesOn = false }
        return RouteOutcome(
            actions: actions, receiveFormat: receiveFormat, receiveFormatChanged: receiveFormat != formatBefore, jitter: retarget(for: actions),
            uplinkGoesOn: uplinkGoesOn, shown: show(withNames: change.sharesNames))
    }

    private mutating func retarget(for actions: RouteActions) -> JitterChange {
        let latency = route?.outputLatency ?? toldLatency
        if actions.contains(.startsFresh) {
            toldLatency = latency
            return .reset
        }
        let isFar = abs(latency - toldLatency) > RouteState.latencyToleranceSeconds
        guard isFar || actions.contains(.tellsLatency) else { return .keep }
        toldLatency = latency
        return .retarget(outputLatency: latency)
    }

    private mutating func show(withNames: Bool) -> RouteDescription? {
        guard let visible = route?.visible(withNames: withNames), visible != shown else { return nil }
        shown = visible
        return visible
    }
}
