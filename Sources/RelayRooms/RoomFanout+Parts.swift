import MediaProtocol
package import RelayBase

/// A frame that goes out in parts: how far it is, and where its bytes are.
struct CutFrame {
    /// The frame lies at the lane's cursor; else its rest is in ``LaneCursor/cutRest``.
    var isInLog: Bool
    /// Bytes of the frame that have gone out in parts.
    var offset = 0
    /// The frame's length.
    let total: Int
    /// The frame's first 16 bytes: each part repeats them.
    let header: InlineArray<16, UInt8>

    init(_ frame: UnsafeRawBufferPointer, isInLog: Bool) {
        self.isInLog = isInLog
        total = frame.count
        header = InlineArray { unsafe frame[$0] }
    }

    /// Writes what stands before the next part's bytes.
    func writeHead(into room: UnsafeMutableRawBufferPointer) {
        unsafe header.span.withUnsafeBytes { unsafe MediaPart.writeHead(of: $0, offset: offset, total: total, into: room) }
    }
}

/// Parts: a frame larger than the room is cut, and more urgent lanes go between its parts (protocol document, "Parts").
///
/// A frame that was begun is finished, whatever becomes of its log entry: its rest is copied to the subscriber then.
extension RoomFanout {
    /// A part carries at least so many bytes of its frame, but for the last.
    static let partBytesMin = 512
    /// What a part of so many bytes takes with its head and WebSocket header.
    static let partRoomMin = partBytesMin + MediaPart.overheadByteCount + 4

    /// Whether frames of the lane may come in parts. Audio frames are small and never wait for each other's parts.
    func isCuttable(_ subscriber: Int, _ lane: Lane) -> Bool {
        lane != .audio && subscribers[subscriber].wishes.parts
    }

    /// Begins to cut the entry at the cursor.
    mutating func cutEntry(_ subscriber: Int, _ lane: Lane, _ entry: LaneEntry) {
        let cut = unsafe CutFrame(MessageFraming.payload(ofMessage: self[lane].bytes(at: entry.offset, count: entry.byteCount)), isInLog: true)
        subscribers[subscriber][lane].cut = cut
    }

    /// Begins to cut the first message of the prelude, which moves out of it.
    mutating func cutPrelude(_ subscriber: Int, _ lane: Lane) {
        let byteCount = unsafe MessageFraming.messageByteCount(subscribers[subscriber][lane].prelude.readable)
        let total = unsafe MessageFraming.payload(ofMessage: subscribers[subscriber][lane].prelude.readable).count
        let cut = unsafe CutFrame(MessageFraming.payload(ofMessage: subscribers[subscriber][lane].prelude.readable), isInLog: false)
        subscribers[subscriber][lane].prelude.consume(byteCount - total)
        unsafe subscribers[subscriber][lane].cutRest.append(
            UnsafeRawBufferPointer(rebasing: subscribers[subscriber][lane].prelude.readable[..<total]))
        subscribers[subscriber][lane].prelude.consume(total)
        subscribers[subscriber][lane].preludeFrames &-= 1
        subscribers[subscriber][lane].cut = cut
        // The frame's own bytes stay taken.
        budget.give(byteCount - total)
    }

    /// Sends the next parts of the lane's cut frame. Answers false when `room` is full.
    mutating func pullCut(_ subscriber: Int, _ lane: Lane, _ room: inout EgressRoom, _ now: MonotonicInstant) -> Bool {
        while let cut = subscribers[subscriber][lane].cut {
            guard room.left > 0 else { return false }
            let head = MediaPart.overheadByteCount
            let space = room.left - head - (room.left > 0xFFFF ? 10 : 4)
            let least = min(cut.total - cut.offset, RoomFanout.partBytesMin)
            guard space >= least || room.filled == 0 else { return false }
            let count = min(cut.total - cut.offset, max(space, least))
            let message = MessageFraming.headerByteCount(payload: head + count) + head + count
            let isLast = cut.offset + count == cut.total
            if message <= room.left {
                unsafe room.append(byteCount: message) { unsafe writePart(subscriber, lane, cut, count, into: $0) }
                if isLast { subscribers[subscriber].account.delivered &+= 1 }
            } else {
                // Less room than a part of any use: it is begun all the same, so that it goes on at all.
                unsafe writePart(subscriber, lane, cut, count, into: subscribers[subscriber].residue.reserve(message))
                subscribers[subscriber].residue.commit(message)
                budget.takeAnyway(message)
                subscribers[subscriber].residueEndsFrame = isLast
                subscribers[subscriber].residueLane = lane
            }
            passPart(subscriber, lane, count, isLast: isLast, now)
            guard subscribers[subscriber].residue.isEmpty else {
                pullResidue(subscriber, &room, now)
                return false
            }
        }
        return true
    }

