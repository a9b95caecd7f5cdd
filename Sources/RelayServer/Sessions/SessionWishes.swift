import RelayRooms
import Signalling

/// What a session wished for in its `hello`, checked.
struct SessionWishes: Sendable, Equatable, Codable {
    /// How its frames are to be written.
    var egress = EgressWishes()
    /// How long a frame may be held so that others join it in a bundle; 0 without the wish.
    var bundleNanoseconds: UInt64 = 0
    /// A data message at least this often; `nil`: none.
    var keepAliveMilliseconds: UInt64?

    static let bundleMilliseconds = SignallingBounds.bundleMilliseconds
    static let keepAliveMilliseconds = SignallingBounds.keepAliveMilliseconds

    init() {}

    /// - Throws: `bad_value` naming the member that is out of range.
    init(_ wishes: ClientRequest.SessionWishes?) throws(Refusal) {
        guard let wishes else { return }
        egress.parts = wishes.parts ?? false
        if let bundles = wishes.bundles {
            guard SessionWishes.bundleMilliseconds.contains(bundles.delayMilliseconds) else { throw .badValue("wishes.bundles.delayMilliseconds") }
            egress.bundles = true
            bundleNanoseconds = UInt64(bundles.delayMilliseconds * 1_000_000)
        }
        if let milliseconds = wishes.keepAliveMilliseconds {
            guard SessionWishes.keepAliveMilliseconds.contains(milliseconds) else { throw .badValue("wishes.keepAliveMilliseconds") }
            keepAliveMilliseconds = UInt64(milliseconds)
        }
    }
}
