import Foundation
import RelayBase
import TLSTransport
import Testing

/// A server's connection over a scripted socket, and a client's machine that plays the peer.
private final class Rig {
    let descriptor = ScriptedSocket.make()
    let scratch: TransportScratch
    let connection: SecureConnection
    let client: Endpoint

    init(readiness: TransportScratch.Readiness = .edgeTriggered, scratch: TransportScratch? = nil, client name: String? = "client") throws {
        self.scratch = scratch ?? TransportScratch(readiness: readiness)
        let machine = try TLSMachine(accepting: Contexts.server(), output: self.scratch.output)
        connection = SecureConnection(descriptor: descriptor, machine: machine, scratch: self.scratch, io: ScriptedSocket.io)
        let output = TLSOutput()
        client = Endpoint(try TLSMachine(connecting: Contexts.client(name), to: .dns("relay.example"), output: output), output)
        client.step(0)
    }

    /// Puts what the client has to say on the socket.
    func upload() {
        let bytes = client.takeOutput()
        ScriptedSocket.with(descriptor) { $0.incoming += bytes }
    }

    /// Gives the client what the connection has sent.
    func download() {
        client.inbox += ScriptedSocket.with(descriptor) { state in
            defer { state.outgoing = [] }
            return state.outgoing
        }
        client.step(.max)
    }

    func connect() throws {
        while true {
            upload()
            let progress = try connection.handshake()
            download()
            if progress == .complete, client.machine.isHandshakeComplete { return }
        }
    }

    /// Reads until the socket is empty; `true` at the end of the stream if that was clean.
    func receiveAll(_ bytes: inout [UInt8]) throws -> Bool? {
        while true {
            switch try unsafe connection.receive() {
            case .bytes(let part): unsafe bytes.append(contentsOf: part)
            case .wouldBlock: return nil
            case .end(let clean): return clean
            }
        }
    }

    func send(_ bytes: [UInt8]) throws {
        try unsafe bytes.withUnsafeBytes { try unsafe connection.send($0) }
    }
}

