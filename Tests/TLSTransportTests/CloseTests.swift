import TLSTransport
import Testing

@Suite struct CloseTests {
    private func connected(_ version: TLSVersion = .tls13) throws -> Wire {
        let wire = try Wire(Contexts.client("client") { $0.maximumVersion = version }, Contexts.server())
        wire.run()
        #expect(wire.isComplete)
        return wire
    }

    @Test("RFC 8446 §6.1 close_notify makes the end clean; without it the stream is truncated", arguments: TLSVersion.allCases, [true, false])
    func closeNotify(version: TLSVersion, says: Bool) throws {
        let wire = try connected(version)
        try wire.client.send([1, 2, 3])
        if says { wire.client.machine.shutdown() }
        wire.run()
        #expect(wire.server.received == [1, 2, 3])
        #expect(wire.server.hasReceivedCloseNotify == says)
        #expect(wire.server.machine.endIsClean == says)
    }

    @Test("RFC 8446 §6.1 data after close_notify is ignored")
    func dataAfterCloseNotify() throws {
        let wire = try connected()
        wire.client.machine.shutdown()
        let goodbye = wire.client.takeOutput()
        wire.server.inbox = goodbye + [23, 3, 3, 0, 1, 0]
        wire.run()
        #expect(wire.server.machine.endIsClean)
        #expect(wire.server.fault == nil)
    }

    @Test("a closed direction leaves the other one open")
    func halfClosed() throws {
        let wire = try connected()
        wire.client.machine.shutdown()
        wire.run()
        try wire.server.send([9])
        wire.run()
        #expect(wire.client.received == [9])
    }

    @Test("shutdown says close_notify once, and nothing before the handshake or after a fault")
    func shutdownTwice() throws {
        let wire = try connected()
        wire.server.machine.shutdown()
        #expect(!wire.server.takeOutput().isEmpty)
        wire.server.machine.shutdown()
        #expect(wire.server.takeOutput().isEmpty)
        let early = try Wire(Contexts.client("client"), Contexts.server())
        early.server.machine.shutdown()
        #expect(early.server.takeOutput().isEmpty)
        let bad = try Wire(Contexts.client("expired"), Contexts.server())
        bad.run()
        bad.server.machine.shutdown()
        #expect(bad.server.takeOutput().isEmpty)
    }

    @Test("RFC 8446 §4.6.3 a key update is answered, a flood of them is refused")
    func keyUpdates() throws {
        let wire = try connected()
        for round in 1...33 {
            try wire.client.machine.updateKeys()
            try wire.client.send([UInt8(round)])
            wire.run()
            if round == 32 { #expect(wire.server.fault == nil, "32 are nothing to complain of") }
        }
        #expect(wire.server.fault == .controlFlood)
    }

    @Test("data earns an allowance of key updates")
    func keyUpdateAllowance() throws {
        let wire = try connected()
        for round in 1...40 {
            try wire.client.machine.updateKeys()
            try wire.client.send([UInt8](repeating: UInt8(round), count: 1 << 20))
            wire.run()
        }
        #expect(wire.server.fault == nil)
        #expect(wire.server.received.count == 40 << 20)
    }
}
