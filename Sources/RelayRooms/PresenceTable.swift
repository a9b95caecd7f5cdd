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
        /// Of its sessions, the first that gives one, in the order of their addresses; of many, the first few are asked.
        package let device: String?
        package let sessions: Int
    }

    private struct DeviceID: Hashable {
        let name: String
        let key: String?
    }

    private var sessions: [MemberAddress: Session] = [:]
    /// Addresses are kept in their order, so that nothing is sorted for a request: one identity may have thousands of sessions.
    private var byDevice: [DeviceID: [MemberAddress]] = [:]
    private var byKey: [String: [MemberAddress]] = [:]
    /// The keys that an identity is connected with, in the order in which they came.
    private var keysOfName: [String: [String?]] = [:]

    /// How many of a device's sessions are asked for its name.
    private static let namesLookedAtMax = 16

    package init() {}

    package var count: Int { sessions.count }

    package func session(at address: MemberAddress) -> Session? { sessions[address] }

    /// Takes a session in, or what has changed about it: a token may be added to a certificate.
    package mutating func set(_ session: Session) {
        remove(session.address)
        sessions[session.address] = session
        let name = session.principal.name
        let key = session.principal.fingerprint
        let device = DeviceID(name: name, key: key)
        if byDevice[device] == nil { keysOfName[name, default: []].append(key) }
        byDevice[device, default: []].insertInOrder(session.address)
        if let key { byKey[key, default: []].insertInOrder(session.address) }
    }

    @discardableResult
    package mutating func remove(_ address: MemberAddress) -> Session? {
        guard let session = sessions.removeValue(forKey: address) else { return nil }
        let name = session.principal.name
        let key = session.principal.fingerprint
        let device = DeviceID(name: name, key: key)
        byDevice[device]?.removeInOrder(address)
        if byDevice[device]?.isEmpty == true {
            byDevice[device] = nil
            keysOfName[name]?.removeAll { $0 == key }
            if keysOfName[name]?.isEmpty == true { keysOfName[name] = nil }
        }
        if let key {
            byKey[key]?.removeInOrder(address)
            if byKey[key]?.isEmpty == true { byKey[key] = nil }
        }
        return session
    }

    package func isPresent(key: String) -> Bool { byKey[key] != nil }

    /// In the order of addresses, so that the same state always gives the same answer.
    package func sessions(ofKey key: String, max: Int = .max) -> [Session] {
        (byKey[key] ?? []).prefix(max).compactMap { sessions[$0] }
    }

    /// Device by device, each in the order of addresses.
    package func sessions(ofName name: String) -> [Session] {
        (keysOfName[name] ?? []).flatMap { key in (byDevice[DeviceID(name: name, key: key)] ?? []).compactMap { sessions[$0] } }
    }

    /// One session of each key that an identity is connected with.
    package func representatives(ofName name: String) -> [Session] {
        (keysOfName[name] ?? []).compactMap { key in (byDevice[DeviceID(name: name, key: key)]?.first).flatMap { sessions[$0] } }
    }

    /// The identity's keys, in the order in which they came.
    package func devices(ofName name: String) -> [Device] {
        (keysOfName[name] ?? []).map { key in
            let addresses = byDevice[DeviceID(name: name, key: key)] ?? []
            let named = addresses.prefix(PresenceTable.namesLookedAtMax).lazy.compactMap { sessions[$0]?.device }.first
            return Device(fingerprint: key, device: named, sessions: addresses.count)
        }
    }
}

extension [MemberAddress] {
    fileprivate mutating func insertInOrder(_ address: MemberAddress) {
        insert(address, at: place(of: address))
    }

    fileprivate mutating func removeInOrder(_ address: MemberAddress) {
        let place = place(of: address)
        if place < count, self[place] == address { remove(at: place) }
    }

    /// The first place whose address is not below.
    private func place(of address: MemberAddress) -> Int {
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            if self[middle] < address { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

extension MemberAddress: Comparable {
    package static func < (left: MemberAddress, right: MemberAddress) -> Bool {
        (left.loop, left.token) < (right.loop, right.token)
    }
}
