import Reactor
import RelayRooms
import RelayServer
import TLSTransport

/// What a configuration names besides certificates: whether it is there and can be used, and what its absence means.
enum CheckSections {
    static func policy(_ configuration: ServerConfiguration, isDevelopment: Bool, _ report: inout CheckReport) {
        let policy = configuration.policy
        guard let file = configuration.policyFile else {
            if isDevelopment {
                report.add(.ok, "policy", "development mode's own: everybody may do everything, and the operator administers")
            } else {
                report.add(
                    .warn, "policy", "not named: nobody may join a room",
                    advice: "Name a policy file by the key 'policy'; Deploy/policy.json5 is a sample.")
            }
            return
        }
        let pairing = policy.pairs.count + policy.pairRequests.count + (policy.pairCodes.isEmpty ? 0 : 1)
        report.add(
            .ok, "policy",
            "\(file): \(policy.admins.count) administrators' patterns, \(policy.access.count) access rules, \(policy.rooms.count) room rules, "
                + "\(pairing) pairing rules")
        for doubt in policy.doubts { report.add(.warn, file, "\(doubt.path): \(doubt.message)") }
        guard configuration.tokens == nil else { return }
        for (place, rule) in policy.rooms.enumerated() where rule.settings.requires.contains(.token) {
            report.add(
                .warn, file, "rooms[\(place)]: asks for a token, but tokens are not in use: nobody can join",
                advice: "Name the identity provider's keys by 'tokens' in the configuration.")
        }
    }

    static func state(_ configuration: ServerConfiguration, _ report: inout CheckReport) {
        guard let folder = configuration.stateFolder else {
            report.add(
                .warn, "state", "not named: the relay's signing key and the grants of pairs end with it", advice: "Name a folder by the key 'state'.")
            return
        }
        do throws(StateFault) {
            switch try StateInspection.of(folder) {
            case .willBeMade: report.add(.ok, "state", "\(folder) will be made")
            case .ready: report.add(.ok, "state", "\(folder) can be used")
            case .inUse:
                report.add(
                    .warn, "state", "\(folder) is in use by a relay",
                    advice: "Good if that is the relay itself; another one needs a folder of its own, and does not start on this one.")
            }
        } catch {
            report.add(
                .fail, "state", "\(error)", advice: "The relay's user must own the folder, with mode 0700; it is made if the one above is there.")
        }
    }

    static func web(_ configuration: ServerConfiguration, _ report: inout CheckReport) {
        guard let folder = configuration.webFolder else {
            report.add(.ok, "web", "not named: no web client is served")
            return
        }
        do throws(WebFolderFault) {
            let found = try WebFolder(path: folder, limits: configuration.limits).survey()
            report.add(.ok, "web", "\(folder): \(found.files) files, \(found.bytes) bytes")
        } catch {
            report.add(.fail, "web", "\(error)", advice: "It must be a folder as Deploy/web assembles it, readable by the relay's user.")
        }
    }

    static func auditLog(_ configuration: ServerConfiguration, _ report: inout CheckReport) {
        guard let path = configuration.auditLog else {
            report.add(.ok, "auditLog", "not named: the log has the records, as event \"audit\"")
            return
        }
        do throws(SystemFault) {
            try AuditFile.inspect(path)
            report.add(.ok, "auditLog", "\(path) can be written")
        } catch {
            report.add(.fail, "auditLog", "cannot open \(path): \(AuditFile.explain(error))", advice: "The relay does not start without it.")
        }
    }

    static func proxies(_ configuration: ServerConfiguration, _ report: inout CheckReport) {
        let proxies = configuration.proxies
        var parts: [String] = []
        if !proxies.listen.isEmpty { parts.append("without TLS on " + proxies.listen.map(\.description).joined(separator: ", ")) }
        if proxies.tlsHeader == .required { parts.append("PROXY headers on the TLS listeners") }
        if !proxies.identities.isEmpty { parts.append("with certificates of \(proxies.identities.count) patterns") }
        if parts.isEmpty {
            report.add(.ok, "proxies", "none in front")
            return
        }
        report.add(.ok, "proxies", parts.joined(separator: "; ") + "; from \(proxies.networks.count) networks")
        if proxies.networks.isEmpty {
            report.add(.warn, "proxies.networks", "empty: no proxy gets in")
        }
    }

    /// Whether the keys of bearer tokens can be had, and what they mean for clients without a certificate.
    static func tokens(_ configuration: ServerConfiguration, _ report: inout CheckReport) {
        guard let settings = configuration.tokens else {
            report.add(.ok, "tokens", "not in use")
            return
        }
        do {
            let keys = try settings.countKeys()
            report.add(
                .ok, settings.keysFile, "\(keys.used) keys for bearer tokens" + (keys.passedOver > 0 ? ", \(keys.passedOver) passed over" : ""))
        } catch {
            report.add(.fail, "tokens.keys", "\(error)", advice: "It must be a JWK set of public keys for ES256 or EdDSA.")
        }
        guard configuration.tls.clientCertificate == .required, configuration.proxies.listen.isEmpty else { return }
        report.add(
            .ok, "tokens", "second factor only: tls.clientCertificates is \"required\"",
            advice: "With \"optional\", clients without a certificate get in by a token.")
    }
}
