import RelayBase

/// Packets first in, first out: their sizes and when they arrive. Their bytes lie in the ``LinkQueue``.
struct PacketQueue {
    struct Packet {
        let byteCount: Int
        /// When it arrives; unset while it waits to be sent.
        var due: MonotonicInstant
    }

    private static let slackMax = 4_096

    private var packets: [Packet] = []
    private var head = 0

    var isEmpty: Bool { head == packets.count }
    var count: Int { packets.count - head }
    var first: Packet? { isEmpty ? nil : packets[head] }

    mutating func append(_ packet: Packet) {
        packets.append(packet)
    }

    mutating func removeFirst() {
        precondition(!isEmpty, "remove what is there")
        head += 1
        if head == packets.count {
            packets.removeAll(keepingCapacity: true)
            head = 0
        } else if head >= Self.slackMax, head >= packets.count / 2 {
            packets.removeSubrange(..<head)
            head = 0
        }
    }
}
