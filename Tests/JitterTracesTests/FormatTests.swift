import Foundation
import RelayBase
import Testing

@testable import jitter_traces

@Suite("Readers of traces")
struct FormatTests {
    private static let fixtures = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures")

    private static func bytes(_ name: String) throws -> [UInt8] { [UInt8](try Data(contentsOf: fixtures.appending(path: name))) }

    // MARK: The own format

    @Test("what is written is read back", arguments: Generators.all.map(\.name))
    func roundTrip(name: String) throws {
        let pattern = try #require(Generators.all.first { $0.name == name })
        let trace = Generators.trace(pattern)
        #expect(try TraceText.read(TraceText.write(trace)) == trace)
    }

    @Test("sequence, timestamp and size may jump and wrap; flags are kept")
    func jumps() throws {
        var trace = ArrivalTrace(name: "jumps", origin: .recorded, note: "a note", timescale: 8_000, packetTicks: 160)
        trace.packets = [
            TracePacket(sequence: .max, timestamp: .max - 100, sent: 0, received: 5_000, byteCount: 160),
            TracePacket(sequence: 0, timestamp: 59, sent: 20_000_000, received: nil, byteCount: 160, isSilence: true),
            TracePacket(sequence: 7, timestamp: 1_000, sent: 10_000_000, received: 9_000_000, byteCount: 3, isDiscontinuity: true),
        ]
        #expect(try TraceText.read(TraceText.write(trace)) == trace)
    }

    @Test(
        "what is no trace is refused",
        arguments: [
            "", "segue-jitter-trace 2\n", "segue-jitter-trace 1\n", "segue-jitter-trace 1\npackets 2\n0 1\n", "segue-jitter-trace 1\npackets 1\n0\n",
            "segue-jitter-trace 1\npackets -1\n", "segue-jitter-trace 1\nfirst 1 2\npackets 0\n", "segue-jitter-trace 1\ncolour red\npackets 0\n",
            "segue-jitter-trace 1\ntimescale 0\npackets 0\n", "segue-jitter-trace 1\npackets 1\n99999999999999999999 1\n",
            "segue-jitter-trace 1\npackets 1\n86400000001 1\n", "segue-jitter-trace 1\npackets 1\n0 -1\n", "segue-jitter-trace 1\npackets 1\n0 1 x\n",
            "segue-jitter-trace 1\npackets 1\n0 1 qq\n", "segue-jitter-trace 1\npackets 1\n0 1 s4294967296\n",
            "segue-jitter-trace 1\npackets 99999999999\n", "segue-jitter-trace 1\norigin moon\npackets 0\n",
        ])
    func refused(text: String) {
        #expect(throws: TraceFault.self) { try TraceText.read(text) }
    }

    // MARK: Files of other tools

    @Test("pcap of tcpdump, Opus of ffmpeg over IPv4: as tshark counts it")
    func opus() throws {
        let trace = try PacketCapture.read(Self.bytes("ffmpeg-opus.pcap"), name: "x")
        #expect(trace.packets.count == 61)
        #expect(trace.packets.allSatisfy { $0.received != nil })
        #expect(trace.timescale == 48_000 && trace.packetTicks == 960)
        #expect(trace.packets[0].sequence == 2_576 && trace.packets[0].timestamp == 3_673_470_477)
        let times = trace.packets.compactMap(\.received)
        #expect(times[1] - times[0] == 21_383_000)
        #expect(times[2] - times[0] == 42_377_000)
        #expect(trace.packets.indices.allSatisfy { trace.packets[$0].sent <= times[$0] })
        #expect(zip(trace.packets, times).contains { $0.sent == $1 }, "the fastest took no time")
    }

    @Test("packets that editcap took out are lost ones")
    func lost() throws {
        let trace = try PacketCapture.read(Self.bytes("editcap-lost.pcap"), name: "x")
        #expect(trace.packets.count == 61)
        #expect(trace.packets.indices.filter { trace.packets[$0].received == nil } == [9, 10, 11])
        let whole = try PacketCapture.read(Self.bytes("ffmpeg-opus.pcap"), name: "x")
        #expect(trace.packets.map(\.timestamp) == whole.packets.map(\.timestamp))
    }

    @Test("nanoseconds and PCMU")
    func nanoseconds() throws {
        let trace = try PacketCapture.read(Self.bytes("ffmpeg-pcmu-nano.pcap"), name: "x")
        #expect(trace.packets.count == 55)
        #expect(trace.timescale == 8_000)
        #expect(trace.packets.contains { ($0.received ?? 0) % 1_000 != 0 })
    }

