import MediaProtocol
import RelayBase
import RelayRooms

/// One simulated client: publishes, reads in its own way, comes and goes.
final class SimulatedClient {
    enum SubscriptionChange {
        case all
        case one
        case none
        case oneLess
    }

    enum Place {
        case away
        case outside
        case joining
        case inside(room: UInt32, participant: UInt32)
    }

    let index: Int
    unowned let world: Simulator
    let plan: ClientPlan
    var generator: SeededGenerator
    var connection: SimulatedConnection?
    var place = Place.away
    var inbound = ByteQueue()
    var publications: [Publication] = []
    var nextRequest: UInt32 = 1
    /// Streams of the room that it has heard of, by number.
    var known: [UInt32: Lane] = [:]
    var received: [UInt32: ReceivedStream] = [:]
    /// Reads at this pace; `nil`: at once.
    var readsBytesPerSecond: Int?
    var readsAgainAt = MonotonicInstant.zero
    var isReadScheduled = false
    var wantsAll = false
    /// Frames that have come in part, by stream.
    var partial: [UInt32: [UInt8]] = [:]
    /// Streams that it let go of between two parts: a frame that was begun is finished, and is of no use.
    var orphans: Set<UInt32> = []
    /// Media frames that came whole since it is in the room.
    var framesInRoom: UInt64 = 0
    /// The session that it comes back to with its next connection.
    var resumesAt: MemberAddress?
    var isResuming = false
    var hasResumed = false
    /// It takes nothing for now.
    var isHeld = false
    var isHoldUnderWay = false
    /// What a change of subscriptions that is under way will have done.
    var change: SubscriptionChange?

    init(index: Int, world: Simulator, plan: ClientPlan, generator: SeededGenerator) {
        self.index = index
        self.world = world
        self.plan = plan
        self.generator = generator
    }

    /// Reads everything at once, is there from the beginning to the end, has a good link: nothing that others do may be felt here.
    var isSteady: Bool { plan.temper == .steady }

    func say(_ message: ClientMessage) {
        connection?.say(message)
    }

    // MARK: Coming

    func connect() {
        guard connection == nil, !world.isEnding else { return }
        let connection = world.connect(self)
        self.connection = connection
        readsAgainAt = world.now
        readsBytesPerSecond = plan.temper == .slowReader ? plan.readsBytesPerSecond : nil
        if let resumesAt {
            askToResume(resumesAt)
        } else {
            place = .outside
            join()
        }
    }

    func join() {
        place = .joining
        say(.join(room: plan.room))
    }

    /// The connection is no more: whatever was known through it is forgotten.
    func disconnected() {
        connection = nil
        place = .away
        resumesAt = nil
        isResuming = false
        inbound.removeAll()
        forgetRoom()
    }

    func forgetRoom() {
        publications.removeAll()
        known.removeAll()
        received.removeAll()
        partial.removeAll()
        orphans.removeAll()
        wantsAll = false
        change = nil
        isHeld = false
        isHoldUnderWay = false
        framesInRoom = 0
        hasResumed = false
    }

    // MARK: What it hears

    func heard(_ notice: RelayNotice, _ words: [UInt32]) {
        world.note("notice", index, Int(notice.rawValue), Int(words.first ?? 0))
        world.digest.add(UInt64(index) << 48 | UInt64(notice.rawValue) << 32 | UInt64(words.first ?? 0))
        switch notice {
        case .joined: entered(words)
        case .joinFailed:
            world.require(!isSteady, "client \(index) was not let in")
            place = .outside
        case .left:
            place = .outside
            forgetRoom()
        case .published: published(words[0], words[1])
        case .publishFailed: publications.removeAll { $0.request == words[0] }
        case .unpublished: publications.removeAll { $0.stream == words[0] }
        case .streamAdded:
            guard let lane = Lane(rawValue: Int(words[1])) else { return }
            known[words[0]] = lane
            if wantsAll { begin(words[0], fromStart: true) }
        case .streamEnded: known[words[0]] = nil
        case .subscribed:
            if change == .all { wantsAll = true }
            change = nil
            for stream in words { begin(stream, fromStart: false) }
        case .unsubscribed:
            if change == SubscriptionChange.none { wantsAll = false }
            change = nil
            for stream in received.keys.sorted() where !words.contains(stream) {
                received[stream]?.isSubscribed = false
                if partial[stream] != nil { orphans.insert(stream) }
            }
        case .keyFrameRequested:
            keyFrameRequested(words[0], Int(words[1]))
        case .participantsChanged: break
        case .layersWanted: layersWanted(words)
        case .resumed: resumed(words)
        case .resumeRefused: resumeRefused()
        case .held: held(true, words)
        case .released: held(false, words)
        case .gap: received[words[0]]?.gapFrames = words[1]
        }
    }

