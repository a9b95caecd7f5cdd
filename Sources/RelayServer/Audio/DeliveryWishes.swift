import AudioSession
import JitterBuffer
import RelayRooms
import Signalling

/// What a client wishes of the streams that it subscribes to: of what layers they are, and how their frames are to come.
struct SubscriptionWishes: Sendable, Equatable {
    var layers = LayerWishes()
    var delivery = DeliveryWish.live
    /// Of video but screens, only that of so many who spoke last; `nil`: of everybody.
    var lastN: Int?

    init(_ request: ClientRequest.Subscribe) {
        layers = LayerWishes(request)
        lastN = request.lastN
        switch request.delivery ?? .live {
        case .live: delivery = .live
        case .paced: delivery = .paced(PacedWish(request))
        case .mixed: delivery = .mixed
        }
    }
}

enum DeliveryWish: Sendable, Equatable {
    case live
    case paced(PacedWish)
    case mixed
}

/// What a client says of a buffer of the relay's.
struct PacedWish: Sendable, Equatable {
    let conceals: Bool
    /// `nil`: as the mode of its audio session says.
    let profile: JitterProfile?
    let pinnedMilliseconds: Int?

    init(_ request: ClientRequest.Subscribe) {
        conceals = request.late == .conceal
        profile = request.profile.map { JitterProfile($0) }
        pinnedMilliseconds = request.delay.map { Int($0.rounded()) }
    }

    /// The buffer that this is for a listener.
    ///
    /// - Parameter outputLatency: seconds from when the client is given sound to when it is heard, of which a pinned delay keeps clear. In steps of 10 ms: listeners share buffers.
    func variant(in mode: Mode?, outputLatency: Double = 0) -> PacedVariant {
        let latency = Int((outputLatency * 100).rounded()) * 10
        return PacedVariant(
            conceals: conceals, profile: profile ?? JitterProfile(mode: mode), pinnedMilliseconds: pinnedMilliseconds.map { max($0 - latency, 0) },
            isMeasurement: conceals && mode == .measurement)
    }

    func variant(for audio: AudioStanding?) -> PacedVariant {
        variant(in: audio?.snapshot?.mode, outputLatency: audio?.route.toldLatency ?? 0)
    }
}

/// A buffer of a stream: whoever wishes for the same has the same one.
struct PacedVariant: Sendable, Hashable {
    let conceals: Bool
    let profile: JitterProfile
    let pinnedMilliseconds: Int?
    /// Nothing is done to the sound but what a lost packet makes necessary: no time stretch, no comfort noise.
    var isMeasurement = false
}

extension JitterProfile {
    init(_ name: ClientRequest.JitterProfileName) {
        switch name {
        case .lowLatency: self = .lowLatency
        case .balanced: self = .balanced
        case .smooth: self = .smooth
        }
    }

    /// - Parameter mode: of the listener's audio session; `nil`: it has none.
    init(mode: Mode?) {
        switch mode {
        case .voiceChat, .videoChat: self = .lowLatency
        case .moviePlayback: self = .smooth
        default: self = .balanced
        }
    }
}

extension ClientRequest.Subscribe {
    /// The first member that says something of another delivery than the one that is asked for.
    var memberOfOtherDelivery: String? {
        if delivery != .paced {
            if late != nil { return "late" }
            if profile != nil { return "profile" }
            if delay != nil { return "delay" }
        }
        return delivery != .mixed && channels != nil ? "channels" : nil
    }
}

/// A stream that a member gets through a buffer, and what it has wished.
struct PacedSubscription {
    let stream: UInt32
    let wish: PacedWish
    let slot: StreamSlot
}
