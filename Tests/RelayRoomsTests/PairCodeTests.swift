import RelayBase
import Testing

@testable import RelayRooms

@Suite("Pairs: one-time codes")
struct PairCodeTests {
    @Test("protocol §3.14 a code has eight characters of an alphabet without look-alikes, of at least 2^37")
    func alphabet() {
        #expect(Set(PairCode.alphabet).count == PairCode.alphabet.count && PairCode.length == 8)
        #expect(PairCode.alphabet.allSatisfy { !Array("01OILUVZSB".utf8).contains($0) })
        var codes: UInt64 = 1
        for _ in 0..<PairCode.length { codes *= UInt64(PairCode.alphabet.count) }
        #expect(codes >= 1 << 37)
        var generator = SeededGenerator(seed: 3)
        var seen = Set<UInt8>()
        for _ in 0..<1_000 {
            let code = PairCode(using: &generator)
            #expect(PairCode(entered: code.text) == code)
            seen.formUnion(code.text.utf8)
        }
        #expect(seen == Set(PairCode.alphabet))
    }

    @Test(
        "protocol §3.14 a code is entered in any case, with spaces and hyphens, and with letters for the digits that they look like",
        arguments: [
            ("ACDE-2345", true), ("acde2345", true), (" a c d e - 2 3 4 5 ", true), ("ACDE-Z345", true), ("acdez345", true), ("ACDE234", false),
            ("ACDE23456", false), ("ACDE234O", false), ("ACDE234\u{212A}", false), ("", false), ("ACDE_2345", false),
        ])
    func entering(text: String, isGood: Bool) {
        #expect(PairCode(entered: text) == (isGood ? PairCode(entered: "ACDE2345") : nil))
    }

    @Test("protocol §3.14 a code opens one pair, once")
    func once() throws {
        let relay = PairHarness()
        let alice = relay.connect("alice")
        let bob = relay.connect("bob")
        let carol = relay.connect("carol")
        let code = try relay.code(alice)
        let view = try relay.enter(bob, code)
        #expect(view.basis == .code && relay.admits("alice", to: view.room) && relay.admits("bob", to: view.room))
        #expect(relay.news().map(\.1) == [.made(view, for: PairHarness.key("alice"), request: nil)])
        #expect(pairRefusal { () throws(PairRefusal) in try relay.enter(carol, code) } == .wrongCode)
        #expect(pairRefusal { () throws(PairRefusal) in try relay.enter(bob, code) } == .wrongCode)
    }

    @Test("protocol §3.14 a code lasts two minutes, and goes with its session and with the next one")
    func lifetime() throws {
        let relay = PairHarness()
        let alice = relay.connect("alice")
        let bob = relay.connect("bob")
        let old = try relay.code(alice)
        let new = try relay.code(alice)
        #expect(old != new)
        #expect(pairRefusal { () throws(PairRefusal) in try relay.enter(bob, old) } == .wrongCode)
        relay.milliseconds += 120_000
        #expect(pairRefusal { () throws(PairRefusal) in try relay.enter(bob, new) } == .wrongCode, "not even before housekeeping")
        let last = try relay.code(alice)
        relay.broker.vanished(alice)
        #expect(pairRefusal { () throws(PairRefusal) in try relay.enter(bob, last) } == .wrongCode)
    }

    @Test("protocol §3.14 a code never pairs a key with itself; another key of the same identity may enter it")
    func oneself() throws {
        let relay = PairHarness()
        let alice = relay.connect("alice")
        let same = relay.connect("alice")
        let tablet = relay.connect("alice", key: "tablet")
        let code = try relay.code(alice)
        #expect(pairRefusal { () throws(PairRefusal) in try relay.enter(alice, code) } == .wrongCode)
        #expect(pairRefusal { () throws(PairRefusal) in try relay.enter(same, code) } == .wrongCode)
        _ = try relay.enter(tablet, code)
    }

