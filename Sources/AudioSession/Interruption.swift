/// Why a session was interrupted. The first four are `AVAudioSession.InterruptionReason`, the others are the relay's own.
package enum InterruptionReason: String, CaseIterable, Sendable, Codable {
    case `default`
    case appWasSuspended
    case builtInMicMuted
    case routeDisconnected
    /// Another device of the identity was activated.
    case handoff
    /// A voice prompt of another session of the identity.
    case prompt
}

/// Why a route changed: the numbers of `AVAudioSession.RouteChangeReason`, which has no 5.
package enum RouteChangeReason: Int, CaseIterable, Sendable {
    case unknown = 0
    case newDeviceAvailable = 1
    case oldDeviceUnavailable = 2
    case categoryChange = 3
    case override = 4
    case wakeFromSleep = 6
    case noSuitableRouteForCategory = 7
    case routeConfigurationChange = 8
}

/// Where sound goes in or out, as in `AVAudioSession.Port`.
package enum PortType: String, CaseIterable, Sendable, Codable {
    case builtInMic
    case builtInReceiver
    case builtInSpeaker
    case headphones
    case headset
    case headsetMic
    case lineIn
    case lineOut
    case bluetoothHFP
    case bluetoothA2DP
    case bluetoothLE
    case usbAudio
    case airPlay
    case carAudio
    case hdmi = "HDMI"
    case displayPort
    case virtual
    case continuityMicrophone
}
