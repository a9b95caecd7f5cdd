import Testing

@testable import LoadGenerator

@Suite("Stamps of frames")
struct FrameStampTests {
    @Test("what was written is read; what no generator wrote is not taken for a stamp")
    func roundTrip() {
        var bytes = [UInt8](repeating: 7, count: 40)
        let stamp = FrameStamp(dueNanoseconds: 0x0102_0304_0506_0708, number: .max, isLast: true)
        stamp.write(into: &bytes)
        #expect(FrameStamp(unsafe bytes.span.bytes) == stamp)
        #expect(FrameStamp(unsafe bytes.span.bytes.extracting(first: 15)) == nil)
        bytes[13] = 0
        #expect(FrameStamp(unsafe bytes.span.bytes) == nil)
    }
}