@Suite struct SecureConnectionTests {
    private func noise(_ count: Int, seed: UInt64 = 3) -> [UInt8] {
        var generator = SeededGenerator(seed: seed)
        return (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
    }

    @Test(
        "handshake and data survive EINTR, EAGAIN and short reads at every call",
        arguments: [TransportScratch.Readiness.edgeTriggered, .levelTriggered])
    func interruptions(readiness: TransportScratch.Readiness) throws {
        let rig = try Rig(readiness: readiness)
        ScriptedSocket.with(rig.descriptor) {
            $0.receives = [.fails(EINTR), .fails(EAGAIN), .atMost(1), .fails(EINTR), .atMost(3), .fails(EAGAIN), .atMost(200)]
            $0.sends = [.fails(EINTR), .fails(EINTR)]
        }
        try rig.connect()
        #expect(rig.connection.negotiated?.version == .tls13)
        #expect(rig.connection.peerIdentity?.name == "urn:segue:alice")
        let message = noise(300_000)
        try rig.client.send(message)
        rig.upload()
        ScriptedSocket.with(rig.descriptor) { $0.receives = [.atMost(5), .fails(EINTR), .atMost(10_000), .fails(EAGAIN), .atMost(1)] }
        var received: [UInt8] = []
        // A would-block in the script ends a round before the socket is empty, as an event loop would see it.
        for _ in 0..<20 { #expect(try rig.receiveAll(&received) == nil) }
        #expect(received == message)
    }

    @Test("what the kernel does not take is kept, in order, and sent by flush", arguments: [1, 7, 1_000, 16_000])
    func shortWrites(step: Int) throws {
        let rig = try Rig()
        try rig.connect()
        let message = noise(50_000)
        ScriptedSocket.with(rig.descriptor) { $0.sends = [.atMost(step)] }
        try rig.send(Array(message[..<20_000]))
        #expect(rig.connection.hasUnsent)
        let calls = ScriptedSocket.with(rig.descriptor) { $0.sendCalls }
        try rig.send(Array(message[20_000...]))
        #expect(ScriptedSocket.with(rig.descriptor) { $0.sendCalls } == calls, "a full socket is not tried again before it reports room")
        ScriptedSocket.with(rig.descriptor) { $0.sends = [.fails(EAGAIN), .atMost(step), .fails(EINTR), .atMost(step), .fails(EAGAIN)] }
        var rounds = 0
        while try !rig.connection.flush() { rounds += 1 }
        #expect(rounds == 4)
        #expect(rig.connection.unsentCount == 0)
        rig.download()
        #expect(rig.client.received == message)
    }

    @Test("one send is one system call, however many records and pieces it holds")
    func oneCall() throws {
        let rig = try Rig()
        try rig.connect()
        let before = ScriptedSocket.with(rig.descriptor) { $0.sendCalls }
        let message = noise(100_000)
        try unsafe message.withUnsafeBytes { buffer in
            try unsafe rig.connection.seal(UnsafeRawBufferPointer(rebasing: buffer[..<40]))
            try unsafe rig.connection.seal(UnsafeRawBufferPointer(rebasing: buffer[40...]))
        }
        try rig.connection.transmit()
        #expect(ScriptedSocket.with(rig.descriptor) { $0.sendCalls } == before + 1)
        rig.download()
        #expect(rig.client.received == message)
    }

    @Test("a read that does not fill the buffer is the last one only where readiness is level-triggered")
    func readCalls() throws {
        for (readiness, expected) in [(TransportScratch.Readiness.levelTriggered, 1), (.edgeTriggered, 2)] {
            let rig = try Rig(readiness: readiness)
            try rig.connect()
            var received: [UInt8] = []
            _ = try rig.receiveAll(&received)
            let before = ScriptedSocket.with(rig.descriptor) { $0.receiveCalls }
            try rig.client.send([1])
            rig.upload()
            #expect(try rig.receiveAll(&received) == nil)
            #expect(received == [1])
            #expect(ScriptedSocket.with(rig.descriptor) { $0.receiveCalls } == before + expected)
        }
    }

    @Test("the end is clean after close_notify only", arguments: [true, false])
    func end(says: Bool) throws {
        let rig = try Rig()
        try rig.connect()
        try rig.client.send([5])
        if says { rig.client.machine.shutdown() }
        rig.upload()
        ScriptedSocket.with(rig.descriptor) { $0.incomingEnded = true }
        var received: [UInt8] = []
        #expect(try rig.receiveAll(&received) == says)
        #expect(received == [5])
        #expect(try rig.receiveAll(&received) == says, "and stays so")
    }

    @Test("a stream that ends inside the handshake is truncated")
    func endInHandshake() throws {
        let rig = try Rig()
        rig.upload()
        ScriptedSocket.with(rig.descriptor) { $0.incomingEnded = true }
        #expect(throws: TransportFault.tls(.truncated)) { try rig.connection.handshake() }
    }

    @Test("a reset is a system fault with its errno, in both directions")
    func reset() throws {
        let rig = try Rig()
        try rig.connect()
        ScriptedSocket.with(rig.descriptor) {
            $0.receives = [.fails(ECONNRESET)]
            $0.sends = [.fails(EPIPE)]
        }
        var received: [UInt8] = []
        #expect(throws: TransportFault.system(operation: .receive, errno: ECONNRESET)) { try rig.receiveAll(&received) }
        #expect(throws: TransportFault.system(operation: .send, errno: EPIPE)) { try rig.send([1]) }
        #expect(rig.scratch.output.bytes.count == 0, "nothing is left behind for the loop's next connection")
    }

    @Test("a refused client gets its alert over the socket")
    func alert() throws {
        let rig = try Rig(client: "expired")
        #expect(throws: TransportFault.tls(.expired)) { try rig.connect() }
        rig.download()
        #expect(rig.client.fault == .alertReceived(45))
    }

    @Test("shutdown sends close_notify behind what is unsent")
    func shutdown() throws {
        let rig = try Rig()
        try rig.connect()
        ScriptedSocket.with(rig.descriptor) { $0.sends = [.atMost(10)] }
        try rig.send([1, 2, 3])
        try rig.connection.shutdown()
        #expect(try rig.connection.flush())
        rig.download()
        #expect(rig.client.received == [1, 2, 3])
        #expect(rig.client.hasReceivedCloseNotify)
    }

    @Test("connections that stop reading in the middle keep their bytes while others use the loop's scratch")
    func interleaved() throws {
        let scratch = TransportScratch(readiness: .edgeTriggered)
        let rigs = try (0..<3).map { _ in try Rig(scratch: scratch) }
        for rig in rigs { try rig.connect() }
        let messages = (0..<3).map { noise(200_000, seed: UInt64($0)) }
        for (rig, message) in zip(rigs, messages) {
            try rig.client.send(message)
            rig.upload()
        }
        var received: [[UInt8]] = [[], [], []]
        var generator = SeededGenerator(seed: 11)
        var done = 0
        while done < 300 {
            let index = Int.random(in: 0..<3, using: &generator)
            switch try unsafe rigs[index].connection.receive() {
            case .bytes(let part): unsafe received[index].append(contentsOf: part)
            case .wouldBlock:
                #expect(!rigs[index].connection.hasBufferedInput)
                done += 1
            case .end: Issue.record("nobody closed")
            }
        }
        #expect(received == messages)
    }

    @Test("a failed or discarded connection leaves nothing in the scratch for the next one")
    func discard() throws {
        let scratch = TransportScratch(readiness: .edgeTriggered)
        let rigs = try (0..<3).map { _ in try Rig(scratch: scratch) }
        for rig in rigs { try rig.connect() }
        try rigs[0].client.send(noise(40_000))
        rigs[0].upload()
        _ = try unsafe rigs[0].connection.receive()
        #expect(rigs[0].connection.hasBufferedInput)
        rigs[0].connection.discard()
        #expect(!rigs[0].connection.hasBufferedInput)
        ScriptedSocket.with(rigs[1].descriptor) { $0.incoming = [UInt8](repeating: 23, count: 500) }
        var received: [UInt8] = []
        #expect(throws: TransportFault.self) { try rigs[1].receiveAll(&received) }
        try rigs[2].client.send([7])
        rigs[2].upload()
        #expect(try rigs[2].receiveAll(&received) == nil)
        #expect(received == [7])
    }

    @Test("a plaintext connection passes bytes through, and FIN ends it cleanly")
    func plaintext() throws {
        let descriptor = ScriptedSocket.make()
        let scratch = TransportScratch(readiness: .edgeTriggered)
        let connection = SecureConnection(descriptor: descriptor, machine: nil, scratch: scratch, io: ScriptedSocket.io)
        #expect(try connection.handshake() == .complete)
        ScriptedSocket.with(descriptor) {
            $0.incoming = [1, 2, 3]
            $0.sends = [.atMost(1)]
        }
        guard case .bytes(let bytes) = try unsafe connection.receive() else {
            Issue.record("no bytes")
            return
        }
        #expect(unsafe Array(bytes) == [1, 2, 3])
        try unsafe [UInt8]([4, 5]).withUnsafeBytes { try unsafe connection.send($0) }
        #expect(try connection.flush())
        #expect(ScriptedSocket.with(descriptor) { $0.outgoing } == [4, 5])
        ScriptedSocket.with(descriptor) { $0.incomingEnded = true }
        guard case .end(clean: true) = try unsafe connection.receive() else {
            Issue.record("no clean end")
            return
        }
        #expect(connection.peerIdentity == nil && connection.negotiated == nil)
    }
}