    @Test("protocol §3.14 a code is void when its owner may not use codes any more")
    func policyChange() throws {
        let relay = PairHarness()
        let alice = relay.connect("alice")
        let bob = relay.connect("bob")
        let code = try relay.code(alice)
        var policy = AccessPolicy()
        policy.pairCodes = [try #require(IdentityPattern("urn:segue:client:bob"))]
        relay.broker.policyChanged(policy, at: relay.moment)
        #expect(pairRefusal { () throws(PairRefusal) in try relay.enter(bob, code) } == .wrongCode)
    }

    @Test("protocol §3.14 three tries an identity in two minutes, whatever its keys; a right code after them is not looked at")
    func tries() throws {
        let relay = PairHarness()
        let code = try relay.code(relay.connect("alice"))
        let bob = relay.connect("bob")
        let bobToo = relay.connect("bob", key: "telephone")
        for address in [bob, bobToo, bob] {
            #expect(pairRefusal { () throws(PairRefusal) in try relay.enter(address, "22222222") } == .wrongCode)
            relay.wait(seconds: 10)
        }
        #expect(pairRefusal { () throws(PairRefusal) in try relay.enter(bobToo, code) } == .tooManyTries)
        relay.wait(seconds: 80)
        #expect(pairRefusal { () throws(PairRefusal) in try relay.enter(bob, code) } == .tooManyTries)
        let next = try relay.code(relay.connect("carol"))
        relay.wait(seconds: 10)
        _ = try relay.enter(bob, next)
    }

    @Test("protocol §3.14 a right code forgives no wrong ones")
    func noForgiveness() throws {
        let relay = PairHarness()
        let bob = relay.connect("bob")
        let accomplice = relay.connect("accomplice")
        for _ in 0..<2 { #expect(pairRefusal { () throws(PairRefusal) in try relay.enter(bob, "22222222") } == .wrongCode) }
        _ = try relay.enter(bob, relay.code(accomplice))
        #expect(pairRefusal { () throws(PairRefusal) in try relay.enter(bob, "22222222") } == .wrongCode)
        #expect(pairRefusal { () throws(PairRefusal) in try relay.enter(bob, "22222222") } == .tooManyTries)
    }

    @Test("issue 3: 10,000 wrong codes by many identities from one address open no pair and lock nobody else out")
    func tenThousand() throws {
        let relay = PairHarness()
        let alice = relay.connect("alice")
        let code = try relay.code(alice)
        let attackers = (0..<100).map { relay.connect("attacker-\($0)") }
        var guesser = SeededGenerator(seed: 99)
        var looked = 0
        for round in 0..<100 {
            for attacker in attackers {
                var guess = PairCode(using: &guesser).text
                if guess == code { guess = "22222222" }
                switch pairRefusal({ () throws(PairRefusal) in try relay.enter(attacker, guess) }) {
                case .wrongCode: looked += 1
                case .tooManyTries: break
                case let other: Issue.record("\(String(describing: other))")
                }
            }
            if round == 50 { relay.milliseconds += 1_000 }
        }
        // Each attacker's first try, and no more than the address's bound; all within one window.
        #expect(looked == 100)
        #expect(relay.broker.ledger.entries.isEmpty)
        // Somebody behind the same address, with a wrong try and then the right code from another one.
        let guest = relay.connect("guest")
        _ = try relay.enter(guest, code)
        let late = relay.connect("late")
        #expect(pairRefusal { () throws(PairRefusal) in try relay.enter(late, "22222222") } == .wrongCode, "the first try is looked at")
        #expect(pairRefusal { () throws(PairRefusal) in try relay.enter(late, "22222222") } == .tooManyTries, "the address is exhausted")
        _ = try relay.enter(late, relay.code(alice), from: 2)
    }

    @Test("protocol §3.14 a full table of misses forgets none of them")
    func fullTable() throws {
        var limits = PairLimits()
        limits.identitiesWithMissesMax = 2
        limits.sourcesWithMissesMax = 1
        let relay = PairHarness(limits: limits)
        let code = try relay.code(relay.connect("alice"))
        let first = relay.connect("first")
        let second = relay.connect("second")
        let third = relay.connect("third")
        for _ in 0..<3 { #expect(pairRefusal { () throws(PairRefusal) in try relay.enter(first, "22222222", from: 1) } == .wrongCode) }
        #expect(pairRefusal { () throws(PairRefusal) in try relay.enter(second, "22222222", from: 2) } == .wrongCode)
        #expect(pairRefusal { () throws(PairRefusal) in try relay.enter(third, code, from: 3) } == .tooManyTries)
        #expect(pairRefusal { () throws(PairRefusal) in try relay.enter(first, code, from: 1) } == .tooManyTries)
        #expect(
            pairRefusal { () throws(PairRefusal) in try relay.enter(second, "22222222", from: 2) } == .tooManyTries, "no room to count its address")
        relay.wait(seconds: 120)
        _ = try relay.enter(third, relay.code(relay.connect("carol")), from: 3)
    }

    @Test("protocol §3.14 open codes are bounded by identity")
    func bounds() throws {
        var limits = PairLimits()
        limits.codesPerIdentityMax = 2
        let relay = PairHarness(limits: limits)
        for _ in 0..<2 { _ = try relay.code(relay.connect("alice")) }
        let third = relay.connect("alice")
        #expect(pairRefusal { () throws(PairRefusal) in try relay.code(third) } == .pairsMax)
        _ = try relay.code(relay.connect("bob"))
    }
}
