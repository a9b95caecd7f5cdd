import AudioSession
import RelayBase
import RelayRooms

/// Audio sessions as one loop decides them for the whole process: the arbiter of each identity. See record 28.
///
/// As many groups as there are audio sessions at most; a group goes with its last session.
final class AudioSessionDesk {
    /// The loop that it lives on.
    static let loop = 0

    private let limits: SessionLimits
    private var groups: [String: IdentitySessions] = [:]
    /// When something ends by itself, for the groups in which something does.
    private var deadlines: [String: MonotonicInstant] = [:]
    private var earliest = MonotonicInstant.distantFuture

    init(limits: Limits) {
        self.limits = SessionLimits(
            interruptionMillisecondsMax: Int(clamping: limits.interruptionMillisecondsMax), sessionsMax: limits.audioSessionsPerIdentityMax)
    }

    var groupCount: Int { groups.count }

    /// - Returns: what the loops of sessions are to do, in order: what is before another's answer is posted before it.
    func handle(_ ask: AudioSessionAsk, now: MonotonicInstant) -> [(address: MemberAddress, news: AudioSessionNews)] {
        let key = SessionKey(ask.address)
        var effects: [Addressed] = []
        groups[ask.group, default: IdentitySessions(limits: limits)].handle(ask.verb, from: key, device: ask.device, now: now, into: &effects)
        var mail = sort(effects, ask.group)
        for place in mail.indices where mail[place].address == ask.address {
            mail[place].news.asked = ask.verb
            mail[place].news.requestID = ask.requestID
            mail[place].news.warnings = ask.warnings
        }
        settle(ask.group)
        return mail
    }

    /// Interruptions whose end was never told.
    func expire(now: MonotonicInstant) -> [(address: MemberAddress, news: AudioSessionNews)] {
        guard now >= earliest else { return [] }
        let due = deadlines.filter { $0.value <= now }.keys.sorted()
        earliest = deadlines.values.filter { $0 > now }.min() ?? .distantFuture
        return due.flatMap { group in
            var effects: [Addressed] = []
            groups[group]?.expire(now: now, into: &effects)
            let mail = sort(effects, group)
            settle(group)
            return mail
        }
    }

    /// Effects that follow each other for one session go together.
    private func sort(_ effects: [Addressed], _ group: String) -> [(address: MemberAddress, news: AudioSessionNews)] {
        var mail: [(address: MemberAddress, news: AudioSessionNews)] = []
        for effect in effects {
            let address = effect.session.address
            if mail.last?.address == address {
                mail[mail.count - 1].news.effects.append(effect.effect)
            } else {
                mail.append((address, AudioSessionNews(effects: [effect.effect], snapshot: groups[group]?.snapshot(of: effect.session))))
            }
        }
        return mail
    }

    private func settle(_ group: String) {
        guard groups[group]?.isEmpty == false else {
            groups[group] = nil
            deadlines[group] = nil
            return
        }
        deadlines[group] = groups[group]?.nextDeadline
        if let deadline = deadlines[group] { earliest = min(earliest, deadline) }
    }
}
