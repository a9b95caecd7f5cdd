import Foundation
import Synchronization
import TLSTransport

/// A server on a loopback socket for one client at a time, over the real system calls: it echoes what it receives until the client ends, then waits for the next.
final class LoopbackServer: Sendable {
    /// How one client fared.
    struct Outcome: Sendable {
        var negotiated: TLSNegotiated?
        var identity: PeerIdentity?
        var received: [UInt8] = []
        var endIsClean: Bool?
        var fault: TransportFault?
    }

    let port: UInt16
    private let listener: Int32
    private let context: TLSContext

    init(_ context: TLSContext) throws {
        self.context = context
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                unsafe bind(listener, pointer, length) == 0 && listen(listener, 4) == 0 && getsockname(listener, pointer, &length) == 0
            }
        }
        guard isListening else { throw TransportFault.system(operation: .receive, errno: errno) }
        self.listener = listener
        port = UInt16(bigEndian: address.sin_port)
    }

    deinit {
        close(listener)
    }

    /// Serves one client that `openssl s_client` plays, with these arguments and this input; at most 20 s.
    func serve(_ arguments: [String], input: String, in folder: String) throws -> (outcome: Outcome, clientOutput: String) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["timeout", "20", "openssl", "s_client", "-connect", "127.0.0.1:\(port)"] + arguments
        process.currentDirectoryURL = URL(fileURLWithPath: folder)
        let (stdin, stdout) = (Pipe(), Pipe())
        process.standardInput = stdin
        process.standardOutput = stdout
        process.standardError = stdout
        try process.run()
        let text = Mutex<String>("")
        let reader = Thread {
            let data = stdout.fileHandleForReading.readDataToEndOfFile()
            text.withLock { $0 = String(decoding: data, as: UTF8.self) }
        }
        reader.start()
        let outcome = serveOne {
            try? stdin.fileHandleForWriting.write(contentsOf: Data(input.utf8))
        } whenEchoed: {
            try? stdin.fileHandleForWriting.close()
        }
        process.waitUntilExit()
        while !reader.isFinished { usleep(1_000) }
        return (outcome, text.withLock { $0 })
    }

    private func serveOne(whenConnected: () -> Void, whenEchoed: () -> Void) -> Outcome {
        var outcome = Outcome()
        guard isReady(listener, POLLIN) else { return outcome }
        let descriptor = accept(listener, nil, nil)
        defer { close(descriptor) }
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        let scratch = TransportScratch(readiness: .levelTriggered)
        do throws(TransportFault) {
            let machine: TLSMachine
            do throws(TLSFault) { machine = try TLSMachine(accepting: context, output: scratch.output) } catch { throw .tls(error) }
            let connection = SecureConnection(descriptor: descriptor, machine: machine, scratch: scratch)
            while try connection.handshake() == .inProgress {
                guard isReady(descriptor, POLLIN) else { throw .tls(.handshakeTimeout) }
            }
            outcome.negotiated = connection.negotiated
            outcome.identity = connection.peerIdentity
            whenConnected()
            while outcome.endIsClean == nil {
                try echo(connection, &outcome)
                if outcome.received.last == UInt8(ascii: "\n") { whenEchoed() }
                if outcome.endIsClean == nil, !isReady(descriptor, POLLIN) { return outcome }
            }
            try connection.shutdown()
        } catch {
            outcome.fault = error
        }
        return outcome
    }

    private func echo(_ connection: SecureConnection, _ outcome: inout Outcome) throws(TransportFault) {
        while true {
            switch try unsafe connection.receive() {
            case .bytes(let bytes):
                unsafe outcome.received.append(contentsOf: bytes)
                try unsafe connection.send(UnsafeRawBufferPointer(bytes))
            case .wouldBlock: return
            case .end(let clean):
                outcome.endIsClean = clean
                return
            }
        }
    }

    private func isReady(_ descriptor: Int32, _ events: Int32) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(events), revents: 0)
        return unsafe poll(&entry, 1, 20_000) == 1
    }
}
