import RelayBase

@testable import RelayRooms

/// A frame as the harness publishes it: the header's place holds the stream and a running number, so that what comes out can be told apart.
struct TestFrame: Equatable {
    var stream: UInt32
    var number: UInt32
    var byteCount: Int
    var traits: FrameTraits
    /// Instead of the running number, for payloads that are compared.
    var payload: [UInt8]?
    var timestamp: UInt32 = 0
    var flags: UInt8 = 0

    var bytes: [UInt8] {
        var bytes = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: max(byteCount, 16))
        // Version 1, video or configuration.
        let flags = flags | (traits.contains(.key) ? 1 : 0) | (traits.contains(.discardable) ? 2 : 0)
        bytes.replaceSubrange(0..<4, with: [traits.contains(.configuration) ? 0x13 : 0x11, flags, UInt8(traits.rawValue >> 8), 0])
        for (offset, value) in [(4, stream), (8, number), (12, timestamp)] {
            for shift in 0..<4 { bytes[offset + shift] = UInt8(truncatingIfNeeded: value >> UInt32(24 - 8 * shift)) }
        }
        if let payload { bytes.replaceSubrange(16..., with: payload) }
        return bytes
    }
}

/// What a subscriber received, cut back into WebSocket messages.
final class Received {
    var bytes: [UInt8] = []
    var frames: [(stream: UInt32, number: UInt32, byteCount: Int)] = []
    /// Of each frame.
    var flags: [UInt8] = []
    /// Frames in each message, and the kinds of the messages (4: bundle, 5: part).
    var messages: [(kind: UInt8, frames: Int)] = []
    /// Streams with a frame that has come in part.
    var parts: [UInt32: [UInt8]] = [:]

    /// Takes whole messages out of what has come so far; answers false when a header is not that of a final binary message.
    func cut() -> Bool {
        while bytes.count >= 2 {
            guard bytes[0] == 0x82 else { return false }
            var header = 2
            var length = Int(bytes[1])
            if length == 126 || length == 127 {
                let width = length == 126 ? 2 : 8
                guard bytes.count >= 2 + width else { return true }
                header = 2 + width
                length = bytes[2..<header].reduce(0) { $0 << 8 | Int($1) }
            }
            guard bytes.count >= header + length else { return true }
            // Minimal lengths (RFC 6455 §5.2).
            guard length >= 16, header == (length < 126 ? 2 : length <= 0xFFFF ? 4 : 10) else { return false }
            let message = Array(bytes[header..<(header + length)])
            bytes.removeFirst(header + length)
            let before = frames.count
            guard take(message) else { return false }
            messages.append((message[0] & 0x0F, frames.count - before))
        }
        return true
    }

    private func take(_ message: [UInt8]) -> Bool {
        switch message[0] {
        case 0x14: takeBundle(message)
        case 0x15: takePart(message)
        default: takeFrame(message)
        }
    }

    private func takeBundle(_ message: [UInt8]) -> Bool {
        guard message[..<16] == [0x14, 0, 0, 0x7F, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0] else { return false }
        var offset = 16
        var count = 0
        while offset < message.count {
            guard message.count >= offset + 20 else { return false }
            let length = Int(Self.word(message, offset))
            guard message.count >= offset + 4 + length, message[offset + 4] & 0x0F < 3 else { return false }
            guard takeFrame(Array(message[(offset + 4)..<(offset + 4 + length)])) else { return false }
            offset += 4 + length
            count += 1
        }
        return count > 1
    }

    /// Parts of a frame come in order; no other frame of the stream comes between them.
    private func takePart(_ message: [UInt8]) -> Bool {
        guard message.count > 24, message[1] == 0 else { return false }
        let stream = Self.word(message, 4)
        let (offset, total) = (Int(Self.word(message, 16)), Int(Self.word(message, 20)))
        var frame = parts[stream] ?? []
        guard frame.count == offset, offset + message.count - 24 <= total else { return false }
        frame += message[24...]
        // All but kind and flags are the frame's.
        guard message[2..<16] == frame[2..<16] else { return false }
        parts[stream] = frame.count == total ? nil : frame
        return frame.count < total || takeFrame(frame)
    }

