import CSpeexJitter

/// libspeexdsp's jitter buffer, used as its header says: a packet of 20 ms is asked for each 20 ms, then the buffer is told that time has gone on.
///
/// What it calls an insertion is concealed: it gives no sound for it, and the decoder has to go on without a packet. Where it jumps, sound is left out.
enum SpeexPlayer {
    static func play(_ trace: ArrivalTrace, phase: Int64 = 0) -> Playout {
        let step = trace.packetNanoseconds
        let ticks = Int32(trace.packetTicks)
        var playout = Playout(player: "speexdsp", pointMilliseconds: Double(step) / 1e6)
        guard let buffer = unsafe jitter_buffer_init(ticks) else { return playout }
        defer { unsafe jitter_buffer_destroy(buffer) }
        let arrivals = trace.arrivals
        var isPlayed = [Bool](repeating: false, count: arrivals.count)
        var next = 0
        let end = trace.end
        var now = Schedule.firstPull(arrivals, phase: phase)
        var concealing: Int32 = 0
        var isInPause = false
        var hasBegun = false
        var jumped: Int64 = 0
        var scratch = [CChar](repeating: 0, count: 64)
        while next < arrivals.count || now <= end {
            while next < arrivals.count, let received = arrivals[next].received, received <= now {
                unsafe put(arrivals[next], number: next, ticks: trace.packetTicks, into: buffer)
                next += 1
            }
            var point = Playout.Point(time: now)
            if concealing > 0 {
                concealing -= ticks
                point.concealed = isInPause ? 0 : 1
            } else {
                let got = unsafe get(buffer, ticks, &scratch)
                switch got.result {
                case JITTER_BUFFER_OK where got.number < arrivals.count && !isPlayed[got.number]:
                    let packet = arrivals[got.number]
                    isPlayed[got.number] = true
                    point.delayMilliseconds = Double(now - (packet.received ?? now)) / 1e6
                    isInPause = packet.isSilence
                    hasBegun = true
                case JITTER_BUFFER_INSERTION:
                    concealing = max(0, Int32(clamping: got.span) - ticks)
                    point.concealed = hasBegun && !isInPause ? 1 : 0
                default:
                    point.concealed = hasBegun && !isInPause ? 1 : 0
                }
            }
            point.isPause = point.delayMilliseconds == nil && point.concealed == 0
            playout.points.append(point)
            let before = unsafe jitter_buffer_get_pointer_timestamp(buffer)
            unsafe jitter_buffer_tick(buffer)
            jumped += Int64(max(0, unsafe jitter_buffer_get_pointer_timestamp(buffer) &- before))
            now += step
        }
        playout.finish()
        let all = max(1, trace.packets.count)
        playout.droppedRatio = Double(isPlayed.count { !$0 }) / Double(all)
        playout.stretchRatio = Double(jumped) / Double(max(1, playout.points.count) * Int(trace.packetTicks))
        return playout
    }

    private static func put(_ packet: TracePacket, number: Int, ticks: UInt32, into buffer: OpaquePointer) {
        var bytes: [CChar] = [0, 0, 0, 0]
        unsafe bytes.withUnsafeMutableBufferPointer { data in
            var offered = unsafe JitterBufferPacket(
                data: data.baseAddress, len: UInt32(data.count), timestamp: packet.timestamp, span: ticks,
                sequence: UInt16(truncatingIfNeeded: packet.sequence), user_data: UInt32(number))
            unsafe jitter_buffer_put(buffer, &offered)
        }
    }

    private static func get(_ buffer: OpaquePointer, _ ticks: Int32, _ scratch: inout [CChar]) -> (result: Int32, number: Int, span: UInt32) {
        unsafe scratch.withUnsafeMutableBufferPointer { data in
            var packet = unsafe JitterBufferPacket(
                data: data.baseAddress, len: UInt32(data.count), timestamp: 0, span: 0, sequence: 0, user_data: .max)
            var offset: Int32 = 0
            let result = unsafe jitter_buffer_get(buffer, &packet, ticks, &offset)
            return unsafe (result, Int(packet.user_data), packet.span)
        }
    }
}
