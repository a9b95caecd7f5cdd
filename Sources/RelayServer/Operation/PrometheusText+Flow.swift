/// What connections carry.
extension PrometheusText {
    mutating func flow(_ sum: LoopCounters) {
        single(
            "segue_connections_congested", "gauge", "Connections whose network does not carry what they are due.", Double(sum.congestedConnections))
        single(
            "segue_connections_held_seconds_total", "counter", "Time that connections had more to send than the network took, all together.",
            Double(sum.heldNanoseconds) / 1e9)
        single("segue_flow_samples_total", "counter", "Times that the kernel was asked about a connection (TCP_INFO).", Double(sum.flowSamples))
        single("segue_padding_bytes_total", "counter", "Padding that was sent to find out what connections carry.", Double(sum.paddingBytes))
        var total = 0
        var classes: [(bound: String, count: Int)] = []
        for (place, count) in sum.bitRates.counts.enumerated() {
            total += count
            let bound = place < BitRateClasses.bounds.count ? String(BitRateClasses.bounds[place]) : "+Inf"
            classes.append((bound, total))
        }
        cumulative(
            "segue_connections_bit_rate", "Connections by estimated bit rate: how many are at or below each bound, bit/s.", classes)
    }
}