    private func takeFrame(_ frame: [UInt8]) -> Bool {
        let stream = Self.word(frame, 4)
        let number = Self.word(frame, 8)
        // A payload of one byte is a test's own.
        guard parts[stream] == nil, frame.count == 17 || frame[16...].allSatisfy({ $0 == UInt8(truncatingIfNeeded: number) }) else { return false }
        frames.append((stream, number, frame.count))
        flags.append(frame[1])
        return true
    }

    private static func word(_ bytes: [UInt8], _ at: Int) -> UInt32 {
        bytes[at..<(at + 4)].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
    }
}

/// A fan-out with helpers that read like the tests' sentences.
final class Harness {
    var fanout: RoomFanout
    var now = MonotonicInstant(nanoseconds: 1_000_000_000)
    var nextNumber: UInt32 = 1
    /// Configurations may come twice; every other frame at most once.
    var configurations: Set<UInt32> = []

    init(_ change: (inout Limits) -> Void = { _ in }) {
        var limits = Limits()
        change(&limits)
        fanout = RoomFanout(limits: limits, budget: ByteBudget(bytesMax: limits.cacheBytesMax))
    }

    func subscriber(_ participant: UInt32 = 9, wishes: EgressWishes = EgressWishes()) -> Handle {
        let handle = fanout.addSubscriber(ParticipantID(participant), token: UInt64(participant)) ?? Handle(index: .max, generation: 0)
        fanout.setWishes(Int(handle.index), wishes)
        return handle
    }

    func stream(_ id: UInt32, _ lane: Lane, layers: Int = 0) -> StreamSlot {
        let declared = (0..<layers).map { _ in LayerDeclaration(temporalLayers: 3, bitsPerSecond: nil) }
        return fanout.addStream(id: id, publisher: ParticipantID(id), lane: lane, layers: declared) ?? StreamSlot(-1)
    }

    @discardableResult
    func publish(_ slot: StreamSlot, bytes byteCount: Int = 176, payload: [UInt8]? = nil, _ traits: FrameTraits = []) -> RoomFanout.Appended {
        let frame = TestFrame(stream: fanout.streams[slot.index].id, number: nextNumber, byteCount: byteCount, traits: traits, payload: payload)
        if traits.contains(.configuration) { configurations.insert(nextNumber) }
        nextNumber += 1
        return append(frame, slot)
    }

    @discardableResult
    func append(_ frame: TestFrame, _ slot: StreamSlot) -> RoomFanout.Appended {
        unsafe frame.bytes.withUnsafeBytes { unsafe fanout.append($0, slot: slot, traits: frame.traits, now: now) }
    }

    /// Pulls up to `room` bytes once.
    func pull(_ subscriber: Handle, room: Int = 16 << 10, upTo lane: Lane = .data, into received: Received) -> Int {
        let count = received.bytes.count
        received.bytes.append(contentsOf: repeatElement(0, count: room))
        let filled = unsafe received.bytes.withUnsafeMutableBytes {
            unsafe fanout.pull(Int(subscriber.index), into: UnsafeMutableRawBufferPointer(rebasing: $0[count...]), now: now, upTo: lane)
        }
        received.bytes.removeLast(room - filled)
        return filled
    }

    /// Pulls until nothing is due and answers the numbers of the frames that came.
    func drain(_ subscriber: Handle, room: Int = 16 << 10) -> [UInt32] {
        let received = Received()
        while pull(subscriber, room: room, into: received) > 0 {}
        guard received.cut(), received.bytes.isEmpty else { return [.max] }
        return received.frames.map(\.number)
    }

