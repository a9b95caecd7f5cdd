import RelayBase
import RelayRooms
import WebSocketProtocol

/// Padding behind everything else, for a subscriber that was given less than it wants: whether its connection carries more again shows only when more is
/// sent. Pongs that nobody asked for may be sent at any time and are answered by nothing (RFC 6455 §5.5.3).
extension EventLoop {
    /// One pong of the longest kind.
    private static let paddingFrame: [UInt8] = {
        var queue = ByteQueue()
        let zeros = [UInt8](repeating: 0, count: WebSocketFrameHeader.controlPayloadBytesMax)
        unsafe WebSocketFrameEncoder.append(.pong, zeros.span.bytes, maskingKey: nil, to: &queue)
        return unsafe Array(queue.readable)
    }()

    /// Has padding sent when a subscriber lacks layers and its connection may carry them.
    func probe(_ channel: Channel, _ membership: Membership, _ streams: [LayerChooser.Stream], _ view: BandwidthView) {
        guard membership.chooser.isHolding, let connection = channel.connection, !connection.flow.isHeld, channel.control.isEmpty else { return }
        let reserved = membership.room.fanout.reservedBitsPerSecond(Int(membership.subscriber.index))
        let bytes = membership.probe.look(
            wanted: membership.chooser.missing(streams, reservedBitsPerSecond: reserved), view,
            roundTripMicroseconds: connection.flow.estimate.baseRoundTripMicroseconds, now: now)
        guard bytes > 0 else { return }
        channel.paddingBytes = bytes
        markDirty(channel)
    }

    /// Fills what is left of `room` with padding that is due.
    func pad(_ channel: Channel, _ room: UnsafeMutableRawBufferPointer, from start: Int) -> Int {
        var filled = start
        let frame = EventLoop.paddingFrame
        while channel.paddingBytes > 0, room.count - filled >= frame.count {
            unsafe UnsafeMutableRawBufferPointer(rebasing: room[filled...]).copyBytes(from: frame)
            filled += frame.count
            channel.paddingBytes -= min(frame.count, channel.paddingBytes)
            counters.paddingBytes &+= UInt64(frame.count)
        }
        return filled
    }
}
