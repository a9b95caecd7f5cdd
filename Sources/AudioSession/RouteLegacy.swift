/// A route in the words of the C audio session services (`kAudioSessionProperty_AudioRoute`), which old clients still send.
package enum LegacyRoute: String, CaseIterable, Sendable {
    case silent = ""
    case headset = "Headset"
    case headphone = "Headphone"
    case speaker = "Speaker"
    case speakerAndMicrophone = "SpeakerAndMicrophone"
    case headphonesAndMicrophone = "HeadphonesAndMicrophone"
    case headsetInOut = "HeadsetInOut"
    case receiverAndMicrophone = "ReceiverAndMicrophone"
    case lineout = "Lineout"

    package init(named text: String) throws(RouteFault) {
        guard let route = LegacyRoute(rawValue: text) else { throw .unknownLegacyRoute(text) }
        self = route
    }

    /// The string has Headphone or Headset in it.
    package var isHeadsetInUse: Bool {
        switch self {
        case .headset, .headphone, .headphonesAndMicrophone, .headsetInOut: true
        case .silent, .speaker, .speakerAndMicrophone, .receiverAndMicrophone, .lineout: false
        }
    }

    var inputs: [PortType] {
        switch self {
        case .silent, .headset, .headphone, .speaker, .lineout: []
        case .speakerAndMicrophone, .headphonesAndMicrophone, .receiverAndMicrophone: [.builtInMic]
        case .headsetInOut: [.headsetMic]
        }
    }

    var outputs: [PortType] {
        switch self {
        case .silent: []
        case .headset, .headsetInOut: [.headset]
        case .headphone, .headphonesAndMicrophone: [.headphones]
        case .speaker, .speakerAndMicrophone: [.builtInSpeaker]
        case .receiverAndMicrophone: [.builtInReceiver]
        case .lineout: [.lineOut]
        }
    }
}