    @discardableResult
    func subscribe(_ subscriber: Handle, _ slot: StreamSlot) -> Bool { fanout.subscribe(Int(subscriber.index), slot, now: now) }
    @discardableResult
    func subscribe(_ subscriber: Handle, _ slot: StreamSlot, _ choice: LayerChoice) -> Bool {
        fanout.subscribe(Int(subscriber.index), slot, choice, now: now)
    }
    func target(_ subscriber: Handle, _ slot: StreamSlot, _ choice: LayerChoice) {
        fanout.setLayerTarget(Int(subscriber.index), slot, choice, now: now)
    }
    func layer(_ subscriber: Handle, _ slot: StreamSlot) -> LayerChoice { fanout.layers(Int(subscriber.index), slot).current }
    func keyFrameRequest(of slot: StreamSlot) -> Int? { fanout.nextKeyFrameRequest(now: now)?.spatial }
    func wanted(_ slot: StreamSlot) -> LayerSet { fanout.wantedLayers(slot) }
    func hold(_ subscriber: Handle) { fanout.hold(Int(subscriber.index), now: now) }
    func release(_ subscriber: Handle) { fanout.release(Int(subscriber.index), now: now) }
    func hold(_ subscriber: Handle, _ slot: StreamSlot) { fanout.hold(Int(subscriber.index), slot, now: now) }
    func release(_ subscriber: Handle, _ slot: StreamSlot) { fanout.release(Int(subscriber.index), slot, now: now) }
    func drainOut(_ subscriber: Handle, _ slot: StreamSlot) { fanout.hold(Int(subscriber.index), slot, drains: true, now: now) }
    func release(_ subscriber: Handle, _ slot: StreamSlot, at time: UInt32) { fanout.release(Int(subscriber.index), slot, at: time, now: now) }
    func refresh(_ subscriber: Handle, _ slot: StreamSlot) { fanout.refresh(Int(subscriber.index), slot) }
    func queued(_ subscriber: Handle, _ slot: StreamSlot) -> (head: UInt64, tail: UInt64, frames: Int) { fanout.queued(Int(subscriber.index), slot) }
    func startAfresh(_ subscriber: Handle, _ slot: StreamSlot) { fanout.startAfresh(Int(subscriber.index), slot, now: now) }
    func unsubscribe(_ subscriber: Handle, _ slot: StreamSlot) { fanout.unsubscribe(Int(subscriber.index), slot) }
    func account(_ subscriber: Handle) -> FrameAccount { fanout.account(Int(subscriber.index)).account }
    func pending(_ subscriber: Handle) -> UInt64 { fanout.account(Int(subscriber.index)).pending }
    func keyFrameRequest() -> StreamSlot? { fanout.nextKeyFrameRequest(now: now)?.slot }
    func isMidMessage(_ subscriber: Handle) -> Bool { fanout.subscribers[Int(subscriber.index)].isMidMessage }
    func capacity(_ lane: Lane) -> Int { fanout[lane].byteCapacity }
    func preludeBytes(_ subscriber: Handle) -> Int { fanout.subscribers[Int(subscriber.index)][.video].prelude.count }
    var budgetUsed: Int { fanout.budget.used }
    func removeAll(_ subscribers: [Handle]) { for subscriber in subscribers { fanout.removeSubscriber(subscriber) } }
    func total() -> FrameAccount { fanout.totalAccount().account }
    func audit(steps: Int) -> UInt64 {
        var steps = steps
        return fanout.audit(steps: &steps)
    }

    func tidy() { fanout.tidy(now: now) }

    func advance(milliseconds: UInt64) {
        now = now.advanced(byMilliseconds: milliseconds)
    }

    func rewind(_ subscriber: Handle, _ slot: StreamSlot, after mark: ReceivedMark?) -> StreamGapMeasure {
        fanout.rewind(Int(subscriber.index), slot, after: mark, now: now)
    }
    func dropBegun(_ subscriber: Handle) { fanout.dropBegun(Int(subscriber.index)) }
    func mostUrgent(_ subscriber: Handle) -> Lane? { fanout.mostUrgentPending(Int(subscriber.index)) }
    func oldestArrival(_ subscriber: Handle) -> MonotonicInstant? { fanout.oldestPendingArrival(Int(subscriber.index)) }
    func setDelayMax(_ subscriber: Handle, _ slot: StreamSlot, _ milliseconds: UInt64?) {
        fanout.setDelayMax(Int(subscriber.index), slot, milliseconds: milliseconds)
    }
    func finish(_ subscriber: Handle, into received: Received) {
        var queue = ByteQueue()
        fanout.finishMessage(Int(subscriber.index), into: &queue)
        unsafe received.bytes.append(contentsOf: queue.readable)
    }
    var brokenToken: UInt64? { fanout.brokenSubscriber }
    func retained(_ lane: Lane) -> Int { fanout[lane].byteCount(from: fanout[lane].first) - fanout[lane].byteCount(from: fanout[lane].needed) }

    /// `entered − delivered − dropped − pending`: 0 when every frame is accounted exactly once.
    func imbalance(_ subscriber: Handle) -> Int64 {
        let (account, pending) = fanout.account(Int(subscriber.index))
        return Int64(bitPattern: account.entered &- account.delivered &- account.dropped &- pending)
    }
}
