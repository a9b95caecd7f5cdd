import FoundationEssentials
import RelayServer
import Signalling

/// A script as a file: JSON5, read whole, every fault told at once with its path. Those under `Deploy/scripts` explain the form.
extension ListenScript {
    static let bytesMax = 1 << 20
    static let stepsMax = 10_000
    static let deviceBytesMax = 64

    /// - Throws: all faults.
    init(text: [UInt8]) throws(ServerConfiguration.Invalid) {
        let decoder = JSONDecoder()
        decoder.allowsJSON5 = true
        guard text.count <= Self.bytesMax, let value = try? decoder.decode(JSONValue.self, from: Data(text)), case .object(let members) = value else {
            throw ServerConfiguration.Invalid(
                faults: [ConfigurationFault(path: "(script)", message: "is not one JSON5 object of at most \(Self.bytesMax) bytes")])
        }
        var reader = ConfigurationReader(members)
        device = reader.string("device")
        if let device, device.utf8.count > Self.deviceBytesMax { reader.fault("device", "must have \(Self.deviceBytesMax) bytes at most") }
        var steps: [ScriptStep] = []
        reader.objects("steps") { reader in
            if let step = ScriptStep(&reader) { steps.append(step) }
        }
        self.steps = steps
        if steps.count > Self.stepsMax { reader.fault("steps", "has more than \(Self.stepsMax) steps") }
        if steps.isEmpty, !reader.hasFault(below: "steps") { reader.fault("steps", "must have at least one step") }
        let faults = reader.finish()
        guard faults.isEmpty else { throw ServerConfiguration.Invalid(faults: faults) }
    }
}

extension ScriptStep {
    /// `nil`: it is at fault, and the reader has been told.
    init?(_ reader: inout ConfigurationReader) {
        path = reader.path
        let start = Start(&reader)
        guard let text = reader.string("do"), let word = ScriptWord(rawValue: text) else {
            reader.refuseWord("do", "must be", ScriptWord.allCases.map(\.rawValue))
            // What else is there cannot be judged without it.
            reader.ignoreRest()
            return nil
        }
        self.word = text
        guard let action = Action(word, &reader), let start else { return nil }
        self.start = start
        self.action = action
    }
}

extension ScriptStep.Start {
    fileprivate init?(_ reader: inout ConfigurationReader) {
        let isAt = reader.has("at")
        if isAt, reader.has("after") {
            reader.fault("after", "cannot stand beside 'at'")
            _ = reader.value("after")
        }
        guard let nanoseconds = isAt ? reader.duration("at") : reader.duration("after", else: 0) else { return nil }
        self = isAt ? .at(nanoseconds: nanoseconds) : .after(nanoseconds: nanoseconds)
    }
}

extension ScriptStep.Action {
    fileprivate init?(_ word: ScriptWord, _ reader: inout ConfigurationReader) {
        switch word {
        case .publish: self = .publish(hertz: reader.number("hertz", in: ToneSource.hertzBounds) ?? ToneSource.hertz, expected: reader.expected())
        case .microphone:
            guard let microphone = reader.word("sends", of: ScriptStep.Microphone.self) else {
                reader.refuseWord("sends", "must be", ScriptStep.Microphone.allCases.map(\.rawValue))
                return nil
            }
            self = .microphone(microphone)
        case .disconnect: self = .disconnect
        case .reconnect: self = .reconnect
        case .renew: self = .renew
        case .wait:
            let limit = reader.duration("timeout", else: 10_000_000_000)
            guard let pattern = reader.pattern("event"), let limit else {
                if !reader.hasFault(below: "event") { reader.fault("event", "must name an event") }
                return nil
            }
            self = .wait(pattern, nanosecondsMax: limit)
        case .expect:
            guard let expectation = Expectation(&reader) else { return nil }
            self = .expect(expectation)
        case .stay:
            guard let nanoseconds = reader.duration("for") else { return nil }
            self = .stay(nanoseconds: nanoseconds)
        default:
            let expected = reader.expected()
            guard let request = ScriptRequest(word, &reader) else { return nil }
            self = .request(request, expected: expected)
        }
    }
}

