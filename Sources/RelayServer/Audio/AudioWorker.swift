import JitterBuffer
import MediaProtocol
import Reactor
import RelayBase
import RelayRooms
import Signalling
import Synchronization

/// A thread that works on the sound of some rooms: it holds their streams' buffers and makes their mixes.
///
/// To the loops it is one more of them: it asks a publisher's loop for a stream as a loop with subscribers does, gets frames by the same rings, and what it makes goes
/// by rings to the loops of subscribers, into slots of their fan-outs. It sleeps as long as nobody asks for anything. See record 35.
@safe
final class AudioWorker {
    /// Among mailboxes and rings.
    let index: Int
    let shared: Shared
    let limits: Limits
    private var selector: Selector
    private let timer: AbsoluteTimer
    private let calls = SystemCalls.linux
    var now: MonotonicInstant
    var streams = Slab<WorkerStream>()
    /// The same, to be walked over.
    var live: [WorkerStream] = []
    var handles: [StreamKey: Handle] = [:]
    var mixes: [RoomMix] = []
    var counters = AudioCounters()
    private var ringsOut: RingWriter
    private var mail: [LoopMessage] = []
    private var mailPlace = 0
    private var outbox: Outbox
    /// Streams that end when their buffers are played out.
    var ending: [Handle] = []
    private var publishesAt: MonotonicInstant
    private var hasUnpublished = true
    private var isStopping = false
    /// A frame that is being made.
    private let packet: UnsafeMutableRawBufferPointer

    struct StreamKey: Hashable {
        let room: RoomNumber
        let stream: UInt32
    }

    private enum Token {
        static let wake: UInt64 = 1
        static let timer: UInt64 = 2
    }

    /// Frames taken from one ring before what is due is done.
    private static let framesPerTurn = 512
    private static let mailMillisecondsPerTurn: UInt64 = 2
    /// Deadlines that are closer together are met together.
    private static let resolutionNanoseconds: UInt64 = 1_000_000
    private static let publishMilliseconds: UInt64 = 250
    private static let outboxMessagesMax = 1 << 16

    init(index: Int, shared: Shared) throws(SystemFault) {
        self.index = index
        self.shared = shared
        limits = shared.limits
        now = MonotonicClock.now()
        publishesAt = now
        selector = try Selector(calls: calls)
        timer = try AbsoluteTimer()
        unsafe packet = .allocate(byteCount: Concealer.packetBytesMax, alignment: 16)
        ringsOut = RingWriter(shared.rings[index], wakes: shared.wakes)
        outbox = Outbox(shared.mailboxes, messagesMax: AudioWorker.outboxMessagesMax)
        try selector.add(shared.wakes[index].descriptor, token: Token.wake, interest: .read)
        try selector.add(timer.descriptor, token: Token.timer, interest: .read)
    }

    deinit { unsafe packet.deallocate() }

    /// Runs until told to stop.
    func run() {
        var hasMore = false
        while !isStopping {
            timer.set(to: nextDeadline)
            do {
                _ = try selector.wait(timeoutMilliseconds: hasMore ? 0 : -1)
            } catch {
                shared.log.error("selector_failed", [("audio_worker", "\(index - shared.loops)"), ("fault", "\(error)")])
                return
            }
            now = MonotonicClock.now()
            hasMore = turn()
            let end = MonotonicClock.now()
            counters.busyNanoseconds &+= end.nanoseconds(since: now)
        }
    }

    /// - Returns: whether frames are left in a ring.
    private func turn() -> Bool {
        shared.wakes[index].reset()
        timer.reset()
        // Frames go before the messages that were posted after them.
        if mail.isEmpty { shared.mailboxes[index].drain(into: &mail) }
        let hasFrames = drainRings()
        // Whatever is asked for, what is due is not late for it.
        releaseDue()
        tickMixes()
        let hasMore = handleMail() || hasFrames
        finishEnded()
        ringsOut.wake()
        outbox.retry()
        publish()
        return hasMore
    }

    // MARK: Time

    private var nextDeadline: MonotonicInstant? {
        var next = MonotonicInstant.distantFuture
        for stream in live { for buffer in stream.buffers { if let due = buffer.nextDeadline { next = min(next, due) } } }
        for mix in mixes { if let due = mix.nextTick { next = min(next, due) } }
        if !ending.isEmpty { next = min(next, now.advanced(byMilliseconds: 20)) }
        if hasUnpublished { next = min(next, publishesAt) }
        if !outbox.isEmpty { next = min(next, now.advanced(byMilliseconds: 1)) }
        guard next < .distantFuture else { return nil }
        return max(next, now.advanced(byNanoseconds: AudioWorker.resolutionNanoseconds))
    }

