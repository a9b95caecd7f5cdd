import AudioSession
import RelayBase
import Testing

/// A stream with its queue, as a loop drives it: frames of 20 ms come, and go when the stream plays.
private struct Player {
    var transport: StreamTransport
    var returns = FrameReturns()
    var queued: UInt64 = 0
    var isOpen = false
    var runs = false
    var log: [TransportAction] = []

    init(watermarkMilliseconds: Double = 60) {
        transport = StreamTransport(watermarkMilliseconds: watermarkMilliseconds)
    }

    var level: QueueLevel {
        QueueLevel(head: returns.played + returns.dropped, tail: returns.entered, milliseconds: Double(queued) * 20)
    }

    @discardableResult
    mutating func say(_ intentions: StreamIntention...) -> [TransportAction] {
        for intention in intentions { #expect(transport.intend(intention) == true) }
        return turn()
    }

    mutating func turn() -> [TransportAction] {
        var actions: [TransportAction] = []
        transport.advance(level, into: &actions)
        for action in actions {
            switch action {
            case .open: isOpen = true
            case .close: isOpen = false
            case .drop:
                returns.dropped += queued
                queued = 0
            case .run: runs = true
            case .hold: runs = false
            case .state(.stopped): runs = false
            case .state, .resetDecoder, .primed: break
            }
        }
        log += actions
        return actions
    }

    @discardableResult
    mutating func bring(_ count: Int = 1) -> [TransportAction] {
        var actions: [TransportAction] = []
        for _ in 0..<count where isOpen {
            returns.entered += 1
            queued += 1
            actions += turn()
        }
        return actions
    }

    /// Plays as many frames as it can.
    @discardableResult
    mutating func play(_ count: Int = 1) -> Int {
        var played = 0
        while played < count, runs, queued > 0 {
            returns.played += 1
            queued -= 1
            played += 1
            _ = turn()
        }
        return played
    }

    /// In a state, with two frames of three queued where it is not stopped.
    static func inState(_ state: StreamTransport.State) -> Player {
        var player = Player()
        switch state {
        case .stopped: break
        case .waiting:
            player.say(.start(at: nil))
            player.bring(2)
        case .playing:
            player.say(.start(at: nil))
            player.bring(3)
            player.play()
        case .paused:
            player.say(.start(at: nil))
            player.bring(3)
            player.play()
            player.say(.pause)
        }
        #expect(player.transport.state == state)
        player.log = []
        return player
    }
}

@Suite("Stream transport")
struct StreamTransportTests {
    typealias State = StreamTransport.State

    struct Row: Sendable {
        let before: State
        let intention: StreamIntention
        let actions: [TransportAction]
        let after: State

        init(_ before: State, _ intention: StreamIntention, _ actions: [TransportAction], _ after: State) {
            self.before = before
            self.intention = intention
            self.actions = actions
            self.after = after
        }
    }

    private static func full(_ head: UInt64, _ tail: UInt64) -> QueueLevel { QueueLevel(head: head, tail: tail, milliseconds: 40) }

    /// Every state, every intention. Where the stream is not stopped, two frames of the watermark's three are queued.
    private static let table: [Row] = [
        Row(.stopped, .start(at: nil), [.open(at: nil), .state(.waiting)], .waiting),
        Row(.stopped, .start(at: 7), [.open(at: 7), .state(.waiting)], .waiting),
        Row(.stopped, .prime, [.open(at: nil), .state(.waiting)], .waiting),
        Row(.stopped, .pause, [], .stopped),
        Row(.stopped, .stopImmediately, [], .stopped),
        Row(.stopped, .stopDraining, [], .stopped),
        Row(.stopped, .flush, [], .stopped),
        Row(.stopped, .reset, [], .stopped),

        Row(.waiting, .start(at: nil), [], .waiting),
        Row(.waiting, .start(at: 7), [.drop, .open(at: 7)], .waiting),
        Row(.waiting, .prime, [], .waiting),
        Row(.waiting, .pause, [.state(.paused)], .paused),
        Row(.waiting, .stopImmediately, [.close, .drop, .state(.stopped)], .stopped),
        Row(.waiting, .stopDraining, [.close, .run, .state(.playing)], .playing),
        Row(.waiting, .flush, [.run, .state(.playing)], .playing),
        Row(.waiting, .reset, [.drop, .resetDecoder], .waiting),

        Row(.playing, .start(at: nil), [], .playing),
        Row(.playing, .start(at: 7), [.drop, .open(at: 7), .hold, .state(.waiting)], .waiting),
        Row(.playing, .prime, [.primed(full(1, 3))], .playing),
        Row(.playing, .pause, [.hold, .state(.paused)], .paused),
        Row(.playing, .stopImmediately, [.close, .drop, .state(.stopped)], .stopped),
        Row(.playing, .stopDraining, [.close], .playing),
        Row(.playing, .flush, [], .playing),
        Row(.playing, .reset, [.drop, .resetDecoder, .hold, .state(.waiting)], .waiting),

        Row(.paused, .start(at: nil), [.run, .state(.playing)], .playing),
        Row(.paused, .start(at: 7), [.drop, .open(at: 7), .state(.waiting)], .waiting),
        Row(.paused, .prime, [.primed(full(1, 3))], .paused),
        Row(.paused, .pause, [], .paused),
        Row(.paused, .stopImmediately, [.close, .drop, .state(.stopped)], .stopped),
        Row(.paused, .stopDraining, [.close, .drop, .state(.stopped)], .stopped),
        Row(.paused, .flush, [], .paused),
        Row(.paused, .reset, [.drop, .resetDecoder], .paused),
    ]

