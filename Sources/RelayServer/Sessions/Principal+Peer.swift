import RelayRooms
import Signalling
import TLSTransport

extension Principal {
    /// Who a verified certificate is.
    init(_ peer: PeerIdentity, proof: ProofSet = .certificate) {
        var names = peer.uris.map { PrincipalName(.uri, $0) } + peer.dnsNames.map { PrincipalName(.dns, $0) }
        names += peer.emails.map { PrincipalName(.email, $0) }
        let fingerprint = peer.keyFingerprint.hex
        names.append(PrincipalName(.key, PrincipalName.Kind.keyPrefix + fingerprint))
        self.init(name: peer.name, names: names, fingerprint: fingerprint, proofs: proof)
    }
}

extension RelayMessage.Identity {
    init(_ principal: Principal) {
        let hasToken = principal.proofs.contains(.token)
        let proof: RelayMessage.Proof
        if principal.proofs.contains(.certificate) {
            proof = hasToken ? .certificateAndToken : .certificate
        } else if principal.proofs.contains(.forwarded) {
            proof = hasToken ? .forwardedAndToken : .forwarded
        } else {
            proof = .token
        }
        self.init(name: principal.name, fingerprint: principal.fingerprint, proof: proof)
    }
}
