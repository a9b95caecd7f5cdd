package import RelayBase

/// Formats of Core Audio.
extension FourCharacterCode {
    /// `lpcm`
    package static let linearPCM = FourCharacterCode(rawValue: 0x6C70_636D)
    /// `opus`
    package static let opus = FourCharacterCode(rawValue: 0x6F70_7573)
    /// `aac `
    package static let aac = FourCharacterCode(rawValue: 0x6161_6320)
    /// `ulaw`
    package static let ulaw = FourCharacterCode(rawValue: 0x756C_6177)
    /// `alaw`
    package static let alaw = FourCharacterCode(rawValue: 0x616C_6177)
    /// `.mp3`
    package static let mp3 = FourCharacterCode(rawValue: 0x2E6D_7033)
}

/// Flags of linear PCM, with the platform's bit values.
package struct LinearPCMFlags: OptionSet, Hashable, Sendable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    package static let float = LinearPCMFlags(rawValue: 0x01)
    package static let bigEndian = LinearPCMFlags(rawValue: 0x02)
    package static let signedInteger = LinearPCMFlags(rawValue: 0x04)
    /// The sample bits fill their container.
    package static let packed = LinearPCMFlags(rawValue: 0x08)
    package static let alignedHigh = LinearPCMFlags(rawValue: 0x10)
    /// Each channel in a buffer of its own: bytes and frames count one channel.
    package static let nonInterleaved = LinearPCMFlags(rawValue: 0x20)
    package static let nonMixable = LinearPCMFlags(rawValue: 0x40)
}

/// An audio format in the words of the platform's queues.
package struct AudioStreamBasicDescription: Hashable, Sendable {
    /// Hertz.
    package var sampleRate: Double
    package var formatID: FourCharacterCode
    /// ``LinearPCMFlags`` for linear PCM; other formats define their own.
    package var formatFlags: UInt32
    /// 0 when it varies from packet to packet.
    package var bytesPerPacket: UInt32
    /// 0 when it varies from packet to packet.
    package var framesPerPacket: UInt32
    /// 0 for compressed formats.
    package var bytesPerFrame: UInt32
    package var channelsPerFrame: UInt32
    /// 0 for compressed formats.
    package var bitsPerChannel: UInt32

    package init(
        sampleRate: Double, formatID: FourCharacterCode, formatFlags: UInt32 = 0, bytesPerPacket: UInt32, framesPerPacket: UInt32,
        bytesPerFrame: UInt32, channelsPerFrame: UInt32, bitsPerChannel: UInt32
    ) {
        self.sampleRate = sampleRate
        self.formatID = formatID
        self.formatFlags = formatFlags
        self.bytesPerPacket = bytesPerPacket
        self.framesPerPacket = framesPerPacket
        self.bytesPerFrame = bytesPerFrame
        self.channelsPerFrame = channelsPerFrame
        self.bitsPerChannel = bitsPerChannel
    }

    /// Interleaved, packed, signed 16-bit little-endian: the protocol's `pcm_s16`.
    package static func pcmS16(sampleRate: Double, channels: UInt8) -> AudioStreamBasicDescription {
        let flags: LinearPCMFlags = [.signedInteger, .packed]
        return AudioStreamBasicDescription(
            sampleRate: sampleRate, formatID: .linearPCM, formatFlags: flags.rawValue, bytesPerPacket: 2 * UInt32(channels), framesPerPacket: 1,
            bytesPerFrame: 2 * UInt32(channels), channelsPerFrame: UInt32(channels), bitsPerChannel: 16)
    }

    /// Packets differ in bytes or in frames, so a frame that carries several needs a packet table.
    package var isVariableRate: Bool { bytesPerPacket == 0 || framesPerPacket == 0 }

    /// Checks that the fields agree with each other.
    ///
    /// - Throws: the first field that does not.
    package func validate() throws(DescriptionFault) {
        // NaN fails the comparison too.
        guard sampleRate > 0, sampleRate <= 1_000_000 else { throw .sampleRate }
        guard (1...64).contains(channelsPerFrame) else { throw .channelCount }
        if formatID == .linearPCM {
            try validateLinearPCM()
        } else {
            guard bytesPerFrame == 0 else { throw .bytesPerFrame }
            guard bitsPerChannel <= 64 else { throw .bitsPerChannel }
        }
    }

    private func validateLinearPCM() throws(DescriptionFault) {
        let flags = LinearPCMFlags(rawValue: formatFlags)
        guard !flags.isSuperset(of: [.float, .signedInteger]), !flags.isSuperset(of: [.packed, .alignedHigh]) else { throw .formatFlags }
        guard framesPerPacket == 1 else { throw .framesPerPacket }
        guard (1...64).contains(bitsPerChannel), !flags.contains(.float) || bitsPerChannel % 16 == 0 else { throw .bitsPerChannel }
        let channels = flags.contains(.nonInterleaved) ? 1 : channelsPerFrame
        guard bytesPerFrame > 0, bytesPerFrame % channels == 0 else { throw .bytesPerFrame }
        let containerBits = (UInt64(bytesPerFrame) / UInt64(channels)) * 8
        guard containerBits <= 64, flags.contains(.packed) ? containerBits == bitsPerChannel : containerBits >= bitsPerChannel else {
            throw .bytesPerFrame
        }
        guard bytesPerPacket == bytesPerFrame else { throw .bytesPerPacket }
    }
}
