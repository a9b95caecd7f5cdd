/// Who is connected now: sessions by identity and by key. One identity may have several devices, each with a key of its own, and each several sessions.
///
/// Keyed by what was proven, never by what a client says of itself.
package struct PresenceTable: Sendable {
    package struct Session: Hashable, Sendable {
        package let address: MemberAddress
        package let principal: Principal
        /// What the client calls the device.
        package let device: String?

        package init(address: MemberAddress, principal: Principal, device: String?) {
            self.address = address
            self.principal = principal
            self.device = device
        }
    }

    /// One key of an identity, or, without a fingerprint, its sessions by token alone.
    package struct Device: Hashable, Sendable {
        package let fingerprint: String?
        /// Of its sessions, the first that gives one, in the order of their addresses.
        package let device: String?
        package let sessions: Int
    }

    private var sessions: [MemberAddress: Session] = [:]
    private var byName: [String: Set<MemberAddress>] = [:]
    private var byKey: [String: Set<MemberAddress>] = [:]

    package init() {}

    package var count: Int { sessions.count }

    package func session(at address: MemberAddress) -> Session? { sessions[address] }

    /// Takes a session in, or what has changed about it: a token may be added to a certificate.
    package mutating func set(_ session: Session) {
        remove(session.address)
        sessions[session.address] = session
        byName[session.principal.name, default: []].insert(session.address)
        if let key = session.principal.fingerprint { byKey[key, default: []].insert(session.address) }
    }

    @discardableResult
    package mutating func remove(_ address: MemberAddress) -> Session? {
        guard let session = sessions.removeValue(forKey: address) else { return nil }
        PresenceTable.remove(address, from: &byName, session.principal.name)
        if let key = session.principal.fingerprint { PresenceTable.remove(address, from: &byKey, key) }
        return session
    }

    private static func remove(_ address: MemberAddress, from index: inout [String: Set<MemberAddress>], _ key: String) {
        index[key]?.remove(address)
        if index[key]?.isEmpty == true { index[key] = nil }
    }

    package func isPresent(key: String) -> Bool { byKey[key] != nil }

    /// In the order of addresses, so that the same state always gives the same answer.
    package func sessions(ofKey key: String) -> [Session] {
        (byKey[key] ?? []).sorted().compactMap { sessions[$0] }
    }

    package func sessions(ofName name: String) -> [Session] {
        (byName[name] ?? []).sorted().compactMap { sessions[$0] }
    }

    /// The identity's keys, in the order of their first sessions' addresses.
    package func devices(ofName name: String) -> [Device] {
        var order: [String?] = []
        var found: [String?: Device] = [:]
        for session in sessions(ofName: name) {
            let key = session.principal.fingerprint
            if let known = found[key] {
                found[key] = Device(fingerprint: key, device: known.device ?? session.device, sessions: known.sessions + 1)
            } else {
                order.append(key)
                found[key] = Device(fingerprint: key, device: session.device, sessions: 1)
            }
        }
        return order.compactMap { found[$0] }
    }
}

extension MemberAddress: Comparable {
    package static func < (left: MemberAddress, right: MemberAddress) -> Bool {
        (left.loop, left.token) < (right.loop, right.token)
    }
}
