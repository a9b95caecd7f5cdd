import AudioSession
import AudioSessionBridge
import Signalling
import Testing

@Suite("Bridge to AVAudioSession")
struct SessionBridgeTests {
    private static let mic = PlatformPort(type: "MicrophoneBuiltIn", name: "iPhone Microphone", sampleRate: 48_000, channels: 1, latency: 0.005)
    private static let speaker = PlatformPort(type: "Speaker", name: "Speaker", sampleRate: 48_000, channels: 2, latency: 0.012)
    private static let route = PlatformRoute(inputs: [mic], outputs: [speaker])
    /// ``route`` as a session that is made anew tells it.
    private static let routeAgain = ClientRequest.routeChanged(
        ClientRequest.RouteChanged(
            reason: 0,
            route: AudioRoute(
                inputs: [AudioPort(type: "builtInMic", name: "iPhone Microphone", sampleRate: 48_000, channels: 1, latency: 0.005)],
                outputs: [AudioPort(type: "builtInSpeaker", name: "Speaker", sampleRate: 48_000, channels: 2, latency: 0.012)])))

    /// A bridge whose app is active, with a voice chat's category.
    private static func active() -> SessionBridge {
        var bridge = SessionBridge()
        _ = bridge.configure(category: "AVAudioSessionCategoryPlayAndRecord", mode: "AVAudioSessionModeVoiceChat", options: 0x4)
        _ = bridge.activate(true)
        return bridge
    }

    /// What the relay reads of the requests.
    private static func read(_ requests: [BridgeRequest]) throws -> [ClientRequest] {
        try requests.map { try IncomingRequest(decoding: Array($0.json(id: 7).utf8)).request }
    }

    private static func receive(
        _ notification: PlatformNotification, _ userInfo: [PlatformKey: BridgeValue] = [:], bridge: inout SessionBridge, activates: Bool = true
    ) -> BridgeOutcome {
        let userInfo = Dictionary(uniqueKeysWithValues: userInfo.map { ($0.key.rawValue, $0.value) })
        return bridge.receive(notification, userInfo, route: route) { activates }
    }

    // MARK: From the platform

    @Test(
        "§3 the platform's interruption reasons are ours, by number; what is unknown is the default",
        arguments: [
            (0, nil, "default"), (1, nil, "appWasSuspended"), (2, nil, "builtInMicMuted"), (4, nil, "routeDisconnected"), (3, nil, "default"),
            (99, nil, "default"), (nil, true, "appWasSuspended"), (nil, false, "default"), (nil, nil, "default"), (2, true, "builtInMicMuted"),
        ] as [(Double?, Bool?, String)])
    func began(number: Double?, wasSuspended: Bool?, reason: String) throws {
        var bridge = Self.active()
        var userInfo: [PlatformKey: BridgeValue] = [.interruptionType: .number(1)]
        if let number { userInfo[.interruptionReason] = .number(number) }
        if let wasSuspended { userInfo[.interruptionWasSuspended] = .flag(wasSuspended) }
        let outcome = Self.receive(.interruption, userInfo, bridge: &bridge)
        #expect(try Self.read(outcome.requests) == [.interruptionBegan(ClientRequest.InterruptionBegan(reason: reason))])
        #expect(InterruptionReason(rawValue: reason) != nil)
    }

