import CertificateAuthority
import HTTPProtocol
import Reactor
import RelayBase
import RelayRooms
import TLSTransport

/// What the API has the certificate authority do. The authority waits for the disk, so it works on a thread of its own and answers later.
extension EventLoop {
    func enrolment(_ request: APIRequest) -> APIOutcome {
        guard let worker = shared.enrolment else { return .answer(EventLoop.notHere) }
        let isOfDevice: Bool
        let asked: EnrolmentRequest
        do throws(EnrolmentProblem) {
            switch request.operation {
            case .enroll: (asked, isOfDevice) = (try EnrolmentEndpoint.enrol(request.body), true)
            case .renew: (asked, isOfDevice) = (try EnrolmentEndpoint.renew(request.body, EventLoop.ownCertificate(request)), true)
            case .createEnrolmentToken: (asked, isOfDevice) = (try EnrolmentEndpoint.createToken(request.body), false)
            case .revokeCertificate: (asked, isOfDevice) = (try EnrolmentEndpoint.revoke(request.body), false)
            case .readDescription, .readMessages, .readKeys, .listRooms, .readRoom, .endRoom, .listParticipants, .removeParticipant, .listStreams,
                .listSessions,
                .readSession,
                .endSession, .listGrants, .revokeGrant, .watchLive, .createListening, .listenToRoom, .listen, .drain, .cancelDrain, .reload:
                return .answer(EventLoop.notHere)
            }
        } catch {
            return .answer(refused(error, request))
        }
        let answer: EnrolmentWorker.Answer = { [shared] outcome in
            // Acts of administrators are told of where they are answered; here whom they were about.
            let (result, details) = EnrolmentEndpoint.record(of: outcome)
            // Each enrolment has an administrator's token behind it; a device can renew as often as it likes.
            shared.audit.record(
                EventLoop.act(request), by: request.principal?.name ?? "", isAdministrator: request.operation != .renew, from: request.address,
                result, details)
            shared.answer(request.ticket, EnrolmentEndpoint.answer(to: outcome, now: .current()))
        }
        if isOfDevice {
            worker.submit(asked, from: EventLoop.addressKey(request), now: now, answer: answer)
        } else {
            worker.submit(asked, answer: answer)
        }
        return .later
    }

    /// A request that never reaches the authority counts all the same: what cannot be a token is a wrong token.
    private func refused(_ problem: EnrolmentProblem, _ request: APIRequest) -> HTTPAnswer {
        guard let worker = shared.enrolment, request.operation == .enroll || request.operation == .renew else {
            return problem.answer(now: .current())
        }
        let limit = worker.limit(EventLoop.addressKey(request), now: now)
        let told = limit.map { EnrolmentProblem.limited(retryAfterSeconds: $0) } ?? problem
        shared.audit.record(EventLoop.act(request), by: request.principal?.name ?? "", from: request.address, .refused(told.code))
        return told.answer(now: .current())
    }

    /// What the asker has proven in a handshake with the relay itself. A certificate that a proxy passed on is not enough, and the proxy's own is not
    /// the asker's: with that one, anybody behind the proxy could have the proxy's certificate renewed for a key of theirs.
    private static func ownCertificate(_ request: APIRequest) -> PeerIdentity? {
        guard let principal = request.principal, let certificate = request.certificate, principal.proofs.contains(.certificate),
            principal.fingerprint == certificate.keyFingerprint.hex
        else { return nil }
        return certificate
    }

    private static func act(_ request: APIRequest) -> String {
        APIRoute.all.first { $0.operation == request.operation }?.name ?? request.operation.rawValue
    }

    /// Whom the attempts are counted for.
    private static func addressKey(_ request: APIRequest) -> AddressKey {
        SocketAddress(request.address)?.key ?? SocketAddress.loopback(port: 0).key
    }
}
