import AudioSession
import RelayBase

/// All states of some devices of one identity that can be reached with some verbs: breadth first, each state once.
///
/// Devices are alike, so states that differ only by their devices' names are one (`Fingerprint`), unless `keepsNames`. Every transition of every
/// state is checked against what the specification says, not against the machine's own idea of it.
struct SessionExploration {
    struct Traits: Equatable {
        var category: AudioSession.Category
        var mode = Mode.default
        var options: CategoryOptions = []

        static let conference = Traits(category: .playAndRecord)
        static let podcast = Traits(category: .playback, mode: .spokenAudio)
        static let prompt = Traits(category: .playback, mode: .voicePrompt, options: [.duckOthers])
        static let recorder = Traits(category: .record)
        static let ambient = Traits(category: .ambient)
    }

    struct Outcome {
        var states = 0
        var transitions = 0
        /// Steps from the first state to the last that was found.
        var depth = 0
        /// No state that is left to be looked at.
        var isClosed = false
        /// The first that is wrong, with the verbs that lead there.
        var fault: String?
    }

    var devices: Int
    var verbs: [SessionVerb]
    var traits: [Traits]
    var depthMax = Int.max
    var keepsNames = false
    /// Verbs that every device has said at the beginning.
    var beginning: [SessionVerb] = []

    static let now = MonotonicInstant(nanoseconds: 1_000_000_000)
    static let never = MonotonicInstant.distantFuture

    static func key(_ device: Int) -> SessionKey {
        SessionKey(loop: device, token: 1)
    }

    /// Which state, by which verb of which device, from which other one: the way back to the beginning.
    private struct Step {
        var from: Int
        var device: Int
        var verb: Int
    }

    func run() -> Outcome {
        var outcome = Outcome()
        var first = IdentitySessions(limits: SessionLimits())
        var effects: [Addressed] = []
        for device in 0..<devices {
            for verb in beginning { first.handle(verb, from: Self.key(device), device: nil, now: Self.now, into: &effects) }
        }
        var seen: Set<Fingerprint> = [fingerprint(of: snapshots(of: first))]
        var steps = [Step(from: -1, device: 0, verb: 0)]
        var level = [(sessions: first, step: 0)]
        while !level.isEmpty, outcome.depth < depthMax {
            outcome.depth += 1
            var next: [(sessions: IdentitySessions, step: Int)] = []
            for (sessions, step) in level {
                let before = snapshots(of: sessions)
                if let fault = stuckFault(of: sessions, before: before) {
                    outcome.fault = fault + path(to: step, steps)
                    return outcome
                }
                for device in 0..<devices {
                    // The last is the passing of time, which is nobody's.
                    for verb in 0...verbs.count where verb < verbs.count || device == 0 {
                        var after = sessions
                        effects.removeAll(keepingCapacity: true)
                        if verb < verbs.count {
                            after.handle(verbs[verb], from: Self.key(device), device: nil, now: Self.now, into: &effects)
                        } else {
                            after.expire(now: Self.never, into: &effects)
                        }
                        outcome.transitions += 1
                        let snapshots = snapshots(of: after)
                        let check = SessionTransition(
                            before: before, after: snapshots, effects: effects, actor: verb < verbs.count ? device : nil,
                            verb: verb < verbs.count ? verbs[verb] : nil)
                        if let fault = check.fault() {
                            steps.append(Step(from: step, device: device, verb: verb))
                            outcome.fault = fault + path(to: steps.count - 1, steps) + "\neffects: \(effects)"
                            return outcome
                        }
                        guard seen.insert(fingerprint(of: snapshots)).inserted else { continue }
                        steps.append(Step(from: step, device: device, verb: verb))
                        next.append((after, steps.count - 1))
                    }
                }
            }
            level = next
        }
        outcome.states = seen.count
        outcome.isClosed = level.isEmpty
        return outcome
    }

    private func path(to step: Int, _ steps: [Step]) -> String {
        var lines: [String] = []
        var place = step
        while steps[place].from >= 0 {
            let said = steps[place]
            lines.append(said.verb < verbs.count ? "device \(said.device): \(verbs[said.verb])" : "time passes")
            place = said.from
        }
        return ", after\n" + lines.reversed().joined(separator: "\n")
    }

