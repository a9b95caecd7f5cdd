import AudioSession
import Testing

@Suite("Routes")
struct RouteTests {
    static let speaker = [PortType.builtInSpeaker]
    static let mic = [PortType.builtInMic]

    static func route(_ inputs: [PortType], _ outputs: [PortType], latency: Double? = nil) throws -> RouteDescription {
        try RouteDescription(
            inputs: inputs.map { type throws(RouteFault) in try RoutePort(type) },
            outputs: outputs.map { type throws(RouteFault) in try RoutePort(type, latency: latency) })
    }

    // MARK: Reasons

    @Test(
        "§5 every number of the platform is its reason; 5, 9 and above, and below 0 are unknown, with a warning",
        arguments: [
            (0, RouteChangeReason.unknown, false), (1, .newDeviceAvailable, false), (2, .oldDeviceUnavailable, false), (3, .categoryChange, false),
            (4, .override, false), (5, .unknown, true), (6, .wakeFromSleep, false), (7, .noSuitableRouteForCategory, false),
            (8, .routeConfigurationChange, false), (9, .unknown, true), (255, .unknown, true), (-1, .unknown, true), (Int.max, .unknown, true),
            (Int.min, .unknown, true),
        ])
    func reasons(number: Int, reason: RouteChangeReason, isOdd: Bool) {
        let read = RouteChangeReason.reading(wire: number)
        #expect(read.reason == reason)
        #expect((read.warning != nil) == isOdd)
        if isOdd { #expect(read.warning?.text.contains("\(number)") == true) }
    }

    @Test(
        "§5 the table: what the relay does on each reason",
        arguments: [
            (RouteChangeReason.unknown, RouteActions()), (.newDeviceAvailable, .renegotiatesFormat), (.oldDeviceUnavailable, .pausesPlayback),
            (.categoryChange, .rechecksRights), (.override, .renegotiatesFormat), (.wakeFromSleep, .startsFresh),
            (.noSuitableRouteForCategory, .suspends), (.routeConfigurationChange, [.renegotiatesFormat, .tellsLatency]),
        ] as [(RouteChangeReason, RouteActions)])
    func table(reason: RouteChangeReason, actions: RouteActions) throws {
        #expect(reason.actions == actions)
        var state = RouteState()
        let outcome = state.apply(RouteChange(reason, route: try Self.route(Self.mic, Self.speaker)))
        #expect(outcome.actions == actions)
    }

    // MARK: Descriptions

    @Test("§5 every port type is known by its name and by no other spelling", arguments: PortType.allCases)
    func portTypes(type: PortType) throws {
        #expect(try RoutePort(named: type.rawValue).type == type)
        let odd = type.rawValue.uppercased() == type.rawValue ? type.rawValue.lowercased() : type.rawValue.uppercased()
        #expect(throws: RouteFault.unknownPortType(odd)) { try RoutePort(named: odd) }
    }

    @Test(
        "§5 there are eighteen port types, and what is none of them is refused by its name, shortened", arguments: ["", "gramophone", "builtInMic "])
    func unknownPortType(type: String) {
        #expect(PortType.allCases.count == 18)
        #expect(throws: RouteFault.unknownPortType(type)) { try RoutePort(named: type) }
        #expect(RouteFault.unknownPortType(type).text.contains("'\(type)'"))
        #expect(RouteFault.unknownPortType(String(repeating: "x", count: 60_000)).text.utf8.count < 200)
    }

    @Test("§5 a port's numbers have ranges, and the bounds belong to them")
    func ranges() throws {
        let good = [1, 8_000, 768_000.0]
        for rate in good { #expect(try RoutePort(.lineIn, sampleRate: rate).sampleRate == rate) }
        for rate in [0, 0.5, -48_000, 768_001, .nan, .infinity, -.infinity] {
            #expect(throws: RouteFault.sampleRate) { try RoutePort(.lineIn, sampleRate: rate) }
        }
        for channels in [1, 64] { #expect(try RoutePort(.lineIn, channels: channels).channels == channels) }
        for channels in [0, -1, 65, .max, .min] { #expect(throws: RouteFault.channels) { try RoutePort(.lineIn, channels: channels) } }
        for latency in [0, 0.005, 10] { #expect(try RoutePort(.lineIn, latency: latency).latency == latency) }
        for latency in [-0.001, 10.001, .nan, .infinity] { #expect(throws: RouteFault.latency) { try RoutePort(.lineIn, latency: latency) } }
    }

    @Test("§5 a port's name is at most 128 bytes of UTF-8")
    func names() throws {
        let longest = String(repeating: "é", count: 64)
        #expect(try RoutePort(.lineIn, name: longest).name == longest)
        #expect(throws: RouteFault.nameTooLong) { try RoutePort(.lineIn, name: longest + "x") }
    }

    @Test("§5 a route has at most sixteen ports on each side")
    func ports() throws {
        let many = Array(repeating: try RoutePort(.virtual), count: 16)
        #expect(try RouteDescription(inputs: many, outputs: many).inputs.count == 16)
        #expect(throws: RouteFault.tooManyPorts) { try RouteDescription(inputs: many + many, outputs: []) }
        #expect(throws: RouteFault.tooManyPorts) { try RouteDescription(inputs: [], outputs: many + [try RoutePort(.virtual)]) }
    }

    // MARK: Legacy strings

    @Test(
        "§5 legacy strings are mapped to ports; empty is silent",
        arguments: [
            ("", [], []), ("Headset", [], [.headset]), ("Headphone", [], [.headphones]), ("Speaker", [], [.builtInSpeaker]),
            ("SpeakerAndMicrophone", [.builtInMic], [.builtInSpeaker]), ("HeadphonesAndMicrophone", [.builtInMic], [.headphones]),
            ("HeadsetInOut", [.headsetMic], [.headset]), ("ReceiverAndMicrophone", [.builtInMic], [.builtInReceiver]),
            ("Lineout", [], [.lineOut]),
        ] as [(String, [PortType], [PortType])])
    func legacy(text: String, inputs: [PortType], outputs: [PortType]) throws {
        let route = RouteDescription(try LegacyRoute(named: text))
        #expect(route.inputs.map(\.type) == inputs)
        #expect(route.outputs.map(\.type) == outputs)
        #expect((route.outputs.isEmpty) == text.isEmpty)
    }

    @Test("§5 a headset is in use when the string has Headphone or Headset: four of the eight", arguments: LegacyRoute.allCases)
    func headsetInUse(route: LegacyRoute) {
        let has = route.rawValue.contains("Headphone") || route.rawValue.contains("Headset")
        #expect(route.isHeadsetInUse == has)
        #expect(LegacyRoute.allCases.filter { $0 != .silent }.count == 8)
        #expect(LegacyRoute.allCases.filter(\.isHeadsetInUse).count == 4)
    }

    @Test("§5 any other string is refused", arguments: ["speaker", "Headset ", "HeadphonesBT", "AirTunes"])
    func unknownLegacy(text: String) {
        #expect(throws: RouteFault.unknownLegacyRoute(text)) { try LegacyRoute(named: text) }
    }

    // MARK: Latency

    @Test(
        "§5 on 1 the jitter target is kept unless the output latency changed by more than 20 ms",
        arguments: [
            (0.010, 0.029, JitterChange.keep), (0.010, 0.0299, .keep), (0.010, 0.031, .retarget(outputLatency: 0.031)),
            (0.200, 0.010, .retarget(outputLatency: 0.010)), (0.200, 0.181, .keep),
        ])
    func latency(before: Double, after: Double, expected: JitterChange) throws {
        var state = RouteState()
        _ = state.apply(RouteChange(.routeConfigurationChange, route: try Self.route(Self.mic, Self.speaker, latency: before)))
        let outcome = state.apply(RouteChange(.newDeviceAvailable, route: try Self.route(Self.mic, [.headphones], latency: after)))
        #expect(outcome.jitter == expected)
    }

    @Test("§5 small changes of the latency are measured from what jitter buffers know, so that they do not add up unseen")
    func creepingLatency() throws {
        var state = RouteState()
        var told: [Double] = []
        for step in 1...8 {
            let route = try Self.route(Self.mic, Self.speaker, latency: Double(step) * 0.015)
            if case .retarget(let latency) = state.apply(RouteChange(.newDeviceAvailable, route: route)).jitter { told.append(latency) }
        }
        #expect(told.map { ($0 * 1_000).rounded() } == [30, 60, 90, 120])
    }

    @Test("§5 on 8 jitter buffers are told the latency however little it changed, on 6 they are reset")
    func toldLatency() throws {
        var state = RouteState()
        let near = try Self.route(Self.mic, Self.speaker, latency: 0.011)
        _ = state.apply(RouteChange(.newDeviceAvailable, route: try Self.route(Self.mic, Self.speaker, latency: 0.010)))
        #expect(state.apply(RouteChange(.routeConfigurationChange, route: near)).jitter == .retarget(outputLatency: 0.011))
        #expect(state.apply(RouteChange(.routeConfigurationChange)).jitter == .retarget(outputLatency: 0.011))
        #expect(state.apply(RouteChange(.wakeFromSleep)).jitter == .reset)
    }

    @Test("§5 a route that tells no latency leaves jitter buffers alone")
    func noLatency() throws {
        var state = RouteState()
        _ = state.apply(RouteChange(.newDeviceAvailable, route: try Self.route(Self.mic, Self.speaker, latency: 0.2)))
        #expect(state.apply(RouteChange(.newDeviceAvailable, route: try Self.route(Self.mic, [.headphones]))).jitter == .keep)
        #expect(state.apply(RouteChange(.newDeviceAvailable, route: try Self.route(Self.mic, Self.speaker, latency: 0.2))).jitter == .keep)
    }

    // MARK: Uplink

    @Test(
        "§5 on 2 the uplink goes on if an input is left",
        arguments: [(Self.mic, true), ([], false), ([.bluetoothHFP, .builtInMic], true)] as [([PortType], Bool)])
    func uplink(inputs: [PortType], goesOn: Bool) throws {
        var state = RouteState()
        _ = state.apply(RouteChange(.newDeviceAvailable, route: try Self.route([.headsetMic], [.headset])))
        let outcome = state.apply(RouteChange(.oldDeviceUnavailable, route: try Self.route(inputs, Self.speaker)))
        #expect(outcome.uplinkGoesOn == goesOn)
        #expect(outcome.actions == .pausesPlayback)
    }

    @Test("§5 an uplink that stopped for want of an input goes on with the next route that has one, not with a change that has no route")
    func uplinkReturns() throws {
        var state = RouteState()
        _ = state.apply(RouteChange(.oldDeviceUnavailable, route: try Self.route([], Self.speaker)))
        #expect(!state.apply(RouteChange(.unknown)).uplinkGoesOn)
        #expect(!state.apply(RouteChange(.override, route: try Self.route([], Self.speaker))).uplinkGoesOn)
        #expect(state.apply(RouteChange(.newDeviceAvailable, route: try Self.route(Self.mic, Self.speaker))).uplinkGoesOn)
    }

    @Test("§5 a category without input takes no uplink away: only a device that went does")
    func uplinkWithoutInput() throws {
        var state = RouteState()
        #expect(state.apply(RouteChange(.categoryChange, route: try Self.route([], Self.speaker))).uplinkGoesOn)
        #expect(RouteState().uplinkGoesOn)
    }

    // MARK: What the room sees

    @Test("§5 the room sees port types, and names only when the client shares them")
    func shown() throws {
        let port = try RoutePort(.bluetoothA2DP, name: "Anna's AirPods", sampleRate: 48_000, channels: 2, latency: 0.15)
        let route = try RouteDescription(inputs: [try RoutePort(.builtInMic, name: "iPhone Microphone")], outputs: [port])
        var state = RouteState()
        let hidden = state.apply(RouteChange(.newDeviceAvailable, route: route)).shown
        #expect(hidden == (try Self.route(Self.mic, [.bluetoothA2DP])))
        let open = state.apply(RouteChange(.unknown, sharesNames: true)).shown
        #expect(open?.outputs.map(\.name) == ["Anna's AirPods"])
        #expect(open?.outputs.map(\.latency) == [nil], "numbers stay private")
        #expect(state.apply(RouteChange(.unknown)).shown == hidden, "sharing is said anew with each change")
    }

    @Test("§5 the room is told on change only")
    func shownOnChange() throws {
        var state = RouteState()
        #expect(state.apply(RouteChange(.unknown)).shown == nil, "nothing is known yet")
        let first = try Self.route(Self.mic, Self.speaker, latency: 0.01)
        #expect(state.apply(RouteChange(.newDeviceAvailable, route: first)).shown != nil)
        let sameForOthers = try Self.route(Self.mic, Self.speaker, latency: 0.3)
        #expect(state.apply(RouteChange(.routeConfigurationChange, route: sameForOthers)).shown == nil)
        #expect(state.shown == (try Self.route(Self.mic, Self.speaker)))
    }
}
