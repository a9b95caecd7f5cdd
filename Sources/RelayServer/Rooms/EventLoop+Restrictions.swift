import MediaProtocol
import RelayBase
import RelayRooms

/// What a host's mute, the policy's bit rate and its own audio session do to a publisher's frames, at the publisher's own loop: a frame that is refused never enters the room.
extension EventLoop {
    /// Whether a frame goes on from here; what it owes goes before it. One that does not may have gone on already, in a copy.
    func passesRestrictions(
        _ channel: Channel, _ membership: Membership, _ place: Int, _ bytes: UnsafeRawBufferPointer, _ traits: FrameTraits
    ) -> Bool {
        if membership.published[place].repeats != nil, let header = try? unsafe MediaHeader(parsing: bytes),
            membership.isRepeated(
                at: place, sequence: header.sequence, layer: Int(header.layer.spatial), isConfiguration: traits.contains(.configuration))
        {
            counters.framesRepeated &+= 1
            return false
        }
        let hadGap = membership.published[place].gap != nil
        if let refusal = membership.refusal(at: place, traits, byteCount: bytes.count, now: now) {
            switch refusal {
            case .muted: counters.framesMuted &+= 1
            case .bitRate: counters.framesOverBitRate &+= 1
            case .interrupted:
                counters.framesInterrupted &+= 1
                noteMediaWhileInterrupted(channel)
            case .inactive: counters.framesInactive &+= 1
            case .category: counters.framesWithoutRight &+= 1
            case .route: counters.framesWithoutInput &+= 1
            }
            if traits.contains(.configuration) {
                counters.configurationsDropped &+= UInt64(unsafe membership.hold(Array(bytes), traits, at: place))
            } else if refusal == .bitRate, !hadGap, membership.published[place].gap != nil {
                wantKeyFrame(membership, membership.published[place].slot, spatial: traits.spatial, atOnce: false)
            }
            return false
        }
        if membership.published[place].holdsConfiguration { releaseConfigurations(membership, place, traits) }
        guard membership.isDiscontinuous(at: place, traits) else { return true }
        unsafe forwardDiscontinuity(membership, place, bytes, traits)
        return false
    }

    private func releaseConfigurations(_ membership: Membership, _ place: Int, _ traits: FrameTraits) {
        // One that comes now takes the place of its layer's.
        for held in membership.releaseHeld(at: place) where !traits.contains(.configuration) || held.traits.spatial != traits.spatial {
            counters.framesIn &+= 1
            counters.bytesIn &+= UInt64(held.configuration.count)
            unsafe held.configuration.withUnsafeBytes { unsafe forward(membership.room, membership.published[place].slot, $0, held.traits) }
        }
    }

    /// - Parameter spatial: the layer; without it, all that somebody gets.
    private func wantKeyFrame(_ membership: Membership, _ slot: StreamSlot, spatial: Int?, atOnce: Bool) {
        guard membership.room.fanout.isOpen(slot) else { return }
        membership.room.fanout.wantKeyFrame(slot, spatial: spatial, atOnce: atOnce)
        markDirty(membership.room)
    }

    /// A member's muted kinds are others than before: what late joiners would be shown goes, and what may be seen again starts with a key frame.
    func memberChanged(_ number: RoomNumber, _ participant: ParticipantID, role: Role, muted: PublishKinds) {
        guard let room = room(number) else { return }
        for slot in room.fanout.openSlots where room.routes[slot.index].entry.publisher == participant {
            if muted.contains(PublishKinds(room.routes[slot.index].entry.lane)) { room.fanout.forgetPictures(slot) }
        }
        if muted.contains(.audio) { resetSpeech(room, of: participant) }
        guard let handle = room.members.first(where: { $0.participant == participant })?.channel, let membership = channels[handle]?.membership else {
            return
        }
        membership.role = role
        if let channel = channels[handle] { noteTicket(channel) }
        let lifted = membership.muted.subtracting(muted)
        if muted.subtracting(membership.muted).contains(.audio) { resetBuffers(membership) }
        membership.setMuted(muted)
        guard lifted.contains(.video) else { return }
        for stream in membership.published where stream.gap != nil && !stream.hasEnded {
            wantKeyFrame(membership, stream.slot, spatial: nil, atOnce: true)
        }
    }
}
