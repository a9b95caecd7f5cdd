import HTTPProtocol
import JOSE
import RelayRooms
import Signalling

/// Pairs' grants for administrators, and the keys that everybody checks them with. The loop that pairing lives on has the ledger.
extension EventLoop {
    /// The keys that the relay signs statements and grants with.
    func readKeys() -> APIOutcome {
        var answer = HTTPAnswer(.ok, json: shared.pairing.signer.key.publicSet)
        answer.contentType = "application/jwk-set+json"
        return .answer(answer)
    }

    func listGrants(_ request: APIRequest) -> APIOutcome {
        guard let page = AdminPage(request.query) else { return .answer(EventLoop.badPage) }
        let token = request.ticket.token
        let reply = PairReply(loop: index) { result in
            let grants = (try? result.get()) ?? []
            return .httpAnswer(token: token, AdminJSON.grants(page.cut(grants, by: \.id, after: page.after), page))
        }
        post(.pairing(.listGrants(reply)), to: PairDesk.loop)
        return .later
    }

    /// Answered when the revocation would survive a crash.
    func revokeGrant(_ request: APIRequest) -> APIOutcome {
        let token = request.ticket.token
        let reply = PairReply(loop: index) { result in
            switch result {
            case .success: .httpAnswer(token: token, HTTPAnswer(.noContent))
            case .failure(.notStored): .httpAnswer(token: token, .problem(.serviceUnavailable, Refusal.notStored.message))
            case .failure: .httpAnswer(token: token, .problem(.notFound, "There is no such grant."))
            }
        }
        post(.pairing(.revokeGrant(request.parameters[0], reply)), to: PairDesk.loop)
        return .later
    }
}

/// A grant as administrators see it.
struct AdminGrant: Encodable, Sendable {
    struct Member: Encodable, Sendable {
        let name: String
        let fingerprint: String
    }

    let pair: String
    let basis: RelayMessage.PairBasis
    let members: [Member]
    /// Milliseconds since 1970-01-01T00:00Z.
    let issued: Double
    let expires: Double

    init(_ grant: PairGrant) {
        pair = grant.id
        basis = .init(grant.basis)
        members = [grant.low, grant.high].map { Member(name: $0.name, fingerprint: $0.fingerprint) }
        issued = Double(grant.issuedAt) * 1_000
        expires = Double(grant.expiresAt) * 1_000
    }
}
