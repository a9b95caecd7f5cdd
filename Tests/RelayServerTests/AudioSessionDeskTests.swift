import AudioSession
import RelayBase
import RelayRooms
import Testing

@testable import RelayServer

@Suite("Audio sessions: the desk, and what a loop does to a publisher")
struct AudioSessionDeskTests {
    private let phone = MemberAddress(loop: 1, token: 10)
    private let tablet = MemberAddress(loop: 2, token: 20)
    private var now = MonotonicInstant(nanoseconds: 1_000_000_000)

    private func ask(
        _ desk: AudioSessionDesk, _ address: MemberAddress, _ verb: SessionVerb, of group: String = "ann", _ id: UInt64? = 1
    ) -> [(address: MemberAddress, news: AudioSessionNews)] {
        desk.handle(
            AudioSessionAsk(address: address, group: group, device: "\(address.token)", verb: verb, requestID: id, warnings: ["odd"]), now: now)
    }

    private func activate(_ desk: AudioSessionDesk, _ address: MemberAddress, of group: String = "ann") {
        _ = ask(desk, address, .initialise, of: group)
        _ = ask(desk, address, .activate(background: false, priority: 0), of: group)
    }

    @Test("audio-session §3: a victim's media stops, and it is told, before the interrupter's answer is posted")
    func handOff() {
        let desk = AudioSessionDesk(limits: Limits())
        activate(desk, phone)
        _ = ask(desk, tablet, .initialise)
        let mail = ask(desk, tablet, .activate(background: false, priority: 0), 7)
        #expect(mail.first?.address == phone && mail.last?.address == tablet)
        #expect(mail.first?.news.effects.first == .stopMedia(.interrupted))
        #expect(mail.first?.news.snapshot?.state == .interrupted)
        #expect(mail.first?.news.requestID == nil && mail.first?.news.warnings == [])
        #expect(mail.last?.news.requestID == 7 && mail.last?.news.warnings == ["odd"] && mail.last?.news.snapshot?.state == .active)
        #expect(mail.last?.news.asked == .activate(background: false, priority: 0))
        guard case .answer? = mail.last?.news.effects.last else {
            Issue.record("the answer is not the last")
            return
        }
    }

    @Test("audio-session §3: other identities are other phones, and who is gone leaves nothing")
    func groups() {
        let desk = AudioSessionDesk(limits: Limits())
        activate(desk, phone)
        _ = ask(desk, tablet, .initialise, of: "bob")
        #expect(ask(desk, tablet, .activate(background: false, priority: 0), of: "bob").allSatisfy { $0.address == tablet })
        #expect(desk.groupCount == 2)
        #expect(ask(desk, phone, .left(crashed: true), nil).isEmpty)
        _ = ask(desk, tablet, .left(crashed: false), of: "bob", nil)
        #expect(desk.groupCount == 0)
        // What is said of somebody unknown makes nobody known.
        #expect(ask(desk, phone, .playback, nil).isEmpty && desk.groupCount == 0)
    }

    @Test("audio-session §4: an interruption whose end is never told ends at the limit, and not before")
    mutating func expiry() {
        var limits = Limits()
        limits.interruptionMillisecondsMax = 5_000
        let desk = AudioSessionDesk(limits: limits)
        activate(desk, phone)
        _ = ask(desk, phone, .interruptionBegan(.default))
        now = now.advanced(byMilliseconds: 4_999)
        #expect(desk.expire(now: now).isEmpty)
        now = now.advanced(byMilliseconds: 1)
        let mail = desk.expire(now: now)
        #expect(mail.first?.address == phone && mail.first?.news.snapshot?.state == .inactive)
        #expect(mail.first?.news.effects.contains(.event(.interruptionEnded(shouldResume: false, .timeout))) == true)
        #expect(desk.expire(now: now.advanced(byMilliseconds: 60_000)).isEmpty)
    }

    @Test("§3: an identity has as many sessions as it may")
    func bound() {
        var limits = Limits()
        limits.audioSessionsPerIdentityMax = 1
        let desk = AudioSessionDesk(limits: limits)
        activate(desk, phone)
        #expect(ask(desk, tablet, .initialise).last?.news.effects == [.refuse(.tooManySessions)])
    }

    // MARK: A publisher

    private func publisher(_ lane: Lane) -> Membership? {
        guard let name = RoomName("room", bytesMax: 64) else { return nil }
        let limits = Limits()
        let budget = ByteBudget(bytesMax: 1 << 20)
        let room = LocalRoom(number: RoomNumber(1), name: name, home: 0, limits: limits, budget: budget)
        guard let subscriber = room.fanout.addSubscriber(ParticipantID(1), token: 1),
            let slot = room.fanout.addStream(id: 1, publisher: ParticipantID(1), lane: lane)
        else { return nil }
        let admission = RoomAdmission(role: .speaker, publish: .all, settings: RoomSettings())
        let membership = Membership(
            room: room, participant: ParticipantID(1), displayName: nil, role: .speaker, subscriber: subscriber, admission: admission, spent: nil,
            budget: budget, now: now)
        membership.published.append(PublishedStream(id: 1, slot: slot, lane: lane))
        return membership
    }

    @Test(
        "audio-session §4: nothing is taken while stopped; then video begins with a key frame, and the first frame says so",
        arguments: [Lane.audio, .video])
    func uplink(lane: Lane) throws {
        let membership = try #require(publisher(lane))
        let key: FrameTraits = lane == .video ? .key : []
        #expect(!membership.isRestricted)
        membership.stopUplink(.interrupted)
        #expect(membership.isRestricted && membership.refusal(at: 0, key, byteCount: 100, now: now) == .interrupted)
        membership.stopUplink(.inactive)
        #expect(membership.refusal(at: 0, key, byteCount: 100, now: now) == .inactive)
        membership.stopUplink(nil)
        if lane == .video { #expect(membership.refusal(at: 0, [], byteCount: 100, now: now) != nil, "a picture without the one it refers to") }
        #expect(membership.refusal(at: 0, key, byteCount: 100, now: now) == nil)
        #expect(membership.isDiscontinuous(at: 0, key) && !membership.isDiscontinuous(at: 0, .configuration))
        membership.noteContinuity(at: 0, key)
        #expect(!membership.isDiscontinuous(at: 0, []) && !membership.isRestricted, "who was interrupted once costs nothing more")
    }

    @Test("audio-session §2: a stream that the category ends takes no frame until it has ended")
    func withdrawn() throws {
        let membership = try #require(publisher(.audio))
        #expect(membership.withdrawAll() == [1])
        #expect(membership.refusal(at: 0, [], byteCount: 100, now: now) == .category)
        membership.end(at: 0)
        membership.noteRestrictions()
        #expect(!membership.isRestricted)
    }
}

extension SessionVerb {
    fileprivate static let playback = SessionVerb.mediaArrived
}
