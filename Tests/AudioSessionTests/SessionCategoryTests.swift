import AudioSession
import RelayBase
import Testing

@Suite("Categories, modes and options of a session")
struct SessionCategoryTests {
    private let phone = SessionBench.phone
    private let tablet = SessionBench.tablet

    private static let illegal: [(AudioSession.Category, Mode, UInt32)] = [
        // defaultToSpeaker: playAndRecord only.
        (.playback, .default, 0x8), (.record, .default, 0x8), (.multiRoute, .default, 0x8), (.ambient, .default, 0x8),
        // allowBluetooth: record and playAndRecord.
        (.playback, .default, 0x4), (.multiRoute, .default, 0x4), (.soloAmbient, .default, 0x4),
        // mixWithOthers, duckOthers, and the pair of bits: what plays and is not always alone.
        (.soloAmbient, .default, 0x1), (.record, .default, 0x1), (.audioProcessing, .default, 0x1), (.soloAmbient, .default, 0x2),
        (.record, .default, 0x2), (.ambient, .default, 0x11), (.record, .default, 0x11),
        // A2DP and AirPlay: what also records cannot, but for playAndRecord.
        (.record, .default, 0x20), (.multiRoute, .default, 0x20), (.record, .default, 0x40), (.multiRoute, .default, 0x40),
        (.playback, .default, 0x80), (.ambient, .default, 0x80),
        // Half of a pair, and bits without a meaning.
        (.playback, .default, 0x10), (.playAndRecord, .default, 0x100), (.playAndRecord, .default, .max),
        // Modes.
        (.playback, .voiceChat, 0), (.multiRoute, .videoChat, 0), (.record, .gameChat, 0), (.playback, .videoRecording, 0),
        (.ambient, .measurement, 0), (.playAndRecord, .moviePlayback, 0), (.playAndRecord, .spokenAudio, 0), (.record, .voicePrompt, 0),
        (.audioProcessing, .voiceChat, 0),
    ]

    @Test("§2 an illegal combination is refused and leaves the session unchanged", arguments: illegal.indices)
    func refused(place: Int) {
        let (category, mode, bits) = Self.illegal[place]
        var bench = SessionBench()
        bench.begin(phone, .playAndRecord, .voiceChat, [.allowBluetooth])
        let before = bench.sessions
        #expect(bench.say(phone, .setCategory(category, mode, CategoryOptions(rawValue: bits))).map(\.effect) == [.refuse(.illegalCategory)])
        #expect(bench.sessions == before)
    }

    private static let legal: [(AudioSession.Category, Mode, UInt32)] = [
        (.playAndRecord, .voiceChat, 0x4 | 0x8 | 0x20 | 0x40), (.playAndRecord, .videoChat, 0x1), (.playback, .moviePlayback, 0x40),
        (.playback, .spokenAudio, 0x11), (.playback, .voicePrompt, 0x2 | 0x11), (.record, .measurement, 0x4 | 0x80), (.ambient, .default, 0x1),
        (.multiRoute, .default, 0x1), (.audioProcessing, .default, 0), (.soloAmbient, .default, 0), (.playAndRecord, .default, 0xFF),
    ]

    @Test("§2 a legal combination is kept as it was said", arguments: legal.indices)
    func kept(place: Int) throws {
        let (category, mode, bits) = Self.legal[place]
        var bench = SessionBench()
        bench.say(phone, .initialise)
        bench.say(phone, .setCategory(category, mode, CategoryOptions(rawValue: bits)))
        let snapshot = try #require(bench.sessions.snapshot(of: phone))
        #expect(snapshot.category == category && snapshot.mode == mode && snapshot.options.rawValue == bits)
    }

    @Test("§1 a session begins inactive, as playAndRecord; a second init changes nothing and says so")
    func initial() throws {
        var bench = SessionBench()
        let effects = bench.say(phone, .initialise)
        #expect(told(effects, phone) == [.stopMedia(.deactivated)])
        let snapshot = try #require(bench.sessions.snapshot(of: phone))
        #expect(snapshot.state == .inactive && snapshot.category == .playAndRecord && snapshot.mode == .default && snapshot.options == [])
        bench.say(phone, .setCategory(.playback, .default, []))
        let before = bench.sessions
        #expect(answer(bench.say(phone, .initialise), phone)?.warnings == [.alreadyInitialised])
        #expect(bench.sessions == before)
    }

    @Test("§2 set before activation: no route change; while active: at once, rights checked, route change 3")
    func active() {
        var bench = SessionBench()
        bench.say(phone, .initialise)
        #expect(told(bench.say(phone, .setCategory(.playback, .default, [])), phone) == [])
        #expect(told(bench.say(phone, .activate), phone) == [.applyRights(.playback), .startMedia])
        let effects = bench.say(phone, .setCategory(.record, .default, []))
        #expect(told(effects, phone) == [.applyRights(.record), .event(.routeChanged(.categoryChange))])
    }

    @Test("§2 set while interrupted: stored, and in force when media starts again")
    func interrupted() {
        var bench = SessionBench()
        bench.begin(phone)
        bench.say(phone, .interruptionBegan(.default))
        #expect(told(bench.say(phone, .setCategory(.playback, .default, [])), phone) == [])
        let effects = told(bench.say(phone, .interruptionEnded(shouldResume: true)), phone)
        #expect(effects.prefix(2) == [.applyRights(.playback), .startMedia])
    }

    @Test("§3 a session that does not mix any more takes the audio as if it were activated, or is refused", arguments: [0, 1])
    func stopsMixing(priority: Int) {
        var bench = SessionBench()
        bench.begin(phone, priority: priority)
        bench.begin(tablet, .playback, .default, [.mixWithOthers])
        let effects = bench.say(tablet, .setCategory(.playback, .default, []))
        #expect(bench.state(phone) == (priority == 0 ? .interrupted : .active))
        #expect((answer(effects, tablet) == nil) == (priority == 1))
        #expect(bench.sessions.snapshot(of: tablet)?.options == (priority == 0 ? [] : [.mixWithOthers]))
    }
}
