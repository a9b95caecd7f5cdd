import RelayBase
import Testing

@testable import RelayRooms

/// Random publishers, switches, losses and joins, beside a decoder that is as strict as one can be.
@Suite("Layers of a stream: simulation")
struct LayerSimulationTests {
    private struct Sent {
        var spatial = 0
        var isConfiguration = false
        /// Frames that this one refers to, directly or not.
        var references: [UInt32] = []
        /// The configuration that decodes it.
        var configuration: UInt8 = 0
    }

    /// What a receiver has, and whether everything it got could be decoded.
    private final class Decoder {
        var configuration: UInt8?
        var has: Set<UInt32> = []
        var faults: [String] = []

        func take(_ number: UInt32, _ frame: Sent) {
            if frame.isConfiguration {
                configuration = frame.configuration
                return
            }
            if configuration != frame.configuration { faults.append("\(number): configuration \(configuration ?? 0), not \(frame.configuration)") }
            if let missing = frame.references.first(where: { !has.contains($0) }) { faults.append("\(number): without \(missing)") }
            has.insert(number)
        }
    }

    private final class World {
        static let spatialLayers = 3
        let h: Harness
        var random: SeededGenerator
        let slot: StreamSlot
        let audio: StreamSlot
        var sent: [UInt32: Sent] = [:]
        /// By spatial layer.
        var group: [[(number: UInt32, temporal: Int)]] = Array(repeating: [], count: spatialLayers)
        var needsKey = Array(repeating: true, count: spatialLayers)
        var configurations: [UInt8] = []
        let ownConfigurations: Bool
        var receivers: [(handle: Handle, decoder: Decoder, received: Received)] = []
        var gone = FrameAccount()
        var keyFrames = 0
        private var buffer = [UInt8](repeating: 0, count: 16 << 10)
        var nextConfiguration: UInt8 = 1

        init(seed: UInt64) {
            random = SeededGenerator(seed: seed)
            h = Harness { limits in
                limits.videoLogBytesMax = seed.isMultiple(of: 3) ? 16 << 10 : 1 << 20
                limits.keyFrameRequestMillisecondsMin = 100
            }
            slot = h.stream(1, .video, layers: seed.isMultiple(of: 2) ? World.spatialLayers : 0)
            audio = h.stream(2, .audio)
            ownConfigurations = seed.isMultiple(of: 5)
            configurations = Array(repeating: 0, count: World.spatialLayers)
            for spatial in 0..<World.spatialLayers where spatial == 0 || ownConfigurations { configure(spatial) }
        }

        func configure(_ spatial: Int) {
            // Nobody has frames of before queued: a configuration that is repeated would be the newer one.
            h.advance(milliseconds: 500)
            let version = nextConfiguration
            nextConfiguration = nextConfiguration == 250 ? 1 : nextConfiguration + 1
            let number = h.nextNumber
            h.publish(slot, payload: [version], FrameTraits.configuration.with(spatial: spatial))
            sent[number] = Sent(spatial: spatial, isConfiguration: true, configuration: version)
            for layer in 0..<World.spatialLayers where layer == spatial || (spatial == 0 && !ownConfigurations) {
                configurations[layer] = version
                needsKey[layer] = true
            }
        }

        func publish() {
            let spatial = Int.random(in: 0..<World.spatialLayers, using: &random)
            let isKey = needsKey[spatial] || Int.random(in: 0..<40, using: &random) == 0
            let temporal = isKey ? 0 : [0, 1, 2].randomElement(using: &random) ?? 0
            let isDiscardable = !isKey && temporal == 2 && Bool.random(using: &random)
            var traits: FrameTraits = isKey ? .key : []
            if isDiscardable { traits.insert(.discardable) }
            if temporal > 0 { traits.insert(.enhancement) }
            if isKey {
                keyFrames += 1
                needsKey[spatial] = false
                group[spatial] = []
            }
            let number = h.nextNumber
            // Base frames refer to base frames; what is above them, to what came since the last of them as well.
            let base = group[spatial].filter { $0.temporal == 0 }.map(\.number)
            let above = group[spatial].reversed().prefix { $0.temporal > 0 }.filter { $0.temporal <= temporal }.map(\.number)
            let references = temporal == 0 ? base : base + above
            sent[number] = Sent(spatial: spatial, references: references, configuration: configurations[spatial])
            if !isDiscardable { group[spatial].append((number, temporal)) }
            h.publish(slot, bytes: .random(in: 30...600, using: &random), traits.with(spatial: spatial, temporal: temporal))
        }

