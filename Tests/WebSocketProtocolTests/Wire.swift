import RelayBase
import WebSocketProtocol

/// Builds frames byte by byte, on purpose without the code under test, so that any field can be wrong.
enum Wire {
    static let key: [UInt8] = [0x37, 0xFA, 0x21, 0x3D]

    static func frame(
        _ opcode: UInt8, _ payload: [UInt8] = [], fin: Bool = true, rsv: UInt8 = 0, mask: [UInt8]? = nil
    ) -> [UInt8] {
        var bytes = [(fin ? 0x80 : 0) | rsv << 4 | opcode]
        let maskBit: UInt8 = mask == nil ? 0 : 0x80
        switch payload.count {
        case ..<126: bytes.append(maskBit | UInt8(payload.count))
        case ..<65_536: bytes += [maskBit | 126] + bigEndian(UInt64(payload.count), bytes: 2)
        default: bytes += [maskBit | 127] + bigEndian(UInt64(payload.count), bytes: 8)
        }
        if let mask {
            bytes += mask
            bytes += payload.enumerated().map { $1 ^ mask[$0 % 4] }
        } else {
            bytes += payload
        }
        return bytes
    }

    static func close(_ code: UInt16, _ reason: [UInt8] = [], mask: [UInt8]? = nil) -> [UInt8] {
        frame(8, bigEndian(UInt64(code), bytes: 2) + reason, mask: mask)
    }

    static func bigEndian(_ value: UInt64, bytes count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: value >> UInt64(8 * (count - 1 - $0))) }
    }
}

/// An event with its payload copied out.
enum Observed: Equatable {
    case message(WebSocketMessageKind, compressed: Bool, [UInt8])
    case ping([UInt8])
    case pong([UInt8])
    case close(UInt16?, [UInt8])
    case fault(WebSocketFault)

    static func text(_ string: String) -> Observed { .message(.text, compressed: false, Array(string.utf8)) }
    static func binary(_ bytes: [UInt8]) -> Observed { .message(.binary, compressed: false, bytes) }
}

extension WebSocketInboundConfiguration {
    static let server = WebSocketInboundConfiguration(role: .server, limits: Limits())
    static let client = WebSocketInboundConfiguration(role: .client, limits: Limits())

    func with(_ change: (inout WebSocketInboundConfiguration) -> Void) -> WebSocketInboundConfiguration {
        var changed = self
        change(&changed)
        return changed
    }
}

extension WebSocketInbound {
    /// Feeds one chunk to the end, as an event loop would, and appends what came of it. The chunk starts `misalignment` bytes into its memory.
    mutating func feed(_ chunk: ArraySlice<UInt8>, now: MonotonicInstant = .zero, misalignment: Int = 0, into observed: inout [Observed]) {
        let block = UnsafeMutableRawBufferPointer.allocate(byteCount: chunk.count + misalignment, alignment: 16)
        defer { unsafe block.deallocate() }
        var rest = unsafe UnsafeMutableRawBufferPointer(rebasing: block[misalignment...])
        unsafe rest.copyBytes(from: chunk)
        do {
            while true {
                let step = try unsafe next(rest, now: now)
                func bytes(_ location: WebSocketPayloadLocation) -> [UInt8] { unsafe Array(payload(location, in: rest)) }
                switch step.event {
                case .message(let kind, let compressed, let location):
                    observed.append(.message(kind, compressed: compressed, bytes(location)))
                case .ping(let location):
                    observed.append(.ping(bytes(location)))
                case .pong(let location):
                    observed.append(.pong(bytes(location)))
                case .close(let code, let location):
                    observed.append(.close(code?.rawValue, bytes(location)))
                case .needMoreBytes, .finished:
                    precondition(step.consumed == rest.count, "these events take everything")
                    return
                }
                unsafe rest = UnsafeMutableRawBufferPointer(rebasing: rest[step.consumed...])
            }
        } catch {
            observed.append(.fault(error))
        }
    }
}

/// Feeds `bytes` in chunks of the sizes that `chunkSize` gives, all at once without it.
func receive(
    _ bytes: [UInt8], _ configuration: WebSocketInboundConfiguration = .server, chunkSize: (() -> Int)? = nil
) -> [Observed] {
    var inbound = WebSocketInbound(configuration)
    var observed: [Observed] = []
    var offset = 0
    repeat {
        let size = min(max(0, chunkSize?() ?? bytes.count), bytes.count - offset)
        inbound.feed(bytes[offset..<offset + size], misalignment: offset % 7, into: &observed)
        offset += size
    } while offset < bytes.count
    return observed
}
