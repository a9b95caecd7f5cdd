import RelayBase
import TLSTransport

/// One end of a connection in memory: a machine, what has arrived for it, and what has become of it.
final class Endpoint {
    let machine: TLSMachine
    private let output: TLSOutput
    var inbox: [UInt8] = []
    var received: [UInt8] = []
    var fault: TLSFault?
    var hasReceivedCloseNotify = false

    init(_ machine: TLSMachine, _ output: TLSOutput) {
        self.machine = machine
        self.output = output
    }

    /// Takes what the machine has put out.
    func takeOutput() -> [UInt8] {
        var bytes: [UInt8] = []
        unsafe bytes.append(contentsOf: output.bytes.readable)
        output.bytes.removeAll()
        return bytes
    }

    func send(_ bytes: [UInt8]) throws {
        try unsafe bytes.withUnsafeBytes { try unsafe machine.write($0) }
    }

    /// Gives the machine up to `count` bytes of what arrived, and lets it go as far as they take it.
    func step(_ count: Int) {
        guard fault == nil else {
            inbox.removeAll()
            return
        }
        let chunk = Array(inbox.prefix(count))
        inbox.removeFirst(chunk.count)
        do throws(TLSFault) {
            try feed(chunk)
        } catch {
            fault = error
        }
    }

    private func feed(_ chunk: [UInt8]) throws(TLSFault) {
        let room = UnsafeMutableRawBufferPointer.allocate(byteCount: TLSMachine.recordBytesMax, alignment: 16)
        let lent = UnsafeMutableRawBufferPointer.allocate(byteCount: chunk.count, alignment: 1)
        defer {
            unsafe room.deallocate()
            unsafe lent.deallocate()
        }
        unsafe lent.copyBytes(from: chunk)
        var input = UnsafeRawBufferPointer(lent)
        if !machine.isHandshakeComplete, try unsafe machine.handshake(&input) == .inProgress { return }
        while true {
            switch try unsafe machine.read(&input, into: room) {
            case .bytes(let count): unsafe received.append(contentsOf: room[..<count])
            case .needsInput: return
            case .closeNotify:
                hasReceivedCloseNotify = true
                return
            }
        }
    }
}

/// A client and a server, and the wire between them.
struct Wire {
    let client: Endpoint
    let server: Endpoint

    init(_ clientContext: TLSContext, _ serverContext: TLSContext, name: TLSPeerName = .dns("relay.example"), session: TLSSession? = nil) throws {
        let clientOutput = TLSOutput()
        let serverOutput = TLSOutput()
        client = Endpoint(try TLSMachine(connecting: clientContext, to: name, session: session, output: clientOutput), clientOutput)
        server = Endpoint(try TLSMachine(accepting: serverContext, output: serverOutput), serverOutput)
        client.step(0)
    }

    /// Carries bytes both ways, at most `chunk` at a time, until nothing moves.
    func run(chunk: Int = .max) {
        while true {
            server.inbox += client.takeOutput()
            client.inbox += server.takeOutput()
            if server.inbox.isEmpty, client.inbox.isEmpty { return }
            if !server.inbox.isEmpty { server.step(chunk) }
            if !client.inbox.isEmpty { client.step(chunk) }
        }
    }

    var isComplete: Bool {
        client.fault == nil && server.fault == nil && client.machine.isHandshakeComplete && server.machine.isHandshakeComplete
    }
}

/// Contexts over the test certificates.
enum Contexts {
    static let pki = TestPKI.shared

    static func serverConfiguration(_ change: (inout TLSConfiguration) -> Void = { _ in }) -> TLSConfiguration {
        var configuration = TLSConfiguration()
        configuration.keyPairs = [pki.pair("server")]
        configuration.authorityFiles = [pki.path("root.pem")]
        change(&configuration)
        return configuration
    }

    static func clientConfiguration(_ name: String?, chain: Bool = false, _ change: (inout TLSConfiguration) -> Void = { _ in }) -> TLSConfiguration {
        var configuration = TLSConfiguration()
        configuration.keyPairs = name.map { [pki.pair($0, chain: chain)] } ?? []
        configuration.authorityFiles = [pki.path("root.pem")]
        change(&configuration)
        return configuration
    }

    static func server(
        tickets: TicketKeys? = nil, clock: WallClock = .system, _ change: (inout TLSConfiguration) -> Void = { _ in }
    ) throws -> TLSContext {
        try TLSContext(server: serverConfiguration(change), tickets: tickets, clock: clock)
    }

    static func client(_ name: String?, chain: Bool = false, _ change: (inout TLSConfiguration) -> Void = { _ in }) throws -> TLSContext {
        try TLSContext(client: clientConfiguration(name, chain: chain, change))
    }
}
