import AudioSession
import RelayServer
import Signalling

extension ScriptRequest {
    /// - Parameter word: one that is a request of the protocol.
    init?(_ word: ScriptWord, _ reader: inout ConfigurationReader) {
        switch word {
        case .sessionInit: self.init(request: .sessionInit)
        case .setCategory:
            guard let body = reader.category() else { return nil }
            self.init(request: .setCategory(body))
        case .setActive:
            guard let body = reader.activation() else { return nil }
            self.init(request: .setActive(body))
        case .interruptionBegan:
            let reason = reader.word("reason", of: InterruptionReason.self)
            self.init(request: .interruptionBegan(.init(reason: reason?.rawValue)))
        case .interruptionEnded: self.init(request: .interruptionEnded(.init(shouldResume: reader.bool("shouldResume"))))
        case .routeChanged:
            guard let body = reader.routeChange() else { return nil }
            self.init(request: .routeChanged(body))
        case .playbackPause: self.init(request: .playbackPause)
        case .playbackContinue: self.init(request: .playbackContinue)
        case .subscribe, .unsubscribe: self.init(subscribing: word == .subscribe, &reader)
        default: self.init(ofStream: word, &reader)
        }
    }

    private init(subscribing: Bool, _ reader: inout ConfigurationReader) {
        let stream = reader.stream(isRequired: false)
        let isAll: Bool? = stream == nil ? true : nil
        guard subscribing else {
            self.init(request: .unsubscribe(.init(streams: nil, all: isAll)), stream: stream)
            return
        }
        // Where the script does not say how, the command line does.
        var body = ClientRequest.Subscribe(streams: nil, all: isAll, delivery: reader.word("delivery", of: ClientRequest.Delivery.self))
        body.late = reader.word("late", of: ClientRequest.LatePolicy.self)
        body.profile = reader.word("profile", of: ClientRequest.JitterProfileName.self)
        body.delay = reader.number("delay", in: SignallingBounds.pinnedMilliseconds)
        body.channels = reader.integer("channels", in: SignallingBounds.mixChannels)
        self.init(request: .subscribe(body), stream: stream)
    }

    private init?(ofStream word: ScriptWord, _ reader: inout ConfigurationReader) {
        let stream = reader.stream(isRequired: true)
        let request: ClientRequest?
        switch word {
        case .streamStart: request = .streamStart(.init(stream: 0, at: reader.integer("mediaTime", in: 0...Int(UInt32.max)).map { UInt32($0) }))
        case .streamPrime: request = .streamPrime(.init(stream: 0))
        case .streamPause: request = .streamPause(.init(stream: 0))
        case .streamStop: request = .streamStop(.init(stream: 0, mode: reader.word("mode", of: ClientRequest.StopMode.self)))
        case .streamFlush: request = .streamFlush(.init(stream: 0))
        case .streamReset: request = .streamReset(.init(stream: 0))
        case .setParameters:
            var body = ClientRequest.SetParameters(stream: 0)
            body.volume = reader.number("volume", in: 0...1).map { Float($0) }
            body.rampMilliseconds = reader.number("rampMilliseconds", in: 0...600_000)
            body.rate = reader.number("rate", in: 0.5...2).map { Float($0) }
            body.pan = reader.number("pan", in: -1...1).map { Float($0) }
            body.at = reader.integer("mediaTime", in: 0...Int(UInt32.max)).map { UInt32($0) }
            request = .setParameters(body)
        default: preconditionFailure("'\(word.rawValue)' is no request about a stream")
        }
        guard let request, let stream else { return nil }
        self.init(request: request, stream: stream)
    }
}

extension ConfigurationReader {
    /// A stream's number, or a kind: then the newest of it that is there.
    fileprivate mutating func stream(isRequired: Bool) -> ScriptRequest.Stream? {
        switch value("stream") {
        case nil where !isRequired: return nil
        case .number(let number):
            if let id = UInt32(exactly: number) { return .number(id) }
        case .string(let text):
            if let kind = StreamKind(rawValue: text) { return .newest(kind) }
        default: break
        }
        fault("stream", "must be a stream's number, or audio, video or data for the newest of that kind")
        return nil
    }

