import AudioSession
import RelayRooms

/// What a session's loop says to the loop that audio sessions live on, ``AudioSessionDesk/loop``.
struct AudioSessionAsk: Sendable {
    let address: MemberAddress
    /// Whose audio sessions these are: each has an arbiter of its own.
    let group: String
    /// The device's name, as it said in `hello`.
    let device: String?
    let verb: SessionVerb
    /// Of the client's request; `nil` for what the relay noticed.
    var requestID: UInt64?
    /// What was odd about the request where it came in.
    var warnings: [String] = []
}

/// What the desk has for one session: to be done in this order.
struct AudioSessionNews: Sendable {
    var effects: [SessionEffect]
    /// How the audio session stands then; `nil`: there is none.
    var snapshot: SessionSnapshot?
    /// What the session's own loop had asked, if it was that; with the client's request.
    var asked: SessionVerb?
    var requestID: UInt64?
    var warnings: [String] = []
}

extension SessionKey {
    init(_ address: MemberAddress) {
        self.init(loop: address.loop, token: address.token)
    }

    var address: MemberAddress { MemberAddress(loop: loop, token: token) }
}
