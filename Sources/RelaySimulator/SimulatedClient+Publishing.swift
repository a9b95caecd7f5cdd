import MediaProtocol
import RelayBase
import RelayRooms

/// A spatial layer of a stream that a client publishes; what is no video has one.
struct PublishedLayer {
    var nextSequence: UInt32
    var configuration: UInt32 = 0
    var saidConfiguration = false
    var owesKey = true
    var framesSinceKey = 0
    /// By temporal layer: the latest frame that others may refer to.
    var references: [UInt32]
    /// The highest temporal layer that somebody gets; `nil`: nobody gets any.
    var wanted: Int?
}

/// A stream that a client publishes.
struct Publication {
    let plan: PublicationPlan
    /// The number of the request that made it; the client's own name for it.
    let request: UInt32
    /// `nil` until the relay has given it a number.
    var stream: UInt32?
    var timestamp: UInt32 = 0
    var layers: [PublishedLayer]

    /// What the relay may not have: begins anew.
    mutating func beginAnew(configured: Bool) {
        for spatial in layers.indices {
            layers[spatial].owesKey = true
            if !configured { layers[spatial].saidConfiguration = false }
        }
    }
}

extension SimulatedClient {
    private static let configurationBytes = 120
    /// A publisher whose own link is full drops frames rather than queue them.
    private static let backlogBytesMax = 256 << 10

    func publishAll() {
        for plan in plan.publications { publish(plan) }
    }

    func publish(_ plan: PublicationPlan) {
        // Some begin just before their numbers wrap.
        let first = generator.chance(300) ? UInt32.max - UInt32(generator.draw(0...40)) : UInt32(generator.draw(0...1_000_000))
        let layers = (0..<plan.spatialLayers).map {
            PublishedLayer(
                nextSequence: first &+ UInt32($0 * 1_000), references: Array(repeating: 0, count: plan.temporalLayers),
                wanted: plan.temporalLayers - 1)
        }
        publications.append(Publication(plan: plan, request: nextRequest, layers: layers))
        let declared = plan.declaresLayers ? layers.map { _ in LayerDeclaration(temporalLayers: plan.temporalLayers, bitsPerSecond: nil) } : []
        say(.publish(StreamOffer(lane: plan.lane, layers: declared, priority: plan.priority, request: nextRequest)))
        nextRequest += 1
    }

    /// The relay has given a publication its number.
    func published(_ request: UInt32, _ stream: UInt32) {
        guard let place = publications.firstIndex(where: { $0.request == request }) else { return }
        publications[place].stream = stream
        scheduleFrame(place, first: true)
    }

    private func scheduleFrame(_ place: Int, first: Bool) {
        let interval = 1_000_000_000 / UInt64(publications[place].plan.framesPerSecond)
        let wait = first ? generator.draw(0...interval) : interval
        world.schedule(.frame(client: index, publication: Int(publications[place].request)), at: world.now.advanced(byNanoseconds: wait))
    }

    func frameDue(_ request: UInt32) {
        guard !world.isHealed, case .inside(let room, _) = place,
            let place = publications.firstIndex(where: { $0.request == request }), let stream = publications[place].stream
        else { return }
        scheduleFrame(place, first: false)
        // While the connection is lost nothing is encoded.
        guard let connection, !isResuming else { return }
        guard connection.backlog < SimulatedClient.backlogBytesMax else {
            // Nothing but a key frame is of use behind what was left out.
            publications[place].beginAnew(configured: true)
            return
        }
        publications[place].timestamp &+= 960
        for spatial in publications[place].layers.indices where publications[place].layers[spatial].wanted != nil {
            encode(place, spatial, room, stream)
        }
    }

    /// The temporal layer of a frame by its place behind the key frame: dyadic, as encoders do it.
    private static func temporalLayer(_ frame: Int, of count: Int) -> Int {
        switch count {
        case 1: 0
        case 2: frame % 2
        default: [0, 2, 1, 2][frame % 4]
        }
    }

