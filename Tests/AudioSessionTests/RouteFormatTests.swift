import AudioSession
import RelayBase
import Testing

@Suite("Receive formats")
struct RouteFormatTests {
    @Test(
        "§5 the receive format follows the output's type, rate and channels; HFP is 8 or 16 kHz mono",
        arguments: [
            (PortType.bluetoothHFP, 8_000, nil, 1, AudioBandwidth.narrowband), (.bluetoothHFP, 16_000, nil, 1, .wideband),
            (.bluetoothHFP, nil, nil, 1, .wideband), (.bluetoothHFP, 16_000, 2, 1, .wideband), (.bluetoothHFP, 24_000, 1, 1, .superwideband),
            (.bluetoothA2DP, 44_100, 2, 2, .fullband), (.bluetoothA2DP, nil, nil, 2, .fullband), (.builtInSpeaker, 48_000, 2, 2, .fullband),
            (.builtInReceiver, nil, nil, 1, .fullband), (.builtInReceiver, 24_000, 1, 1, .superwideband), (.usbAudio, 192_000, 8, 2, .fullband),
            (.lineOut, 11_025, 1, 1, .mediumband), (.lineOut, 22_050, 2, 2, .superwideband), (.lineOut, 32_000, 2, 2, .fullband),
        ] as [(PortType, Double?, Int?, Int, AudioBandwidth)])
    func formats(type: PortType, rate: Double?, portChannels: Int?, channels: Int, bandwidth: AudioBandwidth) throws {
        let format = try #require(ReceiveFormat([try RoutePort(type, sampleRate: rate, channels: portChannels)]))
        #expect(format.channels == channels)
        #expect(format.bandwidth == bandwidth)
        if let rate { #expect(format.sampleRate == rate) }
    }

    @Test(
        "RFC 6716 §2 the bandwidths and the sample rates that carry them",
        arguments: zip(AudioBandwidth.allCases, [8_000.0, 12_000, 16_000, 24_000, 48_000]))
    func bandwidths(bandwidth: AudioBandwidth, rate: Double) {
        #expect(Double(bandwidth.sampleRate) == rate)
        #expect(AudioBandwidth(sampleRate: rate) == bandwidth)
        #expect(AudioBandwidth(sampleRate: rate + 1) > bandwidth || bandwidth == .fullband)
    }

    @Test("§5 several outputs get the best of each; none gets nothing; whoever says nothing of its route gets everything")
    func several() throws {
        let both = try #require(
            ReceiveFormat([try RoutePort(.bluetoothHFP, sampleRate: 16_000), try RoutePort(.lineOut, sampleRate: 44_100, channels: 2)]))
        #expect(both.channels == 2 && both.sampleRate == 44_100 && both.bandwidth == .fullband)
        #expect(ReceiveFormat([]) == nil)
        #expect(RouteState().receiveFormat == .full)
    }

    @Test(
        "§5 Bluetooth HFP brings the format down, and A2DP or the speaker brings it back, whatever the reason", arguments: RouteChangeReason.allCases)
    func downAndBack(reason: RouteChangeReason) throws {
        var state = RouteState()
        let handsFree = try RouteDescription(inputs: [try RoutePort(.bluetoothHFP)], outputs: [try RoutePort(.bluetoothHFP, sampleRate: 8_000)])
        let down = state.apply(RouteChange(.newDeviceAvailable, route: handsFree))
        #expect(down.receiveFormatChanged)
        #expect(down.receiveFormat?.wanted == WantedFormat(channels: 1, bandwidth: .narrowband))
        for type in [PortType.bluetoothA2DP, .builtInSpeaker] {
            var state = state
            let back = try RouteDescription(inputs: [try RoutePort(.builtInMic)], outputs: [try RoutePort(type, sampleRate: 48_000, channels: 2)])
            let outcome = state.apply(RouteChange(reason, route: back))
            #expect(outcome.receiveFormatChanged)
            #expect(outcome.receiveFormat?.wanted == .full)
            #expect(!state.apply(RouteChange(reason, route: back)).receiveFormatChanged)
        }
    }

