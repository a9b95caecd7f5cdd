/// Events of pairs: to the sessions of a key, but not to the one whose request brings them about.
extension EventDescription {
    private static let request = SchemaMember.required("request", .hexadecimal(digits: 32))

    static let pairRequested = EventDescription(
        "Somebody asks the client's key to be a pair.",
        [request, .required("identity", .reference(.identity), "Who asks."), .required("expires", .reference(.unixMilliseconds))],
        #"{"type":"pair.requested","request":"\#(ExampleValues.request)","expires":1760000120000,"identity":\#(ExampleValues.bob)}"#)

    static let pairMade = EventDescription(
        "The client's key is one of a pair now; to both keys.",
        [
            .required("pair", .reference(.pairInfo)), .optional("request", .hexadecimal(digits: 32), "The request that led to it."),
        ],
        #"{"type":"pair.made","request":"\#(ExampleValues.request)","pair":\#(ExampleValues.pair)}"#)

    static let pairDeclined = EventDescription(
        "A request was declined; to the key that asked.", [request], #"{"type":"pair.declined","request":"\#(ExampleValues.request)"}"#)

    static let pairWithdrawn = EventDescription(
        "A request is not open any more; to both keys.",
        [request, .required("reason", .words(RelayMessage.PairWithdrawalReason.self), "answered: by another session.")],
        #"{"type":"pair.withdrawn","request":"\#(ExampleValues.request)","reason":"answered"}"#)

    static let pairRevoked = EventDescription(
        "A pair has ended; to both keys.",
        [
            .required("pair", .hexadecimal(digits: 32), "The pair's number."),
            .required("reason", .words(RelayMessage.PairRevocationReason.self)),
        ],
        #"{"type":"pair.revoked","pair":"\#(ExampleValues.pairNumber)","reason":"revoked"}"#)
}
