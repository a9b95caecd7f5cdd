import RelayBase

/// One client's wish to be a pair with another, until it is answered, taken back, or two minutes old.
package struct PairRequest: Hashable, Sendable {
    /// 32 hexadecimal digits, drawn at random.
    package let id: String
    package let from: PairParty
    package let to: PairParty
    /// As the policy sees the two.
    let principals: (from: Principal, to: Principal)
    let deadline: MonotonicInstant
    /// Milliseconds since 1970.
    package let expires: Int64

    package static func == (left: PairRequest, right: PairRequest) -> Bool { left.id == right.id }

    package func hash(into hasher: inout Hasher) { hasher.combine(id) }
}

/// The requests that are open, at most ``PairLimits/requestsMax``, in the order in which they were made: they also expire in it.
struct PairRequests: Sendable {
    private(set) var all: [PairRequest] = []
    /// Taken back or declined before their time: they still count for who made them, so that nobody pesters a peer by asking again and again.
    private var spent: [(from: String, deadline: MonotonicInstant)] = []

    func find(_ id: String) -> PairRequest? {
        all.first { $0.id == id }
    }

    func find(from: String, to: String) -> PairRequest? {
        all.first { $0.from.fingerprint == from && $0.to.fingerprint == to }
    }

    /// Those that a key made, and those that were made to it.
    func concerning(_ fingerprint: String) -> [PairRequest] {
        all.filter { $0.from.fingerprint == fingerprint || $0.to.fingerprint == fingerprint }
    }

    mutating func add(_ request: PairRequest, limits: PairLimits) throws(PairRefusal) {
        let name = request.from.name
        guard all.count + spent.count < limits.requestsMax,
            all.count(where: { $0.from.name == name }) + spent.count(where: { $0.from == name }) < limits.requestsOutMax,
            all.count(where: { $0.to.name == request.to.name }) < limits.requestsInMax
        else { throw .pairsMax }
        all.append(request)
    }

    mutating func remove(_ request: PairRequest) {
        all.removeAll { $0.id == request.id }
    }

    /// Takes out what was not accepted.
    mutating func spend(_ request: PairRequest) {
        remove(request)
        spent.append((request.from.name, request.deadline))
    }

    /// Takes out what is too old.
    mutating func expire(now: MonotonicInstant) -> [PairRequest] {
        spent.removeAll { $0.deadline <= now }
        let expired = all.prefix { $0.deadline <= now }
        all.removeFirst(expired.count)
        return Array(expired)
    }
}
