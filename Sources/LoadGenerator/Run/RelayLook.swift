import Glibc
import HTTPProtocol
import LoadReport
import Reactor
import RelayBase
import RelayClient
import TLSTransport

/// What the relay says of itself: its metrics, by one GET on a connection of its own. It waits; no loop does it.
struct RelayLook {
    private static let millisecondsMax: UInt64 = 5_000
    private static let responseBytesMax = 4 << 20

    let options: ClientOptions
    let context: TLSContext

    /// - Returns: `nil` where the relay does not answer, or lets nobody see them.
    func metrics() -> PrometheusSamples? {
        guard let text = try? get("/metrics") else { return nil }
        return PrometheusSamples(text)
    }

    private struct Failed: Error {}

    private func get(_ path: String) throws -> String {
        let deadline = MonotonicClock.now().advanced(byMilliseconds: Self.millisecondsMax)
        let scratch = TransportScratch(readiness: .levelTriggered)
        let machine = try TLSMachine(connecting: context, to: options.name, session: nil, output: scratch.output)
        let (descriptor, _) = try Socket.connect(to: options.address, calls: .linux)
        defer { SystemCalls.linux.close(descriptor) }
        try wait(descriptor, POLLOUT, deadline)
        try Socket.connectResult(of: descriptor, calls: .linux)
        let secure = SecureConnection(descriptor: descriptor.number, machine: machine, scratch: scratch)
        defer { secure.discard() }
        while try secure.handshake() == .inProgress { try wait(descriptor, POLLIN, deadline) }
        let request = Array("GET \(path) HTTP/1.1\r\nhost: \(options.authority)\r\nconnection: close\r\n\r\n".utf8)
        try unsafe request.withUnsafeBytes { try unsafe secure.send($0) }
        while try !secure.flush() { try wait(descriptor, POLLOUT, deadline) }
        return try response(secure, descriptor, deadline)
    }

    private func response(_ secure: SecureConnection, _ descriptor: FileDescriptor, _ deadline: MonotonicInstant) throws -> String {
        var received = ByteQueue()
        var parser = HTTPResponseHeadParser()
        var reader: HTTPBodyReader?
        var body: [UInt8] = []
        while true {
            if reader == nil, !received.isEmpty, case .complete(let head, let headBytes) = try parser.parse(received.span) {
                received.consume(headBytes)
                guard head.status.code == 200 else { throw Failed() }
                reader = try HTTPBodyReader(framing: try head.framing(requestMethod: .get), bodyBytesMax: Self.responseBytesMax)
            }
            while reader?.isComplete == false, !received.isEmpty, let step = try reader?.read(received.span) {
                unsafe body += Array(received.readable[step.content])
                received.consume(step.consumed)
            }
            if reader?.isComplete == true { return String(decoding: body, as: UTF8.self) }
            switch try unsafe secure.receive() {
            case .bytes(let bytes): unsafe received.append(UnsafeRawBufferPointer(bytes))
            case .wouldBlock: try wait(descriptor, POLLIN, deadline)
            case .end(let isClean):
                guard isClean, reader?.mayEndHere == true else { throw Failed() }
                return String(decoding: body, as: UTF8.self)
            }
        }
    }

    private func wait(_ descriptor: FileDescriptor, _ events: Int32, _ deadline: MonotonicInstant) throws {
        var ready = pollfd(fd: descriptor.number, events: Int16(events), revents: 0)
        let left = deadline.milliseconds(since: MonotonicClock.now())
        guard left > 0, unsafe poll(&ready, 1, Int32(clamping: left)) > 0 else { throw Failed() }
    }
}
