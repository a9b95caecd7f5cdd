import CNamespaces
import Glibc
import LinkNetwork

/// Records one trace: frames of 20 ms over one TCP connection of the kernel, through the link emulator.
///
/// Both ends are sockets of this process, in namespaces of their own, so one clock tells both times. The sender writes each frame when it is due, at an absolute
/// time; a frame's send time is when it was made, not when TCP took it.
final class Recorder {
    private let recording: Recording
    private let sender: Int32
    private let receiver: Int32
    private let pattern = SpeechPattern()

    private var packets: [TracePacket] = []
    /// Frames that are made and not taken by the kernel, with how much of the first is written.
    private var waiting: [(number: Int, made: Int64)] = []
    private var written = 0
    private var inbound: [UInt8] = []

    private static let headerBytes = 16
    private static let port: UInt16 = 7_001
    static let senderAddress = "10.98.0.1"
    static let receiverAddress = "10.98.0.2"

    private init(_ recording: Recording, sender: Int32, receiver: Int32) {
        self.recording = recording
        self.sender = sender
        self.receiver = receiver
    }

    // MARK: The stage

    /// - Parameters:
    ///   - emulator: path of `link-emulator`.
    ///   - name: begins the names of the namespaces.
    static func record(_ recording: Recording, emulator: String, name: String) throws -> ArrivalTrace {
        let near = NetworkNamespace("\(name)-a")
        let far = NetworkNamespace("\(name)-b")
        var made: [NetworkNamespace] = []
        defer { for namespace in made { try? namespace.delete() } }
        for namespace in [near, far] {
            guard try namespace.make() else { throw TraceFault("the namespace \(namespace.name) is there already") }
            made.append(namespace)
        }
        let link = try Program(
            [
                "chrt", "-f", "50", emulator, "--a", "\(near.name):\(senderAddress)", "--b", "\(far.name):\(receiverAddress)", "--control", "--seed",
                "6",
            ]
                + recording.link, input: true, output: .pipe)
        defer { link.end() }
        guard let words = link.line(milliseconds: 10_000)?.split(separator: " "), words.count == 4, words[0] == "ready" else {
            throw TraceFault("the link emulator did not start")
        }
        let listener = try far.enter { try TraceSocket.listen(receiverAddress, port) }
        defer { close(listener) }
        let sender = try near.enter { try TraceSocket.connect(receiverAddress, port, recording.congestionControl) }
        defer { close(sender) }
        let receiver = accept(listener, nil, nil)
        guard receiver >= 0 else { throw TraceFault("accept: errno \(errno)") }
        defer { close(receiver) }
        for descriptor in [sender, receiver] { _ = fcntl(descriptor, F_SETFL, O_NONBLOCK) }
        let recorder = Recorder(recording, sender: sender, receiver: receiver)
        try recorder.run()
        return recorder.trace()
    }

    private func trace() -> ArrivalTrace {
        ArrivalTrace(name: recording.name, origin: .recorded, note: "\(recording.note); \(recording.congestionControl)", packets: packets)
    }

    // MARK: Sending and receiving

    private func run() throws {
        // A moment for the connection to settle; the link's own schedule began a little before.
        let begin = TraceClock.now() + 100_000_000
        var step = 0
        let steps = recording.seconds * 50
        var end = begin + Int64(recording.seconds) * 1_000_000_000
        while true {
            let now = TraceClock.now()
            while step < steps, begin + Int64(step) * 20_000_000 <= now {
                make(step, begin)
                step += 1
            }
            if step == steps, waiting.isEmpty, packets.allSatisfy({ $0.received != nil }) || now > end { break }
            if step == steps, now > end + 5_000_000_000 { throw TraceFault("\(recording.name): frames did not come within 5 s") }
            if step == steps { end = max(end, begin + Int64(steps) * 20_000_000 + 2_000_000_000) }
            push(now, begin)
            var waits = [
                pollfd(fd: receiver, events: Int16(POLLIN), revents: 0), pollfd(fd: sender, events: Int16(waiting.isEmpty ? 0 : POLLOUT), revents: 0),
            ]
            let due = step < steps ? begin + Int64(step) * 20_000_000 - TraceClock.now() : 20_000_000
            // Where frames wait for room that they are not to fill, look again soon.
            let pause = max(0, min(due, waiting.isEmpty ? due : 2_000_000))
            if recording.expiry != nil { waits[1].events = 0 }
            guard unsafe cnamespaces_poll(&waits, 2, pause) >= 0 || errno == EINTR else { throw TraceFault("ppoll: errno \(errno)") }
            if waits[0].revents != 0 { try receive(begin) }
        }
    }

    /// Makes the frame of a step, unless it falls in a pause that is not sent.
    private func make(_ step: Int, _ begin: Int64) {
        let media = Int64(step) * 20_000_000
        let (isSent, isSilence) = recording.hasPauses ? pattern.isSent(at: media) : (true, false)
        guard isSent else { return }
        let number = packets.count
        packets.append(
            TracePacket(
                sequence: UInt32(number), timestamp: UInt32(step) &* 960, sent: media, received: nil,
                byteCount: isSilence ? 3 : recording.payloadBytes,
                isSilence: isSilence))
        waiting.append((number, begin + media))
    }

    private func push(_ now: Int64, _ begin: Int64) {
        while let first = waiting.first {
            if let expiry = recording.expiry, written == 0 {
                if now - first.made > expiry.milliseconds * 1_000_000 {
                    waiting.removeFirst()
                    continue
                }
                if TraceSocket.bytesOutstanding(sender) > expiry.bytes { return }
            }
            var frame = [UInt8](repeating: 0xA5, count: Self.headerBytes + packets[first.number].byteCount)
            for place in 0..<4 {
                frame[place] = UInt8(truncatingIfNeeded: first.number >> (8 * place))
                frame[4 + place] = UInt8(truncatingIfNeeded: frame.count >> (8 * place))
            }
            let count = unsafe frame.withUnsafeBytes {
                unsafe send(sender, $0.baseAddress.map { unsafe $0 + written }, frame.count - written, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return }
            written += count
            guard written == frame.count else { return }
            written = 0
            waiting.removeFirst()
        }
    }

    private func receive(_ begin: Int64) throws {
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        let count = unsafe recv(receiver, &chunk, chunk.count, 0)
        guard count > 0 else { throw TraceFault("the connection ended") }
        let now = TraceClock.now() - begin
        inbound += chunk[..<count]
        var place = 0
        while inbound.count - place >= Self.headerBytes {
            let reader = ByteReader(inbound[place...])
            let length = Int(reader.little32(4))
            guard inbound.count - place >= length else { break }
            let number = Int(reader.little32(0))
            guard packets.indices.contains(number), length >= Self.headerBytes else { throw TraceFault("a frame that was not sent") }
            packets[number].received = now / 1_000 * 1_000
            place += length
        }
        inbound.removeFirst(place)
    }
}

enum TraceClock {
    /// Nanoseconds of CLOCK_MONOTONIC.
    static func now() -> Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
