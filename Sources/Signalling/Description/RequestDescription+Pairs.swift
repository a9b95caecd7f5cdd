import RelayRooms

/// Requests about pairs.
extension RequestDescription {
    private static let peer = SchemaMember.required("peer", .text, "The identity's name.")
    private static let request: [SchemaMember] = [.required("request", .hexadecimal(digits: 32))]
    private static let pair: [SchemaMember] = [.required("pair", .reference(.pairInfo))]
    private static let codeAlphabet = String(decoding: PairCode.alphabet, as: UTF8.self)
    private static let expires = SchemaMember.required("expires", .reference(.unixMilliseconds))

    static let pairRequest = RequestDescription(
        "Asks an identity, or one of its keys, to be a pair.",
        [peer, .optional("fingerprint", .hexadecimal(digits: 64), "One of its keys, where it has several.")],
        answer: [
            .optional("pair", .reference(.pairInfo), "Where the policy pairs the two outright, or the peer had asked already."),
            .optional("request", .hexadecimal(digits: 32), "Else: what the peer has to accept."),
            .optional("expires", .reference(.unixMilliseconds), "When the request ends by itself."),
        ],
        answerRules: [.anyOf([["pair"], ["request", "expires"]])],
        refusals: [.certificateNeeded, .notAllowed, .peerUnavailable, .peerAmbiguous, .pairsMax, .internalFault],
        [
            .init(
                #"{"type":"pair.request","id":3,"peer":"urn:segue:client:bob"}"#,
                #"{"type":"ok","id":3,"request":"\#(ExampleValues.request)","expires":1760000120000}"#),
            .init(
                #"{"type":"pair.request","id":4,"peer":"urn:segue:client:bob","fingerprint":"\#(ExampleValues.bobFingerprint)"}"#,
                #"{"type":"ok","id":4,"pair":\#(ExampleValues.pair)}"#),
        ])

    static let pairAccept = RequestDescription(
        "Accepts a request for a pair.", request, answer: pair,
        refusals: [.certificateNeeded, .notAllowed, .unknownRequest, .pairsMax, .internalFault],
        [
            .init(
                #"{"type":"pair.accept","id":2,"request":"\#(ExampleValues.request)"}"#, #"{"type":"ok","id":2,"pair":\#(ExampleValues.pair)}"#)
        ])

    static let pairDecline = RequestDescription(
        "Declines a request for a pair.", request, refusals: [.certificateNeeded, .unknownRequest],
        [.init(#"{"type":"pair.decline","id":2,"request":"\#(ExampleValues.request)"}"#, #"{"type":"ok","id":2}"#)])

    static let pairCancel = RequestDescription(
        "Takes a request for a pair back.", request, refusals: [.certificateNeeded, .unknownRequest],
        [.init(#"{"type":"pair.cancel","id":4,"request":"\#(ExampleValues.request)"}"#, #"{"type":"ok","id":4}"#)])

    static let pairCode = RequestDescription(
        "Opens a one-time code that another key can enter.",
        answer: [.required("code", .text(pattern: "^[\(codeAlphabet)]{\(PairCode.length)}$")), expires],
        refusals: [.certificateNeeded, .notAllowed, .pairsMax],
        [.init(#"{"type":"pair.code","id":3}"#, #"{"type":"ok","id":3,"code":"7KPA4MXQ","expires":1760000120000}"#)])

    static let pairEnter = RequestDescription(
        "Enters another key's code.",
        [
            .required(
                "code", .text(pattern: "^([ -]*[\(codeAlphabet)\(codeAlphabet.lowercased())BSZbsz]){\(PairCode.length)}[ -]*$").with("maxLength", 64),
                "In any case, with spaces and hyphens anywhere; Z, S and B stand for the digits that they look like.")
        ],
        answer: pair, refusals: [.certificateNeeded, .notAllowed, .pairCode, .pairRate, .pairsMax, .badValue, .internalFault],
        [.init(#"{"type":"pair.enter","id":2,"code":"7kpa-4mxq"}"#, #"{"type":"ok","id":2,"pair":\#(ExampleValues.pair)}"#)])

    static let pairList = RequestDescription(
        "The client's pairs, and the requests that are open.",
        answer: [.required("pairs", .list(of: .reference(.pairInfo))), .required("requests", .list(of: .reference(.pairInvitation)))],
        refusals: [.certificateNeeded, .pairsMax, .internalFault],
        [
            .init(
                #"{"type":"pair.list","id":5}"#,
                #"{"type":"ok","id":5,"pairs":[\#(ExampleValues.pair)],"requests":[{"request":"\#(ExampleValues.request)","identity":\#(ExampleValues.bob),"direction":"in","expires":1760000120000}]}"#
            )
        ])

    static let pairRevoke = RequestDescription(
        "Ends a pair for good.", [.required("pair", .hexadecimal(digits: 32), "The pair's number.")],
        refusals: [.certificateNeeded, .notAllowed, .unknownPair, .notStored],
        [.init(#"{"type":"pair.revoke","id":6,"pair":"\#(ExampleValues.pairNumber)"}"#, #"{"type":"ok","id":6}"#)])

    static let pairDevices = RequestDescription(
        "The keys of an identity that are connected now.", [peer, .optional("fingerprint", .text, "Not looked at.")],
        answer: [
            .required(
                "devices",
                .list(
                    of: .object([
                        .required("fingerprint", .reference(.fingerprint)),
                        .optional("device", .text, "As in its hello; of the client's own identity only."),
                        .required("sessions", .integer(from: 1)),
                    ]), 0...PairLimits().devicesMax))
        ],
        refusals: [.certificateNeeded, .notAllowed, .peerUnavailable],
        [
            .init(
                #"{"type":"pair.devices","id":7,"peer":"urn:segue:client:alice","fingerprint":"\#(ExampleValues.aliceFingerprint)"}"#,
                #"{"type":"ok","id":7,"devices":[{"fingerprint":"\#(ExampleValues.aliceFingerprint)","device":"telephone","sessions":1}]}"#)
        ])
}
