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
    /// Segments in flight that the peer has acknowledged selectively (RFC 2018).
    package var sackedSegments: UInt32
    /// Bytes in the send queue that have not been sent once.
    package var notSentBytes: UInt32
    /// The most recent goodput, bytes per second.
    package var deliveryRateBytesPerSecond: UInt64
    package var bytesAcked: UInt64
    /// Payload bytes sent so far, those that were sent again included; 0 before Linux 4.19.
    package var bytesSent: UInt64
    package var retransmitsTotal: UInt32
    package var bytesRetransmitted: UInt64
    /// How long ago the last acknowledgement came.
    package var lastAckMilliseconds: UInt32

    /// Payload bytes that were sent and are not acknowledged, those acknowledged selectively not counted.
    package var bytesInFlight: UInt64 {
        let segments = UInt64(unackedSegments) * UInt64(segmentBytes)
        guard bytesSent > 0 else { return segments }
        let acknowledged = bytesAcked.addingReportingOverflow(bytesRetransmitted)
        guard !acknowledged.overflow, bytesSent > acknowledged.partialValue else { return 0 }
        return bytesSent - acknowledged.partialValue - min(bytesSelectivelyAcked, bytesSent - acknowledged.partialValue)
    }

    /// As many as the segments can have held.
    package var bytesSelectivelyAcked: UInt64 { UInt64(sackedSegments) * UInt64(segmentBytes) }

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
            sackedSegments: info.sacked,
            notSentBytes: info.notsent_bytes,
            deliveryRateBytesPerSecond: info.delivery_rate,
            bytesAcked: info.bytes_acked,
            bytesSent: info.bytes_sent,
            retransmitsTotal: info.total_retrans,
            bytesRetransmitted: info.bytes_retrans,
            lastAckMilliseconds: info.last_ack_recv
        )
    }
}