    private func releaseDue() {
        for stream in live { for buffer in stream.buffers { release(buffer, stream) } }
    }

    private func release(_ buffer: PacedBuffer, _ stream: WorkerStream) {
        if buffer.isConcealing { tick(buffer) }
        while buffer.playout.release(now: now) {
            counters.framesReleased &+= 1
            for route in buffer.routes where route.isActive {
                write(buffer.playout.released, FrameTraits(rawValue: 0), to: route.interest)
            }
        }
    }

    private func tick(_ buffer: PacedBuffer) {
        guard let due = buffer.nextDeadline, due <= now else { return }
        buffer.shed(countTick(due: due))
        let byteCount = unsafe buffer.tick(into: packet, now: now)
        guard byteCount > 0 else { return }
        counters.encodes &+= 1
        counters.framesReleased &+= 1
        for route in buffer.routes where route.isActive {
            unsafe write(RawSpan(_unsafeBytes: UnsafeRawBufferPointer(packet)[..<byteCount]), FrameTraits(rawValue: 0), to: route.interest)
        }
    }

    /// Counts a tick, and how late it is.
    ///
    /// - Returns: how many are to be left out before it: what cannot be made up for.
    func countTick(due: MonotonicInstant) -> UInt64 {
        counters.ticks &+= 1
        let late = now.nanoseconds(since: due)
        if late > RoomMix.tickNanoseconds { counters.deadlineMisses &+= 1 }
        guard late > RoomMix.ticksMadeUpMax * RoomMix.tickNanoseconds else { return 0 }
        let ticks = late / RoomMix.tickNanoseconds
        counters.ticksShed &+= ticks
        return ticks
    }

    // MARK: Frames

    private func drainRings() -> Bool {
        var hasMore = false
        for loop in 0..<shared.loops {
            let ring = shared.rings[loop][index]
            var left = AudioWorker.framesPerTurn
            repeat {
                while left > 0, let record = unsafe ring.peek() {
                    unsafe receive(record)
                    ring.release()
                    left -= 1
                }
            } while left > 0 && !ring.consumerMayWait()
            if left == 0 { hasMore = true }
        }
        return hasMore
    }

    private func receive(_ record: UnsafeRawBufferPointer) {
        let ring = unsafe RingRecord(reading: record)
        let bytes = unsafe UnsafeRawBufferPointer(rebasing: record[RingRecord.headerBytes...])
        guard let stream = streams[ring.room], let header = try? unsafe MediaHeader(parsing: bytes), header.stream.rawValue == stream.id else {
            return
        }
        if ring.traits.contains(.configuration) {
            unsafe configure(stream, bytes)
            return
        }
        counters.framesReceived &+= 1
        guard stream.budget.take(now: now) else {
            counters.framesRefused &+= 1
            return
        }
        let frame = unsafe RawSpan(_unsafeBytes: bytes)
        guard let extensions = try? MediaExtensions(frame: frame, flags: header.flags) else { return }
        hasUnpublished = true
        if header.flags.contains(.encrypted) {
            if stream.isMixed || stream.buffers.contains(where: { $0.isConcealing }) { counters.framesEncrypted &+= 1 }
            noteEncrypted(stream)
        }
        if !stream.buffers.isEmpty { pace(stream, header, frame, extensions) }
        if stream.isMixed { mix(stream, header, frame, extensions) }
    }

    private func pace(_ stream: WorkerStream, _ header: MediaHeader, _ frame: RawSpan, _ extensions: MediaExtensions) {
        let ticks = stream.duration.ticks(of: frame, header, payload: extensions.payloadOffset)
        let packet = JitterPacket(header)
        for buffer in stream.buffers where buffer.isActive {
            if buffer.isConcealing {
                buffer.conceal(header, frame, extensions, now: now)
            } else {
                _ = buffer.playout.insert(packet, frame: frame, durationTicks: ticks, now: now)
            }
        }
    }

    /// A configuration goes on at once: it is of what comes.
    private func configure(_ stream: WorkerStream, _ bytes: UnsafeRawBufferPointer) {
        guard unsafe !stream.configuration.elementsEqual(bytes) else { return }
        unsafe stream.configuration = Array(bytes)
        for buffer in stream.buffers { for route in buffer.routes { sendConfiguration(stream, to: route.interest) } }
    }

    func sendConfiguration(_ stream: WorkerStream, to interest: RemoteInterest) {
        let configuration = stream.configuration
        guard !configuration.isEmpty else { return }
        unsafe write(configuration.span.bytes, .configuration, to: interest)
    }

