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

    var bytes: [UInt8] {
        var bytes = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: max(byteCount, 16))
        // Version 1, video, no flags.
        bytes.replaceSubrange(0..<4, with: [0x11, 0, UInt8(traits.spatial << 4 | traits.temporal), 0])
        for (offset, value) in [(4, stream), (8, number)] {
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
            let frame = Array(bytes[header..<(header + length)])
            let word = { (at: Int) in frame[at..<(at + 4)].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } }
            let number = word(8)
            // A payload of one byte is a test's own.
            guard frame.count >= 16, frame.count == 17 || frame[16...].allSatisfy({ $0 == UInt8(truncatingIfNeeded: number) }) else { return false }
            frames.append((word(4), number, frame.count))
            bytes.removeFirst(header + length)
        }
        return true
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

    func subscriber(_ participant: UInt32 = 9) -> Handle {
        fanout.addSubscriber(ParticipantID(participant), token: UInt64(participant)) ?? Handle(index: .max, generation: 0)
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
        return unsafe frame.bytes.withUnsafeBytes { unsafe fanout.append($0, slot: slot, traits: traits, now: now) }
    }

    /// Pulls up to `room` bytes once.
    func pull(_ subscriber: Handle, room: Int = 16 << 10, into received: Received) -> Int {
        let count = received.bytes.count
        received.bytes.append(contentsOf: repeatElement(0, count: room))
        let filled = unsafe received.bytes.withUnsafeMutableBytes {
            unsafe fanout.pull(Int(subscriber.index), into: UnsafeMutableRawBufferPointer(rebasing: $0[count...]), now: now)
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

    func advance(milliseconds: UInt64) {
        now = now.advanced(byMilliseconds: milliseconds)
    }

    /// `entered − delivered − dropped − pending`: 0 when every frame is accounted exactly once.
    func imbalance(_ subscriber: Handle) -> Int64 {
        let (account, pending) = fanout.account(Int(subscriber.index))
        return Int64(bitPattern: account.entered &- account.delivered &- account.dropped &- pending)
    }
}
