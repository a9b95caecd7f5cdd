import MediaProtocol
import RelayBase
import RelayRooms

/// A stream that a client publishes.
struct Publication {
    let plan: PublicationPlan
    /// The number of the request that made it; the client's own name for it.
    let request: UInt32
    /// `nil` until the relay has given it a number.
    var stream: UInt32?
    var nextSequence: UInt32
    var timestamp: UInt32 = 0
    var configuration: UInt32 = 0
    var reference: UInt32 = 0
    var framesSinceKey = 0
    var owesKey = true
    var saidConfiguration = false
    /// Somebody gets it.
    var isWanted = true
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
        publications.append(Publication(plan: plan, request: nextRequest, nextSequence: first))
        say(.publish(StreamOffer(lane: plan.lane, request: nextRequest)))
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
        guard let connection, !isResuming, publications[place].isWanted else { return }
        guard connection.backlog < SimulatedClient.backlogBytesMax else {
            // Nothing but a key frame is of use behind what was left out.
            publications[place].owesKey = true
            return
        }
        let plan = publications[place].plan
        if !publications[place].saidConfiguration || generator.chance(2) { sayConfiguration(place, room, stream) }
        var flags: MediaFlags = []
        var range = plan.frameBytes
        if plan.lane == .video {
            if publications[place].owesKey || publications[place].framesSinceKey >= plan.framesPerKey {
                flags.insert(.key)
                range = plan.keyFrameBytes
                publications[place].owesKey = false
                publications[place].framesSinceKey = 0
            } else if generator.draw(0...99) < plan.discardablePercent {
                flags.insert(.discardable)
            }
            publications[place].framesSinceKey += 1
        }
        let sequence = publications[place].nextSequence
        publications[place].nextSequence &+= 1
        publications[place].timestamp &+= 960
        let kind: MediaKind =
            switch plan.lane {
            case .audio: .audio
            case .video: .video
            case .data: .data
            }
        sayFrame(place, room, stream, kind, flags, sequence, bytes: generator.draw(range))
        if plan.lane == .video, !flags.contains(.discardable) { publications[place].reference = sequence }
        world.published(room, stream, sequence)
    }

    /// What anybody gets of a stream. A publisher that obeys sends no other layers, and begins one that is wanted again with a key frame.
    func layersWanted(_ words: [UInt32]) {
        guard plan.obeysDemand, let place = publications.firstIndex(where: { $0.stream == words[0] }) else { return }
        let isWanted = words.count > 1
        if isWanted, !publications[place].isWanted { publications[place].owesKey = true }
        publications[place].isWanted = isWanted
    }

    /// A new configuration, or the same again; behind a new one a decoder starts afresh.
    private func sayConfiguration(_ place: Int, _ room: UInt32, _ stream: UInt32) {
        if !publications[place].saidConfiguration || generator.chance(700) {
            publications[place].configuration += 1
            publications[place].owesKey = true
        }
        publications[place].saidConfiguration = true
        sayFrame(place, room, stream, .configuration, [], publications[place].nextSequence, bytes: SimulatedClient.configurationBytes)
    }

    private func sayFrame(
        _ place: Int, _ room: UInt32, _ stream: UInt32, _ kind: MediaKind, _ flags: MediaFlags, _ sequence: UInt32, bytes byteCount: Int
    ) {
        let publication = publications[place]
        let header = MediaHeader(kind: kind, flags: flags, stream: StreamID(stream), sequence: sequence, timestamp: publication.timestamp)
        // A configuration said again is the same to the byte.
        let sentAt = kind == .configuration ? MonotonicInstant(nanoseconds: UInt64(publication.configuration)) : world.now
        let reference = flags.contains(.key) || kind != .video ? sequence : publication.reference
        let content = FrameContent(
            header: header, room: room, byteCount: byteCount, reference: kind == .configuration ? 0 : reference,
            configuration: publication.configuration,
            sentAt: sentAt)
        var bytes = [UInt8](repeating: 0, count: content.byteCount)
        unsafe bytes.withUnsafeMutableBytes { unsafe content.write(into: $0) }
        say(.frame(bytes))
    }
}
