import RelayBase
import Testing
import WebSocketProtocol

@Suite struct CloseTests {
    @Test(
        "§7.4 codes that a peer may send",
        arguments: [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 3000, 3999, 4000, 4999] as [UInt16])
    func validCodes(code: UInt16) {
        #expect(receive(Wire.close(code, Array("bye".utf8), mask: Wire.key)) == [.close(code, Array("bye".utf8))])
        #expect(receive(Wire.close(code), .client) == [.close(code, [])])
    }

    @Test(
        "§7.4 codes that no frame may carry close 1002",
        arguments: [0, 1, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65_535] as [UInt16])
    func invalidCodes(code: UInt16) {
        #expect(receive(Wire.close(code, mask: Wire.key)) == [.fault(.closeCodeInvalid)])
        #expect(WebSocketFault.closeCodeInvalid.closeCode == .protocolError)
    }

    @Test("§5.5.1 an empty close frame has no code, one byte closes 1002, a reason that is not UTF-8 closes 1007")
    func bodies() {
        #expect(receive(Wire.frame(8, mask: Wire.key)) == [.close(nil, [])])
        #expect(receive(Wire.frame(8, [3], mask: Wire.key)) == [.fault(.closePayloadOfOneByte)])
        for reason in [[0xFF], [0xCE], Array("κόσμε".utf8) + [0xED, 0xA0, 0x80]] as [[UInt8]] {
            #expect(receive(Wire.close(1000, reason, mask: Wire.key)) == [.fault(.closeReasonNotUTF8)])
        }
        #expect(WebSocketFault.closeReasonNotUTF8.closeCode == .invalidFramePayloadData)
        let longest = [UInt8](repeating: 0x61, count: 123)
        #expect(receive(Wire.close(1000, longest, mask: Wire.key)) == [.close(1000, longest)])
    }

    @Test("§7.4.1 a server never sends 1010, nobody 1004–1006 or 1015")
    func sendable() {
        #expect(WebSocketCloseCode.mandatoryExtension.mayBeSent(by: .client))
        #expect(!WebSocketCloseCode.mandatoryExtension.mayBeSent(by: .server))
        for code in [WebSocketCloseCode.noStatusReceived, .abnormalClosure, .tlsHandshake, .init(rawValue: 1004)] {
            #expect(!code.mayBeSent(by: .client) && !code.mayBeSent(by: .server))
        }
    }

    @Test("§5.5.1 after a close frame nothing is processed", arguments: [1, 3, 1000])
    func nothingAfterClose(chunk: Int) {
        let bytes = Wire.close(1000, mask: Wire.key) + Wire.frame(9, [1], mask: Wire.key) + Wire.frame(3) + Wire.close(1001, mask: Wire.key)
        #expect(receive(bytes, chunkSize: { chunk }) == [.close(1000, [])])
    }

    @Test("§5.5.1 a close frame inside a fragmented message ends it")
    func closeInsideMessage() {
        var inbound = WebSocketInbound(.server)
        var observed: [Observed] = []
        inbound.feed((Wire.frame(1, [0x61], fin: false, mask: Wire.key) + Wire.close(1001, [0x62], mask: Wire.key))[...], into: &observed)
        #expect(observed == [.close(1001, [0x62])])
        #expect(inbound.isFinished && inbound.heldBytes == 0 && inbound.nextDeadline == .distantFuture)
    }

    @Test("§5.5.1 an encoded close frame decodes to the same, its reason cut at a character's edge")
    func encoded() {
        for (reason, kept) in [("", 0), ("going down", 10), (String(repeating: "a", count: 200), 123), (String(repeating: "é", count: 80), 122)] {
            for key in [nil, WebSocketMaskingKey(0x1122_3344)] {
                var queue = ByteQueue()
                WebSocketFrameEncoder.appendClose(.goingAway, reason: reason, maskingKey: key, to: &queue)
                let bytes = unsafe Array(queue.readable)
                #expect(receive(bytes, key == nil ? .client : .server) == [.close(1001, Array(reason.utf8.prefix(kept)))])
            }
        }
        var queue = ByteQueue()
        WebSocketFrameEncoder.appendClose(nil, reason: "unsaid", maskingKey: nil, to: &queue)
        #expect(unsafe Array(queue.readable) == [0x88, 0x00])
    }
}

@Suite struct ClosingHandshakeTests {
    private let start = MonotonicInstant.zero.advanced(byMilliseconds: 1_000)
    private var late: MonotonicInstant { start.advanced(byMilliseconds: 5_000) }

    private func closing(_ role: WebSocketRole) -> WebSocketClosing {
        WebSocketClosing(role: role, closeHandshakeMillisecondsMax: 5_000)
    }

    @Test("§5.5.1 a close frame received first is answered with its code; §7.1.1 the server ends the transport, the client waits")
    func peerCloses() {
        for (role, ending) in [(WebSocketRole.server, WebSocketClosing.TransportEnding.endAfterFlush), (.client, .awaitPeer)] {
            for code in [WebSocketCloseCode.goingAway, nil] {
                var machine = closing(role)
                #expect(machine.maySend && !machine.isClosed && machine.nextDeadline == .distantFuture)
                #expect(machine.receiveClose(code, now: start) == .reply(code, then: ending))
                #expect(!machine.maySend && machine.isClosed && machine.nextDeadline == late)
                #expect(machine.receivedCode == code ?? .noStatusReceived)
                #expect(machine.receiveClose(.normalClosure, now: start) == .ignore)
                #expect(machine.sendClose(now: start) == .alreadyClosing)
                #expect(machine.fail(.reservedBits, now: start) == .end)
            }
        }
    }

    @Test("§7.1.2 our close frame is sent once and its answer finishes the handshake")
    func weClose() {
        var machine = closing(.server)
        #expect(machine.sendClose(now: start) == .send)
        #expect(machine.sendClose(now: start) == .alreadyClosing)
        #expect(!machine.maySend && !machine.isClosed)
        #expect(machine.receivedCode == .abnormalClosure)
        #expect(machine.receiveClose(.normalClosure, now: start) == .finished(.endAfterFlush))
        #expect(machine.isClosed && machine.receivedCode == .normalClosure)
    }

    @Test("A peer that never answers our close frame is cut off at the deadline")
    func deadline() {
        var machine = closing(.client)
        #expect(!machine.expired(now: late))
        _ = machine.sendClose(now: start)
        #expect(machine.nextDeadline == late)
        #expect(!machine.expired(now: MonotonicInstant(nanoseconds: late.nanoseconds - 1)))
        #expect(machine.expired(now: late))
    }

    @Test("§7.1.7 a failed connection sends the fault's code and waits for no answer", arguments: WebSocketFault.allCases)
    func failing(fault: WebSocketFault) {
        var machine = closing(.server)
        #expect(machine.fail(fault, now: start) == .sendThenEnd(fault.closeCode))
        #expect(machine.isClosed && !machine.maySend && machine.receivedCode == .abnormalClosure)
        var closingFirst = closing(.server)
        _ = closingFirst.sendClose(now: start)
        #expect(closingFirst.fail(fault, now: start) == .end)
        #expect(closingFirst.isClosed)
    }
}
