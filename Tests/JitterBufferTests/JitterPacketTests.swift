import JitterBuffer
import MediaProtocol
import Testing

@Suite("What a buffer knows of a packet")
struct JitterPacketTests {
    @Test("flags of the media header", arguments: [[], .discontinuity, .silence, [.discontinuity, .silence]] as [MediaFlags])
    func flags(_ flags: MediaFlags) {
        let packet = JitterPacket(MediaHeader(kind: .audio, flags: flags, stream: StreamID(7), sequence: .max, timestamp: 960))
        #expect(
            packet
                == JitterPacket(
                    sequence: .max, timestamp: 960, isDiscontinuity: flags.contains(.discontinuity), isSilence: flags.contains(.silence)))
    }
}
