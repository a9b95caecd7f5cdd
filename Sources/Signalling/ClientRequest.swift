import FoundationEssentials

/// What a client asks for: one text message, one JSON object, answered exactly once under its `id`.
///
/// Unknown fields are ignored, an unknown `type` is answered with an error that names it.
package enum ClientRequest: Sendable, Equatable {
    case hello(Hello)
    case join(Join)
    case leave
    case publish(Publish)
    case unpublish(StreamReference)
    case subscribe(Subscribe)
    case unsubscribe(Unsubscribe)
    case time(TimeExchange)
    case requestKeyFrame(StreamReference)

    package struct Hello: Codable, Sendable, Equatable {
        /// The protocol versions that the client speaks; the relay picks the highest that it speaks too.
        package var versions: [Int]
        package var client: ClientName?

        package init(versions: [Int], client: ClientName?) {
            self.versions = versions
            self.client = client
        }
    }

    package struct ClientName: Codable, Sendable, Equatable {
        package var name: String
        package var version: String?

        package init(name: String, version: String?) {
            self.name = name
            self.version = version
        }
    }

    package struct Join: Codable, Sendable, Equatable {
        package var room: String
        /// What others see beside the verified identity; at most 64 bytes.
        package var displayName: String?

        package init(room: String, displayName: String?) {
            self.room = room
            self.displayName = displayName
        }
    }

    package struct Publish: Codable, Sendable, Equatable {
        package var kind: StreamKind
        /// `opus`, `pcm_s16`, `pcmu`, `pcma`, `aac`, or a video codec string (RFC 6381).
        package var codec: String
        package var description: StreamDescription?
        /// What the stream is of: `microphone`, `camera`, `screen` or the publisher's own word; at most 64 bytes.
        package var source: String?

        package init(kind: StreamKind, codec: String, description: StreamDescription?, source: String?) {
            self.kind = kind
            self.codec = codec
            self.description = description
            self.source = source
        }
    }

    package struct StreamReference: Codable, Sendable, Equatable {
        package var stream: UInt32

        package init(stream: UInt32) {
            self.stream = stream
        }
    }

    package struct Subscribe: Codable, Sendable, Equatable {
        /// These streams; or, with `all`, every stream of the room but one's own, those to come included.
        package var streams: [UInt32]?
        package var all: Bool?
        package var delivery: Delivery?

        package init(streams: [UInt32]?, all: Bool?, delivery: Delivery?) {
            self.streams = streams
            self.all = all
            self.delivery = delivery
        }
    }

    package struct Unsubscribe: Codable, Sendable, Equatable {
        package var streams: [UInt32]?
        package var all: Bool?

        package init(streams: [UInt32]?, all: Bool?) {
            self.streams = streams
            self.all = all
        }
    }

    package enum Delivery: String, Codable, Sendable {
        /// Forwarded at once.
        case live
    }

    package struct TimeExchange: Codable, Sendable, Equatable {
        /// The client's clock in milliseconds, given back as it came.
        package var clientTime: Double

        package init(clientTime: Double) {
            self.clientTime = clientTime
        }
    }

    /// The value of the message's `type` member.
    package var type: String {
        switch self {
        case .hello: "hello"
        case .join: "join"
        case .leave: "leave"
        case .publish: "publish"
        case .unpublish: "unpublish"
        case .subscribe: "subscribe"
        case .unsubscribe: "unsubscribe"
        case .time: "time"
        case .requestKeyFrame: "keyframe.request"
        }
    }
}

/// What a stream carries: its frames' kind and its lane.
package enum StreamKind: String, Codable, Sendable, Equatable {
    case audio
    case video
    case data
}

