import RelayBase
import TLSTransport
import Testing

@Suite struct HandshakeRemainsTests {
    /// Sends from one end and gives what the other end has got of it.
    private func pass(_ bytes: [UInt8], _ wire: Wire, fromServer: Bool) throws -> [UInt8] {
        let receiver = fromServer ? wire.client : wire.server
        receiver.received = []
        try (fromServer ? wire.server : wire.client).send(bytes)
        wire.run()
        return receiver.received
    }

    @Test("RFC 8446 §4.6.3 both ends go on after the handshake is let go of: data, keys changed by either, and the end", arguments: [false, true])
    func goesOn(resumed: Bool) throws {
        let server = try Contexts.server(tickets: TicketKeys())
        let client = try Contexts.client("client")
        var wire = try Wire(client, server)
        wire.run()
        if resumed {
            let session = try #require(wire.client.machine.session)
            wire = try Wire(client, server, session: session)
            wire.run()
            #expect(wire.server.machine.negotiated?.isResumed == true)
        }
        let text = Array("a frame".utf8)
        for round in 0..<4 {
            #expect(try pass(text, wire, fromServer: false) == text)
            #expect(try pass(text, wire, fromServer: true) == text)
            try (round.isMultiple(of: 2) ? wire.client : wire.server).machine.updateKeys()
        }
        #expect(wire.server.machine.negotiated?.cipherSuite == "TLS_AES_128_GCM_SHA256")
        #expect(wire.server.machine.negotiated?.version == .tls13)
        #expect(wire.server.machine.peerIdentity?.name == "urn:segue:alice")
        #expect(wire.server.machine.session == nil, "what could be resumed by is gone")
        // A change of keys goes before the next data; the library does not say goodbye while one is owed.
        #expect(try pass(text, wire, fromServer: true) == text)
        wire.server.machine.shutdown()
        wire.run()
        #expect(wire.client.hasReceivedCloseNotify)
        #expect(wire.client.fault == nil)
        #expect(wire.server.fault == nil)
    }
}