    @Test("§6 every intention in every state", arguments: table)
    func transitions(row: Row) {
        var player = Player.inState(row.before)
        let before = player.returns
        let actions = player.say(row.intention)
        #expect(actions == row.actions, "\(row.before) \(row.intention)")
        #expect(player.transport.state == row.after)
        let drops = row.actions.contains(.drop)
        #expect(player.returns.dropped == before.dropped + (drops ? 2 : 0), "every dropped frame is counted once")
    }

    @Test("§6 the table has every state and every intention")
    func tableIsWhole() {
        #expect(Set(Self.table.map { "\($0.before) \($0.intention)" }).count == State.allCases.count * 8)
    }

    @Test("§6 a stream waits until the pre-fill is reached, and again when it starves")
    func prefill() {
        var player = Player()
        player.say(.start(at: nil))
        #expect(player.bring(2).isEmpty)
        #expect(player.play() == 0, "nothing goes out while it waits")
        #expect(player.bring() == [.run, .state(.playing)])
        #expect(player.play(10) == 3)
        #expect(player.transport.state == .waiting)
        #expect(player.bring(2).isEmpty)
        #expect(player.bring() == [.run, .state(.playing)])
    }

    @Test("§6 prime fills up to the watermark without playing, reports how much there is once, and start plays it at once")
    func prime() {
        var player = Player()
        player.say(.prime)
        #expect(player.transport.state == .waiting)
        player.bring(2)
        #expect(player.bring() == [.primed(QueueLevel(head: 0, tail: 3, milliseconds: 60)), .state(.paused)])
        #expect(player.bring(2).isEmpty)
        #expect(player.play() == 0)
        #expect(player.say(.start(at: nil)) == [.run, .state(.playing)])
        #expect(player.play(9) == 5)
    }

    @Test(
        "§6 a prime that something else overtakes reports what there is then",
        arguments: [StreamIntention.start(at: nil), .pause, .stopImmediately, .prime])
    func primeOvertaken(intention: StreamIntention) {
        var player = Player()
        player.say(.prime)
        player.bring()
        #expect(player.say(intention).first == .primed(QueueLevel(head: 0, tail: 1, milliseconds: 20)))
    }

    @Test("§6 pause keeps what is buffered, and start goes on with it")
    func pause() {
        var player = Player.inState(.paused)
        #expect(player.bring(2).isEmpty)
        #expect(player.play() == 0)
        #expect(player.returns.dropped == 0)
        player.say(.start(at: nil))
        #expect(player.play(9) == 4)
    }

    @Test("§6 stop with drain plays what is queued, takes nothing more, and then is stopped")
    func drain() {
        var player = Player.inState(.playing)
        player.say(.stopDraining)
        player.bring(5)
        #expect(player.returns.entered == 3, "nothing enters")
        #expect(player.play() == 1)
        #expect(player.transport.state == .playing)
        #expect(player.play(9) == 1)
        #expect(player.transport.state == .stopped)
        #expect(player.returns == FrameReturns(entered: 3, played: 3, dropped: 0))
    }

