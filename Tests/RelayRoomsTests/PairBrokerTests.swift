import RelayBase
import Testing

@testable import RelayRooms

@Suite("Pairs: by request, by policy, and their ends")
struct PairBrokerTests {
    private func pattern(_ text: String) throws -> IdentityPattern { try #require(IdentityPattern(text)) }

    @Test("protocol §3.14 a request that is accepted makes a pair of two keys, and both ends hear of it on all sessions")
    func requestAndAccept() throws {
        let relay = PairHarness()
        let alice = relay.connect("alice")
        let aliceToo = relay.connect("alice")
        let bob = relay.connect("bob")
        let bobToo = relay.connect("bob")
        let id = try relay.ask(alice, "bob")
        let asked = relay.news()
        #expect(asked.map(\.0) == [bob, bobToo])
        let view = try relay.accept(bob, id)
        #expect(view.basis == .grant && view.peer(of: PairHarness.key("bob")).name == "urn:segue:client:alice")
        let grant = try #require(view.grant)
        #expect(grant.expiresAt - grant.issuedAt == PairHarness.openPolicy.grantSeconds)
        let told = relay.news()
        #expect(
            told.map(\.0) == [alice, aliceToo, bobToo, bobToo]
                && told.map(\.1) == [
                    .made(view, for: PairHarness.key("alice"), request: id), .made(view, for: PairHarness.key("alice"), request: id),
                    .withdrawn(request: id, .answered), .made(view, for: PairHarness.key("bob"), request: id),
                ])
        #expect(relay.admits("alice", to: view.room) && relay.admits("bob", to: view.room))
        #expect(!relay.admits("mallory", to: view.room))
        #expect(pairRefusal { () throws(PairRefusal) in try relay.accept(bob, id) } == .unknownRequest)
    }