    /// Writes a part as a whole WebSocket message.
    private func writePart(_ subscriber: Int, _ lane: Lane, _ cut: CutFrame, _ count: Int, into room: UnsafeMutableRawBufferPointer) {
        let payload = MediaPart.overheadByteCount + count
        unsafe MessageFraming.writeHeader(payload: payload, into: room)
        let start = MessageFraming.headerByteCount(payload: payload)
        unsafe cut.writeHead(into: UnsafeMutableRawBufferPointer(rebasing: room[start...]))
        let place = unsafe UnsafeMutableRawBufferPointer(rebasing: room[(start + MediaPart.overheadByteCount)...])
        if cut.isInLog {
            let entry = self[lane][subscribers[subscriber][lane].sequence]
            let frame = entry.offset + entry.byteCount - cut.total
            unsafe place.copyMemory(from: self[lane].bytes(at: frame + cut.offset, count: count))
        } else {
            unsafe place.copyMemory(from: UnsafeRawBufferPointer(rebasing: subscribers[subscriber][lane].cutRest.readable[..<count]))
        }
    }

    /// Moves on behind a part that was written.
    private mutating func passPart(_ subscriber: Int, _ lane: Lane, _ count: Int, isLast: Bool, _ now: MonotonicInstant) {
        let isInLog = subscribers[subscriber][lane].cut?.isInLog == true
        if !isInLog {
            subscribers[subscriber][lane].cutRest.consume(count)
            budget.give(count)
        }
        guard isLast else {
            subscribers[subscriber][lane].cut?.offset += count
            return
        }
        subscribers[subscriber][lane].cut = nil
        subscribers[subscriber][lane].cutRest.releaseIfEmpty()
        if isInLog { subscribers[subscriber][lane].sequence &+= 1 }
        if lane == .video { settleBegunKey(subscriber, now) }
    }

    /// Frees the log from a frame that is cut by copying its rest to the subscriber.
    mutating func moveCutToRest(_ subscriber: Int, _ lane: Lane) {
        guard var cut = subscribers[subscriber][lane].cut, cut.isInLog else { return }
        let entry = self[lane][subscribers[subscriber][lane].sequence]
        let rest = cut.total - cut.offset
        subscribers[subscriber][lane].sequence &+= 1
        guard budget.take(rest) else {
            subscribers[subscriber][lane].cut = nil
            breakOff(subscriber)
            return
        }
        unsafe subscribers[subscriber][lane].cutRest.append(self[lane].bytes(at: entry.offset + entry.byteCount - rest, count: rest))
        cut.isInLog = false
        subscribers[subscriber][lane].cut = cut
    }

    /// Frees the log from a begun message by copying its rest to the subscriber.
    mutating func moveBegunMessageToResidue(_ subscriber: Int) {
        guard let lane = subscribers[subscriber].begunLane else { return }
        let entry = self[lane][subscribers[subscriber][lane].sequence]
        let begun = subscribers[subscriber].begunBytes
        subscribers[subscriber].begunLane = nil
        subscribers[subscriber].begunBytes = 0
        subscribers[subscriber][lane].sequence &+= 1
        guard budget.take(entry.byteCount - begun) else {
            breakOff(subscriber)
            return
        }
        unsafe subscribers[subscriber].residue.append(self[lane].bytes(at: entry.offset + begun, count: entry.byteCount - begun))
        subscribers[subscriber].residueEndsFrame = true
        subscribers[subscriber].residueLane = lane
    }

    /// The rest of a begun frame can be kept nowhere: nothing that is sent to the subscriber would make sense any more.
    private mutating func breakOff(_ subscriber: Int) {
        subscribers[subscriber].account.expired &+= 1
        guard !subscribers[subscriber].isBroken else { return }
        subscribers[subscriber].isBroken = true
        brokenSubscribers += 1
    }

    /// The token of a subscriber whose connection must end because the rest of what was begun for it is lost; `nil`: there is none.
    package var brokenSubscriber: UInt64? {
        guard brokenSubscribers > 0 else { return nil }
        for index in 0..<subscribers.endIndex where subscribers.isLive(index) && subscribers[index].isBroken { return subscribers[index].token }
        return nil
    }

    /// Gives the rest of what was begun away: for a subscriber that leaves while its WebSocket lives on.
    package mutating func finishMessage(_ subscriber: Int, into queue: inout ByteQueue) {
        moveBegunMessageToResidue(subscriber)
        for lane in Lane.allCases { moveCutToRest(subscriber, lane) }
        if !subscribers[subscriber].residue.isEmpty {
            unsafe queue.append(subscribers[subscriber].residue.readable)
            budget.give(subscribers[subscriber].residue.count)
            if subscribers[subscriber].residueEndsFrame { subscribers[subscriber].account.delivered &+= 1 }
            subscribers[subscriber].residueEndsFrame = false
            subscribers[subscriber].residue.removeAll()
        }
        for lane in Lane.allCases {
            guard let cut = subscribers[subscriber][lane].cut else { continue }
            let count = cut.total - cut.offset
            let message = MessageFraming.headerByteCount(payload: MediaPart.overheadByteCount + count) + MediaPart.overheadByteCount + count
            unsafe writePart(subscriber, lane, cut, count, into: queue.reserve(message))
            queue.commit(message)
            subscribers[subscriber].account.delivered &+= 1
            dropCutRest(subscriber, lane)
        }
    }

    /// Lets go of what is left of a lane's cut frame.
    mutating func dropCutRest(_ subscriber: Int, _ lane: Lane) {
        subscribers[subscriber][lane].cut = nil
        budget.give(subscribers[subscriber][lane].cutRest.count)
        subscribers[subscriber][lane].cutRest.removeAll()
        subscribers[subscriber][lane].cutRest.releaseIfEmpty()
    }
}
