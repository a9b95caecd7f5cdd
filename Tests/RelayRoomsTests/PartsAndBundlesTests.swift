import RelayBase
import Testing

@testable import RelayRooms

@Suite("Egress: parts and bundles")
struct PartsAndBundlesTests {
    private static let parts = EgressWishes(parts: true)
    private static let bundles = EgressWishes(bundles: true)

    @Test("contract, parts: a frame larger than the room is cut, and audio goes between two parts of a key frame", arguments: [1_200, 4_000, 16_384])
    func audioBetweenParts(room: Int) {
        let h = Harness()
        let video = h.stream(1, .video)
        let audio = h.stream(2, .audio)
        let subscriber = h.subscriber(wishes: Self.parts)
        h.subscribe(subscriber, video)
        h.subscribe(subscriber, audio)
        h.publish(video, bytes: 60_000, .key)
        let received = Received()
        var audioNumbers: [UInt32] = []
        while h.pull(subscriber, room: room, into: received) > 0 {
            #expect(received.cut() && received.bytes.isEmpty, "a pull ends with a whole message")
            #expect(!h.isMidMessage(subscriber))
            #expect(h.imbalance(subscriber) == 0)
            if received.parts[1] != nil {
                h.publish(audio, bytes: 100)
                audioNumbers.append(h.nextNumber - 1)
            }
        }
        // Each audio frame came in the very next pull: before the key frame was whole, but for those of its last part.
        #expect(received.frames.map(\.number).filter { $0 != 1 } == audioNumbers)
        #expect(received.frames.last?.number == 1 || audioNumbers.isEmpty)
        #expect(h.account(subscriber).delivered == UInt64(audioNumbers.count + 1))
    }

    @Test("contract, parts: without the wish a large frame is one message")
    func withoutWish() {
        let h = Harness()
        let slot = h.stream(1, .video)
        let subscriber = h.subscriber()
        h.subscribe(subscriber, slot)
        h.publish(slot, bytes: 60_000, .key)
        #expect(h.drain(subscriber, room: 1_200) == [1])
        let received = Received()
        h.publish(slot, bytes: 60_000, .key)
        while h.pull(subscriber, room: 1_200, into: received) > 0 {}
        #expect(received.cut() && received.messages.map(\.kind) == [1])
    }

    @Test("parts: rooms too small for a part of use are filled all the same", arguments: [1, 7, 40, 540])
    func tinyRooms(room: Int) {
        let h = Harness()
        let slot = h.stream(1, .video)
        let subscriber = h.subscriber(wishes: Self.parts)
        h.subscribe(subscriber, slot)
        h.publish(slot, bytes: 3_000, .key)
        let received = Received()
        while true {
            let count = h.pull(subscriber, room: room, into: received)
            #expect(h.imbalance(subscriber) == 0)
            if count == 0 { break }
        }
        #expect(received.cut() && received.frames.map(\.number) == [1] && h.budgetUsed < 4_000)
        #expect(h.account(subscriber).delivered == 1)
    }