    @Test("protocol §3.14 the room is derived from both keys alone, in either order")
    func room() throws {
        let broker = PairHarness().broker
        let low = String(repeating: "0", count: 64)
        let high = String(repeating: "f", count: 64)
        let keys = try #require(PairKeys(high, low))
        #expect(
            keys == PairKeys(low, high) && broker.room(of: keys).text == "pair:" + PairHarness.digest(Array("segue-pair-v1\n\(low)\n\(high)".utf8)))
        #expect(PairKeys(low, low) == nil && PairKeys(low, "FF") == nil && PairKeys(low, String(repeating: "F", count: 64)) == nil)
    }

    @Test("protocol §3.14 only the key that was asked accepts or declines, and only the one that asked cancels")
    func strangers() throws {
        let relay = PairHarness()
        let alice = relay.connect("alice")
        let bob = relay.connect("bob")
        let otherBob = relay.connect("bob", key: "bob's telephone")
        let mallory = relay.connect("mallory")
        let id = try relay.ask(alice, "bob", key: "bob")
        let moment = relay.moment
        for stranger in [alice, otherBob, mallory] {
            #expect(pairRefusal { () throws(PairRefusal) in try relay.accept(stranger, id) } == .unknownRequest)
            #expect(pairRefusal { () throws(PairRefusal) in try relay.broker.decline(id, by: stranger, at: moment) } == .unknownRequest)
        }
        for stranger in [bob, otherBob, mallory] {
            #expect(pairRefusal { () throws(PairRefusal) in try relay.broker.cancel(id, by: stranger, at: moment) } == .unknownRequest)
        }
        _ = relay.news()
        try relay.broker.cancel(id, by: alice, at: moment)
        #expect(relay.news().map(\.1) == [.withdrawn(request: id, .cancelled)])
        #expect(pairRefusal { () throws(PairRefusal) in try relay.accept(bob, id) } == .unknownRequest)
    }

    @Test("protocol §3.14 a request is declined, and is withdrawn after two minutes")
    func declineAndExpiry() throws {
        let relay = PairHarness()
        let alice = relay.connect("alice")
        let bob = relay.connect("bob")
        let first = try relay.ask(alice, "bob")
        #expect(try relay.ask(alice, "bob") == first, "asking twice is one request")
        _ = relay.news()
        try relay.broker.decline(first, by: bob, at: relay.moment)
        #expect(relay.news().map(\.1) == [.declined(request: first)])
        let second = try relay.ask(alice, "bob")
        relay.wait(seconds: 119.9)
        #expect(try relay.broker.list(by: bob, at: relay.moment).requests.map(\.id) == [second])
        _ = relay.news()
        relay.wait(seconds: 0.1)
        let told = relay.news()
        #expect(Set(told.map(\.0)) == [alice, bob] && Set(told.map(\.1)) == [.withdrawn(request: second, .expired)])
        #expect(pairRefusal { () throws(PairRefusal) in try relay.accept(bob, second) } == .unknownRequest)
    }

    @Test("protocol §3.14 two that ask each other are a pair")
    func mutual() throws {
        let relay = PairHarness()
        let alice = relay.connect("alice")
        let bob = relay.connect("bob")
        _ = try relay.ask(alice, "bob")
        guard case .pair(let view) = try relay.request(bob, "alice") else {
            Issue.record("no pair")
            return
        }
        #expect(relay.admits("alice", to: view.room))
    }

    @Test("protocol §3.14 whoever proves no certificate can neither ask nor be asked")
    func tokenOnly() throws {
        let relay = PairHarness()
        let alice = relay.connect("alice")
        let guest = relay.connect("guest", proofs: .token)
        #expect(pairRefusal { () throws(PairRefusal) in try relay.request(guest, "alice") } == .certificateNeeded)
        #expect(pairRefusal { () throws(PairRefusal) in try relay.code(guest) } == .certificateNeeded)
        #expect(pairRefusal { () throws(PairRefusal) in try relay.enter(guest, "23456789") } == .certificateNeeded)
        #expect(pairRefusal { () throws(PairRefusal) in try relay.request(alice, "guest") } == .peerUnavailable)
    }

    @Test("protocol §3.14 of several keys of an identity one must be named; one's own other key can be asked, one's own key cannot")
    func ambiguous() throws {
        let relay = PairHarness()
        let alice = relay.connect("alice")
        let laptop = relay.connect("bob", key: "laptop", device: "laptop")
        let phone = relay.connect("bob", key: "telephone", device: "telephone")
        #expect(pairRefusal { () throws(PairRefusal) in try relay.request(alice, "bob") } == .peerAmbiguous)
        _ = try relay.ask(alice, "bob", key: "telephone")
        #expect(relay.news().map(\.0) == [phone])
        _ = try relay.ask(laptop, "bob")
        #expect(relay.news().map(\.0) == [phone])
        #expect(pairRefusal { () throws(PairRefusal) in try relay.request(alice, "alice") } == .peerUnavailable)
        let moment = relay.moment
        let seen = try relay.broker.devices(of: "urn:segue:client:bob", by: alice, at: moment)
        #expect(seen.map(\.fingerprint) == [PairHarness.key("laptop"), PairHarness.key("telephone")] && seen.allSatisfy { $0.device == nil })
        #expect(try relay.broker.devices(of: "urn:segue:client:bob", by: laptop, at: moment).map(\.device) == ["laptop", "telephone"])
    }

    @Test("protocol §3.14 what the policy does not allow is refused, whether the peer is connected or not")
    func policy() throws {
        var policy = AccessPolicy()
        policy.pairRequests = [.init(a: [try pattern("urn:segue:client:alice")], b: [try pattern("urn:segue:client:bob")])]
        let relay = PairHarness(policy)
        let alice = relay.connect("alice")
        #expect(pairRefusal { () throws(PairRefusal) in try relay.request(alice, "bob") } == .peerUnavailable)
        #expect(pairRefusal { () throws(PairRefusal) in try relay.request(alice, "carol") } == .notAllowed)
        let bob = relay.connect("bob")
        let carol = relay.connect("carol")
        #expect(pairRefusal { () throws(PairRefusal) in try relay.request(alice, "carol") } == .notAllowed)
        #expect(pairRefusal { () throws(PairRefusal) in try relay.request(bob, "alice") } == .notAllowed)
        #expect(pairRefusal { () throws(PairRefusal) in try relay.code(alice) } == .notAllowed)
        let moment = relay.moment
        #expect(pairRefusal { () throws(PairRefusal) in try relay.broker.devices(of: "urn:segue:client:bob", by: carol, at: moment) } == .notAllowed)
        let id = try relay.ask(alice, "bob")
        relay.broker.policyChanged(AccessPolicy(), at: relay.moment)
        #expect(pairRefusal { () throws(PairRefusal) in try relay.accept(bob, id) } == .notAllowed)
    }

    @Test("protocol §3.14 a pair by policy needs no consent, and ends with the policy")
    func byPolicy() throws {
        var policy = AccessPolicy()
        policy.pairs = [.init(a: [try pattern("urn:segue:client:alice")], b: [try pattern("urn:segue:client:b*")])]
        let relay = PairHarness(policy)
        let alice = relay.connect("alice")
        let bob = relay.connect("bob")
        guard case .pair(let view) = try relay.request(bob, "alice"), case .pair(let again) = try relay.request(alice, "bob") else {
            Issue.record("no pair")
            return
        }
        #expect(view == again && view.basis == .policy && view.grant == nil && view.id == String(view.room.text.dropFirst(5).prefix(32)))
        #expect(relay.news().map(\.0) == [alice], "told once")
        let moment = relay.moment
        #expect(pairRefusal { () throws(PairRefusal) in try relay.broker.revoke(view.id, by: alice, at: moment) } == .notAllowed)
        relay.broker.policyChanged(policy, at: relay.moment)
        #expect(relay.broker.takeEffects().isEmpty && relay.admits("alice", to: view.room))
        relay.broker.policyChanged(PairHarness.openPolicy, at: relay.moment)
        #expect(
            relay.broker.takeEffects()
                == [
                    .tell([alice], .revoked(pair: view.id, .policy)), .tell([bob], .revoked(pair: view.id, .policy)), .endRoom(view.room, .policy),
                ].reordered(for: view, alice, bob))
        #expect(!relay.admits("alice", to: view.room))
    }

    @Test("protocol §3.14 a pair by policy ends when a renewed certificate has another name")
    func renamed() throws {
        var policy = AccessPolicy()
        policy.pairs = [.init(a: [try pattern("urn:segue:client:alice")], b: [try pattern("urn:segue:client:bob")])]
        let relay = PairHarness(policy)
        let alice = relay.connect("alice")
        _ = relay.connect("bob", key: "b")
        guard case .pair(let view) = try relay.request(alice, "bob") else {
            Issue.record("no pair")
            return
        }
        _ = relay.connect("eve", key: "b")
        #expect(relay.broker.takeEffects().contains(.endRoom(view.room, .policy)) && !relay.admits("b", to: view.room))
    }

    @Test("protocol §3.14 either end revokes; the room ends, and the grant is dead for good")
    func revoke() throws {
        for revoker in ["alice", "bob"] {
            let relay = PairHarness()
            let alice = relay.connect("alice")
            let bob = relay.connect("bob")
            let view = try relay.accept(bob, relay.ask(alice, "bob"))
            let mallory = relay.connect("mallory")
            _ = relay.broker.takeEffects()
            let moment = relay.moment
            #expect(pairRefusal { () throws(PairRefusal) in try relay.broker.revoke(view.id, by: mallory, at: moment) } == .unknownPair)
            try relay.broker.revoke(view.id, by: revoker == "alice" ? alice : bob, at: moment)
            let other = revoker == "alice" ? bob : alice
            #expect(
                relay.broker.takeEffects() == [
                    .ledgerChanged, .tell([other], .revoked(pair: view.id, .revoked)), .endRoom(view.room, .revoked),
                ])
            #expect(!relay.admits("alice", to: view.room) && !relay.admits("alice", to: view.room, presenting: view.grant))
            #expect(pairRefusal { () throws(PairRefusal) in try relay.broker.revoke(view.id, by: alice, at: moment) } == .unknownPair)
            // A new pair is another one; the old grant stays dead beside it, and after it.
            relay.wait(seconds: 5)
            let renewed = try relay.accept(bob, relay.ask(alice, "bob"))
            #expect(renewed.id != view.id && renewed.room == view.room && relay.admits("alice", to: view.room))
            try relay.broker.revoke(renewed.id, by: alice, at: relay.moment)
            #expect(!relay.admits("alice", to: view.room, presenting: view.grant) && !relay.admits("bob", to: view.room, presenting: renewed.grant))
        }
    }

    @Test("protocol §3.14 a revocation is remembered as long as any grant lives that was given out before, a longer one that was renewed included")
    func revocationOutlivesOlderGrants() throws {
        var policy = PairHarness.openPolicy
        policy.grantSeconds = 1_000
        let relay = PairHarness(policy)
        let alice = relay.connect("alice")
        let bob = relay.connect("bob")
        let first = try relay.accept(bob, relay.ask(alice, "bob"))
        policy.grantSeconds = 3
        relay.broker.policyChanged(policy, at: relay.moment)
        relay.wait(seconds: 1)
        let renewed = try relay.accept(alice, relay.ask(bob, "alice"))
        let old = try #require(first.grant)
        let new = try #require(renewed.grant)
        #expect(new.expiresAt >= old.expiresAt, "a renewal ends no earlier than what it renews")
        relay.wait(seconds: 1)
        try relay.broker.revoke(renewed.id, by: alice, at: relay.moment)
        for seconds in [1.0, 10, 900] {
            relay.wait(seconds: seconds)
            for grant in [old, new] { #expect(!relay.admits("bob", to: first.room, presenting: grant)) }
        }
    }

    @Test(
        "protocol §3.14 what cannot be a code is a bad value and costs no try", arguments: ["", "ABC", "ABCD-EFG", "7KPA-4MXQ9", "0000-0000", "ÄÖÜß"])
    func malformedCode(text: String) throws {
        let relay = PairHarness(PairHarness.openPolicy)
        let alice = relay.connect("alice")
        let bob = relay.connect("bob")
        let code = try relay.code(alice)
        for _ in 0..<10 { #expect(pairRefusal { () throws(PairRefusal) in try relay.enter(bob, text) } == .badValue("code")) }
        _ = try relay.enter(bob, code)
    }

    @Test("protocol §3.14 a grant expires: its room ends, and presenting it does not help")
    func expiry() throws {
        var policy = PairHarness.openPolicy
        policy.grantSeconds = 10
        let relay = PairHarness(policy)
        let alice = relay.connect("alice")
        let bob = relay.connect("bob")
        let view = try relay.accept(bob, relay.ask(alice, "bob"))
        relay.wait(seconds: 9.9)
        #expect(relay.admits("alice", to: view.room))
        _ = relay.broker.takeEffects()
        relay.wait(seconds: 1)
        let effects = relay.broker.takeEffects()
        #expect(effects.contains(.tell([alice], .revoked(pair: view.id, .expired))) && effects.last == .endRoom(view.room, .expired))
        #expect(!relay.admits("alice", to: view.room) && !relay.admits("alice", to: view.room, presenting: view.grant))
        #expect(relay.broker.ledger.entries.isEmpty)
    }

    @Test("protocol §3.4 a grant is good at a relay that does not know it, for its two keys and its room alone")
    func presented() throws {
        let first = PairHarness()
        let alice = first.connect("alice")
        let bob = first.connect("bob")
        let view = try first.accept(bob, first.ask(alice, "bob"))
        let other = try first.accept(alice, first.ask(first.connect("carol"), "alice"))
        let second = PairHarness()
        second.milliseconds = first.milliseconds
        #expect(!second.admits("alice", to: view.room))
        #expect(!second.admits("mallory", to: view.room, presenting: view.grant), "another's grant")
        #expect(!second.admits("alice", to: view.room, presenting: other.grant), "a grant for another room")
        #expect(second.admits("alice", to: view.room, presenting: view.grant))
        #expect(second.admits("bob", to: view.room), "the relay knows the pair now")
        let address = second.connect("bob")
        try second.broker.revoke(view.id, by: address, at: second.moment)
        #expect(!second.admits("alice", to: view.room, presenting: view.grant))
    }

    @Test("protocol §3.14 pairing again renews: the pair keeps its number, and revoking it ends the earlier grant too")
    func renewal() throws {
        let relay = PairHarness()
        let alice = relay.connect("alice")
        let bob = relay.connect("bob")
        let view = try relay.accept(bob, relay.ask(alice, "bob"))
        relay.wait(seconds: 100)
        let renewed = try relay.enter(bob, relay.code(alice))
        #expect(renewed.id == view.id && renewed.basis == .code && renewed.grant?.expiresAt == (view.grant?.expiresAt).map { $0 + 100 })
        try relay.broker.revoke(view.id, by: bob, at: relay.moment)
        #expect(!relay.admits("alice", to: view.room, presenting: view.grant))
    }

    @Test("protocol §3.14 requests are bounded by who asks and by who is asked")
    func bounds() throws {
        var limits = PairLimits()
        limits.requestsOutMax = 2
        limits.requestsInMax = 3
        let relay = PairHarness(limits: limits)
        let alice = relay.connect("alice")
        for name in ["b", "c", "d"] { _ = relay.connect(name) }
        _ = try relay.ask(alice, "b")
        _ = try relay.ask(alice, "c")
        #expect(pairRefusal { () throws(PairRefusal) in try relay.request(alice, "d") } == .pairsMax)
        for name in ["e", "f"] { _ = try relay.ask(relay.connect(name), "b") }
        let late = relay.connect("g")
        #expect(pairRefusal { () throws(PairRefusal) in try relay.request(late, "b") } == .pairsMax)
        relay.wait(seconds: 121)
        _ = try relay.ask(alice, "d")
    }

    @Test("protocol §3.14 grants are bounded by key, those that were revoked included, until they have expired")
    func ledgerBounds() throws {
        var limits = PairLimits()
        limits.pairsPerKeyMax = 2
        var policy = PairHarness.openPolicy
        policy.grantSeconds = 1_000
        let relay = PairHarness(policy, limits: limits)
        let alice = relay.connect("alice")
        for name in ["b", "c"] {
            let view = try relay.accept(relay.connect(name), relay.ask(alice, name))
            try relay.broker.revoke(view.id, by: alice, at: relay.moment)
        }
        _ = relay.connect("d")
        #expect(pairRefusal { () throws(PairRefusal) in try relay.request(alice, "d") } == .pairsMax)
        #expect(pairRefusal { () throws(PairRefusal) in try relay.code(alice) } == .pairsMax)
        relay.wait(seconds: 1_001)
        _ = try relay.ask(alice, "d")
    }
}

extension [PairEffect] {
    /// News goes to the lower key first.
    fileprivate func reordered(for view: PairView, _ alice: MemberAddress, _ bob: MemberAddress) -> [PairEffect] {
        view.low.fingerprint == PairHarness.key("alice") ? self : [self[0], self[2], self[1]]
    }
}