extension Expectation {
    fileprivate init?(_ reader: inout ConfigurationReader) {
        session = reader.word("session", of: RelayMessage.SessionState.State.self)
        media = reader.word("media", of: Media.self)
        noEvent = reader.has("noEvent") ? reader.pattern("noEvent") : nil
        let hasTime = reader.has("for")
        nanoseconds = reader.duration("for", else: nanoseconds) ?? nanoseconds
        if reader.has("youngerThan") { youngerThanNanoseconds = reader.duration("youngerThan") }
        videoStartsWithKey = reader.bool("videoStartsWithKey")
        discontinuous = reader.bool("discontinuous")
        unexpectedFramesMax = reader.integer("unexpectedFramesMax", in: 0...1_000_000_000)
        if hasTime, !needsTime, reader.faults.isEmpty { reader.fault("for", "is of use only beside what takes time") }
        guard session != nil || needsTime || isAboutStarts || unexpectedFramesMax != nil || !reader.faults.isEmpty else {
            reader.fault("do", "'expect' says nothing that is expected")
            return nil
        }
    }
}

// MARK: Values

extension ConfigurationReader {
    static let durationSecondsMax: Double = 86_400

    /// `"2s"`, `"1.5s"`, `"200ms"`, `"2min"`; or a number of seconds. Nanoseconds; `nil` when it is at fault, or missing where it must be there.
    mutating func duration(_ key: String, else missing: UInt64? = nil) -> UInt64? {
        switch value(key) {
        case nil:
            if missing == nil { fault(key, "must be a time, as \"2s\"") }
            return missing
        case .number(let seconds):
            if let nanoseconds = Self.nanoseconds(seconds) { return nanoseconds }
        case .string(let text):
            for (unit, seconds) in [("ms", 0.001), ("min", 60), ("s", 1)] where text.hasSuffix(unit) {
                if let number = Double(text.dropLast(unit.count)), let nanoseconds = Self.nanoseconds(number * seconds) { return nanoseconds }
            }
        default: break
        }
        fault(key, "must be a time up to a day, as \"2s\", \"200ms\", \"2min\", or a number of seconds")
        return nil
    }

    private static func nanoseconds(_ seconds: Double) -> UInt64? {
        guard seconds >= 0, seconds <= durationSecondsMax else { return nil }
        return UInt64((seconds * 1e9).rounded())
    }

    /// One of an enumeration's words.
    mutating func word<Word: RawRepresentable & CaseIterable>(_ key: String, of type: Word.Type) -> Word? where Word.RawValue == String {
        guard let text = string(key) else { return nil }
        if let word = Word(rawValue: text) { return word }
        refuseWord(key, "must be", Word.allCases.map(\.rawValue))
        return nil
    }

    mutating func refuseWord(_ key: String, _ what: String, _ words: [String]) {
        // Of a value that is no text at all, that was told.
        guard !hasFault(below: key) else { return }
        fault(key, "\(what) one of \(words.joined(separator: ", "))")
    }

    /// `refused` names the code that a request is to be refused with.
    fileprivate mutating func expected() -> ScriptStep.Expected {
        string("refused").map { .refusal(code: $0) } ?? .ok
    }

    /// An event's name, and what its members must be.
    fileprivate mutating func pattern(_ key: String) -> ScriptStep.Pattern? {
        var members: [String: JSONValue] = [:]
        switch value("with") {
        case nil: break
        case .object(let object): members = object
        default: fault("with", "must be an object: the members that the event must have")
        }
        guard let event = string(key) else { return nil }
        guard ScriptEvents.all.contains(event) else {
            let suggestion = Suggestion.closest(to: event, among: ScriptEvents.all).map { "; did you mean '\($0)'?" } ?? ""
            fault(key, "'\(event)' is no event\(suggestion)")
            return nil
        }
        return ScriptStep.Pattern(event: event, members: members)
    }
}
