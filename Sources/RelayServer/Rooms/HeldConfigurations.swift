import MediaProtocol
import RelayBase
import RelayRooms

/// Configurations of one publisher that came while they could not go on: of each stream's layer the latest, in the order in which they came. What they take is out
/// of the loop's budget: a muted publisher of many layers must not have the relay keep megabytes for it.
final class HeldConfigurations {
    struct Held {
        let stream: UInt32
        let traits: FrameTraits
        let configuration: [UInt8]
    }

    private let budget: ByteBudget
    private var held: [Held] = []
    private var takenBytes = 0
    /// What one takes besides its bytes.
    private static let overheadBytes = 64

    init(budget: ByteBudget) {
        self.budget = budget
    }

    deinit {
        budget.give(takenBytes)
    }

    func holds(_ stream: UInt32) -> Bool {
        held.contains { $0.stream == stream }
    }

    func byteCount(of stream: UInt32) -> Int {
        held.reduce(0) { $0 + ($1.stream == stream ? $1.configuration.count : 0) }
    }

    /// Keeps a configuration in place of its layer's before. Where the budget is used up, the oldest go, and at last the new one.
    ///
    /// - Returns: how many were dropped for want of room.
    func hold(_ configuration: [UInt8], of stream: UInt32, _ traits: FrameTraits) -> Int {
        if let place = held.firstIndex(where: { $0.stream == stream && $0.traits.spatial == traits.spatial }) { drop(at: place) }
        let new = Held(stream: stream, traits: traits, configuration: configuration)
        var dropped = 0
        while !budget.take(HeldConfigurations.cost(of: new)) {
            dropped += 1
            guard !held.isEmpty else { return dropped }
            drop(at: 0)
        }
        takenBytes += HeldConfigurations.cost(of: new)
        held.append(new)
        return dropped
    }

    /// Gives out what is held of a stream, by layer.
    func release(_ stream: UInt32) -> [Held] {
        let released = held.filter { $0.stream == stream }
        while let place = held.firstIndex(where: { $0.stream == stream }) { drop(at: place) }
        return released
    }

    private func drop(at place: Int) {
        let cost = HeldConfigurations.cost(of: held.remove(at: place))
        takenBytes -= cost
        budget.give(cost)
    }

    private static func cost(of held: Held) -> Int { held.configuration.count + overheadBytes }
}
