package import MediaProtocol
package import RelayBase

/// What a room's mixer is made for.
package struct MixerConfiguration: Sendable, Hashable {
    /// One tick, and one packet of each encode: 10 or 20.
    package var tickMilliseconds = 20
    /// Of the mix, in hertz; one that Opus has.
    package var sampleRate = 48_000
    /// How many are heard at once: the loudest.
    package var speakersMax = 3
    package var inputsMax = 1_000
    package var outputsMax = 1_000
    /// Formats that differ in bandwidth, channels, bit rate or purpose: each is encoded on its own.
    package var formatsMax = 16
    /// Of the encoders, 0 to 4: from 5 on they filter by pitch (RFC 6716 §4.3.7.1) from packet to packet, and whoever goes to another hears a step.
    package var complexity = 4
    /// Where sequence numbers and timestamps begin.
    package var seed: UInt64 = 0

    package init() {}
}

/// What an output is to hear, and how it is encoded.
package struct MixFormat: Sendable, Hashable {
    /// Whose inputs are left out: its own.
    package var participant: UInt32?
    /// The widest that is encoded. The encoder has no mediumband (RFC 6716 §3.1, table 2: CELT) and takes wideband for it.
    package var bandwidth: AudioBandwidth
    /// 1 or 2.
    package var channels: Int
    package var bitsPerSecond: Int
    /// Nothing is done to the sound but what keeps it from clipping: no gains, no soft knee (the mode `measurement`).
    package var isMeasurement: Bool

    package init(
        participant: UInt32? = nil, bandwidth: AudioBandwidth = .fullband, channels: Int = 1, bitsPerSecond: Int = 32_000, isMeasurement: Bool = false
    ) {
        self.participant = participant
        self.bandwidth = bandwidth
        self.channels = channels
        self.bitsPerSecond = bitsPerSecond
        self.isMeasurement = isMeasurement
    }

    /// What outputs that can share an encode have in common.
    var common: MixFormat {
        var common = self
        common.participant = nil
        return common
    }
}

/// What a listener wants of one of the inputs.
package struct ParameterGain: Sendable, Hashable {
    /// 0…1.
    package var volume: Float
    /// How long the volume takes to get there.
    package var rampMilliseconds: Double
    /// −1 (left) to 1 (right); heard in two channels only, where it takes away from the far one.
    package var pan: Float

    package init(volume: Float = 1, rampMilliseconds: Double = 0, pan: Float = 0) {
        self.volume = volume
        self.rampMilliseconds = rampMilliseconds
        self.pan = pan
    }
}

/// One encode of a tick.
package struct MixedPacket: Sendable, Hashable {
    /// As a media header has it.
    package let level: AudioLevel
    /// Nobody is heard: the packet says only that it goes on (DTX), and need not be sent.
    package let isSilence: Bool
    /// Several outputs may get it; the others are one output's own.
    package let isShared: Bool
    let byteCount: Int
}

/// Somebody who is heard.
package struct MixSpeaker: Sendable, Hashable {
    package let input: UInt32
    package let participant: UInt32
    package let level: AudioLevel
}