    @Test(
        "§4 an interruption that ended goes on only if the platform says so and the app could be activated again",
        arguments: [(1, true, true), (1, false, false), (0, true, false), (3, true, true), (2, true, false)] as [(Double, Bool, Bool)])
    func ended(option: Double, activates: Bool, shouldResume: Bool) throws {
        var bridge = Self.active()
        let outcome = Self.receive(
            .interruption, [.interruptionType: .number(0), .interruptionOption: .number(option)], bridge: &bridge, activates: activates)
        #expect(try Self.read(outcome.requests) == [.interruptionEnded(ClientRequest.InterruptionEnded(shouldResume: shouldResume))])
        #expect(outcome.actions == (shouldResume ? [] : [.stayPaused]), "sound starts when the relay agrees")
        #expect(
            bridge.create().map(\.type).contains("session.setActive") == shouldResume,
            "what did not go on is not activated when the session is made anew")
    }

    @Test("§4 an end without an option, or with an odd one, does not go on; a type that there is not is nothing")
    func oddInterruptions() throws {
        var bridge = Self.active()
        let plain = Self.receive(.interruption, [.interruptionType: .number(0)], bridge: &bridge)
        #expect(try Self.read(plain.requests) == [.interruptionEnded(ClientRequest.InterruptionEnded(shouldResume: false))])
        let odd = Self.receive(.interruption, [.interruptionType: .number(0), .interruptionOption: .number(.infinity)], bridge: &bridge)
        #expect(odd.actions == [.stayPaused])
        #expect(Self.receive(.interruption, [.interruptionType: .number(2)], bridge: &bridge) == BridgeOutcome())
        #expect(Self.receive(.interruption, bridge: &bridge) == BridgeOutcome())
    }

    @Test("§5 a route change goes out with the platform's own number and the route as it is", arguments: [0, 1, 2, 3, 4, 5, 6, 7, 8, 255])
    func routeChange(reason: Int) throws {
        var bridge = Self.active()
        let outcome = Self.receive(.routeChange, [.routeChangeReason: .number(Double(reason))], bridge: &bridge)
        let expected = ClientRequest.RouteChanged(
            reason: reason,
            route: AudioRoute(
                inputs: [AudioPort(type: "builtInMic", name: "iPhone Microphone", sampleRate: 48_000, channels: 1, latency: 0.005)],
                outputs: [AudioPort(type: "builtInSpeaker", name: "Speaker", sampleRate: 48_000, channels: 2, latency: 0.012)]))
        #expect(try Self.read(outcome.requests) == [.routeChanged(expected)])
        bridge.sharesNames = true
        let shared = Self.receive(.renderingModeChange, bridge: &bridge)
        guard case .routeChanged(let change)? = try Self.read(shared.requests).first else { return }
        #expect(change.reason == 8 && change.sharesNames == true)
    }

    @Test(
        "§5 the platform's ports are ours; one without a word of its own is virtual",
        arguments: [
            ("MicrophoneBuiltIn", PortType.builtInMic), ("Receiver", .builtInReceiver), ("Speaker", .builtInSpeaker), ("Headphones", .headphones),
            ("MicrophoneWired", .headsetMic), ("LineIn", .lineIn), ("LineOut", .lineOut), ("BluetoothHFP", .bluetoothHFP),
            ("BluetoothA2DPOutput", .bluetoothA2DP), ("BluetoothLE", .bluetoothLE), ("USBAudio", .usbAudio), ("AirPlay", .airPlay),
            ("CarAudio", .carAudio), ("HDMIOutput", .hdmi), ("DisplayPort", .displayPort), ("ContinuityMicrophone", .continuityMicrophone),
            ("Virtual", .virtual), ("Thunderbolt", .virtual), ("", .virtual),
        ])
    func ports(platform: String, type: PortType) throws {
        var bridge = SessionBridge()
        let port = PlatformPort(type: platform, name: "", sampleRate: 0, channels: 0, latency: -1)
        let outcome = bridge.receive(.routeChange, [:], route: PlatformRoute(inputs: [], outputs: [port])) { true }
        guard case .routeChanged(let change)? = try Self.read(outcome.requests).first else { return }
        #expect(change.route?.outputs == [AudioPort(type: type.rawValue)], "what is out of range is left out")
    }

    @Test("a route of the platform's is never one that the relay refuses")
    func hostileRoute() throws {
        var bridge = SessionBridge()
        let odd = PlatformPort(type: "Speaker", name: String(repeating: "👩‍👩‍👧‍👦\"\\\n", count: 40), sampleRate: .nan, channels: .max, latency: .infinity)
        let outcome = bridge.receive(.routeChange, [:], route: PlatformRoute(inputs: [], outputs: Array(repeating: odd, count: 40))) { true }
        guard case .routeChanged(let change)? = try Self.read(outcome.requests).first else { return }
        let ports = try (change.route?.outputs ?? []).map {
            try RoutePort(named: $0.type, name: $0.name, sampleRate: $0.sampleRate, channels: $0.channels)
        }
        #expect(try RouteDescription(inputs: [], outputs: ports).outputs.count == 16)
        #expect(ports.first?.name?.isEmpty == false)
    }

    @Test("§4 a hint pauses what it finds playing, and continues only what it paused itself")
    func hints() throws {
        var bridge = Self.active()
        let begin = { (bridge: inout SessionBridge) in
            Self.receive(.silenceSecondaryAudioHint, [.silenceSecondaryAudioHintType: .number(1)], bridge: &bridge)
        }
        let end = { (bridge: inout SessionBridge) in
            Self.receive(.silenceSecondaryAudioHint, [.silenceSecondaryAudioHintType: .number(0)], bridge: &bridge)
        }
        #expect(end(&bridge).requests.isEmpty)
        #expect(try Self.read(begin(&bridge).requests) == [.playbackPause])
        #expect(begin(&bridge).requests.isEmpty)
        #expect(try Self.read(end(&bridge).requests) == [.playbackContinue])
        #expect(try Self.read(bridge.pause(true)) == [.playbackPause])
        #expect(begin(&bridge).requests.isEmpty)
        #expect(end(&bridge).requests.isEmpty, "the user's pause survives")
        #expect(try Self.read(bridge.pause(false)) == [.playbackContinue])
    }

    @Test("§4 a user who pauses during a hint stays paused when the hint ends")
    func pausedDuringHint() {
        var bridge = Self.active()
        _ = Self.receive(.silenceSecondaryAudioHint, [.silenceSecondaryAudioHintType: .number(1)], bridge: &bridge)
        _ = bridge.pause(true)
        #expect(Self.receive(.silenceSecondaryAudioHint, [.silenceSecondaryAudioHintType: .number(0)], bridge: &bridge).requests.isEmpty)
    }

    @Test("§3 media services that were lost interrupt, and their reset makes the session anew: init, category, activate")
    func mediaServices() throws {
        var bridge = Self.active()
        let lost = Self.receive(.mediaServicesWereLost, bridge: &bridge)
        #expect(try Self.read(lost.requests) == [.interruptionBegan(ClientRequest.InterruptionBegan(reason: "default"))])
        let anew: [ClientRequest] = [
            .sessionInit, .setCategory(ClientRequest.SetCategory(category: "playAndRecord", mode: "voiceChat", options: 4)), Self.routeAgain,
            .setActive(ClientRequest.SetActive(active: true)),
        ]
        let reset = Self.receive(.mediaServicesWereReset, bridge: &bridge)
        #expect(try Self.read(reset.requests) == anew)
        #expect(reset.actions.isEmpty, "sound starts when the relay agrees")
        let fromRelay = bridge.receive("mediaServices.wereReset", .object([:]))
        #expect(try Self.read(fromRelay.requests) == anew)
        let refused = Self.receive(.mediaServicesWereReset, bridge: &bridge, activates: false)
        #expect(refused.actions == [.stayPaused])
        #expect(Self.receive(.mediaServicesWereReset, bridge: &bridge) == BridgeOutcome(), "nothing was active")
        #expect(Self.receive(.mediaServicesWereLost, bridge: &bridge).requests.isEmpty)
    }

    @Test("the mute button of the system is the app's to act on", arguments: [true, false])
    func mute(isMuted: Bool) {
        var bridge = Self.active()
        let outcome = Self.receive(.inputMuteStateChange, [.muteState: .flag(isMuted)], bridge: &bridge)
        #expect(outcome.requests.isEmpty && outcome.actions == [.muteInput(isMuted)])
        #expect(Self.receive(.inputMuteStateChange, bridge: &bridge) == BridgeOutcome())
    }

    @Test(
        "what the platform says of capabilities is a change of the route's configuration, or nothing",
        arguments: [
            (PlatformNotification.renderingModeChange, 8), (.renderingCapabilitiesChange, 8), (.spatialPlaybackCapabilitiesChanged, 8),
            (.microphoneInjectionCapabilitiesChange, nil), (.availableInputsChange, nil),
        ] as [(PlatformNotification, Int?)])
    func capabilities(notification: PlatformNotification, reason: Int?) throws {
        var bridge = Self.active()
        let reasons = try Self.read(Self.receive(notification, bridge: &bridge).requests).map { request in
            guard case .routeChanged(let change) = request else { return -1 }
            return change.reason
        }
        #expect(reasons == (reason.map { [$0] } ?? []))
    }

    // MARK: The app's wishes

    @Test(
        "§2 the platform's categories are ours, by name",
        arguments: zip(
            ["Ambient", "SoloAmbient", "Playback", "Record", "PlayAndRecord", "AudioProcessing", "MultiRoute"], AudioSession.Category.allCases))
    func categories(platform: String, category: AudioSession.Category) throws {
        var bridge = SessionBridge()
        let requests = bridge.configure(category: "AVAudioSessionCategory" + platform, mode: "AVAudioSessionModeDefault", options: 0xFFF)
        let expected = ClientRequest.SetCategory(category: category.rawValue, mode: "default", options: 0xFF)
        #expect(try Self.read(requests) == [.setCategory(expected)])
    }

    @Test(
        "§2 the platform's modes are ours, by name; one that the relay does not know is the default",
        arguments: [
            ("Default", "default"), ("VoiceChat", "voiceChat"), ("VideoChat", "videoChat"), ("GameChat", "gameChat"),
            ("VideoRecording", "videoRecording"), ("Measurement", "measurement"), ("MoviePlayback", "moviePlayback"),
            ("SpokenAudio", "spokenAudio"), ("VoicePrompt", "voicePrompt"), ("DualRoute", "default"),
        ])
    func modes(platform: String, mode: String) throws {
        var bridge = SessionBridge()
        let requests = bridge.configure(category: "AVAudioSessionCategoryPlayback", mode: "AVAudioSessionMode" + platform, options: 0)
        #expect(try Self.read(requests) == [.setCategory(ClientRequest.SetCategory(category: "playback", mode: mode, options: 0))])
        #expect(bridge.configure(category: "AVAudioSessionCategoryOpera", mode: "", options: 0).isEmpty)
    }

    @Test("§3 activation and deactivation carry what the platform's options say")
    func activation() throws {
        var bridge = SessionBridge()
        #expect(try Self.read(bridge.activate(true, notifyOthersOnDeactivation: true)) == [.setActive(ClientRequest.SetActive(active: true))])
        #expect(try Self.read(bridge.activate(true, background: true)) == [.setActive(ClientRequest.SetActive(active: true, background: true))])
        let off = ClientRequest.SetActive(active: false, notifyOthersOnDeactivation: true, force: true)
        #expect(try Self.read(bridge.activate(false, notifyOthersOnDeactivation: true)) == [.setActive(off)])
    }
}
