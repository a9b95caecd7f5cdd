import Glibc
import MediaProtocol
import RelayBase
import WebSocketProtocol

/// Bytes in one place, for the length of the program's run.
@safe
final class Block {
    let bytes: UnsafeMutableRawBufferPointer

    init(count: Int, fill: UInt8 = 0x5A) {
        unsafe bytes = .allocate(byteCount: count, alignment: 64)
        unsafe bytes.initializeMemory(as: UInt8.self, repeating: fill)
    }

    convenience init(_ content: [UInt8]) {
        self.init(count: content.count)
        unsafe bytes.copyBytes(from: content)
    }

    deinit {
        unsafe bytes.deallocate()
    }

    /// Exclusive-or by words, in place: what a masked payload costs anybody.
    @inline(never)
    func exclusiveOr(_ word: UInt64) {
        var offset = 0
        while unsafe offset &+ 8 <= bytes.count {
            let value = unsafe bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            unsafe bytes.storeBytes(of: value ^ word, toByteOffset: offset, as: UInt64.self)
            offset &+= 8
        }
    }

    @inline(never)
    func copy(from other: Block, count: Int) {
        unsafe bytes.copyMemory(from: UnsafeRawBufferPointer(rebasing: other.bytes[..<count]))
    }

    /// Copies the first bytes to a place behind them.
    @inline(never)
    func copy(_ count: Int, to start: Int) {
        unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[start...]).copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<count]))
    }

    /// Reads each byte once.
    @inline(never)
    func sum() -> UInt64 {
        var total: UInt64 = 0
        for place in unsafe bytes.indices { unsafe total &+= UInt64(bytes[place]) }
        return total
    }
}

/// WebSocket frames and media headers.
enum CodecMicros {
    static func all() throws -> [Micro] {
        [160, 1_200, 16 << 10].map(unmask) + [160, 1_200].map(encode) + [160, 1_200].map(decode) + [header()]
    }

    private static func unmask(_ count: Int) -> Micro {
        let block = Block(count: count)
        return Micro(
            name: "unmask \(count)", unit: "payload", floorName: "exclusive-or by words",
            work: { units in
                for _ in 0..<units {
                    var masker = WebSocketMasker(WebSocketMaskingKey(0x1234_5678))
                    unsafe masker.apply(to: block.bytes)
                }
            }, floor: { units in for _ in 0..<units { block.exclusiveOr(0x1234_5678_1234_5678) } })
    }

    private static func encode(_ count: Int) -> Micro {
        let (source, target) = (Block(count: count), Block(count: count + 16))
        let queue = Queue()
        return Micro(
            name: "encode frame \(count)", unit: "frame", floorName: "memcpy",
            work: { units in
                for _ in 0..<units {
                    unsafe WebSocketFrameEncoder.append(.binary, UnsafeRawBufferPointer(source.bytes), maskingKey: nil, to: &queue.bytes)
                    queue.bytes.removeAll()
                }
            }, floor: { units in for _ in 0..<units { target.copy(from: source, count: count) } })
    }

    /// 64 masked frames in one buffer, as a busy publisher's come.
    private static func decode(_ count: Int) -> Micro {
        let frames = 64
        var queue = ByteQueue()
        let payload = [UInt8](repeating: 0x5A, count: count)
        for _ in 0..<frames {
            unsafe WebSocketFrameEncoder.append(.binary, payload.span.bytes, maskingKey: WebSocketMaskingKey(0x1234_5678), to: &queue)
        }
        let pristine = unsafe Block(Array(queue.readable))
        let buffer = unsafe Block(count: pristine.bytes.count)
        let plain = Block(count: frames * count)
        let inbound = Inbound()
        return Micro(
            name: "decode frame \(count)", unit: "frame", floorName: "memcpy and exclusive-or",
            work: { units in
                for _ in 0..<max(1, units / frames) {
                    unsafe buffer.copy(from: pristine, count: buffer.bytes.count)
                    inbound.take(buffer)
                }
            },
            floor: { units in
                for _ in 0..<max(1, units / frames) {
                    unsafe buffer.copy(from: pristine, count: buffer.bytes.count)
                    plain.exclusiveOr(0x1234_5678_1234_5678)
                }
            })
    }

    private final class Queue {
        var bytes = ByteQueue()
    }

    private final class Inbound {
        var machine = WebSocketInbound(WebSocketInboundConfiguration(role: .server, limits: Limits()))

        func take(_ buffer: Block) {
            var start = 0
            while unsafe start < buffer.bytes.count {
                let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer.bytes[start...])
                guard let step = try? unsafe machine.next(rest, now: .zero), step.consumed > 0 else { return }
                start += step.consumed
            }
        }
    }

    private static func header() -> Micro {
        let block = Block(count: 16)
        unsafe MediaHeader(kind: .audio, stream: StreamID(7), sequence: 1, timestamp: 960).write(into: block.bytes)
        return Micro(
            name: "media header", unit: "header", floorName: "four loads",
            work: { units in
                for _ in 0..<units {
                    guard let header = try? unsafe MediaHeader(parsing: UnsafeRawBufferPointer(block.bytes)) else { return }
                    use(header.sequence &+ header.timestamp)
                }
            },
            floor: { units in
                for _ in 0..<units {
                    var words: UInt32 = 0
                    for offset in stride(from: 0, to: 16, by: 4) {
                        unsafe words &+= block.bytes.load(fromByteOffset: offset, as: UInt32.self).bigEndian
                    }
                    use(words)
                }
            })
    }
}
