/// Makes samples of packets. The buffer asks, in the order in which things are played; nothing it asks for allocates.
///
/// Samples are interleaved Float32, nominally −1 to 1; counts are per channel, at ``sampleRate``.
package protocol JitterDecoder: ~Copyable {
    /// Of what it makes: that of the buffer's configuration.
    var sampleRate: Int { get }
    var channels: Int { get }

    /// Where packets are samples: what one of all channels takes, and how many there are a second; `nil` where packets are whole.
    var samples: PacketSamples? { get }

    /// How much a packet plays, up to 120 ms; 0 when nothing can be made of it.
    func sampleCount(of payload: RawSpan) -> Int
    /// How much of the packet *before* a packet carries beside its own (in-band FEC); 0 when it has none.
    func redundantSampleCount(of payload: RawSpan) -> Int

    /// - Parameter samples: room for 120 ms.
    /// - Returns: how many were made; 0 when the packet is damaged.
    mutating func decode(_ payload: RawSpan, into samples: inout MutableSpan<Float>) -> Int
    /// Makes the packet before `payload` from what that carries of it.
    mutating func decodeRedundancy(of payload: RawSpan, sampleCount: Int, into samples: inout MutableSpan<Float>) -> Int
    /// Goes on without a packet.
    ///
    /// - Returns: how many were made; 0: it cannot, and the buffer conceals by itself.
    mutating func conceal(sampleCount: Int, into samples: inout MutableSpan<Float>) -> Int
    /// Forgets what came before.
    mutating func reset()
}

extension JitterDecoder where Self: ~Copyable {
    package var samples: PacketSamples? { nil }
}

/// The form of packets that may be cut between any two samples.
package struct PacketSamples: Sendable, Hashable {
    /// Of one sample of all channels.
    package let byteCount: Int
    package let perSecond: Int

    /// - Precondition: both are above 0.
    package init(byteCount: Int, perSecond: Int) {
        precondition(byteCount > 0 && perSecond > 0, "samples that have a size and a rate")
        self.byteCount = byteCount
        self.perSecond = perSecond
    }
}
