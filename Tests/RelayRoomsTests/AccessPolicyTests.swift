import RelayBase
import Testing

@testable import RelayRooms

@Suite("Access policy")
struct AccessPolicyTests {
    private static let key = String(repeating: "5e", count: 32)

    private func principal(
        _ names: [PrincipalName] = [PrincipalName(.uri, "urn:segue:client:alice"), PrincipalName(.dns, "alice.example.org")],
        proofs: ProofSet = .certificate, rules: [Principal.TokenRule] = []
    ) -> Principal {
        Principal(name: names.first?.text ?? "", names: names, fingerprint: Self.key, proofs: proofs, tokenRules: rules)
    }

    private func rule(
        _ identities: [String], _ rooms: [String], _ roles: [Role], publish: PublishKinds = .all
    ) throws -> AccessPolicy.AccessRule {
        AccessPolicy.AccessRule(
            identities: try identities.map { try #require(IdentityPattern($0)) }, rooms: try rooms.map { try #require(RoomPattern($0)) },
            roles: roles, publish: publish)
    }

    private func room(_ text: String) throws -> RoomName { try #require(RoomName(text, bytesMax: 128)) }

    @Test("an empty policy denies everything to everybody")
    func empty() throws {
        let policy = AccessPolicy()
        let demo = try room("demo")
        #expect(throws: AccessRefusal.notAllowed) { try policy.admission(of: self.principal(), to: demo, asking: nil) }
        #expect(!policy.isAdmin(principal()))
        #expect(!policy.pairs(principal(), principal()))
        #expect(!policy.mayRequestPair(principal(), of: principal()))
        #expect(!policy.mayUsePairCodes(principal()))
    }

    @Test("the first rule that names identity and room decides, even where a later one gives more")
    func firstMatch() throws {
        var policy = AccessPolicy()
        policy.access = [
            try rule(["*.example.org"], ["ward-*"], [.listener], publish: .audio), try rule(["urn:segue:client:alice"], ["*"], [.speaker, .host]),
        ]
        let ward = try policy.admission(of: principal(), to: room("ward-1"), asking: nil)
        #expect(ward.role == .listener && ward.publish == .audio)
        #expect(try policy.admission(of: principal(), to: room("hall"), asking: nil).role == .speaker)
        let one = try room("ward-1")
        #expect(throws: AccessRefusal.notAllowed) { try policy.admission(of: self.principal(), to: one, asking: .host) }
    }

    @Test("the first role is given, the others are for the asking, and no other is", arguments: Role.allCases)
    func askingForRoles(_ asked: Role) throws {
        var policy = AccessPolicy()
        policy.access = [try rule(["*"], ["*"], [.speaker, .recorder])]
        let demo = try room("demo")
        #expect(try policy.admission(of: principal(), to: demo, asking: nil).role == .speaker)
        if asked == .speaker || asked == .recorder {
            #expect(try policy.admission(of: principal(), to: demo, asking: asked).role == asked)
        } else {
            #expect(throws: AccessRefusal.notAllowed) { try policy.admission(of: self.principal(), to: demo, asking: asked) }
        }
    }

    @Test("no rule reaches a pair's room, whatever it says", arguments: ["pair:", "pair:00", "pair:x", "PAIR:00", "Pair:x", "pAIr:"])
    func pairRooms(name: String) throws {
        var policy = AccessPolicy()
        policy.access = [try rule(["*"], ["*", "pair:*"], [.host])]
        let pattern = try #require(RoomPattern("*"))
        let token = try #require(Principal.TokenRule(rooms: pattern, roles: [.host], publish: .all))
        let pair = try room(name)
        #expect(throws: AccessRefusal.notAllowed) { try policy.admission(of: self.principal(rules: [token]), to: pair, asking: nil) }
        #expect(try policy.admission(of: principal(), to: room("pairs"), asking: nil).role == .host)
    }

    @Test("a token's claim decides for the rooms that it names, the operator's rules for the others")
    func tokenClaims() throws {
        var policy = AccessPolicy()
        policy.access = [try rule(["*"], ["*"], [.host])]
        let pattern = try #require(RoomPattern("ward-*"))
        let claim = try #require(Principal.TokenRule(rooms: pattern, roles: [.listener], publish: []))
        let visitor = principal([PrincipalName(.token, "token:visitor")], proofs: .token, rules: [claim])
        let ward = try policy.admission(of: visitor, to: room("ward-3"), asking: nil)
        #expect(ward.role == .listener && ward.publish == [])
        #expect(try policy.admission(of: visitor, to: room("hall"), asking: nil).role == .host)
        let three = try room("ward-3")
        #expect(throws: AccessRefusal.notAllowed) { try policy.admission(of: visitor, to: three, asking: .host) }
        #expect(Principal.TokenRule(rooms: pattern, roles: [], publish: .all) == nil)
    }

    @Test(
        "a room may demand proofs, and the refusal says which are missing; a forwarded certificate counts as one",
        arguments: [
            (ProofSet.certificate, ProofSet.token), (.forwarded, .token), (.token, .certificate), ([.certificate, .token], []),
            ([.forwarded, .token], []),
        ] as [(ProofSet, ProofSet)])
    func twoFactors(_ proofs: ProofSet, _ missing: ProofSet) throws {
        var policy = AccessPolicy()
        policy.access = [try rule(["*"], ["*"], [.speaker])]
        var settings = RoomSettings()
        settings.requires = [.certificate, .token]
        policy.rooms = [AccessPolicy.RoomRule(rooms: [try #require(RoomPattern("vault"))], settings: settings)]
        let vault = try room("vault")
        if missing.isEmpty {
            #expect(try policy.admission(of: principal(proofs: proofs), to: vault, asking: nil).role == .speaker)
        } else {
            #expect(throws: AccessRefusal.missingProof(missing)) { try policy.admission(of: self.principal(proofs: proofs), to: vault, asking: nil) }
        }
        #expect(try policy.admission(of: principal(proofs: proofs), to: room("hall"), asking: nil).role == .speaker)
    }

    @Test("who is not allowed is not told which proofs would be asked for")
    func noOracle() throws {
        var policy = AccessPolicy()
        var settings = RoomSettings()
        settings.requires = .token
        policy.rooms = [AccessPolicy.RoomRule(rooms: [try #require(RoomPattern("*"))], settings: settings)]
        let vault = try room("vault")
        #expect(throws: AccessRefusal.notAllowed) { try policy.admission(of: self.principal(), to: vault, asking: nil) }
    }

    @Test("of a room's settings the first rule that names it holds, as a whole")
    func roomSettings() throws {
        var policy = AccessPolicy()
        var first = RoomSettings()
        first.hasLobby = true
        var second = RoomSettings()
        second.participantsMax = 3
        policy.rooms = [
            AccessPolicy.RoomRule(rooms: [try #require(RoomPattern("board"))], settings: first),
            AccessPolicy.RoomRule(rooms: [try #require(RoomPattern("*"))], settings: second),
        ]
        #expect(try policy.settings(of: room("board")) == first)
        #expect(try policy.settings(of: room("hall")) == second)
    }

    @Test(
        "administration is for certificates",
        arguments: [(ProofSet.certificate, true), (.forwarded, true), (.token, false), ([], false)] as [(ProofSet, Bool)])
    func admins(_ proofs: ProofSet, _ isAdmin: Bool) throws {
        var policy = AccessPolicy()
        policy.admins = [try #require(IdentityPattern("*"))]
        #expect(policy.isAdmin(principal(proofs: proofs)) == isAdmin)
    }

    @Test("a pair rule holds both ways, a request rule one way")
    func pairs() throws {
        let desk = principal([PrincipalName(.uri, "urn:segue:client:desk")])
        let phone = principal([PrincipalName(.uri, "urn:segue:client:phone")])
        let rule = AccessPolicy.PairRule(
            a: [try #require(IdentityPattern("urn:segue:client:desk"))], b: [try #require(IdentityPattern("urn:segue:client:phone"))])
        var policy = AccessPolicy()
        policy.pairs = [rule]
        policy.pairRequests = [rule]
        #expect(policy.pairs(desk, phone) && policy.pairs(phone, desk))
        #expect(!policy.pairs(desk, desk) && !policy.pairs(phone, principal()))
        #expect(policy.mayRequestPair(desk, of: phone) && !policy.mayRequestPair(phone, of: desk))
    }
}