    func snapshots(of sessions: IdentitySessions) -> [SessionSnapshot?] {
        (0..<devices).map { sessions.snapshot(of: Self.key($0)) }
    }

    /// No deadlock: once the others have left, a session gets active by initialisation, category and activation.
    private func stuckFault(of sessions: IdentitySessions, before: [SessionSnapshot?]) -> String? {
        var effects: [Addressed] = []
        for device in 0..<devices {
            var rest = sessions
            for other in 0..<devices where other != device {
                rest.handle(.left(crashed: true), from: Self.key(other), device: nil, now: Self.now, into: &effects)
            }
            for verb in [SessionVerb.initialise, .setCategory(.playAndRecord, .default, []), .activate(background: true, priority: 0)] {
                rest.handle(verb, from: Self.key(device), device: nil, now: Self.now, into: &effects)
            }
            guard rest.snapshot(of: Self.key(device))?.state == .active else { return "device \(device) cannot get active" }
            rest.handle(.left(crashed: false), from: Self.key(device), device: nil, now: Self.now, into: &effects)
            guard rest.isEmpty, rest.nextDeadline == nil else { return "something is left when everybody has left" }
        }
        return nil
    }

    // MARK: Fingerprints

    /// Four devices of 32 bits each. In place of the interrupter's name stand, with the interrupter, its victims' places in the stack:
    /// so nothing names a device, and sorting makes states alike that differ by names only.
    struct Fingerprint: Hashable {
        var high: UInt64
        var low: UInt64
    }

    private func fingerprint(of snapshots: [SessionSnapshot?]) -> Fingerprint {
        var codes: (UInt32, UInt32, UInt32, UInt32) = (0, 0, 0, 0)
        for device in 0..<devices {
            let code = code(of: device, in: snapshots)
            switch device {
            case 0: codes.0 = code
            case 1: codes.1 = code
            case 2: codes.2 = code
            default: codes.3 = code
            }
        }
        if !keepsNames {
            // A sorting network for four.
            if codes.0 > codes.1 { swap(&codes.0, &codes.1) }
            if codes.2 > codes.3 { swap(&codes.2, &codes.3) }
            if codes.0 > codes.2 { swap(&codes.0, &codes.2) }
            if codes.1 > codes.3 { swap(&codes.1, &codes.3) }
            if codes.1 > codes.2 { swap(&codes.1, &codes.2) }
        }
        return Fingerprint(high: UInt64(codes.0) << 32 | UInt64(codes.1), low: UInt64(codes.2) << 32 | UInt64(codes.3))
    }

    private func code(of device: Int, in snapshots: [SessionSnapshot?]) -> UInt32 {
        guard let snapshot = snapshots[device] else { return 0 }
        let set = Traits(category: snapshot.category, mode: snapshot.mode, options: snapshot.options)
        var code: UInt32 = 1
        var room = 0
        func add(_ value: Int, below bound: Int) {
            precondition(value >= 0 && value < bound)
            code = code * UInt32(bound) + UInt32(value)
            room += bound
        }
        add(SessionState.allCases.firstIndex(of: snapshot.state) ?? 0, below: 4)
        add(traits.firstIndex(of: set) ?? 0, below: max(8, traits.count))
        add(min(snapshot.priority, 1), below: 2)
        let flags = [
            snapshot.isBackground, snapshot.isPaused, snapshot.isParked, snapshot.isSuspended, snapshot.isHeld, snapshot.interruption?.isOwn == true,
        ]
        for flag in flags { add(flag ? 1 : 0, below: 2) }
        // 0: none; 1: own reason only; else the place in the stack.
        add(snapshot.interruption.map { ($0.depth ?? -1) + 2 } ?? 0, below: 6)
        add(snapshot.interruption?.reason == .prompt ? 1 : 0, below: 2)
        var victims = 0
        for case .some(let interruption) in snapshots.map({ $0?.interruption }) where interruption.interrupter == Self.key(device) {
            victims |= 1 << (interruption.depth ?? 0)
        }
        add(victims, below: 16)
        return code
    }
}
