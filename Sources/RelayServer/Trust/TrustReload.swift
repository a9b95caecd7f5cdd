import TLSTransport

/// Certificates, authorities, revocation lists and OCSP responses: read for the first time, and anew when they change. Used by the supervisor's thread alone.
final class TrustReload {
    private let configuration: TLSConfiguration
    private let shared: Shared
    private let tickets = TicketKeys()
    private var current: TLSContext?
    private var toldStale: [String] = []
    private var toldListless: [String] = []

    init(_ configuration: TLSConfiguration, _ shared: Shared) {
        self.configuration = configuration
        self.shared = shared
    }

    var files: [String] { configuration.keyPairs.flatMap(\.files) + configuration.authorityFiles + configuration.revocationListFiles }

    func first() throws(TLSSetupError) -> TLSContext {
        let context = try TLSContext(server: configuration, tickets: tickets)
        current = context
        warnOfAuthorities(context)
        return context
    }

    /// Tells once of each authority that wants a revocation list: its clients' alert says "unknown CA", and leads nobody here.
    private func warnOfAuthorities(_ context: TLSContext) {
        let names = context.authoritiesWithoutList
        for name in names where !toldListless.contains(name) {
            shared.log.warning(
                "authority_without_revocation_list",
                [("authority", name), ("consequence", "its clients are refused: name its list in tls.revocationLists")])
        }
        toldListless = names
    }

    /// An OCSP response that cannot be used is told and leaves the one before; everything else that is wrong throws and changes nothing.
    func load() throws(TLSSetupError) {
        let context = try TLSContext(server: configuration, tickets: tickets, replacing: current)
        for fault in context.stapleFaults { shared.log.error("ocsp_response_refused", [("fault", "\(fault)")]) }
        shared.readiness.set(.ocsp, isStale: !context.stapleFaults.isEmpty)
        current = context
        warnOfAuthorities(context)
        shared.broadcast(.reload(context))
    }

    /// Tells once of each OCSP response that has gone out of date, and counts them.
    func watchStaples() {
        guard let current else { return }
        let stale = current.staleStaples
        for path in stale where !toldStale.contains(path) {
            shared.log.warning("ocsp_response_stale", [("file", path), ("effect", "not stapled any more")])
        }
        toldStale = stale
        shared.readiness.setStaleStaples(stale.count + current.stapleFaults.count)
    }
}