        func choice() -> LayerChoice {
            if Int.random(in: 0..<8, using: &random) == 0 { return .none }
            return LayerChoice(
                spatial: .random(in: 0..<World.spatialLayers, using: &random), temporal: [0, 1, 2, 7].randomElement(using: &random) ?? 7)
        }

        func pull(_ place: Int, room: Int) {
            repeat {
                let filled = unsafe buffer.withUnsafeMutableBytes {
                    unsafe h.fanout.pull(
                        Int(receivers[place].handle.index), into: UnsafeMutableRawBufferPointer(rebasing: $0[..<room]), now: h.now)
                }
                guard filled > 0 else { break }
                receivers[place].received.bytes += buffer[..<filled]
            } while Int.random(in: 0..<4, using: &random) > 0
            #expect(receivers[place].received.cut())
            for frame in receivers[place].received.frames where frame.stream == 1 {
                receivers[place].decoder.take(frame.number, sent[frame.number] ?? Sent())
            }
            receivers[place].received.frames = []
        }

        func step() {
            if receivers.isEmpty || receivers.count < 5 && Int.random(in: 0..<30, using: &random) == 0 {
                let handle = h.subscriber(UInt32(10 + receivers.count))
                receivers.append((handle, Decoder(), Received()))
                h.subscribe(handle, audio)
                h.subscribe(handle, slot, choice())
            }
            let place = Int.random(in: 0..<receivers.count, using: &random)
            let handle = receivers[place].handle
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<45: publish()
            case 45..<50: h.publish(audio)
            case 50..<70: h.advance(milliseconds: [0, 5, 20, 60, 250].randomElement(using: &random) ?? 0)
            case 70..<86: pull(place, room: [100, 400, 2_000, 16 << 10].randomElement(using: &random) ?? 100)
            case 86..<94: h.target(handle, slot, choice())
            case 94: h.unsubscribe(handle, slot)
            case 95..<97: h.subscribe(handle, slot, choice())
            case 97: if Int.random(in: 0..<6, using: &random) == 0 { configure(ownConfigurations ? .random(in: 0..<3, using: &random) : 0) }
            case 98:
                guard receivers.count > 1 else { return }
                let account = h.fanout.removeSubscriber(handle) ?? FrameAccount()
                #expect(account.entered == account.delivered + account.dropped)
                #expect(receivers[place].decoder.faults == [])
                receivers.remove(at: place)
            default: h.fanout.tidy(now: h.now)
            }
            while let spatial = h.keyFrameRequest(of: slot) { needsKey[spatial] = true }
        }
    }

    @Test("whatever is switched, lost and joined, what comes decodes and every frame is accounted", arguments: 0..<24 as Range<UInt64>)
    func decodesAlways(seed: UInt64) {
        let world = World(seed: seed)
        for step in 0..<1_000 {
            world.step()
            guard step.isMultiple(of: 4) else { continue }
            for receiver in world.receivers { #expect(world.h.imbalance(receiver.handle) == 0) }
            let faults = world.receivers.flatMap(\.decoder.faults)
            guard faults.isEmpty else {
                Issue.record("\(faults)")
                return
            }
        }
        // Whoever wants something, and reads, gets it in the end.
        for place in world.receivers.indices { world.h.target(world.receivers[place].handle, world.slot, LayerChoice(spatial: place % 3)) }
        for _ in 0..<300 {
            world.publish()
            world.h.advance(milliseconds: 20)
            for place in world.receivers.indices { world.pull(place, room: 16 << 10) }
            while let spatial = world.h.keyFrameRequest(of: world.slot) { world.needsKey[spatial] = true }
        }
        for (place, receiver) in world.receivers.enumerated() {
            for _ in 0..<64 { world.pull(place, room: 16 << 10) }
            #expect(receiver.decoder.faults == [])
            #expect(world.h.imbalance(receiver.handle) == 0 && world.h.pending(receiver.handle) == 0)
            guard world.h.fanout.isSubscribed(Int(receiver.handle.index), world.slot) else { continue }
            #expect(world.h.layer(receiver.handle, world.slot) == LayerChoice(spatial: place % 3))
        }
        #expect(world.keyFrames < 700, "key frames are asked for without end")
    }
}
