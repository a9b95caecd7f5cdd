internal import CLinux
internal import Glibc

/// What the kernel knows about a TCP connection (TCP_INFO, tcp(7)).
package struct TCPInfo: Equatable, Sendable {
    /// Smoothed round-trip time and its mean deviation (RFC 6298).
    package var roundTripMicroseconds: UInt32
    package var roundTripVariationMicroseconds: UInt32
    /// The least round-trip time of late.
    package var roundTripMicrosecondsMin: UInt32
    /// Congestion window and segments in flight, in segments of ``segmentBytes``.
    package var congestionWindow: UInt32
    package var unackedSegments: UInt32
    package var segmentBytes: UInt32
    /// Bytes in the send queue that have not been sent once.
    package var notSentBytes: UInt32
    /// The most recent goodput, bytes per second.
    package var deliveryRateBytesPerSecond: UInt64
    package var bytesAcked: UInt64
    package var retransmitsTotal: UInt32
    package var bytesRetransmitted: UInt64

    /// Reads it; about half a microsecond. Fields that an older kernel lacks are 0.
    package static func read(_ descriptor: FileDescriptor, calls: SystemCalls) throws(SystemFault) -> TCPInfo {
        var info = clinux_tcp_info()
        var length = socklen_t(MemoryLayout<clinux_tcp_info>.size)
        try Socket.check("getsockopt", unsafe calls.getsockopt(descriptor.number, Int32(IPPROTO_TCP), TCP_INFO, &info, &length))
        return TCPInfo(
            roundTripMicroseconds: info.rtt,
            roundTripVariationMicroseconds: info.rttvar,
            roundTripMicrosecondsMin: info.min_rtt,
            congestionWindow: info.snd_cwnd,
            unackedSegments: info.unacked,
            segmentBytes: info.snd_mss,
            notSentBytes: info.notsent_bytes,
            deliveryRateBytesPerSecond: info.delivery_rate,
            bytesAcked: info.bytes_acked,
            retransmitsTotal: info.total_retrans,
            bytesRetransmitted: info.bytes_retrans
        )
    }
}
