import FoundationEssentials
import Glibc
import HTTPProtocol
import Reactor
import RelayBase
import TLSTransport

/// One POST over HTTP/1.1 on a connection of its own, to its end and within a time.
struct EnrollExchange {
    let endpoint: RelayEndpoint
    let context: TLSContext

    private static let millisecondsMax: UInt64 = 30_000
    private static let responseBytesMax = 1 << 20

    struct Response {
        let status: HTTPStatus
        let fields: HTTPFields
        let body: [UInt8]
    }

    /// - Parameter body: JSON.
    func post(_ path: String, _ body: [UInt8]) throws -> Response {
        let deadline = MonotonicClock.now().advanced(byMilliseconds: Self.millisecondsMax)
        let address = try endpoint.resolve()
        let name: TLSPeerName = SocketAddress(host: endpoint.host, port: 0) != nil ? .address(endpoint.host) : .dns(endpoint.host)
        let scratch = TransportScratch(readiness: .levelTriggered)
        let descriptor: FileDescriptor
        do {
            (descriptor, _) = try Socket.connect(to: address, calls: .linux)
        } catch {
            throw Self.unreachable("\(error)")
        }
        defer { SystemCalls.linux.close(descriptor) }
        try Self.wait(descriptor, POLLOUT, until: deadline)
        do {
            try Socket.connectResult(of: descriptor, calls: .linux)
        } catch {
            throw Self.unreachable("\(error)")
        }
        do {
            let machine = try TLSMachine(connecting: context, to: name, output: scratch.output)
            let secure = SecureConnection(descriptor: descriptor.number, machine: machine, scratch: scratch)
            while try secure.handshake() == .inProgress { try Self.wait(descriptor, POLLIN, until: deadline) }
            try send(head(path, length: body.count) + body, secure, descriptor, deadline)
            return try read(secure, descriptor, deadline)
        } catch let fault as TransportFault {
            throw CommandFailure(code: .connection, message: Console.plain("\(fault)") + Self.hint(fault))
        } catch let fault as TLSFault {
            throw CommandFailure(code: .connection, message: Console.plain("TLS: \(fault)"))
        } catch let fault as HTTPFault {
            throw CommandFailure(code: .connection, message: "this is not the HTTP of a relay: \(fault.detail)")
        }
    }

    private func head(_ path: String, length: Int) -> [UInt8] {
        let host = endpoint.host.contains(":") ? "[\(endpoint.host)]" : endpoint.host
        let lines = [
            "POST \(path) HTTP/1.1", "host: \(host):\(endpoint.port)", "user-agent: segue/\(SegueVersion.text)", "content-type: application/json",
            "accept: application/json, application/problem+json", "content-length: \(length)", "connection: close",
        ]
        return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
    }

    private func send(_ bytes: [UInt8], _ secure: SecureConnection, _ descriptor: FileDescriptor, _ deadline: MonotonicInstant) throws {
        try unsafe bytes.withUnsafeBytes { try unsafe secure.send($0) }
        while try !secure.flush() { try Self.wait(descriptor, POLLOUT, until: deadline) }
    }

    private func read(_ secure: SecureConnection, _ descriptor: FileDescriptor, _ deadline: MonotonicInstant) throws -> Response {
        var received = ByteQueue()
        var parser = HTTPResponseHeadParser()
        var head: HTTPResponseHead?
        var reader: HTTPBodyReader?
        var body: [UInt8] = []
        while true {
            if reader == nil, !received.isEmpty, case .complete(let found, let headBytes) = try parser.parse(received.span) {
                received.consume(headBytes)
                // Interim responses say nothing that would matter here (RFC 9110 §15.2).
                guard !found.status.isInformational else { continue }
                head = found
                reader = try HTTPBodyReader(framing: try found.framing(requestMethod: .post), bodyBytesMax: Self.responseBytesMax)
            }
            while reader?.isComplete == false, !received.isEmpty, let step = try reader?.read(received.span) {
                unsafe body += Array(received.readable[step.content])
                received.consume(step.consumed)
            }
            if let head, let reader, reader.isComplete { return Response(status: head.status, fields: head.fields, body: body) }
            switch try unsafe secure.receive() {
            case .bytes(let bytes): unsafe received.append(UnsafeRawBufferPointer(bytes))
            case .wouldBlock: try Self.wait(descriptor, POLLIN, until: deadline)
            case .end(let clean):
                if let head, clean, reader?.mayEndHere == true { return Response(status: head.status, fields: head.fields, body: body) }
                throw CommandFailure(code: .connection, message: "the relay ended the connection before its answer was whole")
            }
        }
    }

    private static func wait(_ descriptor: FileDescriptor, _ events: Int32, until deadline: MonotonicInstant) throws(CommandFailure) {
        while true {
            let left = deadline.milliseconds(since: MonotonicClock.now())
            var ready = pollfd(fd: descriptor.number, events: Int16(events), revents: 0)
            let count = unsafe poll(&ready, 1, Int32(clamping: left))
            if count > 0 { return }
            guard count < 0, errno == EINTR else {
                throw CommandFailure(code: .connection, message: "the relay did not answer within \(millisecondsMax / 1_000) s")
            }
        }
    }

    private static func unreachable(_ fault: String) -> CommandFailure {
        CommandFailure(code: .connection, message: "\(fault). Is a relay running there?")
    }

    private static func hint(_ fault: TransportFault) -> String {
        switch fault {
        case .tls(.unknownAuthority): ". The relay's certificate is of another authority than --ca names."
        case .tls(.alertReceived):
            ". The relay did not accept this client. Without a certificate, a device can enrol only where the relay has tls.clientCertificates: \"optional\"."
        default: ""
        }
    }
}