    @Test("§5 a silent client is sent no format")
    func silent() {
        var state = RouteState()
        let outcome = state.apply(RouteChange(.override, route: RouteDescription(.silent)))
        #expect(outcome.receiveFormat == nil)
        #expect(outcome.receiveFormatChanged)
    }

    // MARK: What publishers hear

    static func at(_ milliseconds: UInt64) -> MonotonicInstant { .zero.advanced(byMilliseconds: milliseconds) }

    @Test("§5 the wanted format of a publisher is the best over its subscribers, on every loop; the silent ones count for nothing")
    func union() {
        let handsFree = WantedFormat(channels: 1, bandwidth: .wideband)
        let narrowStereo = WantedFormat(channels: 2, bandwidth: .narrowband)
        #expect(handsFree.union(nil) == handsFree)
        #expect(handsFree.union(narrowStereo) == WantedFormat(channels: 2, bandwidth: .wideband))
        #expect(WantedFormat.full.covers(handsFree) && !handsFree.covers(narrowStereo) && !narrowStereo.covers(handsFree))
    }

    @Test("hostile channel counts are brought into range", arguments: [(Int.min, 1), (0, 1), (3, 2), (.max, 2)])
    func clamped(channels: Int, expected: Int) {
        #expect(WantedFormat(channels: channels, bandwidth: .wideband).channels == expected)
    }

    @Test("§5 a publisher hears of less when it has lasted 500 ms, and of more at once")
    func demand() {
        let low = WantedFormat(channels: 1, bandwidth: .wideband)
        var demand = FormatDemand()
        #expect(demand.look(.full, now: Self.at(0)) == nil, "everything is what it sends anyway")
        #expect(demand.look(low, now: Self.at(10)) == nil)
        #expect(demand.nextDeadline == Self.at(510))
        #expect(demand.look(low, now: Self.at(509)) == nil)
        #expect(demand.look(low, now: Self.at(510)) == low)
        #expect(demand.nextDeadline == nil)
        #expect(demand.look(low, now: Self.at(511)) == nil)
        #expect(demand.look(.full, now: Self.at(512)) == .full)
        #expect(demand.told == .full)
    }

    @Test("§5 less that did not last is not told, and its time starts anew")
    func flapping() {
        let low = WantedFormat(channels: 1, bandwidth: .narrowband)
        var demand = FormatDemand()
        for start in stride(from: UInt64(0), to: 4_000, by: 400) {
            #expect(demand.look(low, now: Self.at(start)) == nil)
            #expect(demand.look(.full, now: Self.at(start + 399)) == nil)
        }
    }

    @Test("§5 more of one and less of the other is told as the union at once, and less afterwards")
    func mixed() {
        let wideMono = WantedFormat(channels: 1, bandwidth: .wideband)
        let narrowStereo = WantedFormat(channels: 2, bandwidth: .narrowband)
        var demand = FormatDemand()
        _ = demand.look(wideMono, now: Self.at(0))
        #expect(demand.look(wideMono, now: Self.at(500)) == wideMono)
        #expect(demand.look(narrowStereo, now: Self.at(600)) == WantedFormat(channels: 2, bandwidth: .wideband))
        #expect(demand.look(narrowStereo, now: Self.at(601)) == nil)
        #expect(demand.look(narrowStereo, now: Self.at(1_101)) == narrowStereo)
    }

    @Test("nobody hears it: nothing is told, and a publisher that came back hears what it may have missed")
    func nobodyAndAgain() {
        let low = WantedFormat(channels: 1, bandwidth: .wideband)
        var demand = FormatDemand()
        demand.tellAgain()
        #expect(demand.look(nil, now: Self.at(0)) == nil)
        _ = demand.look(low, now: Self.at(0))
        _ = demand.look(low, now: Self.at(500))
        #expect(demand.look(nil, now: Self.at(2_000)) == nil)
        #expect(demand.told == low)
        demand.tellAgain()
        #expect(demand.look(low, now: Self.at(2_001)) == low)
        #expect(demand.look(low, now: Self.at(2_002)) == nil)
    }
}
