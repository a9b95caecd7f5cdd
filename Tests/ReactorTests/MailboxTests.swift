import Reactor
import Testing

@Suite struct MailboxTests {
    private let calls = SystemCalls.linux

    /// How often the eventfd was signalled since it was reset.
    private func signals(_ wake: EventFD) throws -> UInt8 {
        try calls.receiveCount(wake.descriptor)
    }

    @Test("messages come in the order they were posted, and only the first wakes")
    func order() throws {
        let wake = try EventFD()
        let mailbox = Mailbox<Int>(capacity: 10, wake: wake)
        for number in 0..<5 { #expect(mailbox.post(number) == .posted) }
        #expect(try signals(wake) == 1)
        var messages = [99]
        mailbox.drain(into: &messages)
        #expect(messages == [0, 1, 2, 3, 4])
        mailbox.drain(into: &messages)
        #expect(messages.isEmpty)
        _ = mailbox.post(7)
        #expect(try signals(wake) == 1, "an emptied box wakes again")
    }

    @Test("a full box says so, keeps what it has, and takes again once drained")
    func full() throws {
        let mailbox = Mailbox<Int>(capacity: 2, wake: try EventFD())
        #expect(mailbox.post(1) == .posted && mailbox.post(2) == .posted)
        #expect(mailbox.post(3) == .full)
        var messages: [Int] = []
        mailbox.drain(into: &messages)
        #expect(messages == [1, 2])
        #expect(mailbox.post(4) == .posted)
    }

    @Test("draining reuses two arrays for ever")
    func reuse() throws {
        let mailbox = Mailbox<Int>(capacity: 100, wake: try EventFD())
        var messages: [Int] = []
        var capacities: Set<Int> = []
        for round in 0..<50 {
            for number in 0..<60 { _ = mailbox.post(number) }
            mailbox.drain(into: &messages)
            if round > 2 { capacities.insert(messages.capacity) }
        }
        #expect(capacities.count <= 2)
    }

    @Test("messages of several threads all arrive, each thread's in order, with a sleeping consumer")
    func producers() throws {
        let wake = try EventFD()
        let mailbox = Mailbox<(producer: Int, number: Int)>(capacity: 64, wake: wake)
        let each = 5_000
        let threads = try (0..<3).map { producer in
            try LoopThread(name: "producer") {
                for number in 0..<each {
                    while mailbox.post((producer, number)) == .full { _ = MonotonicClock.now() }
                }
            }
        }
        var next = [0, 0, 0]
        var messages: [(producer: Int, number: Int)] = []
        while next.reduce(0, +) < 3 * each {
            guard waitUntilReadable(wake.descriptor) else {
                Issue.record("a wake-up was lost at \(next)")
                return
            }
            wake.reset()
            mailbox.drain(into: &messages)
            for message in messages {
                #expect(next[message.producer] == message.number)
                next[message.producer] += 1
            }
        }
        for thread in threads { thread.join() }
    }
}

extension SystemCalls {
    /// The counter of an eventfd (which resets it), 0 when it would block.
    fileprivate func receiveCount(_ descriptor: FileDescriptor) throws -> UInt8 {
        var count: UInt64 = 0
        let result = try unsafe withUnsafeMutableBytes(of: &count) { bytes in try unsafe read(from: descriptor, into: bytes) }
        return result == .wouldBlock ? 0 : UInt8(clamping: count)
    }
}
