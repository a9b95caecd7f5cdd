/// Which categories, modes and options go together (`AVAudioSession.CategoryOptions`, `AVAudioSession.Mode`).
///
/// One rule goes beyond the platform's "may be set with": an option that a category has of itself may be said, because that is what the platform
/// reads back (`ambient` always mixes; categories that only play always reach A2DP and AirPlay).
package enum CategoryRules {
    /// Each option by itself with the categories that it may be said with. The two bits of `interruptSpokenAudioAndMixWithOthers` go together.
    static let options: [(option: CategoryOptions, categories: Set<Category>)] = [
        (.mixWithOthers, [.ambient, .playback, .playAndRecord, .multiRoute]),
        (.duckOthers, [.ambient, .playback, .playAndRecord, .multiRoute]),
        (.allowBluetooth, [.record, .playAndRecord]),
        (.defaultToSpeaker, [.playAndRecord]),
        (.interruptSpokenAudioAndMixWithOthers, [.playback, .playAndRecord, .multiRoute]),
        (.allowBluetoothA2DP, [.ambient, .soloAmbient, .playback, .playAndRecord]),
        (.allowAirPlay, [.ambient, .soloAmbient, .playback, .playAndRecord]),
        (.overrideMutedMicrophoneInterruption, [.record, .playAndRecord, .multiRoute]),
    ]

    /// The categories that a mode may be set with.
    static func categories(of mode: Mode) -> Set<Category> {
        switch mode {
        case .default: Set(Category.allCases)
        case .voiceChat, .videoChat, .gameChat: [.playAndRecord]
        case .videoRecording: [.record, .playAndRecord]
        case .measurement: [.playback, .record, .playAndRecord]
        case .moviePlayback, .spokenAudio: [.playback]
        case .voicePrompt: [.ambient, .soloAmbient, .playback, .playAndRecord, .multiRoute]
        }
    }

    /// - Returns: whether a session may have the three together; bits that have no meaning, and half of a pair of bits, are never legal.
    package static func isLegal(_ category: Category, _ mode: Mode, _ options: CategoryOptions) -> Bool {
        guard categories(of: mode).contains(category) else { return false }
        var rest = options.subtracting(.mixWithOthers)
        for (option, categories) in Self.options where options.isSuperset(of: option) {
            guard categories.contains(category) else { return false }
            rest.subtract(option)
        }
        return rest.isEmpty
    }
}

/// What arbitration asks of a session: its category, mode and options.
struct SessionTraits: Hashable, Sendable {
    var category: Category
    var mode: Mode
    var options: CategoryOptions

    /// The conference's default; the platform's own is `soloAmbient`.
    static let initial = SessionTraits(category: .playAndRecord, mode: .default, options: [])

    /// Neither interrupts nor is interrupted, except for spoken audio's sake. Options that duck or interrupt spoken audio imply it.
    var mixes: Bool {
        category == .ambient || options.contains(.mixWithOthers) || options.contains(.duckOthers)
    }

    /// Lowers the others while it is active.
    var ducks: Bool {
        takesPart && (options.contains(.duckOthers) || mode == .voicePrompt)
    }

    /// Whose start and stop sessions that mix are told of (`silenceSecondaryAudio`).
    var isPrimary: Bool {
        category.maySubscribe && !mixes && mode != .voicePrompt
    }

    /// `audioProcessing` has no sound.
    var takesPart: Bool {
        category != .audioProcessing
    }

    /// Spoken audio stops for it, everything else goes on beside it.
    private var speaksOver: Bool {
        mode == .voicePrompt || options.isSuperset(of: .interruptSpokenAudioAndMixWithOthers)
    }

    /// Whether a session with these traits that was interrupted has to wait for an active one with `holder`'s: going on takes nothing from anybody.
    func waits(for holder: SessionTraits) -> Bool {
        holder.interrupts(self) || speaksOver && interrupts(holder)
    }

    /// The arbiter's table: whether a session with these traits, becoming active, interrupts an active one with `other`'s.
    ///
    /// | becoming active | interrupts |
    /// |---|---|
    /// | `audioProcessing` | nobody |
    /// | mode `voicePrompt`, or option 0x11 | mode `spokenAudio` |
    /// | `ambient`, or an option that mixes | nobody |
    /// | `record` | those that play and do not mix |
    /// | any other | those that do not mix |
    func interrupts(_ other: SessionTraits) -> Bool {
        guard takesPart, other.takesPart else { return false }
        if speaksOver { return other.mode == .spokenAudio }
        guard !mixes, !other.mixes else { return false }
        return category == .record ? other.category.maySubscribe : true
    }

    /// Why `other` is told that it is interrupted by a session with these traits.
    func reason(over other: SessionTraits) -> InterruptionReason {
        mode == .voicePrompt && other.mode == .spokenAudio ? .prompt : .handoff
    }
}
