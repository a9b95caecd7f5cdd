internal import AudioSession

/// The platform's words and numbers in ours.
extension InterruptionReason {
    /// - Parameter number: `AVAudioSession.InterruptionReason`; what is unknown is the default.
    init(platform number: Double?, wasSuspended: Bool) {
        self =
            switch number {
            case 1: .appWasSuspended
            case 2: .builtInMicMuted
            case 4: .routeDisconnected
            default: wasSuspended ? .appWasSuspended : .default
            }
    }
}

extension Category {
    /// - Parameter name: `AVAudioSession.Category.rawValue`.
    init?(platform name: String) {
        self.init(rawValue: unprefixed(name, "AVAudioSessionCategory"))
    }
}

extension Mode {
    /// - Parameter name: `AVAudioSession.Mode.rawValue`; modes that the relay does not know change nothing there.
    init(platform name: String) {
        self = Mode(rawValue: unprefixed(name, "AVAudioSessionMode")) ?? .default
    }
}

/// `AVAudioSessionModeVoiceChat` without its prefix, as `voiceChat`.
private func unprefixed(_ name: String, _ prefix: String) -> String {
    guard name.hasPrefix(prefix) else { return name }
    let rest = name.dropFirst(prefix.count)
    return rest.prefix(1).lowercased() + rest.dropFirst()
}

extension PortType {
    /// - Parameter name: `AVAudioSession.Port.rawValue`. Ports that have no word of their own (interfaces of a Mac, what comes later) are `virtual`.
    init(platform name: String) {
        self =
            switch name {
            case "MicrophoneBuiltIn": .builtInMic
            case "Receiver": .builtInReceiver
            case "Speaker": .builtInSpeaker
            case "Headphones": .headphones
            case "MicrophoneWired": .headsetMic
            case "LineIn": .lineIn
            case "LineOut": .lineOut
            case "BluetoothHFP": .bluetoothHFP
            case "BluetoothA2DPOutput": .bluetoothA2DP
            case "BluetoothLE": .bluetoothLE
            case "USBAudio": .usbAudio
            case "AirPlay": .airPlay
            case "CarAudio": .carAudio
            case "HDMIOutput": .hdmi
            case "DisplayPort": .displayPort
            case "ContinuityMicrophone": .continuityMicrophone
            default: .virtual
            }
    }
}

extension RoutePort {
    /// What the platform says that is out of range is left out, and a name too long is cut: a route is never refused for such.
    init?(platform port: PlatformPort) {
        var name = port.name
        while name.utf8.count > RoutePort.nameBytesMax { name.removeLast() }
        try? self.init(
            PortType(platform: port.type), name: name.isEmpty ? nil : name,
            sampleRate: RoutePort.sampleRates.contains(port.sampleRate) ? port.sampleRate : nil,
            channels: RoutePort.channelCounts.contains(port.channels) ? port.channels : nil,
            latency: RoutePort.latencies.contains(port.latency) ? port.latency : nil)
    }

    var value: BridgeValue {
        var members: [String: BridgeValue] = ["type": .text(type.rawValue)]
        if let name { members["name"] = .text(name) }
        if let sampleRate { members["sampleRate"] = .number(sampleRate) }
        if let channels { members["channels"] = .number(Double(channels)) }
        if let latency { members["latency"] = .number(latency) }
        return .object(members)
    }
}

extension PlatformRoute {
    var value: BridgeValue {
        .object([
            "inputs": .list(inputs.prefix(RouteDescription.portsMax).compactMap { RoutePort(platform: $0)?.value }),
            "outputs": .list(outputs.prefix(RouteDescription.portsMax).compactMap { RoutePort(platform: $0)?.value }),
        ])
    }
}
