package import RelayBase

/// What a client's session may do, as in `AVAudioSession.Category`.
package enum Category: String, CaseIterable, Sendable, Codable {
    case ambient
    case soloAmbient
    case playback
    case record
    case playAndRecord
    case audioProcessing
    case multiRoute

    /// The older services' `kAudioSessionCategory_…`.
    package var code: FourCharacterCode {
        switch self {
        case .ambient: FourCharacterCode(rawValue: 0x616D_6269)
        case .soloAmbient: FourCharacterCode(rawValue: 0x736F_6C6F)
        case .playback: FourCharacterCode(rawValue: 0x6D65_6469)
        case .record: FourCharacterCode(rawValue: 0x7265_6361)
        case .playAndRecord: FourCharacterCode(rawValue: 0x706C_6172)
        case .audioProcessing: FourCharacterCode(rawValue: 0x7072_6F63)
        case .multiRoute: FourCharacterCode(rawValue: 0x6D72_7574)
        }
    }

    /// - Parameter text: the name, or the four characters of ``code``.
    package init?(text: String) {
        guard let category = Category(rawValue: text) ?? Category.allCases.first(where: { $0.code.text == text }) else { return nil }
        self = category
    }

    package var mayPublish: Bool {
        switch self {
        case .record, .playAndRecord, .multiRoute: true
        case .ambient, .soloAmbient, .playback, .audioProcessing: false
        }
    }

    package var maySubscribe: Bool {
        switch self {
        case .ambient, .soloAmbient, .playback, .playAndRecord, .multiRoute: true
        case .record, .audioProcessing: false
        }
    }
}

/// What a session is used for, as in `AVAudioSession.Mode`.
package enum Mode: String, CaseIterable, Sendable, Codable {
    case `default`
    case voiceChat
    case videoChat
    case gameChat
    case videoRecording
    case measurement
    case moviePlayback
    case spokenAudio
    case voicePrompt
}

/// `AVAudioSession.CategoryOptions`, bit by bit.
package struct CategoryOptions: OptionSet, Hashable, Sendable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    package static let mixWithOthers = CategoryOptions(rawValue: 0x1)
    package static let duckOthers = CategoryOptions(rawValue: 0x2)
    package static let allowBluetooth = CategoryOptions(rawValue: 0x4)
    package static let defaultToSpeaker = CategoryOptions(rawValue: 0x8)
    /// Two bits: whoever interrupts spoken audio also mixes.
    package static let interruptSpokenAudioAndMixWithOthers = CategoryOptions(rawValue: 0x11)
    package static let allowBluetoothA2DP = CategoryOptions(rawValue: 0x20)
    package static let allowAirPlay = CategoryOptions(rawValue: 0x40)
    package static let overrideMutedMicrophoneInterruption = CategoryOptions(rawValue: 0x80)

    /// Every bit that has a meaning.
    package static let known = CategoryOptions(rawValue: 0xFF)
}