    /// - Returns: false when the ring is full, and the frame is lost for that loop.
    @discardableResult
    func write(_ frame: RawSpan, _ traits: FrameTraits, to interest: RemoteInterest) -> Bool {
        guard let room = unsafe reserve(frame.byteCount, interest.loop, interest.room, interest.slot, traits) else { return false }
        unsafe frame.withUnsafeBytes { unsafe room.copyMemory(from: $0) }
        commit(interest.loop)
        return true
    }

    /// Room for a record in the ring to a loop, behind its header; `nil` when that is full.
    func reserve(_ byteCount: Int, _ loop: Int, _ room: Handle, _ slot: StreamSlot, _ traits: FrameTraits) -> UnsafeMutableRawBufferPointer? {
        let record = RingRecord(room: room, slot: slot, traits: traits, group: GroupStamp(bits: 0))
        guard let reserved = unsafe ringsOut.reserve(record, byteCount: byteCount, to: loop) else {
            counters.framesLost &+= 1
            return nil
        }
        return unsafe reserved
    }

    func commit(_ loop: Int) {
        ringsOut.commit(to: loop)
    }

    // MARK: Mail

    func post(_ message: LoopMessage, to loop: Int) {
        guard LoopPlace.isForeign(loop) else {
            _ = outbox.post(message, to: loop)
            return
        }
        // An answer that has passed through here, to who asked on another node.
        guard let gateway = shared.gateway, let message = NodeMessage(message) else { return }
        _ = outbox.post(.away(to: loop, message), to: gateway)
    }

    /// Handles mail for as long as a turn may take with it; what is left has its turn in the next, before what comes after it.
    ///
    /// - Returns: whether some is left.
    private func handleMail() -> Bool {
        let end = MonotonicClock.now().advanced(byMilliseconds: AudioWorker.mailMillisecondsPerTurn)
        while mailPlace < mail.count {
            handle(mail[mailPlace])
            mailPlace += 1
            if MonotonicClock.now() >= end { break }
        }
        guard mailPlace == mail.count else { return true }
        mail.removeAll(keepingCapacity: true)
        mailPlace = 0
        return false
    }

    private func handle(_ message: LoopMessage) {
        hasUnpublished = true
        switch message {
        case .stop: isStopping = true
        case .audioWork(let work): handle(work)
        // Behind what the loops with subscribers have asked for: the publisher's loop hears of that first.
        case .published(let address, let requestID, let room, let result, let via):
            post(
                .published(address, requestID: requestID, room, result, via: via.isEmpty ? [EventLoop.askedWorker] : Array(via.dropFirst())),
                to: via.first ?? address.loop)
        // What is for everybody, or for whoever asked for a stream, means nothing here.
        default: break
        }
    }

    private func handle(_ work: AudioWork) {
        switch work {
        case .pace(let order): pace(order)
        case .unpace(let room, let stream, let interest): unpace(room, stream, interest)
        case .ended(let room, let stream): end(room, stream)
        case .ready(let room, let stream, let interest): tellReady(room, stream, interest)
        case .reset(let room, let stream): reset(room, stream)
        case .mixInput(let room, let entry): mixInput(room, entry)
        case .mixOutput(let order): mixOutput(order)
        case .unmixOutput(let room, let participant): unmixOutput(room, participant)
        case .gain(let room, let participant, let gain): setGain(room, participant, gain)
        case .measure(let room, let stream, let isMeasurement): measure(room, stream, isMeasurement)
        case .forget(let room, let loop): forget(room, loop)
        }
    }

    // MARK: Streams

    func stream(_ room: RoomNumber, _ id: UInt32) -> WorkerStream? {
        handles[StreamKey(room: room, stream: id)].flatMap { streams[$0] }
    }

    func addStream(_ room: RoomNumber, _ entry: StreamEntry) -> WorkerStream? {
        if let known = stream(room, entry.info.stream) { return known }
        let stream = WorkerStream(room, entry, now: now)
        guard let handle = streams.insert(stream) else { return nil }
        stream.handle = handle
        live.append(stream)
        handles[StreamKey(room: room, stream: stream.id)] = handle
        return stream
    }

    // MARK: Statistics

    private func publish() {
        guard hasUnpublished, now >= publishesAt else { return }
        publishesAt = now.advanced(byMilliseconds: AudioWorker.publishMilliseconds)
        hasUnpublished = streams.count > 0 || !mixes.isEmpty
        shared.audioBoard.publish(snapshot(), at: index - shared.loops)
    }

    private func snapshot() -> AudioSnapshot {
        var snapshot = AudioSnapshot(counters: counters)
        for stream in live {
            for buffer in stream.buffers { snapshot.add(buffer.statistics, AudioBufferName(stream.room, stream.id, paced: buffer.variant)) }
        }
        addMixes(to: &snapshot)
        return snapshot
    }
}
