import FoundationEssentials
import LoadReport
import MediaProtocol
import RelayRooms
package import RelayServer
import Signalling

/// A scenario as a file: JSON5, read whole, every fault told at once with its path.
extension LoadScenario {
    package static let bytesMax = 1 << 20

    /// - Throws: all faults.
    package init(text: [UInt8]) throws(ServerConfiguration.Invalid) {
        let decoder = JSONDecoder()
        decoder.allowsJSON5 = true
        guard text.count <= Self.bytesMax, let value = try? decoder.decode(JSONValue.self, from: Data(text)), case .object(let members) = value else {
            throw ServerConfiguration.Invalid(
                faults: [ConfigurationFault(path: "(scenario)", message: "is not one JSON5 object of at most \(Self.bytesMax) bytes")])
        }
        var reader = ConfigurationReader(members)
        self.init(&reader)
        let faults = reader.finish()
        guard faults.isEmpty else { throw ServerConfiguration.Invalid(faults: faults) }
    }

    private init(_ reader: inout ConfigurationReader) {
        name = reader.string("name") ?? ""
        if name.isEmpty || name.utf8.count > 64, !reader.hasFault(below: "name") { reader.fault("name", "must have 1 to 64 bytes") }
        self.text = reader.string("text") ?? ""
        clientsPerRoom = reader.integer("clientsPerRoom", in: 1...Self.clientsMax)
        rampPerSecond = reader.number("rampPerSecond", in: 0.1...10_000) ?? 50
        seconds = reader.seconds("lasts", else: 10) ?? 10
        settleSeconds = reader.seconds("settles", else: 1) ?? 1
        limits = LoadLimits()
        events = []
        groups = []
        var groups: [ClientGroup] = []
        reader.objects("clients") { groups.append(ClientGroup(&$0)) }
        self.groups = groups
        if groups.isEmpty, !reader.hasFault(below: "clients") { reader.fault("clients", "must have at least one group") }
        if clientCount > Self.clientsMax { reader.fault("clients", "are more than \(Self.clientsMax)") }
        for (place, group) in groups.enumerated() where groups[..<place].contains(where: { $0.name == group.name }) {
            reader.fault("clients[\(place)].name", "'\(group.name)' is there already")
        }
        var events: [LoadEvent] = []
        reader.objects("events") { reader in if let event = LoadEvent(&reader, groups) { events.append(event) } }
        self.events = events
        var limits = LoadLimits()
        reader.object("limits") { reader in
            for limit in LimitName.allCases {
                if let bound = reader.number(limit.rawValue, in: 0...1e12) { limits[keyPath: limit.bound] = bound }
            }
        }
        self.limits = limits
    }
}

extension ClientGroup {
    fileprivate init(_ reader: inout ConfigurationReader) {
        name = reader.string("who") ?? ""
        if name.isEmpty, !reader.hasFault(below: "who") { reader.fault("who", "must name the group") }
        count = reader.integer("count", in: 1...LoadScenario.clientsMax) ?? 0
        if count == 0, !reader.hasFault(below: "count") { reader.fault("count", "must say how many they are") }
        isFixed = reader.bool("fixed") ?? false
        role = reader.word("role", of: Role.self)
        joins = reader.bool("joins") ?? true
        var publishes: [StreamPlan] = []
        reader.objects("publishes") { publishes.append(StreamPlan(&$0)) }
        self.publishes = publishes
        subscribes = reader.bool("subscribes") ?? false
        maxLayer = reader.integer("maxLayer", in: 0...7)
        hasAudioSession = reader.bool("audioSession") ?? false
        resumes = reader.bool("resumes") ?? false
        if !joins, subscribes || !publishes.isEmpty { reader.fault("joins", "must be true for those who publish or subscribe") }
        if publishes.count > 16 { reader.fault("publishes", "has more than 16 streams") }
    }
}

extension StreamPlan {
    fileprivate init(_ reader: inout ConfigurationReader) {
        let isNamed = reader.has("kind")
        kind = reader.word("kind", of: StreamKind.self) ?? .audio
        if !isNamed { reader.fault("kind", "must be one of \(StreamKind.allCases.map(\.rawValue).joined(separator: ", "))") }
        framesPerSecond = reader.number("perSecond", in: 0.1...1_000) ?? (kind == .video ? 25 : 50)
        keySeconds = reader.has("keyEvery") ? reader.seconds("keyEvery") : nil
        var layers: [LayerPlan] = []
        let isLayered = reader.has("layers")
        reader.objects("layers") { layers.append(LayerPlan(&$0)) }
        if isLayered {
            _ = reader.has("bytes") ? reader.fault("bytes", "stands in each of the layers") : ()
            _ = reader.value("bytes")
            if kind != .video { reader.fault("layers", "are of video only") }
            if layers.isEmpty || layers.count > 8 { reader.fault("layers", "must be 1 to 8") }
        } else {
            layers = [LayerPlan(&reader)]
        }
        self.layers = layers
        var turns: TurnPlan?
        reader.object("turns") { turns = TurnPlan(&$0) }
        self.turns = turns
    }
}

