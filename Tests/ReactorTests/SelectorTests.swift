import Glibc
import Reactor
import RelayBase
import Testing

@Suite struct SelectorTests {
    private let calls = SystemCalls.linux

    private func events(_ selector: inout Selector, timeoutMilliseconds: Int32 = 0) throws -> [Selector.Event] {
        let count = try selector.wait(timeoutMilliseconds: timeoutMilliseconds)
        return (0..<count).map { selector.event(at: $0) }
    }

    @Test(
        "a level-triggered descriptor is told as long as it is ready, an edge-triggered one once",
        arguments: [(.read, 3), ([.read, .edgeTriggered], 1)] as [(Interest, Int)])
    func triggering(interest: Interest, told: Int) throws {
        var selector = try Selector(calls: calls)
        let pair = try SocketPair()
        try selector.add(pair.second, token: 0xFFFF_FFFF_0000_0001, interest: interest)
        #expect(try events(&selector).isEmpty)
        _ = try calls.send(to: pair.first, [1])
        var count = 0
        for _ in 0..<3 {
            for event in try events(&selector) {
                #expect(event == Selector.Event(token: 0xFFFF_FFFF_0000_0001, readiness: .readable))
                count += 1
            }
        }
        #expect(count == told)
        _ = try calls.send(to: pair.first, [2])
        #expect(try events(&selector).count == 1, "new bytes are a new edge")
    }

    @Test("modify replaces token and interest, remove ends the events")
    func modifyAndRemove() throws {
        var selector = try Selector(calls: calls)
        let pair = try SocketPair()
        try selector.add(pair.first, token: 1, interest: .read)
        #expect(try events(&selector).isEmpty)
        try selector.modify(pair.first, token: 2, interest: [.read, .write])
        #expect(try events(&selector) == [Selector.Event(token: 2, readiness: .writable)])
        try selector.modify(pair.first, token: 2, interest: .read)
        #expect(try events(&selector).isEmpty)
        _ = try calls.send(to: pair.second, [1])
        try selector.remove(pair.first)
        #expect(try events(&selector).isEmpty)
    }

    @Test("a peer that finished sending and one that is gone are told apart")
    func hangup() throws {
        var selector = try Selector(calls: calls)
        var pair = try SocketPair()
        try selector.add(pair.first, token: 1, interest: .read)
        calls.shutdown(pair.second, .write)
        #expect(try events(&selector) == [Selector.Event(token: 1, readiness: [.readable, .readHangup])])
        pair.closeSecond()
        #expect(try events(&selector) == [Selector.Event(token: 1, readiness: [.readable, .readHangup, .hangup])])
    }

    @Test("more events than the buffer holds come with the next waits, each descriptor once a round")
    func bounded() throws {
        var selector = try Selector(eventsMax: 2, calls: calls)
        let wakes = try (0..<5).map { _ in try EventFD() }
        for (index, wake) in wakes.enumerated() {
            try selector.add(wake.descriptor, token: UInt64(index), interest: [.read, .edgeTriggered])
            wake.signal()
        }
        var tokens: [UInt64] = []
        for _ in 0..<3 {
            let batch = try events(&selector)
            #expect(batch.count <= 2)
            tokens += batch.map(\.token)
        }
        #expect(tokens.sorted() == [0, 1, 2, 3, 4])
    }

    @Test("an interrupted wait ends early without events; another fault is thrown")
    func interrupted() throws {
        try withScript([.epollWait: [.fail(EINTR), .fail(EBADF)], .epollControl: [.fail(ENOSPC)]]) { (calls, _) throws in
            var selector = try Selector(calls: calls)
            let wake = try EventFD()
            wake.signal()
            do throws(SystemFault) {
                try selector.add(wake.descriptor, token: 1, interest: .read)
                Issue.record("the script refuses")
            } catch {
                #expect(error == SystemFault(operation: "epoll_ctl", errno: ENOSPC))
            }
            try selector.add(wake.descriptor, token: 1, interest: .read)
            #expect(try selector.wait(timeoutMilliseconds: -1) == 0)
            do throws(SystemFault) {
                _ = try selector.wait(timeoutMilliseconds: -1)
                Issue.record("the script refuses")
            } catch {
                #expect(error == SystemFault(operation: "epoll_wait", errno: EBADF) && selector.eventCount == 0)
            }
            #expect(try selector.wait(timeoutMilliseconds: -1) == 1)
        }
    }

    @Test(
        "the timeout is rounded up, so that no wait ends before its deadline",
        arguments: [
            (nil, -1), (.distantFuture, -1), (.zero, 0), (MonotonicInstant(nanoseconds: 5_000_000), 0),
            (MonotonicInstant(nanoseconds: 5_000_001), 1), (MonotonicInstant(nanoseconds: 6_000_000), 1),
            (MonotonicInstant(nanoseconds: 6_000_001), 2), (MonotonicInstant(nanoseconds: .max - 1), Int32.max),
        ] as [(MonotonicInstant?, Int32)])
    func timeout(deadline: MonotonicInstant?, expected: Int32) {
        #expect(Selector.timeoutMilliseconds(until: deadline, now: MonotonicInstant(nanoseconds: 5_000_000)) == expected)
    }

    @Test("a wait with a timeout ends without events")
    func waits() throws {
        var selector = try Selector(calls: calls)
        let before = MonotonicClock.now()
        #expect(try selector.wait(timeoutMilliseconds: 5) == 0)
        #expect(MonotonicClock.now().nanoseconds(since: before) >= 4_000_000)
    }

    @Test("a timeout below a millisecond is kept, and ends no earlier; 0 only looks", arguments: [0, 300_000] as [UInt64])
    func waitsBriefly(nanoseconds: UInt64) throws {
        var selector = try Selector(calls: calls)
        let before = MonotonicClock.now()
        #expect(try selector.wait(timeoutNanoseconds: nanoseconds) == 0)
        #expect(MonotonicClock.now().nanoseconds(since: before) >= nanoseconds)
        let wake = try EventFD()
        try selector.add(wake.descriptor, token: 7, interest: .read)
        wake.signal()
        #expect(try selector.wait(timeoutNanoseconds: .max) == 1)
        #expect(selector.event(at: 0).token == 7)
    }

    @Test("reading an event that the last wait did not give is our bug")
    func noSuchEvent() async {
        await #expect(processExitsWith: .failure) {
            let selector = try Selector(calls: .linux)
            _ = selector.event(at: 0)
        }
    }
}
