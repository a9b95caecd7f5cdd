/// Whose a session is. Nobody else resumes it, whatever token he shows.
package struct ResumeOwner: Hashable, Sendable {
    package let name: String
    /// Of the certificate's key; `nil` where only a bearer token proved the name.
    package let fingerprint: String?

    package init(name: String, fingerprint: String?) {
        self.name = name
        self.fingerprint = fingerprint
    }

    package init(_ principal: Principal) {
        self.init(name: principal.name, fingerprint: principal.fingerprint)
    }
}

/// Which sessions can be resumed, by the digest of the token that says so: what is looked up is never the secret itself, so that the time a look-up takes tells
/// nothing of it.
///
/// Each token is good once: whoever claims it takes it out. A claim that comes to nothing, because the claiming connection was lost as well, is given back.
package struct ResumeTable<Digest: Hashable & Sendable>: Sendable {
    /// Where a session lives.
    package struct Session: Hashable, Sendable {
        package let address: MemberAddress
        package let owner: ResumeOwner

        package init(address: MemberAddress, owner: ResumeOwner) {
            self.address = address
            self.owner = owner
        }
    }

    package enum Claim: Sendable, Equatable {
        case session(Session)
        /// Never given out, used, or of a session that is no more.
        case unknown
        /// Another's; it stays good for its owner.
        case anothers
    }

    private var sessions: [Digest: Session] = [:]

    package init() {}

    package var count: Int { sessions.count }

    package mutating func insert(_ digest: Digest, _ session: Session) {
        sessions[digest] = session
    }

    package mutating func claim(_ digest: Digest, by owner: ResumeOwner) -> Claim {
        guard let session = sessions[digest] else { return .unknown }
        guard session.owner == owner else { return .anothers }
        sessions[digest] = nil
        return .session(session)
    }

    /// The session has ended, or has another token now.
    package mutating func remove(_ digest: Digest) {
        sessions[digest] = nil
    }
}

/// How many sessions are kept for clients whose connections were lost, by name: one client must not fill the place of all.
package struct ParkedCounts: Sendable {
    private var byName: [String: Int] = [:]
    package private(set) var total = 0
    package let perNameMax: Int

    package init(perNameMax: Int) {
        self.perNameMax = perNameMax
    }

    /// Counts one more; false when there are as many of that name as may be.
    package mutating func add(_ name: String) -> Bool {
        let count = byName[name] ?? 0
        guard count < perNameMax else { return false }
        byName[name] = count + 1
        total += 1
        return true
    }

    package mutating func remove(_ name: String) {
        guard let count = byName[name] else { return }
        byName[name] = count > 1 ? count - 1 : nil
        total -= 1
    }
}