    @Test("IPv6, captured on all devices (LINUX_SLL2)")
    func cooked() throws {
        let trace = try PacketCapture.read(Self.bytes("ffmpeg-pcmu-ipv6-any.pcap"), name: "x")
        #expect(trace.packets.count == 38)
        #expect(trace.timescale == 8_000)
    }

    @Test("a source that is not there is said to be not there")
    func source() throws {
        let bytes = try Self.bytes("ffmpeg-opus.pcap")
        #expect(throws: TraceFault.self) { try PacketCapture.read(bytes, name: "x", source: 1) }
        #expect(try PacketCapture.read(bytes, name: "x", source: 0x0784_DD97).packets.count == 61)
    }

    /// As rtptools' `rtpdump -F dump` writes it, by its manual page: the packets of a capture.
    private static func dump() throws -> [UInt8] {
        let trace = try PacketCapture.read(bytes("ffmpeg-opus.pcap"), name: "x")
        var dump = Array("#!rtpplay1.0 127.0.0.1/5004\n".utf8) + [UInt8](repeating: 0, count: 16)
        func append(_ value: UInt32, _ count: Int) {
            for place in (0..<count).reversed() { dump.append(UInt8(truncatingIfNeeded: value >> UInt32(8 * place))) }
        }
        for packet in trace.packets {
            append(UInt32(8 + 12 + packet.byteCount), 2)
            append(UInt32(12 + packet.byteCount), 2)
            append(UInt32((packet.received ?? 0) / 1_000_000), 4)
            append(0x8061_0000 | packet.sequence & 0xFFFF, 4)
            append(packet.timestamp, 4)
            append(0x0102_0304, 4)
            dump += [UInt8](repeating: 1, count: packet.byteCount)
        }
        // RTCP: no packet length.
        append(16, 2)
        append(0, 2)
        append(0, 4)
        append(0x80C8_0001, 4)
        append(0, 4)
        return dump
    }

    @Test("rtpdump: times in milliseconds, RTCP left out")
    func rtpdump() throws {
        let trace = try RTPDump.read(Self.dump(), name: "x")
        let capture = try PacketCapture.read(Self.bytes("ffmpeg-opus.pcap"), name: "x")
        #expect(trace.packets.count == capture.packets.count)
        for (one, other) in zip(trace.packets, capture.packets) {
            #expect(one.sequence == other.sequence && one.timestamp == other.timestamp && one.byteCount == other.byteCount)
            #expect(abs((one.received ?? 0) - (other.received ?? 0)) <= 2_000_000)
        }
    }

    // MARK: Hostile files

    @Test("cut anywhere, a file gives a trace or a fault", arguments: ["ffmpeg-opus.pcap", "ffmpeg-pcmu-ipv6-any.pcap", "rtpdump"])
    func cut(name: String) throws {
        let bytes = try name == "rtpdump" ? Self.dump() : Self.bytes(name)
        for length in 0..<min(bytes.count, 1_500) {
            let part = Array(bytes[..<length])
            _ = try? RTPDump.looksLike(part) ? RTPDump.read(part, name: "x") : PacketCapture.read(part, name: "x")
        }
    }

    @Test("with any bytes changed, a file gives a trace or a fault", arguments: ["ffmpeg-opus.pcap", "ffmpeg-pcmu-ipv6-any.pcap", "rtpdump"])
    func changed(name: String) throws {
        let bytes = try name == "rtpdump" ? Self.dump() : Self.bytes(name)
        var generator = SeededGenerator(seed: 11)
        for _ in 0..<300 {
            var hostile = bytes
            for _ in 0..<Int.random(in: 1...40, using: &generator) {
                hostile[Int.random(in: 0..<hostile.count, using: &generator)] =
                    Bool.random(using: &generator) ? 0xFF : UInt8.random(in: 0...255, using: &generator)
            }
            let trace = try? RTPDump.looksLike(hostile) ? RTPDump.read(hostile, name: "x") : PacketCapture.read(hostile, name: "x")
            if let trace { #expect(trace.packets.allSatisfy { (0...ArrivalTrace.nanosecondsMax).contains($0.sent) }) }
        }
    }

    @Test("a capture in the format of Wireshark is refused with the way out")
    func pcapng() {
        #expect(throws: TraceFault("pcapng; make it pcap: tshark -F pcap -r IN -w OUT")) {
            try PacketCapture.read([0x0A, 0x0D, 0x0D, 0x0A] + [UInt8](repeating: 0, count: 40), name: "x")
        }
    }
}