    fileprivate mutating func category() -> ClientRequest.SetCategory? {
        let mode = word("mode", of: Mode.self)
        let options = categoryOptions()
        guard let text = string("category"), let category = Category(text: text) else {
            refuseWord("category", "must be", Category.allCases.map(\.rawValue))
            return nil
        }
        return .init(category: category.rawValue, mode: mode?.rawValue, options: options?.rawValue)
    }

    private static let optionNames: [(name: String, option: CategoryOptions)] = [
        ("mixWithOthers", .mixWithOthers), ("duckOthers", .duckOthers), ("allowBluetooth", .allowBluetooth),
        ("defaultToSpeaker", .defaultToSpeaker), ("interruptSpokenAudioAndMixWithOthers", .interruptSpokenAudioAndMixWithOthers),
        ("allowBluetoothA2DP", .allowBluetoothA2DP), ("allowAirPlay", .allowAirPlay),
        ("overrideMutedMicrophoneInterruption", .overrideMutedMicrophoneInterruption),
    ]

    /// Names, or the platform's number.
    private mutating func categoryOptions() -> CategoryOptions? {
        switch value("options") {
        case nil: return nil
        case .number(let number):
            if let bits = UInt32(exactly: number) { return CategoryOptions(rawValue: bits) }
        case .array(let values):
            var options: CategoryOptions = []
            for value in values {
                guard case .string(let name) = value, let found = Self.optionNames.first(where: { $0.name == name }) else {
                    refuseWord("options", "must be a list, each", Self.optionNames.map(\.name))
                    return nil
                }
                options.formUnion(found.option)
            }
            return options
        default: break
        }
        fault("options", "must be a list of names, or the number that they are together")
        return nil
    }

    fileprivate mutating func activation() -> ClientRequest.SetActive? {
        let notifies = bool("notifyOthersOnDeactivation")
        let force = bool("force")
        let background = bool("background")
        let priority = integer("priority", in: 0...100)
        guard let active = bool("active") else {
            if !hasFault(below: "active") { fault("active", "must be true or false") }
            return nil
        }
        return .init(active: active, notifyOthersOnDeactivation: notifies, force: force, background: background, priority: priority)
    }

    fileprivate mutating func routeChange() -> ClientRequest.RouteChanged? {
        let sharesNames = bool("sharesNames")
        let legacy = string("legacyRoute")
        var route: AudioRoute?
        if has("route") {
            object("route") { reader in
                route = AudioRoute(inputs: reader.ports("inputs"), outputs: reader.ports("outputs"))
            }
        }
        if legacy != nil, route != nil { fault("legacyRoute", "cannot stand beside 'route'") }
        // Any number: what the relay makes of those that do not exist can be tried.
        guard let reason = integer("reason", in: Int(Int32.min)...Int(Int32.max)) else {
            if !hasFault(below: "reason") { fault("reason", "must be the platform's number of the reason") }
            return nil
        }
        return .init(reason: reason, route: route, legacyRoute: legacy, sharesNames: sharesNames)
    }

    fileprivate mutating func ports(_ key: String) -> [AudioPort] {
        var ports: [AudioPort] = []
        objects(key) { reader in
            var port = AudioPort(type: "")
            port.name = reader.string("name")
            port.sampleRate = reader.number("sampleRate", in: 1...1e7)
            port.channels = reader.integer("channels", in: 1...1_024)
            port.latency = reader.number("latency", in: 0...60)
            guard let type = reader.word("type", of: PortType.self) else {
                reader.refuseWord("type", "must be", PortType.allCases.map(\.rawValue))
                return
            }
            port.type = type.rawValue
            ports.append(port)
        }
        return ports
    }
}
