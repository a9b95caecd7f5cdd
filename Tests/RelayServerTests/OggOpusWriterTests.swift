import RelayBase
import Testing

@testable import RelayServer

@Suite("Opus in Ogg")
struct OggOpusWriterTests {
    private struct Page {
        let flags: UInt8
        let position: UInt64
        let serial: UInt32
        let sequence: UInt32
        let packet: [UInt8]
    }

    /// RFC 3533 §6, one bit after the other.
    private func checksum(_ page: [UInt8]) -> UInt32 {
        var sum: UInt32 = 0
        for byte in page {
            sum ^= UInt32(byte) << 24
            for _ in 0..<8 { sum = sum & 0x8000_0000 != 0 ? (sum << 1) ^ 0x04C1_1DB7 : sum << 1 }
        }
        return sum
    }

    private func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) } }

    private func pages(_ queue: borrowing ByteQueue) throws -> [Page] {
        var rest = unsafe Array(queue.readable)[...]
        var pages: [Page] = []
        while !rest.isEmpty {
            let bytes = Array(rest)
            try #require(bytes.count >= 27 && Array(bytes[..<5]) == Array("OggS".utf8) + [0])
            let lacing = bytes[27..<(27 + Int(bytes[26]))]
            let end = 27 + lacing.count + lacing.reduce(0) { $0 + Int($1) }
            #expect(lacing.dropLast().allSatisfy { $0 == 255 } && lacing.last.map { $0 < 255 } == true, "the packet ends in the page")
            var page = Array(bytes[..<end])
            page.replaceSubrange(22..<26, with: [0, 0, 0, 0])
            #expect(number(bytes[22..<26]) == UInt64(checksum(page)))
            pages.append(
                Page(
                    flags: bytes[5], position: number(bytes[6..<14]), serial: UInt32(number(bytes[14..<18])),
                    sequence: UInt32(number(bytes[18..<22])),
                    packet: Array(bytes[(27 + lacing.count)..<end])))
            rest = rest.dropFirst(end)
        }
        return pages
    }

    @Test("RFC 7845 §3 the two headers come first, and nothing before them")
    func headers() throws {
        var writer = OggOpusWriter(serial: 0xDEAD_BEEF, isChunked: false)
        var queue = ByteQueue()
        unsafe writer.append([1, 2].span.bytes, samples: 960, into: &queue)
        let early = queue.count
        #expect(early == 0, "no packet before the headers")
        let head = Array("OpusHead".utf8) + [1, 2, 56, 1, 0x80, 0xBB, 0, 0, 0, 0, 0]
        unsafe writer.begin(head.span.bytes, into: &queue)
        unsafe writer.begin(head.span.bytes, into: &queue)
        let found = try pages(queue)
        #expect(found.map(\.flags) == [2, 0] && found.map(\.position) == [0, 0] && found.map(\.sequence) == [0, 1])
        #expect(found.allSatisfy { $0.serial == 0xDEAD_BEEF })
        #expect(found[0].packet == head)
        #expect(found[1].packet == Array("OpusTags".utf8) + [5, 0, 0, 0] + Array("segue".utf8) + [0, 0, 0, 0])
    }

    @Test("RFC 3533 §6 a packet of any length is one page, and positions count samples", arguments: [0, 1, 254, 255, 256, 509, 510, 1_275, 65_024])
    func packets(byteCount: Int) throws {
        var writer = OggOpusWriter(serial: 7, isChunked: false)
        var queue = ByteQueue()
        unsafe writer.begin([1].span.bytes, into: &queue)
        let packet = (0..<byteCount).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        for _ in 0..<3 { unsafe writer.append(packet.span.bytes, samples: 960, into: &queue) }
        let found = try pages(queue)
        #expect(found.count == 5)
        #expect(found.dropFirst(2).allSatisfy { $0.packet == packet && $0.flags == 0 })
        #expect(found.map(\.position) == [0, 0, 960, 1_920, 2_880])
        let tooLong = [UInt8](repeating: 0, count: OggOpusWriter.packetBytesMax + 1)
        let before = queue.count
        unsafe writer.append(tooLong.span.bytes, samples: 960, into: &queue)
        let after = queue.count
        #expect(after == before, "what fits no page is left out")
    }

    @Test("RFC 9112 §7.1 in chunks each page is one, and the end is told")
    func chunks() throws {
        var plain = OggOpusWriter(serial: 7, isChunked: false)
        var chunked = OggOpusWriter(serial: 7, isChunked: true)
        var expected = ByteQueue()
        var queue = ByteQueue()
        for _ in 0..<2 {
            unsafe plain.begin([1, 2, 3].span.bytes, into: &expected)
            unsafe chunked.begin([1, 2, 3].span.bytes, into: &queue)
            unsafe plain.append([4, 5].span.bytes, samples: 960, into: &expected)
            unsafe chunked.append([4, 5].span.bytes, samples: 960, into: &queue)
        }
        plain.end(into: &expected)
        chunked.end(into: &queue)
        var rest = unsafe Array(queue.readable)[...]
        var content: [UInt8] = []
        while true {
            let line = rest.prefix { $0 != 13 }
            let count = try #require(Int(String(decoding: line, as: UTF8.self), radix: 16))
            rest = rest.dropFirst(line.count + 2)
            content += rest.prefix(count)
            #expect(Array(rest.dropFirst(count).prefix(2)) == [13, 10])
            rest = rest.dropFirst(count + 2)
            if count == 0 { break }
        }
        #expect(rest.isEmpty)
        let wanted = unsafe Array(expected.readable)
        #expect(content == wanted)
    }
}