    private func encode(_ place: Int, _ spatial: Int, _ room: UInt32, _ stream: UInt32) {
        let plan = publications[place].plan
        if !publications[place].layers[spatial].saidConfiguration || generator.chance(2) { sayConfiguration(place, spatial, room, stream) }
        var layer = publications[place].layers[spatial]
        defer { publications[place].layers[spatial] = layer }
        var flags: MediaFlags = []
        var range = plan.frameBytes
        var temporal = 0
        if plan.lane == .video {
            if layer.owesKey || layer.framesSinceKey >= plan.framesPerKey {
                flags.insert(.key)
                range = plan.keyFrameBytes
                layer.owesKey = false
                layer.framesSinceKey = 0
            } else {
                temporal = SimulatedClient.temporalLayer(layer.framesSinceKey, of: plan.temporalLayers)
                if generator.draw(0...99) < plan.discardablePercent, temporal == plan.temporalLayers - 1 { flags.insert(.discardable) }
            }
            layer.framesSinceKey += 1
            guard temporal <= layer.wanted ?? -1 else { return }
        }
        let sequence = layer.nextSequence
        layer.nextSequence &+= 1
        let kind: MediaKind =
            switch plan.lane {
            case .audio: .audio
            case .video: .video
            case .data: .data
            }
        // Of the frames of lower layers the latest; of the base, the base before it.
        let reference = flags.contains(.key) || plan.lane != .video ? sequence : layer.references[max(temporal - 1, 0)]
        let header = MediaHeader(
            kind: kind, flags: flags, layer: MediaLayer(spatial: UInt8(spatial), temporal: UInt8(temporal)), stream: StreamID(stream),
            sequence: sequence,
            timestamp: publications[place].timestamp)
        sayFrame(
            FrameContent(
                header: header, room: room, byteCount: generator.draw(range) * (spatial + 1), reference: reference,
                configuration: layer.configuration,
                sentAt: world.now))
        if plan.lane == .video, !flags.contains(.discardable) {
            for above in temporal..<plan.temporalLayers { layer.references[above] = sequence }
        }
        world.published(header, room, isLayered: plan.spatialLayers > 1 || plan.temporalLayers > 1)
    }

    func keyFrameRequested(_ stream: UInt32, _ spatial: Int) {
        guard let place = publications.firstIndex(where: { $0.stream == stream }), spatial < publications[place].layers.count else { return }
        publications[place].layers[spatial].owesKey = true
    }

    /// What anybody gets of a stream. A publisher that obeys sends no other layers, and begins one that is wanted again with a key frame.
    func layersWanted(_ words: [UInt32]) {
        guard plan.obeysDemand, let place = publications.firstIndex(where: { $0.stream == words[0] }) else { return }
        for spatial in publications[place].layers.indices {
            let at = stride(from: 1, to: words.count - 1, by: 2).first { words[$0] == spatial }
            let bound = at.map { Int(words[$0 + 1]) }
            if bound != nil, publications[place].layers[spatial].wanted == nil { publications[place].layers[spatial].owesKey = true }
            publications[place].layers[spatial].wanted = bound
        }
    }

    /// A new configuration, or the same again; behind a new one a decoder starts afresh.
    private func sayConfiguration(_ place: Int, _ spatial: Int, _ room: UInt32, _ stream: UInt32) {
        if !publications[place].layers[spatial].saidConfiguration || generator.chance(700) {
            publications[place].layers[spatial].configuration += 1
            publications[place].layers[spatial].owesKey = true
        }
        publications[place].layers[spatial].saidConfiguration = true
        let layer = publications[place].layers[spatial]
        let header = MediaHeader(
            kind: .configuration, layer: MediaLayer(spatial: UInt8(spatial), temporal: 0), stream: StreamID(stream), sequence: layer.nextSequence,
            timestamp: publications[place].timestamp)
        // Said again, it is the same to the byte.
        sayFrame(
            FrameContent(
                header: header, room: room, byteCount: SimulatedClient.configurationBytes, reference: 0, configuration: layer.configuration,
                sentAt: MonotonicInstant(nanoseconds: UInt64(layer.configuration))))
    }

    private func sayFrame(_ content: FrameContent) {
        var bytes = [UInt8](repeating: 0, count: content.byteCount)
        unsafe bytes.withUnsafeMutableBytes { unsafe content.write(into: $0) }
        say(.frame(bytes))
    }
}
