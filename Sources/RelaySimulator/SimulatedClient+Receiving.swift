import MediaProtocol
import RelayBase
import RelayRooms

/// What a client knows of one stream that it gets.
struct ReceivedStream {
    /// When the client heard that it gets the stream.
    let since: MonotonicInstant
    var isSubscribed = true
    /// The latest media frame.
    var last: UInt32?
    var timestamp: UInt32 = 0
    /// The last frame that it had when it came back; until the first one behind it has come.
    var resumedAfter: UInt32?
    /// What the relay says will never come.
    var gapFrames: UInt32 = 0
    /// The stream began when its frames were wanted already: its first frame comes too.
    var isFromStart = false
    /// When the latest media frame came.
    var lastAt: MonotonicInstant
    /// By spatial layer: the latest media frame, and the latest configuration.
    var lastOfLayer: [UInt32?] = Array(repeating: nil, count: LayerChoice.layersMax)
    var configurations: [UInt32] = Array(repeating: 0, count: LayerChoice.layersMax)
    /// Video: the spatial layer of the last key frame, and what can be referred to: the last frame of the base, and what came of higher temporal layers since.
    var layer = 0
    var references: [UInt32] = []

    /// The client takes nothing of it by its own wish.
    var isHeld = false
    /// Nothing of it comes, by that or because everything is held.
    var isSilent = false
    /// The next frame says that it does not follow the last.
    var awaitsMark = false

    init(since: MonotonicInstant, isFromStart: Bool = false) {
        self.since = since
        self.isFromStart = isFromStart
        lastAt = since
    }
}

/// A client's end of what the relay promises: every frame at most once, in order, whole, and decodable.
extension SimulatedClient {
    /// One binary message: a frame, several, or a part of one.
    func takeMessage(_ payload: UnsafeRawBufferPointer) {
        guard let header = try? unsafe MediaHeader(parsing: payload) else {
            world.require(false, "client \(index) reads a binary message without a media header")
            return
        }
        switch header.kind {
        case .audio, .video, .data, .configuration: unsafe takeFrame(payload)
        case .bundle:
            world.require(plan.wishes.bundles, "client \(index) reads a bundle, and has not wished for them")
            var offset = MediaHeader.byteCount
            while offset + 4 <= payload.count {
                let length = unsafe Int(UInt32(bigEndian: payload.loadUnaligned(fromByteOffset: offset, as: UInt32.self)))
                guard offset + 4 + length <= payload.count else { break }
                unsafe takeFrame(UnsafeRawBufferPointer(rebasing: payload[(offset + 4)..<(offset + 4 + length)]))
                offset += 4 + length
            }
            world.require(offset == payload.count, "client \(index) reads a bundle that does not come out even")
        case .part:
            world.require(plan.wishes.parts, "client \(index) reads a part, and has not wished for them")
            unsafe takePart(payload, header.stream.rawValue)
        }
    }

    private func takePart(_ payload: UnsafeRawBufferPointer, _ stream: UInt32) {
        guard let part = try? unsafe MediaPart(parsing: payload), part.offset == partial[stream]?.count ?? 0 else {
            world.require(false, "client \(index) reads a part of stream \(stream) that is none, or out of place")
            return
        }
        unsafe partial[stream, default: []].append(contentsOf: payload[MediaPart.overheadByteCount...])
        guard part.isLast, let frame = partial.removeValue(forKey: stream) else { return }
        if orphans.remove(stream) != nil {
            world.require(
                unsafe frame.withUnsafeBytes { unsafe FrameContent(reading: $0) } != nil, "client \(index) reads a cut frame with a wrong byte")
            framesInRoom += 1
            return
        }
        unsafe frame.withUnsafeBytes { unsafe takeFrame($0) }
    }