/// The publisher's description of a stream, shown to subscribers. Every member may be absent; the relay checks ranges, not truth.
package struct StreamDescription: Codable, Sendable, Equatable {
    /// Audio: sample rate in Hz, channels, nominal frame duration in milliseconds.
    package var sampleRate: Double?
    package var channels: Int?
    package var frameMilliseconds: Double?
    /// Video: coded size in pixels and expected frames per second.
    package var width: Int?
    package var height: Int?
    package var frameRate: Double?
    /// Units of the frames' timestamps per second: 48,000 for audio, 90,000 for video where absent.
    package var timescale: Int?

    package init() {}

    /// The first member whose value no stream can have; `nil` when all that are given are possible.
    package var memberOutOfRange: String? {
        if let sampleRate, !(sampleRate >= 4_000 && sampleRate <= 192_000) { return "sampleRate" }
        if let channels, !(1...8).contains(channels) { return "channels" }
        if let frameMilliseconds, !(frameMilliseconds > 0 && frameMilliseconds <= 1_000) { return "frameMilliseconds" }
        if let width, !(1...16_384).contains(width) { return "width" }
        if let height, !(1...16_384).contains(height) { return "height" }
        if let frameRate, !(frameRate > 0 && frameRate <= 1_000) { return "frameRate" }
        if let timescale, ![48_000, 90_000, 1_000_000].contains(timescale) { return "timescale" }
        return nil
    }
}

/// A request as it came: its `id`, and what it asks.
package struct IncomingRequest: Sendable, Equatable {
    package let id: UInt64
    package let request: ClientRequest

    /// Decodes one text message.
    ///
    /// - Throws: ``SignallingFault``; only ``SignallingFault/notJSON`` is a violation that closes the session.
    package init(decoding bytes: [UInt8]) throws(SignallingFault) {
        let data = Data(bytes)
        let decoder = JSONDecoder()
        let envelope: Envelope
        do {
            envelope = try decoder.decode(Envelope.self, from: data)
        } catch DecodingError.dataCorrupted where (try? decoder.decode(AnyValue.self, from: data)) == nil {
            throw .notJSON
        } catch {
            throw .malformed(id: nil, detail: "a request is an object with a string 'type' and a whole number 'id'")
        }
        guard let number = envelope.id, number <= 9_007_199_254_740_991, let id = UInt64(exactly: number) else {
            throw .malformed(id: nil, detail: "the member 'id' is not a whole number from 0 to 2^53 - 1")
        }
        self.id = id
        request = try IncomingRequest.decode(envelope.type, id: id, data, decoder)
    }

    private struct Envelope: Decodable {
        let type: String
        /// Every whole number that JSON carries everywhere fits a Float64.
        let id: Double?
    }

    /// Whatever JSON there is, unread: the decoder calls both broken text and a number beyond its range corrupted data, and only the first fails here.
    private struct AnyValue: Decodable {
        init(from decoder: any Decoder) {}
    }

    private static func decode(_ type: String, id: UInt64, _ data: Data, _ decoder: JSONDecoder) throws(SignallingFault) -> ClientRequest {
        do {
            switch type {
            case "hello": return .hello(try decoder.decode(ClientRequest.Hello.self, from: data))
            case "join": return .join(try decoder.decode(ClientRequest.Join.self, from: data))
            case "leave": return .leave
            case "publish": return .publish(try decoder.decode(ClientRequest.Publish.self, from: data))
            case "unpublish": return .unpublish(try decoder.decode(ClientRequest.StreamReference.self, from: data))
            case "subscribe": return .subscribe(try decoder.decode(ClientRequest.Subscribe.self, from: data))
            case "unsubscribe": return .unsubscribe(try decoder.decode(ClientRequest.Unsubscribe.self, from: data))
            case "time": return .time(try decoder.decode(ClientRequest.TimeExchange.self, from: data))
            case "keyframe.request": return .requestKeyFrame(try decoder.decode(ClientRequest.StreamReference.self, from: data))
            default: break
            }
        } catch let error as DecodingError {
            throw .malformed(id: id, detail: IncomingRequest.describe(error))
        } catch {
            throw .malformed(id: id, detail: "the request could not be read")
        }
        throw .unknownType(id: id, type: String(type.prefix(64)))
    }

    /// A sentence that names the member at fault, where the decoder tells it: of a number that does not fit and of broken escapes it does not.
    private static func describe(_ error: DecodingError) -> String {
        switch error {
        case .keyNotFound(let key, _): "the member '\(key.stringValue)' is missing"
        case .dataCorrupted(let context) where context.codingPath.isEmpty: "a member has a value out of range, or text that is no Unicode"
        case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
            "the member '\(context.codingPath.map(\.stringValue).joined(separator: "."))' has a wrong value"
        @unknown default: "the request could not be read"
        }
    }
}
