import HTTPProtocol
import JOSE
import Reactor
import RelayBase
import RelayRooms
import WebSocketProtocol

// Bearer tokens: shown with the request that opens a WebSocket, with `hello`, or with `authenticate`. They are verified on the loop, 0.1 ms each, which is
// why every connection and every session has a budget of them.
extension EventLoop {
    /// Tokens that a connection or a session may show a second, and at once.
    static let tokenTriesPerSecond = 5

    private var wallSeconds: Int64 { Int64(WallClock.now() / 1_000) }

    /// What the Authorization field of a request for a WebSocket says.
    ///
    /// - Returns: `nil` without a token, and where tokens are not in use: then the field is for somebody else.
    func bearer(_ head: HTTPRequestHead, _ requester: Requester, _ connection: Connection) throws(BearerRefusal) -> VerifiedToken? {
        guard tokens != nil else { return nil }
        let token: String
        switch BearerCredentials(head.fields) {
        case .absent: return nil
        case .malformed:
            refused(.token(.malformed), act: "session", actor: requester.principal?.name, requester.address)
            throw BearerRefusal(.badRequest, "The Authorization field is malformed.", error: "invalid_request")
        case .token(let text): token = text
        }
        // A proxy's connection carries many clients' requests: the proxy counts them.
        guard connection.hop.isTrusted || connection.tokenBudget.take(byteCount: 0, now: now) else {
            refused(.tooManyTries, act: "session", actor: requester.principal?.name, requester.address)
            throw BearerRefusal(.tooManyRequests, "Too many tokens were tried over this connection; wait.", error: nil)
        }
        do throws(TokenRefusal) {
            return try verify(token)
        } catch {
            refused(error, act: "session", actor: requester.principal?.name, requester.address)
            throw BearerRefusal(.unauthorized, "The token is not accepted: \(error.sentence).", error: "invalid_token")
        }
    }

    /// Takes the token that a session shows as proof of who it is, beside what it has proven already.
    func prove(_ channel: Channel, by token: String, act: String) throws(TokenRefusal) {
        do throws(TokenRefusal) {
            guard tokens != nil else { throw .notInUse }
            guard channel.tokenBudget.take(byteCount: 0, now: now) else { throw .tooManyTries }
            let verified = try verify(token)
            if let earlier = channel.token, earlier.subject != verified.subject { throw .subject }
            channel.take(verified)
        } catch {
            refused(error, act: act, actor: channel.principal?.name, channel.clientAddress)
            throw error
        }
    }

    private func verify(_ token: String) throws(TokenRefusal) -> VerifiedToken {
        guard let tokens else { throw .notInUse }
        let verified = try tokens.verify(token, now: wallSeconds)
        counters.tokensAccepted &+= 1
        return verified
    }

    private func refused(_ refusal: TokenRefusal, act: String, actor: String?, _ address: SocketAddress) {
        counters.tokensRefused[refusal.name, default: 0] &+= 1
        shared.audit.record(act, by: actor ?? "", from: "\(address)", .refused("token_refused"), [("reason", refusal.name)])
    }

    // MARK: As long as sessions live

    /// A session lasts as long as its token does; a newer one prolongs it.
    func closeExpiredTokens() {
        guard tokens != nil else { return }
        let seconds = wallSeconds
        for handle in channels.handles {
            guard let channel = channels[handle], let token = channel.token, token.endsAt <= seconds else { continue }
            beginClose(channel, .policyViolation, reason: "token_expired", counted: "token_expired")
        }
    }

    /// New keys: sessions whose token was signed by a key that is not among them end.
    func adopt(_ verifier: TokenVerifier) {
        tokens = verifier
        for handle in channels.handles {
            guard let channel = channels[handle], let token = channel.token, !verifier.trusts(token) else { continue }
            beginClose(channel, .policyViolation, reason: "token_revoked", counted: "token_revoked")
        }
    }
}

extension Channel {
    func take(_ token: VerifiedToken) {
        self.token = token
        if principal == nil { principal = Principal(token) } else { principal?.add(token) }
    }
}

/// Why a request's token does not open a WebSocket (RFC 6750 §3).
struct BearerRefusal: Error {
    let status: HTTPStatus
    let detail: String
    let fields: [HTTPField]

    /// - Parameter error: the code of RFC 6750 §3.1; `nil` without a challenge.
    init(_ status: HTTPStatus, _ detail: String, error: String?) {
        self.status = status
        self.detail = detail
        fields = error.map { [HTTPField("www-authenticate", "Bearer realm=\"segue\", error=\"\($0)\"")] } ?? []
    }
}