    private func takeFrame(_ payload: UnsafeRawBufferPointer) {
        guard let content = unsafe FrameContent(reading: payload) else {
            world.require(false, "client \(index) reads a frame with a byte that its publisher did not write")
            return
        }
        let header = content.header
        let stream = header.stream.rawValue
        world.require(partial[stream] == nil, "client \(index) reads a frame of stream \(stream) between the parts of another")
        world.note("frame", index, Int(stream), Int(header.sequence))
        world.digest.add(UInt64(index) << 48 | UInt64(header.kind.rawValue) << 40 | UInt64(header.flags.rawValue) << 32 | UInt64(stream))
        world.digest.add(UInt64(header.sequence))
        world.digest.add(world.now.nanoseconds)
        world.framesDelivered += 1
        framesInRoom += 1
        guard case .inside(let room, _) = place, room == content.room else {
            world.require(false, "client \(index) reads a frame of room \(content.room), in which it is not")
            return
        }
        guard var known = received[stream], known.isSubscribed else {
            world.require(false, "client \(index) reads a frame of stream \(stream), which it does not want")
            return
        }
        if header.kind == .configuration {
            let before = known.configurations[Int(header.layer.spatial)]
            world.require(
                !SerialNumber(before).isNewer(than: SerialNumber(content.configuration)),
                "client \(index) reads configuration \(content.configuration) of stream \(stream), layer \(header.layer.spatial), after \(before)")
            known.configurations[Int(header.layer.spatial)] = content.configuration
        } else {
            check(content, &known)
            known.last = header.sequence
            known.timestamp = header.timestamp
            known.lastAt = world.now
        }
        received[stream] = known
    }

    private func check(_ content: FrameContent, _ known: inout ReceivedStream) {
        let header = content.header
        let (spatial, temporal) = (Int(header.layer.spatial), Int(header.layer.temporal))
        let name = "client \(index): frame \(header.sequence) of stream \(header.stream.rawValue), layer \(spatial).\(temporal)"
        let isLayered = world.stream(content.room, header.stream.rawValue)?.isLayered == true
        checkHold(content, &known, name)
        checkResumption(content, &known, name)
        if let last = known.lastOfLayer[spatial] {
            world.require(SerialNumber(header.sequence).isNewer(than: SerialNumber(last)), "\(name) comes after frame \(last)")
            if isSteady, world.isLossless, !isLayered {
                world.require(
                    world.follows(header, last, content.room),
                    "\(name) comes after frame \(last), though nothing kept what lies between from a good link")
            }
        } else if isSteady, known.isFromStart, world.isLossless, !isLayered {
            world.require(
                header.sequence == world.stream(content.room, header.stream.rawValue)?.firstCame, "\(name) comes first, and is not the first")
        }
        if known.last != nil {
            world.require(
                !SerialNumber(known.timestamp).isNewer(than: SerialNumber(header.timestamp)), "\(name) comes after a later one of its stream")
        }
        known.lastOfLayer[spatial] = header.sequence
        world.require(
            content.configuration == known.configurations[spatial],
            "\(name) needs configuration \(content.configuration), and \(known.configurations[spatial]) came")
        if header.kind == .video { checkReference(content, &known, name) }
        if isSteady { world.checkSteadyDelay(content, self, since: known.since) }
    }

    /// Every frame can be decoded when it comes.
    private func checkReference(_ content: FrameContent, _ known: inout ReceivedStream, _ name: String) {
        let header = content.header
        if header.flags.contains(.key) {
            known.layer = Int(header.layer.spatial)
            known.references = [header.sequence]
            return
        }
        world.require(known.layer == Int(header.layer.spatial) && !known.references.isEmpty, "\(name) comes without a key frame of its layer")
        world.require(
            known.references.contains(content.reference), "\(name) refers to frame \(content.reference), and \(known.references) came")
        guard !header.flags.contains(.discardable) else { return }
        if header.layer.temporal == 0 { known.references.removeAll() }
        known.references.append(header.sequence)
    }
}