    private func entered(_ words: [UInt32]) {
        place = .inside(room: words[0], participant: words[1])
        forgetRoom()
        var offset = 2
        while offset + 2 < words.count {
            if let lane = Lane(rawValue: Int(words[offset + 1])) { known[words[offset]] = lane }
            offset += 3
        }
        if plan.subscribesFirst || isSteady {
            change = .all
            say(.subscribeToAll)
        }
        if !world.isHealed { publishAll() }
    }

    /// Frames of the stream may come from now on, beginning anywhere.
    private func begin(_ stream: UInt32, fromStart: Bool) {
        guard received[stream]?.isSubscribed != true else { return }
        received[stream] = ReceivedStream(since: world.now, isFromStart: fromStart)
        received[stream]?.isSilent = isHeld
    }

    // MARK: Reading

    /// Bytes have come, or it is time to read on.
    func read() {
        guard let connection, world.now >= readsAgainAt else {
            if connection != nil { scheduleRead(at: readsAgainAt) }
            return
        }
        var count = connection.down.unread
        guard count > 0 else { return }
        if let pace = readsBytesPerSecond {
            count = min(count, 4 << 10)
            readsAgainAt = world.now.advanced(byNanoseconds: UInt64(count) * 1_000_000_000 / UInt64(pace))
        }
        connection.down.read(count)
        unsafe inbound.append(UnsafeRawBufferPointer(rebasing: connection.bytes.readable[..<count]))
        connection.bytes.consume(count)
        cut()
        if self.connection != nil, connection.down.unread > 0 { scheduleRead(at: readsAgainAt) }
    }

    private func scheduleRead(at instant: MonotonicInstant) {
        guard !isReadScheduled else { return }
        isReadScheduled = true
        world.schedule(.read(client: index), at: max(instant, world.now))
    }

    /// Takes whole messages out of what has been read.
    private func cut() {
        while inbound.count >= 2 {
            let (first, second) = unsafe (inbound.readable[0], inbound.readable[1])
            let width = second < 126 ? 2 : second == 126 ? 4 : 10
            guard inbound.count >= width else { return }
            let length = width == 2 ? Int(second) : unsafe inbound.readable[2..<width].reduce(0) { $0 << 8 | Int($1) }
            guard inbound.count >= width + length else { return }
            let payload = unsafe UnsafeRawBufferPointer(rebasing: inbound.readable[width..<(width + length)])
            switch first {
            case 0x82: unsafe takeMessage(payload)
            case 0x81: unsafe takeNotice(payload)
            default: world.require(false, "client \(index) reads what is no message of the relay's")
            }
            guard world.fault == nil else { return }
            inbound.consume(width + length)
        }
        inbound.releaseIfEmpty()
    }

    private func takeNotice(_ payload: UnsafeRawBufferPointer) {
        let words = stride(from: 0, to: payload.count & ~3, by: 4).map {
            unsafe UInt32(bigEndian: payload.loadUnaligned(fromByteOffset: $0, as: UInt32.self))
        }
        guard let first = words.first, let notice = RelayNotice(rawValue: first), payload.count % 4 == 0 else {
            world.require(false, "client \(index) reads a notice that is none")
            return
        }
        heard(notice, Array(words.dropFirst()))
    }
}
