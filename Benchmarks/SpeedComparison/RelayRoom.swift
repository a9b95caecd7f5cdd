import BenchmarkSupport
import MediaProtocol
import RelayBase
import Signalling

/// What the relay's protocol asks for before media flows.
enum RelayRoom {
    static let path = "/v1/session"

    /// Says hello and joins, without waiting for the answers.
    static func enter(_ room: String, _ connection: Connection) throws {
        try connection.send { ClientRequest.hello(.init(versions: [1], client: nil)).encoded(id: $0) }
        try connection.send { ClientRequest.join(.init(room: room, displayName: nil)).encoded(id: $0) }
    }

    /// Of ``enter(_:_:)``: the welcome and the room.
    static func awaitEntry(_ connection: Connection, _ generator: Generator) throws {
        try awaitAnswers(2, connection, generator)
    }

    /// - Returns: the number of the stream.
    static func publish(_ connection: Connection, _ generator: Generator) throws -> UInt32 {
        try connection.send {
            ClientRequest.publish(.init(kind: .audio, codec: "opus", description: nil, source: nil)).encoded(id: $0)
        }
        guard let stream = try awaitAnswers(1, connection, generator)?.stream else { throw BenchmarkFault("publish was answered without a stream") }
        return stream
    }

    /// Asks for everything, without waiting for the answer.
    static func subscribe(_ connection: Connection) throws {
        try connection.send { ClientRequest.subscribe(.init(streams: nil, all: true, delivery: .live)).encoded(id: $0) }
    }

    /// Waits for so many answers; returns the last.
    @discardableResult
    static func awaitAnswers(_ count: Int, _ connection: Connection, _ generator: Generator) throws -> RelayMessage.Answer? {
        var last: RelayMessage.Answer?
        var left = count
        var fault: (any Error)?
        try generator.wait("an answer") {
            for text in connection.takeTexts() {
                do {
                    switch try RelayMessage.decode(text) {
                    case .welcome: left -= 1
                    case .ok(_, let answer): (left, last) = (left - 1, answer)
                    case .error(_, let refusal): throw BenchmarkFault("the relay refused: \(refusal.message)")
                    default: continue
                    }
                } catch {
                    fault = error
                }
            }
            return left == 0 || fault != nil
        }
        if let fault { throw fault }
        return last
    }

    // MARK: Messages

    static let headerBytes = MediaHeader.byteCount

    static func header(stream: UInt32, kind: MediaKind = .audio) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: MediaHeader.byteCount)
        let header = MediaHeader(kind: kind, stream: StreamID(stream), sequence: 0, timestamp: 0)
        unsafe bytes.withUnsafeMutableBytes { unsafe header.write(into: $0) }
        return bytes
    }

    /// What precedes a stream's first frame.
    static func configuration(stream: UInt32) -> [UInt8] {
        header(stream: stream, kind: .configuration) + [UInt8](repeating: 0, count: 16)
    }

    /// Writes what differs from frame to frame into an encoded message.
    static func stamp(_ message: inout [UInt8], sequence: UInt32, due: UInt64) {
        unsafe message.withUnsafeMutableBytes { bytes in
            unsafe bytes.storeBytes(of: sequence.bigEndian, toByteOffset: 8, as: UInt32.self)
            unsafe bytes.storeBytes(of: (sequence &* 960).bigEndian, toByteOffset: 12, as: UInt32.self)
            unsafe bytes.storeBytes(of: due, toByteOffset: MessageScanner.dueOffset, as: UInt64.self)
        }
    }
}
