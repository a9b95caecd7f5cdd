import CNamespaces
import Glibc
import LinkEmulation
import LinkNetwork
import Reactor
import RelayBase

/// The shell around two ``LinkQueue``s: reads packets from one device, hands them to the queue, writes what comes out to the other device.
final class EmulatedLink {
    private static let packetsPerTurn = 64
    /// A device's packets are at most its MTU; more room shows when they are not.
    private static let bufferBytes = TunDevice.mtu + 64

    private let a: TunDevice
    private let b: TunDevice
    private var aToB: LinkQueue
    private var bToA: LinkQueue
    private var schedule: LinkSchedule
    private let signals: SignalReceiver
    private var control: ControlInput?
    private let begin: MonotonicInstant
    private let end: MonotonicInstant
    private var buffer = [UInt8](repeating: 0, count: EmulatedLink.bufferBytes)
    /// Packets that a device refused: none, as long as it is up.
    private var refused = 0

    init(_ options: EmulatorOptions) throws {
        signals = try SignalReceiver([SIGINT, SIGTERM])
        let number = getpid() % 100_000
        a = try TunDevice(name: "le\(number)a", in: options.a.namespace, address: options.a.address)
        b = try TunDevice(name: "le\(number)b", in: options.b.namespace, address: options.b.address)
        aToB = LinkQueue(options.aToB, seed: options.seed)
        bToA = LinkQueue(options.bToA, seed: ~options.seed)
        schedule = options.schedule
        control = options.isControlled ? ControlInput() : nil
        begin = MonotonicClock.now()
        end = options.seconds.map { [begin] in begin.advanced(byNanoseconds: UInt64($0 * 1e9)) } ?? .distantFuture
        Output.line("ready \(a.name) \(b.name) \(begin.nanoseconds)")
    }

    /// Until a signal, the end of the input, or the end of its time.
    func run() throws {
        var waits = [
            pollfd(fd: a.descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: b.descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: signals.descriptor.number, events: Int16(POLLIN), revents: 0),
            pollfd(fd: control == nil ? -1 : 0, events: Int16(POLLIN), revents: 0),
        ]
        while true {
            let now = MonotonicClock.now()
            guard now < end else { break }
            while let change = schedule.next(elapsedNanoseconds: now.nanoseconds(since: begin)) { apply(change, now) }
            deliver(now)
            let wait = wake.nanoseconds(since: MonotonicClock.now())
            let ready = unsafe cnamespaces_poll(&waits, nfds_t(waits.count), Int64(clamping: min(wait, 1_000_000_000)))
            guard ready >= 0 || errno == EINTR else { throw NetworkFault("ppoll: errno \(errno)") }
            guard ready > 0 else { continue }
            if waits[0].revents != 0 { take(from: a.descriptor, into: &aToB) }
            if waits[1].revents != 0 { take(from: b.descriptor, into: &bToA) }
            if waits[2].revents != 0, try signals.next(calls: .linux) != nil { break }
            if waits[3].revents != 0, try !obey() { break }
        }
        report()
    }

    private var wake: MonotonicInstant {
        var wake = end
        if let offset = schedule.nextOffsetNanoseconds { wake = min(wake, begin.advanced(byNanoseconds: offset)) }
        if let deadline = aToB.nextDeadline { wake = min(wake, deadline) }
        if let deadline = bToA.nextDeadline { wake = min(wake, deadline) }
        return wake
    }

    // MARK: Packets

    private func take(from descriptor: Int32, into queue: inout LinkQueue) {
        for _ in 0..<EmulatedLink.packetsPerTurn {
            let count = unsafe read(descriptor, &buffer, buffer.count)
            guard count > 0 else { return }
            _ = unsafe queue.offer(buffer.span.bytes.extracting(first: count), now: MonotonicClock.now())
        }
    }

    private func deliver(_ now: MonotonicInstant) {
        deliver(&aToB, b.descriptor, now)
        deliver(&bToA, a.descriptor, now)
    }

    private func deliver(_ queue: inout LinkQueue, _ descriptor: Int32, _ now: MonotonicInstant) {
        queue.deliver(now: now) { packet in
            let written = unsafe packet.withUnsafeBytes { unsafe write(descriptor, $0.baseAddress, $0.count) }
            if written < 0 { refused += 1 }
            return true
        }
    }

    // MARK: Commands

    private func apply(_ change: DirectedChange, _ now: MonotonicInstant) {
        if change.directions.contains(.aToB) { aToB.change(change.change, now: now) }
        if change.directions.contains(.bToA) { bToA.change(change.change, now: now) }
    }

    /// - Returns: false when the input has ended.
    private func obey() throws -> Bool {
        guard control?.read() == true else { return false }
        while let line = control?.nextLine() {
            let words = line.split(separator: " ")
            let now = MonotonicClock.now()
            switch words.first {
            case "set" where words.count == 2:
                for change in try DirectedChange.list(words[1]) { apply(change, now) }
                Output.line("set \(now.nanoseconds)")
            case "show" where words.count == 1:
                Output.line("show \(now.nanoseconds) \(aToB.waitingBytes) \(aToB.bytesInside) \(bToA.waitingBytes) \(bToA.bytesInside)")
            default: throw LinkSyntax.unknown(line)
            }
        }
        return true
    }

    private func report() {
        EmulatedLink.report("ab", aToB)
        EmulatedLink.report("ba", bToA)
        if refused > 0 { Output.line("refused by a device: \(refused)") }
    }

    private static func report(_ name: String, _ queue: borrowing LinkQueue) {
        let counters = queue.counters
        Output.line(
            """
            \(name) offered \(counters.offered) delivered \(counters.delivered) lost \(counters.lost) overflowed \(counters.overflowed) \
            inside \(queue.packetsInside) bytes \(counters.deliveredBytes) waited-bytes-max \(counters.waitingBytesHighest)
            """)
    }
}

enum LinkSyntax {
    static func unknown(_ line: String) -> NetworkFault { NetworkFault("unknown command: \(line)") }
}