extension LayerPlan {
    /// A frame is at least its header and the stamp.
    static let bytesMin = MediaHeader.byteCount + FrameStamp.byteCount

    fileprivate init(_ reader: inout ConfigurationReader) {
        bytes = reader.integer("bytes", in: Self.bytesMin...(4 << 20)) ?? 160
        keyBytes = reader.integer("keyBytes", in: Self.bytesMin...(4 << 20)) ?? bytes
    }
}

extension TurnPlan {
    fileprivate init(_ reader: inout ConfigurationReader) {
        speaking = reader.integer("speaking", in: 1...1_000) ?? 1
        secondsMin = reader.seconds("shortest", else: 1) ?? 1
        secondsMax = reader.seconds("longest", else: max(secondsMin, 5)) ?? 5
        if secondsMin < 0.1 { reader.fault("shortest", "must be 100 ms at least") }
        if secondsMax < secondsMin { reader.fault("longest", "is below shortest") }
    }
}

/// What an event does, as the file has it.
private enum EventWord: String, CaseIterable {
    case replace
    case cut
    case stopReading
    case interrupt
    case changeRoute
}

extension LoadEvent {
    fileprivate init?(_ reader: inout ConfigurationReader, _ groups: [ClientGroup]) {
        let isNamed = reader.has("do")
        let word = reader.word("do", of: EventWord.self)
        if !isNamed { reader.fault("do", "must be one of \(EventWord.allCases.map(\.rawValue).joined(separator: ", "))") }
        let who = reader.string("who") ?? ""
        let group = groups.firstIndex { $0.name == who }
        if group == nil { reader.fault("who", "'\(who)' is no group of clients") }
        let timing = Timing(&reader)
        guard let word, let group else {
            // What else is there cannot be judged without them.
            reader.ignoreRest()
            return nil
        }
        switch word {
        case .replace: action = .replace
        case .cut: action = .cut(awaySeconds: reader.seconds("away", else: 0) ?? 0)
        case .stopReading: action = .stopReading(seconds: reader.seconds("for", else: 5) ?? 5)
        case .interrupt: action = .interrupt(seconds: reader.seconds("for", else: 1) ?? 1)
        case .changeRoute: action = .changeRoute
        }
        if word == .interrupt || word == .changeRoute, !groups[group].hasAudioSession {
            reader.fault("who", "'\(who)' has no audio session")
        }
        self.group = group
        self.timing = timing
    }
}

extension LoadEvent.Timing {
    fileprivate init(_ reader: inout ConfigurationReader) {
        if reader.has("at") {
            if reader.has("perSecond") { reader.fault("perSecond", "cannot stand beside 'at'") }
            _ = reader.value("perSecond")
            self = .at(seconds: reader.seconds("at") ?? 0, share: reader.number("share", in: 0...1) ?? 1)
        } else {
            if !reader.has("perSecond") { reader.fault("at", "or 'perSecond' must be given") }
            let rate = reader.number("perSecond", in: 0.001...10_000) ?? 1
            let from = reader.seconds("from", else: 0) ?? 0
            self = .steadily(perSecond: rate, from: from, until: reader.seconds("until", else: LoadScenario.secondsMax) ?? from)
        }
    }
}

extension ConfigurationReader {
    /// `"2s"`, `"200ms"`, `"2min"`, or a number of seconds; `nil` when it is at fault, or missing where it must be there.
    fileprivate mutating func seconds(_ key: String, else missing: Double? = nil) -> Double? {
        switch value(key) {
        case nil:
            if missing == nil { fault(key, "must be a time, as \"2s\"") }
            return missing
        case .number(let seconds) where (0...LoadScenario.secondsMax).contains(seconds): return seconds
        case .string(let text):
            for (unit, seconds) in [("ms", 0.001), ("min", 60), ("s", 1)] where text.hasSuffix(unit) {
                if let number = Double(text.dropLast(unit.count)), (0...LoadScenario.secondsMax).contains(number * seconds) {
                    return number * seconds
                }
            }
        default: break
        }
        fault(key, "must be a time up to a day, as \"2s\", \"200ms\", \"2min\", or a number of seconds")
        return nil
    }

    /// One of an enumeration's words.
    fileprivate mutating func word<Word: RawRepresentable & CaseIterable>(_ key: String, of type: Word.Type) -> Word? where Word.RawValue == String {
        guard let text = string(key) else { return nil }
        if let word = Word(rawValue: text) { return word }
        fault(key, "must be one of \(Word.allCases.map(\.rawValue).joined(separator: ", "))")
        return nil
    }
}
