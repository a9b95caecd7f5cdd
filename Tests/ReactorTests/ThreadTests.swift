import CLinux
import Glibc
import Reactor
import RelayBase
import Testing

@Suite struct ThreadTests {
    @Test(
        "a thread runs its body under its name, cut to what the kernel keeps",
        arguments: [("loop-1", "loop-1"), ("a-name-that-is-too-long", "a-name-that-is-")])
    func name(given: String, kept: String) throws {
        let names = Mailbox<String>(capacity: 1, wake: try EventFD())
        let thread = try LoopThread(name: given) { _ = names.post(LoopThread.currentName) }
        thread.join()
        var seen: [String] = []
        names.drain(into: &seen)
        #expect(seen == [kept])
    }

    @Test("a pinned thread runs on its processor")
    func pinned() throws {
        let processor = Int(clinux_current_cpu())
        let seen = Mailbox<Int32>(capacity: 1, wake: try EventFD())
        let thread = try LoopThread(name: "pinned", cpu: processor) { _ = seen.post(clinux_current_cpu()) }
        thread.join()
        var processors: [Int32] = []
        seen.drain(into: &processors)
        #expect(processors == [Int32(processor)])
    }

    @Test("a processor that is not there is a fault, and nothing runs", arguments: [1_000, 1 << 20])
    func noSuchProcessor(cpu: Int) {
        #expect(throws: SystemFault(operation: "pthread_create", errno: EINVAL)) {
            _ = try LoopThread(name: "nowhere", cpu: cpu) { Issue.record("must not run") }
        }
    }

    @Test("what a thread's body holds is released when it has ended")
    func releasesBody() throws {
        final class Held: Sendable {}
        var held: Held? = Held()
        weak let observed = held
        let thread = try LoopThread(name: "holder") { [held] in withExtendedLifetime(held) {} }
        held = nil
        thread.join()
        #expect(observed == nil)
    }

    @Test("an eventfd is readable from its first signal to its reset")
    func eventFD() throws {
        let wake = try EventFD()
        var selector = try Selector(calls: .linux)
        try selector.add(wake.descriptor, token: 5, interest: .read)
        let silent = try selector.wait(timeoutMilliseconds: 0)
        #expect(silent == 0)
        wake.signal()
        wake.signal()
        let woken = try selector.wait(timeoutMilliseconds: 0)
        #expect(woken == 1)
        wake.reset()
        wake.reset()
        let again = try selector.wait(timeoutMilliseconds: 0)
        #expect(again == 0)
    }

    @Test("a sleeping loop is woken by another thread")
    func wakesLoop() throws {
        let wake = try EventFD()
        var selector = try Selector(calls: .linux)
        try selector.add(wake.descriptor, token: 5, interest: .read)
        let thread = try LoopThread(name: "waker") { wake.signal() }
        let count = try selector.wait(timeoutMilliseconds: 10_000)
        #expect(count == 1)
        thread.join()
    }
}

@Suite struct SignalTests {
    @Test("blocked signals arrive as events, once each however often they were raised; SIGPIPE does nothing")
    func signals() async {
        await #expect(processExitsWith: .success) {
            try SignalReceiver.block([SIGTERM, SIGHUP])
            let receiver = try SignalReceiver([SIGTERM, SIGHUP])
            let nothing = try receiver.next(calls: .linux)
            precondition(nothing == nil)
            kill(getpid(), SIGPIPE)
            // In this thread, so that no thread of the test library that started before the block can take it.
            for signal in [SIGTERM, SIGTERM, SIGHUP] { pthread_kill(pthread_self(), signal) }
            precondition(waitUntilReadable(receiver.descriptor))
            var received: Set<Int32> = []
            var count = 0
            while let signal = try receiver.next(calls: .linux) {
                received.insert(signal)
                count += 1
            }
            precondition(received == [SIGTERM, SIGHUP] && count == 2)
        }
    }

    @Test("a number that is no signal is a fault", arguments: [0, -1, 65, 10_000] as [Int32])
    func noSuchSignal(number: Int32) {
        #expect(throws: SystemFault(operation: "sigaddset", errno: EINVAL)) { try SignalReceiver.block([number]) }
    }
}

@Suite struct ClockTests {
    @Test("the monotonic clock does not go back")
    func monotonic() {
        var last = MonotonicClock.now()
        for _ in 0..<1_000 {
            let now = MonotonicClock.now()
            #expect(now >= last)
            last = now
        }
        #expect(last > .zero)
    }

    @Test("the wall clock counts milliseconds since 1970")
    func wall() {
        let seconds = time(nil)
        let now = WallClock.now()
        #expect(now / 1_000 >= UInt64(seconds) && now / 1_000 <= UInt64(seconds) + 60)
    }

    @Test("processor time grows with work, the thread's no more than the process's")
    func processorTime() {
        let (process, thread) = (CPUUsage.ofProcess(), CPUUsage.ofThread())
        var generator = SeededGenerator(seed: 1)
        var sum: UInt64 = 0
        // Until the clock of the kernel's accounting has moved, whatever the machine's speed.
        while CPUUsage.ofThread().totalNanoseconds == thread.totalNanoseconds { for _ in 0..<10_000 { sum &+= generator.next() } }
        let (processAfter, threadAfter) = (CPUUsage.ofProcess(), CPUUsage.ofThread())
        #expect(sum != 0)
        #expect(threadAfter.totalNanoseconds > thread.totalNanoseconds)
        #expect(processAfter.totalNanoseconds >= process.totalNanoseconds)
    }

    @Test("resident memory is read in bytes")
    func memory() throws {
        let usage = try MemoryUsage.ofProcess(calls: .linux)
        #expect(usage.residentBytes > 1 << 20 && usage.virtualBytes >= usage.residentBytes)
    }

    @Test("a statm that cannot be opened is a fault")
    func noMemoryFile() {
        withScript([.open: [.fail(EMFILE)]]) { calls, _ in
            #expect(throws: SystemFault(operation: "open", errno: EMFILE)) { _ = try MemoryUsage.ofProcess(calls: calls) }
        }
    }
}
