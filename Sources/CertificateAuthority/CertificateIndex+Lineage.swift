extension RevocationReason {
    /// Whether what was renewed from a certificate is to go with it. All reasons but one say something about whoever had the certificate, and a renewal
    /// was asked for by just that one: a thief's renewal is as bad as the theft, a device that is out of operation is so under any certificate. Only
    /// `superseded` (RFC 5280 §5.3.1) means that another certificate stands in for this one.
    package var reachesRenewals: Bool { self != .superseded }
}

extension CertificateIndex {
    /// What a revocation of the certificates at `selected` takes along, they included, oldest first.
    ///
    /// - What their owners, or whoever had their keys, renewed from them, and what was renewed from that in its turn.
    /// - Whatever else certifies the key of such a renewal, as it does when an operator renews what looks like the device's newest certificate.
    /// - For `keyCompromise`, whatever else certifies one of the keys.
    ///
    /// An operator's own renewal with a fresh key is nobody's descendant: nobody but the operator asked for it.
    func reached(from selected: [Int], by reason: RevocationReason) -> [Int] {
        guard reason.reachesRenewals else { return selected }
        let successors = Dictionary(grouping: entries.indices.filter { entries[$0].origin.predecessor != nil }) { entries[$0].origin.predecessor }
        let sharing = Dictionary(grouping: entries.indices.filter { entries[$0].keyFingerprint != nil }) { entries[$0].keyFingerprint }
        let chosen = Set(selected)
        var found = chosen
        var open = selected
        while let position = open.popLast() {
            let entry = entries[position]
            var next = successors[entry.serial] ?? []
            if let key = entry.keyFingerprint, reason == .keyCompromise || !chosen.contains(position) { next += sharing[key] ?? [] }
            for position in next where found.insert(position).inserted { open.append(position) }
        }
        return found.sorted()
    }

    /// The nearest certificate up the line of renewals that was revoked for a reason which reaches `entry`.
    func revokedAncestor(of entry: CertificateEntry) -> CertificateSerial? {
        guard entry.origin.predecessor != nil else { return nil }
        let known = Dictionary(entries.map { ($0.serial, $0) }) { _, newer in newer }
        var predecessor = entry.origin.predecessor
        // As many steps as there are certificates: an index that was tampered with may go round in circles.
        for _ in entries {
            guard let serial = predecessor, let ancestor = known[serial] else { return nil }
            if ancestor.revocation?.reason.reachesRenewals ?? false { return serial }
            predecessor = ancestor.origin.predecessor
        }
        return nil
    }
}
