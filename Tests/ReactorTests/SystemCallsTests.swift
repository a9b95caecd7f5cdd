import Glibc
import Reactor
import RelayBase
import Testing

@Suite struct SystemCallsTests {
    @Test("an interrupted receive is made again and its bytes arrive", arguments: [0, 1, 5, 64])
    func receiveRetries(interruptions: Int) throws {
        let pair = try SocketPair()
        _ = try SystemCalls.linux.send(to: pair.first, [1, 2, 3])
        try withScript([.recv: Array(repeating: .fail(EINTR), count: interruptions)]) { (calls, script) throws in
            #expect(try calls.receive(from: pair.second, count: 16) == [1, 2, 3])
            #expect(script.count(.recv) == interruptions + 1)
        }
    }

    @Test("interruptions without end become a fault, not a hang")
    func interruptionsAreBounded() throws {
        let pair = try SocketPair()
        let (first, second) = (pair.first, pair.second)
        let forEver = Array(repeating: Step.fail(EINTR), count: 100)
        withScript([.recv: forEver, .send: forEver, .read: forEver, .write: forEver]) { calls, script in
            #expect(throws: SystemFault(operation: "recv", errno: EINTR)) { try calls.receive(from: second, count: 1) }
            #expect(throws: SystemFault(operation: "send", errno: EINTR)) { try calls.send(to: first, [1]) }
            #expect(script.count(.recv) == 65)
        }
    }

    @Test("EAGAIN is an answer, not a fault")
    func wouldBlock() throws {
        let pair = try SocketPair()
        #expect(try SystemCalls.linux.receive(from: pair.second, count: 1) == nil)
        try withScript([.recv: [.fail(EAGAIN)], .send: [.fail(EAGAIN)]]) { (calls, script) throws in
            #expect(try calls.send(to: pair.first, [7]) == .wouldBlock)
            #expect(try calls.send(to: pair.first, [8]) == .bytes(1))
            #expect(try calls.receive(from: pair.second, count: 4) == nil)
            #expect(try calls.receive(from: pair.second, count: 4) == [8])
            #expect(script.isPlayed)
        }
    }

    @Test("a short write reports what was taken and the rest can follow", arguments: [1, 3, 7])
    func shortWrites(limit: Int) throws {
        let pair = try SocketPair()
        let message = (0..<20).map(UInt8.init)
        try withScript([.send: Array(repeating: .limit(limit), count: 20)]) { (calls, _) throws in
            var rest = message[...]
            while !rest.isEmpty {
                guard case .bytes(let count) = try calls.send(to: pair.first, Array(rest)) else {
                    Issue.record("the socket has room")
                    return
                }
                #expect(count == min(limit, rest.count))
                rest = rest.dropFirst(count)
            }
            #expect(try calls.receive(from: pair.second, count: 64) == message)
        }
    }

    @Test("the end of the stream is told from nothing to read")
    func endOfStream() throws {
        let pair = try SocketPair()
        SystemCalls.linux.shutdown(pair.first, .write)
        #expect(try SystemCalls.linux.receive(from: pair.second, count: 1) == [])
        #expect(try SystemCalls.linux.send(to: pair.second, [1]) == .bytes(1), "the other direction is still open")
    }

    @Test("a lost connection is a fault that says so", arguments: [ECONNRESET, EPIPE, ETIMEDOUT, EHOSTUNREACH])
    func connectionLost(code: Int32) throws {
        let pair = try SocketPair()
        let (first, second) = (pair.first, pair.second)
        withScript([.recv: [.fail(code)], .send: [.fail(code)]]) { calls, _ in
            let received = #expect(throws: SystemFault.self) { try calls.receive(from: second, count: 1) }
            let sent = #expect(throws: SystemFault.self) { try calls.send(to: first, [1]) }
            #expect(received == SystemFault(operation: "recv", errno: code) && received?.isConnectionLost == true)
            #expect(sent == SystemFault(operation: "send", errno: code) && sent?.isConnectionLost == true)
        }
    }

    @Test("sending to a closed peer is EPIPE and no signal")
    func brokenPipe() throws {
        var pair = try SocketPair()
        pair.closeSecond()
        let first = pair.first
        #expect(throws: SystemFault(operation: "send", errno: EPIPE)) { try SystemCalls.linux.send(to: first, [1]) }
    }

    @Test("an interrupted close is not repeated")
    func closeOnce() throws {
        let spare = FileDescriptor(number: dup(0))
        withScript([.close: [.fail(EINTR)]]) { calls, script in
            calls.close(spare)
            #expect(script.count(.close) == 1)
        }
        #expect(!isOpen(spare))
    }

    @Test("a fault's text names the call and the cause")
    func faultText() {
        let fault = SystemFault(operation: "accept4", errno: EMFILE)
        #expect(fault.description == "accept4: Too many open files (errno 24)")
        #expect(fault.isOutOfDescriptors && !fault.isConnectionLost)
        #expect(SystemFault(operation: "recv", errno: 9_999).description == "recv: errno 9999")
        #expect(fault != SystemFault(operation: "open", errno: EMFILE))
    }

    @Test("an owned descriptor is closed with its owner, and not once it is taken")
    func ownedDescriptor() {
        let closed = FileDescriptor(number: fcntl(0, F_DUPFD, 700))
        do { _ = OwnedDescriptor(closed) }
        #expect(!isOpen(closed))
        let kept = OwnedDescriptor(FileDescriptor(number: fcntl(0, F_DUPFD, 700))).take()
        #expect(isOpen(kept))
        SystemCalls.linux.close(kept)
    }
}
