import RelayBase

/// Requests about rooms: coming and going, and what hosts may do.
extension RequestDescription {
    static func join(under limits: Limits) -> RequestDescription {
        RequestDescription(
            "Enters a room, or its lobby; the room comes into being with its first member.",
            [
                .required(
                    "room",
                    .text(pattern: "^[A-Za-z0-9._~:@-]+$").with("minLength", 1).with("maxLength", .number(Double(limits.roomNameBytesMax))),
                    "At most roomNameBytesMax bytes."),
                .optional(
                    "displayName", .text(bytesMax: SignallingBounds.displayNameBytesMax),
                    "What others see beside the verified identity; at most \(SignallingBounds.displayNameBytesMax) bytes."),
                .optional("role", .reference(.role), "One of the roles that the policy allows; else the first of them."),
                .optional("grant", .text, "For a pair's room: the signed grant, where the relay may not know of it."),
            ],
            answer: entered, answerRules: enteredRules,
            refusals: [
                .roomName, .badValue, .alreadyInRoom, .pending, .unauthenticated, .notAllowed, .proofRequired, .roomLocked, .lobbyFull, .roomsMax,
                .participantsMax, .draining,
            ],
            [
                .init(
                    #"{"type":"join","id":3,"room":"demo","displayName":"Alice"}"#, #"{"type":"ok","id":3,"state":"joined",\#(ExampleValues.room)}"#),
                .init(
                    #"{"type":"join","id":3,"room":"ward-3","role":"speaker"}"#,
                    #"{"type":"ok","id":3,"room":"ward-3","participant":5,"role":"speaker","state":"waiting"}"#),
                .init(
                    #"{"type":"join","id":3,"room":"\#(ExampleValues.pairRoom)","grant":"\#(ExampleValues.jws)"}"#,
                    #"{"type":"ok","id":3,"state":"joined","room":"\#(ExampleValues.pairRoom)","participant":8,"role":"speaker","locked":false,"participants":[{"participant":8,"role":"speaker","identity":\#(ExampleValues.alice)}],"streams":[]}"#
                ),
            ])
    }

    private static let entered: [SchemaMember] = [
        .required("room", .text, "As asked."),
        .required("participant", .unsigned32, "The client's own number: 32 bits, never used twice while the relay runs."),
        .required("role", .reference(.role)),
        .required("state", .words(RelayMessage.JoinState.self), "Waiting: in the lobby, until a host lets the client in."),
        .optional("locked", .boolean, "Whether the room is locked."),
        .optional("participants", .list(of: .reference(.participant)), "Everybody in the room, oneself included, in the order in which they came."),
        .optional("streams", .list(of: .reference(.streamInfo)), "The streams that are open."),
        .optional("speakers", .list(of: .reference(.speaker)), "Who speaks, loudest first; absent: nobody."),
    ]

    private static let enteredRules: [DocumentNode.Member] = [
        .init("if", ["properties": ["state": ["const": "joined"]]]),
        .init("then", ["required": ["locked", "participants", "streams"]]),
        // Who waits is told nothing of the room.
        .init("else", ["properties": ["locked": false, "participants": false, "streams": false, "speakers": false]]),
    ]

    static let leave = RequestDescription(
        "Leaves the room or its lobby; ends the session's streams and subscriptions.",
        refusals: [.notInRoom], [.init(#"{"type":"leave","id":4}"#, #"{"type":"ok","id":4}"#)])

    // MARK: Moderation

    private static let moderated: [RefusalKind] = [.notInRoom, .notHost]

    static let mute = RequestDescription(
        "Drops what a participant publishes, or lets it be heard again.",
        [
            .required("participant", .unsigned32),
            .optional("kinds", .list(of: .reference(.streamKind)).with("minItems", 1), "Absent: all kinds."),
            .required("muted", .boolean),
        ],
        refusals: moderated + [.unknownParticipant, .badValue],
        [.init(#"{"type":"mute","id":10,"participant":6,"kinds":["audio"],"muted":true}"#, #"{"type":"ok","id":10}"#)])

    static let remove = RequestDescription(
        "Takes a participant out of the room.", [.required("participant", .unsigned32)], refusals: moderated + [.unknownParticipant],
        [.init(#"{"type":"remove","id":11,"participant":6}"#, #"{"type":"ok","id":11}"#)])

    static let promote = RequestDescription(
        "Gives a participant another role, above or below the one that it has.",
        [.required("participant", .unsigned32), .required("role", .reference(.role))],
        refusals: moderated + [.unknownParticipant],
        [.init(#"{"type":"promote","id":12,"participant":6,"role":"listener"}"#, #"{"type":"ok","id":12}"#)])

    static let lock = RequestDescription(
        "Lets nobody but hosts into the room, or everybody again.", [.required("locked", .boolean)], refusals: moderated,
        [.init(#"{"type":"lock","id":13,"locked":true}"#, #"{"type":"ok","id":13}"#)])

    static let end = RequestDescription(
        "Ends the room for everybody, the lobby included.", refusals: moderated, [.init(#"{"type":"end","id":14}"#, #"{"type":"ok","id":14}"#)])

    static let admit = RequestDescription(
        "Lets somebody in from the lobby.", [.required("participant", .unsigned32)],
        refusals: moderated + [.unknownParticipant, .participantsMax],
        [.init(#"{"type":"admit","id":15,"participant":7}"#, #"{"type":"ok","id":15}"#)])

    static let deny = RequestDescription(
        "Sends somebody away from the lobby.", [.required("participant", .unsigned32)], refusals: moderated + [.unknownParticipant],
        [.init(#"{"type":"deny","id":16,"participant":7}"#, #"{"type":"ok","id":16}"#)])
}