    @Test("§6 a drain that is started again goes on; one that is paused stops at once when it is to drain")
    func drainOvertaken() {
        var player = Player.inState(.playing)
        player.say(.stopDraining)
        #expect(player.say(.start(at: nil)) == [.open(at: nil)])
        player.bring(2)
        #expect(player.play(9) == 4)
        player = .inState(.playing)
        player.say(.stopDraining)
        #expect(player.say(.pause) == [.hold, .state(.paused)])
        #expect(player.say(.stopDraining) == [.drop, .state(.stopped)])
    }

    @Test("§6 flush plays out everything, then the decoder starts afresh, and the stream goes on")
    func flush() {
        var player = Player.inState(.waiting)
        player.say(.flush)
        player.bring()
        #expect(player.play(1) == 1)
        #expect(!player.log.contains(.resetDecoder), "one of the flushed frames has not gone yet")
        player.log = []
        #expect(player.play(1) == 1)
        #expect(player.log == [.resetDecoder])
        #expect(player.play(9) == 1, "what came after the flush is not lost")
        player.log = []
        #expect(player.say(.flush) == [.resetDecoder], "nothing is queued: at once")
    }

    @Test("§6 a paused flush happens when the stream goes on; reset forgets it")
    func pausedFlush() {
        var player = Player.inState(.paused)
        player.say(.flush, .start(at: nil))
        player.log = []
        player.play(9)
        #expect(player.log.filter { $0 == .resetDecoder }.count == 1)
        player = .inState(.paused)
        player.say(.flush)
        #expect(player.say(.reset) == [.drop, .resetDecoder])
        player.say(.start(at: nil))
        player.log = []
        player.bring(3)
        player.play(9)
        #expect(!player.log.contains(.resetDecoder))
    }

    @Test("§6 a relay's transport has no watermark: it plays from start on, and an empty queue is no want")
    func relay() {
        var player = Player(watermarkMilliseconds: 0)
        #expect(player.say(.start(at: nil)) == [.open(at: nil), .run, .state(.playing)])
        player.bring()
        player.play()
        #expect(player.transport.state == .playing)
        #expect(player.say(.pause) == [.hold, .state(.paused)])
        #expect(player.say(.prime) == [.primed(QueueLevel(head: 1, tail: 1))])
        #expect(player.say(.start(at: nil)) == [.run, .state(.playing)])
        #expect(player.say(.stopDraining) == [.close, .state(.stopped)])
    }

    @Test("§6 commands are intentions: they wait for the loop, in order, and no more than eight of them")
    func intentions() {
        var player = Player()
        var transport = player.transport
        for _ in 0..<StreamTransport.intentionsMax { #expect(transport.intend(.pause) == true) }
        #expect(transport.intend(.start(at: nil)) == false, "the ninth is refused")
        #expect(transport.state == .stopped)
        #expect(player.transport.intend(.start(at: nil)) == true)
        #expect(player.transport.state == .stopped, "nothing happens before the loop's turn")
        #expect(player.say(.stopImmediately, .start(at: 5)) == [.open(at: nil), .close, .drop, .open(at: 5), .state(.waiting)])
        #expect(player.turn().isEmpty)
    }

    @Test("§6 every frame is returned exactly once, whatever is said", arguments: 0..<64)
    func anyOrder(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var player = Player(watermarkMilliseconds: seed % 4 == 0 ? 0 : 60)
        let intentions: [StreamIntention] = [
            .start(at: nil), .start(at: 7), .prime, .pause, .stopImmediately, .stopDraining, .flush, .reset,
        ]
        var primes = 0
        for _ in 0..<400 {
            switch Int.random(in: 0..<8, using: &generator) {
            case 0...2: player.bring(Int.random(in: 1...4, using: &generator))
            case 3...5: player.play(Int.random(in: 1...4, using: &generator))
            default:
                let intention = intentions[Int.random(in: 0..<intentions.count, using: &generator)]
                if intention == .prime { primes += 1 }
                player.say(intention)
            }
            let returns = player.returns
            #expect(returns.entered == returns.played + returns.dropped + player.queued)
            #expect(player.runs == (player.transport.state == .playing))
            if player.transport.state == .stopped { #expect(player.queued == 0 && !player.isOpen) }
        }
        player.say(.stopImmediately)
        #expect(player.returns.entered == player.returns.played + player.returns.dropped)
        #expect(player.log.filter { if case .primed = $0 { true } else { false } }.count == primes, "each prime is answered once")
        var last: TransportAction?
        for action in player.log where action == .run || action == .hold {
            #expect(action != last || action == .run, "hold is said of what runs only")
            last = action
        }
    }
}
