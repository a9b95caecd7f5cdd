/// The first frames of a stream over the connection that its session was resumed on: what came over the old one does not go on a second time.
struct RepeatedFrames {
    /// The last that came, for each spatial layer; `nil`: none, or a new one has come since.
    private var last: [UInt32?]
    /// A publisher that numbers its frames in another way than the protocol says is not cut off for that.
    private var left = RepeatedFrames.framesMax

    static let framesMax = 1_024

    init(after last: [UInt32?]) {
        self.last = last
    }

    enum Verdict: Equatable {
        case repeated
        case new
        /// The first that is new of the last layer that was looked at, and the end of the search.
        case newAgain
    }

    /// Sequence numbers wrap (RFC 1982), and count each spatial layer's frames apart.
    mutating func look(at sequence: UInt32, layer: Int = 0, isConfiguration: Bool) -> Verdict {
        guard layer < last.count, let known = last[layer] else { return .new }
        let isNew = Int32(bitPattern: sequence &- known) > 0
        if isConfiguration { return isNew ? .new : .repeated }
        left -= 1
        guard isNew || left <= 0 else { return .repeated }
        last[layer] = nil
        return left <= 0 || last.allSatisfy { $0 == nil } ? .newAgain : .new
    }
}

extension Membership {
    /// The session has another connection: whatever the publisher sends again of a stream, up to the last frame that came, is dropped.
    func expectRepeats(at place: Int, after last: [UInt32?]) {
        published[place].repeats = last.contains { $0 != nil } ? RepeatedFrames(after: last) : nil
        noteRestrictions()
    }

    func isRepeated(at place: Int, sequence: UInt32, layer: Int, isConfiguration: Bool) -> Bool {
        guard let verdict = published[place].repeats?.look(at: sequence, layer: layer, isConfiguration: isConfiguration) else { return false }
        if case .newAgain = verdict {
            published[place].repeats = nil
            noteRestrictions()
        }
        if case .repeated = verdict { return true }
        return false
    }
}