    @Test("parts: a group of pictures for a late joiner is cut as well, and its bytes go back to the budget")
    func preludeInParts() {
        let h = Harness()
        let slot = h.stream(1, .video)
        let audio = h.stream(2, .audio)
        h.publish(slot, payload: [7], .configuration)
        h.publish(slot, bytes: 20_000, .key)
        h.publish(slot, bytes: 300)
        let subscriber = h.subscriber(wishes: Self.parts)
        h.subscribe(subscriber, slot)
        h.subscribe(subscriber, audio)
        let received = Received()
        _ = h.pull(subscriber, room: 2_000, into: received)
        h.publish(audio)
        while h.pull(subscriber, room: 2_000, into: received) > 0 { #expect(h.imbalance(subscriber) == 0) }
        #expect(received.cut() && received.frames.map(\.number) == [1, 4, 2, 3])
        #expect(h.preludeBytes(subscriber) == 0)
        h.removeAll([subscriber])
        h.fanout.endStream(slot)
        #expect(h.budgetUsed == 0)
    }

    @Test("parts: a frame that was begun is finished when the log lets go of it, when its stream is let go of and when its room is left")
    func begunFrames() {
        for leaving in 0..<3 {
            let h = Harness { $0.videoLogBytesMax = 128 << 10 }
            let slot = h.stream(1, .video)
            let subscriber = h.subscriber(wishes: Self.parts)
            h.subscribe(subscriber, slot)
            h.publish(slot, bytes: 60_000, .key)
            let received = Received()
            #expect(h.pull(subscriber, room: 2_000, into: received) > 1_900)
            switch leaving {
            case 0: for _ in 0..<20 { h.publish(slot, bytes: 20_000, .key) }
            case 1: h.unsubscribe(subscriber, slot)
            default: h.finish(subscriber, into: received)
            }
            #expect(h.imbalance(subscriber) == 0)
            if leaving < 2 { #expect(h.budgetUsed > 50_000) }
            while h.pull(subscriber, room: 2_000, into: received) > 0 { #expect(h.imbalance(subscriber) == 0) }
            #expect(received.cut() && received.bytes.isEmpty && received.frames.first?.number == 1)
            h.fanout.removeSubscriber(subscriber)
            h.fanout.endStream(slot)
            #expect(h.budgetUsed == 0)
        }
    }

    @Test("the rest of a begun frame counts against the budget; beyond it the subscriber is told of as broken", arguments: [false, true])
    func budget(parts: Bool) {
        let h = Harness { limits in
            limits.videoLogBytesMax = 128 << 10
            limits.gopCacheBytesMax = 1
            limits.cacheBytesMax = 100_000
        }
        let slot = h.stream(1, .video)
        let subscribers = (1...3).map { h.subscriber(UInt32($0), wishes: EgressWishes(parts: parts)) }
        let received = subscribers.map { _ in Received() }
        for subscriber in subscribers { h.subscribe(subscriber, slot) }
        h.publish(slot, bytes: 60_000, .key)
        for place in 0..<3 { _ = h.pull(subscribers[place], room: 2_000, into: received[place]) }
        for _ in 0..<20 { h.publish(slot, bytes: 20_000, .key) }
        #expect(h.budgetUsed <= 100_000)
        var broken: [UInt64] = []
        while let token = h.brokenToken {
            broken.append(token)
            let subscriber = subscribers[Int(token) - 1]
            #expect(h.pull(subscriber, into: received[0]) == 0 && h.imbalance(subscriber) == 0)
            h.fanout.removeSubscriber(subscriber)
        }
        #expect(broken == [2, 3])
        while h.pull(subscribers[0], into: received[0]) > 0 {}
        #expect(received[0].cut() && received[0].frames.first?.number == 1)
    }

    @Test("contract, bundles: small frames share a message; one alone goes as itself; configurations and frames of 8 KiB go alone")
    func bundles() {
        let h = Harness()
        let audio = h.stream(1, .audio)
        let video = h.stream(2, .video)
        let subscriber = h.subscriber(wishes: Self.bundles)
        h.subscribe(subscriber, audio)
        h.subscribe(subscriber, video)
        h.publish(audio, bytes: 100)
        let received = Received()
        func messages() -> [[UInt8]] {
            received.messages = []
            while h.pull(subscriber, into: received) > 0 {}
            #expect(received.cut() && received.bytes.isEmpty && h.imbalance(subscriber) == 0)
            return received.messages.map { [$0.kind, UInt8($0.frames)] }
        }
        #expect(messages() == [[1, 1]])
        h.publish(video, bytes: 3_000, .key)
        for _ in 0..<3 { h.publish(audio, bytes: 100) }
        #expect(messages() == [[4, 4]])
        #expect(received.frames.map(\.number) == [1, 3, 4, 5, 2])
        h.publish(audio, payload: [1], .configuration)
        for _ in 0..<2 { h.publish(audio, bytes: 20) }
        h.publish(video, bytes: 9_000)
        h.publish(video, bytes: 100)
        #expect(messages() == [[3, 1], [4, 2], [1, 1], [1, 1]])
    }

    @Test(
        "contract, bundles: a bundle is at most 16 KiB and fits the room; lengths are minimal",
        arguments: [60, 125, 126, 150, 1_200, 5_000, 16_384, 65_536])
    func bundleSizes(room: Int) {
        let h = Harness { $0.audioDeadlineMilliseconds = 10_000 }
        let slot = h.stream(1, .audio)
        let subscriber = h.subscriber(wishes: Self.bundles)
        h.subscribe(subscriber, slot)
        for number in 0..<200 { h.publish(slot, bytes: 16 + number * 37 % 800) }
        let received = Received()
        while true {
            let count = h.pull(subscriber, room: room, into: received)
            if count == 0 { break }
            #expect(count <= room && h.imbalance(subscriber) == 0)
        }
        #expect(received.cut() && received.bytes.isEmpty)
        #expect(received.frames.map(\.number) == Array(1...200))
        #expect(room < 1_200 || received.messages.count < 120)
    }

    @Test("parts and bundles together: small frames are bundled between the parts of a large one")
    func together() {
        let h = Harness()
        let video = h.stream(1, .video)
        let audio = h.stream(2, .audio)
        let subscriber = h.subscriber(wishes: EgressWishes(parts: true, bundles: true))
        h.subscribe(subscriber, video)
        h.subscribe(subscriber, audio)
        h.publish(video, bytes: 20_000, .key)
        let received = Received()
        _ = h.pull(subscriber, room: 4_000, into: received)
        for _ in 0..<3 { h.publish(audio, bytes: 100) }
        while h.pull(subscriber, room: 4_000, into: received) > 0 {}
        #expect(received.cut() && received.frames.map(\.number) == [2, 3, 4, 1])
        #expect(received.messages.contains { $0.kind == 4 && $0.frames == 3 })
    }
}
