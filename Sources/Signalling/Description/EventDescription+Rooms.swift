/// Events of rooms and their streams.
extension EventDescription {
    static let participantJoined = EventDescription(
        "Somebody has entered the room; to everybody else in it.", SharedSchema.participantMembers,
        #"{"type":"participant.joined","participant":5,"role":"speaker","displayName":"Alice","muted":["audio"],"identity":\#(ExampleValues.alice)}"#)

    static let participantLeft = EventDescription(
        "Somebody is not in the room any more; to everybody else.",
        [
            .required("participant", .unsigned32),
            .required(
                "reason", .words(RelayMessage.LeaveReason.self),
                "left: it asked to, or its session was closed; lost: its connection ended without that; removed: it was taken out."),
        ],
        #"{"type":"participant.left","participant":6,"reason":"left"}"#)

    static let participantChanged = EventDescription(
        "A participant's role or what is muted of it has changed; to everybody in the room.",
        [.required("participant", .unsigned32), .required("role", .reference(.role)), .required("muted", SharedSchema.mutedKinds)],
        #"{"type":"participant.changed","participant":6,"role":"speaker","muted":["audio"]}"#)

    static let streamPublished = EventDescription(
        "A stream is there; to everybody else in the room.", SharedSchema.streamInfoMembers,
        #"{"type":"stream.published","stream":2,"participant":6,"kind":"audio","codec":"opus","source":"microphone"}"#,
        #"{"type":"stream.published","stream":3,"participant":6,"kind":"video","codec":"vp8","priority":"low","description":{"width":640,"height":360},"layers":[{"width":640,"height":360}]}"#
    )

    static let streamEnded = EventDescription(
        "A stream is no more; to the publisher too when it did not ask for it.", [.required("stream", .unsigned32)],
        #"{"type":"stream.ended","stream":2}"#)

    static let speakers = EventDescription(
        "Others speak than before; to everybody in the room.",
        [.required("speakers", .list(of: .reference(.speaker)), "Loudest first, at most speakersMax. Empty: nobody speaks.")],
        #"{"type":"speakers","speakers":[{"participant":6,"stream":2,"level":-23},{"participant":5,"stream":1,"level":-31}]}"#,
        #"{"type":"speakers","speakers":[]}"#)

    static let streamForwarded = EventDescription(
        "Which video streams are forwarded now; to who has subscribed with lastN.",
        [.required("streams", .list(of: .unsigned32), "Of the streams of video that the client is subscribed to.")],
        #"{"type":"stream.forwarded","streams":[2,7]}"#)

    // MARK: Moderation

    static let roomLocked = EventDescription(
        "The room has been locked or unlocked; to everybody in it.", [.required("locked", .boolean)], #"{"type":"room.locked","locked":true}"#)

    static let roomRemoved = EventDescription(
        "The client is not in its room any more, or was not let in from the lobby.",
        [
            .required("room", .text),
            .required(
                "reason", .words(RelayMessage.RemovalReason.self),
                "By a host (removed, ended, denied), a changed policy, the end of a pair, or an administrator."),
        ],
        #"{"type":"room.removed","room":"demo","reason":"removed"}"#)

    static let roomAdmitted = EventDescription(
        "The client was let in from the lobby.", SharedSchema.roomEntryMembers, #"{"type":"room.admitted",\#(ExampleValues.room)}"#)

    static let lobbyWaiting = EventDescription(
        "Somebody waits in the lobby; to hosts.", SharedSchema.participantMembers,
        #"{"type":"lobby.waiting","participant":7,"role":"speaker","displayName":"Alice","muted":["video"],"identity":\#(ExampleValues.alice)}"#)

    static let lobbyLeft = EventDescription(
        "Somebody waits no more: let in, sent away, or gone; to hosts.", [.required("participant", .unsigned32)],
        #"{"type":"lobby.left","participant":7}"#)
}
