/// One place where sound goes in or out, as in `AVAudioSessionPortDescription`.
package struct RoutePort: Hashable, Sendable, Codable {
    /// Longest name, in bytes of UTF-8.
    package static let nameBytesMax = 128
    /// Hertz.
    package static let sampleRates: ClosedRange<Double> = 1...768_000
    package static let channelCounts: ClosedRange<Int> = 1...64
    /// Seconds; AirPlay takes two.
    package static let latencies: ClosedRange<Double> = 0...10

    package let type: PortType
    /// What the user calls it; private unless the client shares it.
    package let name: String?
    /// Hertz; `nil`: not told.
    package let sampleRate: Double?
    /// `nil`: not told.
    package let channels: Int?
    /// Seconds; `nil`: not told.
    package let latency: Double?

    package init(
        _ type: PortType, name: String? = nil, sampleRate: Double? = nil, channels: Int? = nil, latency: Double? = nil
    ) throws(RouteFault) {
        guard (name?.utf8.count ?? 0) <= RoutePort.nameBytesMax else { throw .nameTooLong }
        // NaN is in no range.
        if let sampleRate, !RoutePort.sampleRates.contains(sampleRate) { throw .sampleRate }
        if let channels, !RoutePort.channelCounts.contains(channels) { throw .channels }
        if let latency, !RoutePort.latencies.contains(latency) { throw .latency }
        self.init(unchecked: type, name: name, sampleRate: sampleRate, channels: channels, latency: latency)
    }

    /// - Parameter type: a name of ``PortType``, as on the wire.
    package init(
        named type: String, name: String? = nil, sampleRate: Double? = nil, channels: Int? = nil, latency: Double? = nil
    ) throws(RouteFault) {
        guard let known = PortType(rawValue: type) else { throw .unknownPortType(type) }
        try self.init(known, name: name, sampleRate: sampleRate, channels: channels, latency: latency)
    }

    private init(unchecked type: PortType, name: String?, sampleRate: Double?, channels: Int?, latency: Double?) {
        self.type = type
        self.name = name
        self.sampleRate = sampleRate
        self.channels = channels
        self.latency = latency
    }

    /// A port of which nothing but the type is known.
    static func plain(_ type: PortType) -> RoutePort {
        RoutePort(unchecked: type, name: nil, sampleRate: nil, channels: nil, latency: nil)
    }

    /// What others may see of it.
    func visible(withName: Bool) -> RoutePort {
        RoutePort(unchecked: type, name: withName ? name : nil, sampleRate: nil, channels: nil, latency: nil)
    }
}

/// Where a client's sound goes in and out, as in `AVAudioSessionRouteDescription`.
package struct RouteDescription: Hashable, Sendable, Codable {
    /// On each side.
    package static let portsMax = 16

    package let inputs: [RoutePort]
    /// Empty: the client is silent.
    package let outputs: [RoutePort]

    package init(inputs: [RoutePort], outputs: [RoutePort]) throws(RouteFault) {
        guard inputs.count <= RouteDescription.portsMax, outputs.count <= RouteDescription.portsMax else { throw .tooManyPorts }
        self.init(unchecked: inputs, outputs)
    }

    package init(_ legacy: LegacyRoute) {
        self.init(unchecked: legacy.inputs.map(RoutePort.plain), legacy.outputs.map(RoutePort.plain))
    }

    private init(unchecked inputs: [RoutePort], _ outputs: [RoutePort]) {
        self.inputs = inputs
        self.outputs = outputs
    }

    /// Seconds from the last sample that the client gets to the ear, over the slowest output that tells it; `nil`: none does.
    package var outputLatency: Double? { outputs.compactMap(\.latency).max() }

    /// What the room may see: types, and names only if the client shares them.
    package func visible(withNames: Bool) -> RouteDescription {
        RouteDescription(unchecked: inputs.map { $0.visible(withName: withNames) }, outputs.map { $0.visible(withName: withNames) })
    }
}

/// What is wrong with a route that a client describes.
package enum RouteFault: Error, Equatable, Sendable {
    case unknownPortType(String)
    case unknownLegacyRoute(String)
    /// More than ``RouteDescription/portsMax`` on one side.
    case tooManyPorts
    case nameTooLong
    case sampleRate
    case channels
    case latency

    /// One sentence for the refusal; what the peer wrote is quoted shortened.
    package var text: String {
        switch self {
        case .unknownPortType(let type): "There is no port type '\(type.prefix(64))'."
        case .unknownLegacyRoute(let route): "There is no route '\(route.prefix(64))'."
        case .tooManyPorts: "A route has at most \(RouteDescription.portsMax) inputs and as many outputs."
        case .nameTooLong: "A port's name has at most \(RoutePort.nameBytesMax) bytes."
        case .sampleRate: "A port's sample rate is 1 to 768000 Hz."
        case .channels: "A port has 1 to 64 channels."
        case .latency: "A port's latency is 0 to 10 seconds."
        }
    }
}
