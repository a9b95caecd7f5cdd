/// Whose a session is. Nobody else resumes it, whatever token he shows.
package struct ResumeOwner: Hashable, Sendable, Codable {
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
/// A token that is claimed stays in the table until its session says what becomes of it, and nobody else can claim it meanwhile. A claim that comes to nothing is
/// given back by its number, from whichever loop it ends on: never into the table of a session that has ended, nor out of another's hands.
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

    /// Tells the claims of a token apart.
    package struct ClaimNumber: Hashable, Sendable, Codable {
        fileprivate let value: UInt64

        /// Of a token that another node has given out.
        package static var foreign: ClaimNumber { ClaimNumber(value: .max) }
    }

    package enum Claim: Sendable, Equatable {
        case session(Session, ClaimNumber)
        /// Never given out, used, or of a session that is no more.
        case unknown
        /// Another's; it stays good for its owner.
        case anothers
        /// Another connection of its owner's has claimed it, and that is not settled yet.
        case claimed
        /// Its session lives on another loop than may be; it stays good.
        case elsewhere
    }

    private struct Entry {
        let session: Session
        var claim: ClaimNumber?
    }

    private var entries: [Digest: Entry] = [:]
    private var claims: UInt64 = 0

    package init() {}

    package var count: Int { entries.count }

    package mutating func insert(_ digest: Digest, _ session: Session) {
        entries[digest] = Entry(session: session)
    }

    /// - Parameter loop: the only loop that the session may live on; `nil`: any.
    package mutating func claim(_ digest: Digest, by owner: ResumeOwner, onlyOn loop: Int? = nil) -> Claim {
        guard let entry = entries[digest] else { return .unknown }
        guard entry.session.owner == owner else { return .anothers }
        guard entry.claim == nil else { return .claimed }
        guard loop == nil || loop == entry.session.address.loop else { return .elsewhere }
        claims += 1
        let number = ClaimNumber(value: claims)
        entries[digest]?.claim = number
        return .session(entry.session, number)
    }

    /// The claim has come to nothing: the token may be claimed again, if its session still is.
    package mutating func giveBack(_ digest: Digest, _ number: ClaimNumber) {
        guard entries[digest]?.claim == number else { return }
        entries[digest]?.claim = nil
    }

    /// The session has ended, or its client has another token for certain.
    package mutating func remove(_ digest: Digest) {
        entries[digest] = nil
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
