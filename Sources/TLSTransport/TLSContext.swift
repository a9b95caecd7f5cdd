internal import COpenSSL

/// The settings, keys and trust store that connections are made from. Immutable: a reload makes a new one, and connections keep the one they began with.
///
/// `@unchecked Sendable`: everything is set in `init`; afterwards the library only counts references to the underlying object and reads it, both of which
/// it does safely from several threads.
@safe
package final class TLSContext: @unchecked Sendable {  // Safe: as said above.
    package enum Role: Sendable {
        case server
        case client
    }

    package let role: Role
    package let configuration: TLSConfiguration
    /// Names this trust store, its policy and the own certificates: a session ticket made under another version is not accepted.
    package let trustVersion: SHA256Digest
    let handle: OpaquePointer
    let tickets: TicketKeys?
    let clock: WallClock
    /// Of clients.
    let validatedPaths = ValidatedPaths()
    /// When all of the store's revocation lists are in force, in seconds since 1970.
    private(set) var listValidity: Range<Int64> = .min ..< .max
    /// The store's, for look-ups without a validation.
    private var revocationLists: [LibraryObject] = []
    /// What is stapled with each own certificate that has a response; the library's context keeps the certificates alive.
    private var staples: [(certificate: LibraryObject, path: String, response: StapledResponse)] = []
    /// Responses that could not be taken over; the previous context's, if it had one for the same certificate, is stapled on.
    package private(set) var stapleFaults: [TLSSetupError] = []
    /// Authorities whose clients are all refused, for want of a revocation list of theirs; by their names.
    package private(set) var authoritiesWithoutList: [String] = []
    /// When the own certificates and the authorities end.
    package private(set) var certificateEnds: [CertificateEnd] = []
    /// The ALPN list in wire form (RFC 7301 §3.1), at an address that the selection callback may hand out.
    let applicationProtocols: UnsafeMutableBufferPointer<UInt8>

    /// A context that accepts connections.
    ///
    /// - Parameters:
    ///   - tickets: the process's ticket keys, shared by all contexts; `nil`: sessions are never resumed.
    ///   - clock: what certificates' and tickets' ages are measured by.
    ///   - previous: the context that this one replaces. With it an OCSP response that cannot be used is no error (see ``stapleFaults``): it must not keep
    ///     a new revocation list from coming into force.
    package convenience init(
        server configuration: TLSConfiguration, tickets: TicketKeys?, clock: WallClock = .system, replacing previous: TLSContext? = nil
    ) throws(TLSSetupError) {
        guard !configuration.keyPairs.isEmpty else { throw .noKeyPair }
        guard configuration.clientCertificate == .none || !configuration.authorityFiles.isEmpty else { throw .noAuthorities }
        try self.init(role: .server, configuration, tickets: tickets, clock: clock, replacing: previous)
    }

    /// A context that makes connections; the server's certificate is always verified.
    package convenience init(client configuration: TLSConfiguration, clock: WallClock = .system) throws(TLSSetupError) {
        guard !configuration.authorityFiles.isEmpty else { throw .noAuthorities }
        try self.init(role: .client, configuration, tickets: nil, clock: clock)
    }

    private init(
        role: Role, _ configuration: TLSConfiguration, tickets: TicketKeys?, clock: WallClock, replacing previous: TLSContext? = nil
    ) throws(TLSSetupError) {
        guard configuration.minimumVersion <= configuration.maximumVersion else {
            throw .invalidVersionRange(minimum: configuration.minimumVersion, maximum: configuration.maximumVersion)
        }
        let protocolList = try Self.wireList(configuration.applicationProtocols)
        LibraryMemory.prepare()
        let credentials = try Credentials(configuration)
        ErrorQueue.clear()
        guard let handle = unsafe SSL_CTX_new(role == .server ? TLS_server_method() : TLS_client_method()) else {
            throw .library(operation: "SSL_CTX_new", detail: ErrorQueue.drainText())
        }
        self.role = role
        self.configuration = configuration
        self.tickets = tickets
        self.clock = clock
        trustVersion = credentials.trustVersion
        unsafe self.handle = unsafe handle
        unsafe applicationProtocols = .allocate(capacity: protocolList.count)
        _ = unsafe applicationProtocols.initialize(from: protocolList)
        // Every field has its value: a throw from here on runs `deinit`.
        try applyProtocolSettings()
        try applyCredentials(credentials)
        authoritiesWithoutList = credentials.authoritiesWithoutList(configuration.revocation)
        certificateEnds = CertificateEnd.all(in: credentials)
        try loadStaples(credentials, replacing: previous)
        try installCallbacks()
    }

    deinit {
        unsafe SSL_CTX_free(handle)
        for list in revocationLists { unsafe X509_CRL_free(list.pointer) }
        unsafe applicationProtocols.deallocate()
    }

    private static func wireList(_ names: [String]) throws(TLSSetupError) -> [UInt8] {
        var list: [UInt8] = []
        for name in names {
            let bytes = Array(name.utf8)
            guard (1...255).contains(bytes.count) else { throw .invalidApplicationProtocol(name) }
            list.append(UInt8(bytes.count))
            list += bytes
        }
        return list
    }
}

extension TLSContext {
    /// TLS 1.2: ECDHE with AEAD only. AES-128 first: the cheapest per record where the processor has AES.
    private static let ciphers12 = [
        "ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305", "ECDHE-RSA-CHACHA20-POLY1305",
        "ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-RSA-AES256-GCM-SHA384",
    ].joined(separator: ":")
    private static let ciphers13 = ["TLS_AES_128_GCM_SHA256", "TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_256_GCM_SHA384"].joined(separator: ":")
    private static let groups = ["X25519", "P-256", "P-384"].joined(separator: ":")
    private static let signatureAlgorithms = [
        "ecdsa_secp256r1_sha256", "ed25519", "ecdsa_secp384r1_sha384", "ecdsa_secp521r1_sha512", "rsa_pss_rsae_sha256", "rsa_pss_rsae_sha384",
        "rsa_pss_rsae_sha512", "rsa_pss_pss_sha256", "rsa_pss_pss_sha384", "rsa_pss_pss_sha512", "rsa_pkcs1_sha256", "rsa_pkcs1_sha384",
        "rsa_pkcs1_sha512",
    ].joined(separator: ":")

    /// 112 bits of strength: no RSA below 2,048 bits, no SHA-1.
    static let securityLevel: Int32 = 2
    /// Certificates between the peer's and the root.
    static let intermediatesMax: Int32 = 4
    /// Bytes of certificates that a peer may send.
    private static let certificateBytesMax = 32 << 10

    private func applyProtocolSettings() throws(TLSSetupError) {
        try require("TLS versions") {
            unsafe segue_ssl_ctx_set_min_version(handle, configuration.minimumVersion.rawValue) == 1
                && segue_ssl_ctx_set_max_version(handle, configuration.maximumVersion.rawValue) == 1
        }
        unsafe SSL_CTX_set_security_level(handle, Self.securityLevel)
        try require("TLS 1.2 ciphers") { unsafe SSL_CTX_set_cipher_list(handle, Self.ciphers12) == 1 }
        try require("TLS 1.3 ciphers") { unsafe SSL_CTX_set_ciphersuites(handle, Self.ciphers13) == 1 }
        try require("groups") { unsafe segue_ssl_ctx_set_groups(handle, Self.groups) == 1 }
        try require("signature algorithms") { unsafe segue_ssl_ctx_set_signature_algorithms(handle, Self.signatureAlgorithms) == 1 }
        unsafe SSL_CTX_set_options(
            handle,
            segue_ssl_op_no_renegotiation() | segue_ssl_op_no_compression() | segue_ssl_op_cipher_server_preference()
                | segue_ssl_op_prioritize_chacha())
        // Idle connections give their record buffers back; certificates are sent exactly as their files say.
        unsafe segue_ssl_ctx_set_mode(handle, Int(SSL_MODE_RELEASE_BUFFERS | SSL_MODE_NO_AUTO_CHAIN) | Int(SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER))
        unsafe segue_ssl_ctx_set_max_cert_list(handle, Self.certificateBytesMax)
        // No sessions are kept in memory, and none are resumed other than by ticket; no early data (0-RTT can be replayed).
        unsafe segue_ssl_ctx_set_session_cache_mode(handle, Int(SSL_SESS_CACHE_OFF))
        unsafe SSL_CTX_set_max_early_data(handle, 0)
        try require("session id context") {
            let version = trustVersion.bytes
            return unsafe SSL_CTX_set_session_id_context(handle, version, UInt32(version.count)) == 1
        }
        let ticketCount = tickets == nil ? 0 : min(max(configuration.ticketsPerHandshake, 0), 2)
        try require("ticket count") { unsafe SSL_CTX_set_num_tickets(handle, ticketCount) == 1 }
        if ticketCount == 0, role == .server { unsafe SSL_CTX_set_options(handle, segue_ssl_op_no_ticket()) }
        if let tickets { unsafe SSL_CTX_set_timeout(handle, Int(tickets.rotationSeconds)) }
        if role == .client, unsafe !applicationProtocols.isEmpty {
            // Unlike all its siblings this one answers 0 for success.
            try require("ALPN") { unsafe SSL_CTX_set_alpn_protos(handle, applicationProtocols.baseAddress, UInt32(applicationProtocols.count)) == 0 }
        }
    }

    private func applyCredentials(_ credentials: Credentials) throws(TLSSetupError) {
        for pair in credentials.pairs {
            let source = pair.source
            guard unsafe SSL_CTX_use_certificate(handle, pair.chain[0].pointer) == 1 else {
                throw .malformed(kind: "certificate", path: source.certificateFile, detail: ErrorQueue.drainText())
            }
            guard unsafe SSL_CTX_use_PrivateKey(handle, pair.key) == 1 else {
                throw .malformed(kind: "private key", path: source.keyFile, detail: ErrorQueue.drainText())
            }
            for authority in pair.chain.dropFirst() {
                guard unsafe segue_ssl_ctx_add1_chain_cert(handle, authority.pointer) == 1 else {
                    throw .malformed(kind: "certificate", path: source.certificateFile, detail: ErrorQueue.drainText())
                }
            }
        }
        let store = unsafe SSL_CTX_get_cert_store(handle)
        for authority in credentials.authorities {
            try require("trust store") { unsafe X509_STORE_add_cert(store, authority.pointer) == 1 }
            if role == .server { try require("authority names") { unsafe SSL_CTX_add_client_CA(handle, authority.pointer) == 1 } }
        }
        for (list, _) in credentials.revocationLists {
            try require("revocation lists") { unsafe X509_STORE_add_crl(store, list.pointer) == 1 }
            try require("revocation lists") { unsafe X509_CRL_up_ref(list.pointer) == 1 }
            revocationLists.append(list)
        }
        listValidity = Self.validity(of: revocationLists)
        if !credentials.revocationLists.isEmpty {
            // Without extended support the library takes a delta (RFC 5280 §5.2.4) for a complete list.
            let deltas = X509_V_FLAG_USE_DELTAS | X509_V_FLAG_EXTENDED_CRL_SUPPORT
            unsafe X509_STORE_set_flags(store, UInt(X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL | deltas))
            switch configuration.revocation {
            case .whereListed: unsafe X509_STORE_set_verify_cb(store, toleratingAnyMissingList)
            case .leaf: unsafe X509_STORE_set_verify_cb(store, toleratingMissingListAboveLeaf)
            case .chain: break
            }
        }
    }

    private func loadStaples(_ credentials: Credentials, replacing previous: TLSContext?) throws(TLSSetupError) {
        for pair in credentials.pairs {
            guard let path = pair.source.ocspResponseFile else { continue }
            do throws(TLSSetupError) {
                let response = try StapledResponse(
                    CredentialFile(path: path), leaf: pair.chain[0], issuers: pair.chain.dropFirst() + credentials.authorities, at: clock.seconds())
                staples.append((pair.chain[0], path, response))
            } catch {
                guard let previous else { throw error }
                stapleFaults.append(error)
                if let response = unsafe previous.staple(for: pair.chain[0].pointer) { staples.append((pair.chain[0], path, response)) }
            }
        }
    }

    /// The response for one of the own certificates, out of date or not.
    func staple(for certificate: OpaquePointer) -> StapledResponse? {
        staples.first { unsafe X509_cmp($0.certificate.pointer, certificate) == 0 }?.response
    }

    /// The files of the responses that have gone out of date by now, and are not stapled any more.
    package var staleStaples: [String] {
        let now = clock.seconds()
        return staples.filter { $0.response.nextUpdate <= now }.map(\.path)
    }

    /// Whether any revocation list has the serial number of one of the certificates, in DER. A quick look that proves nothing: the list may be out of date,
    /// or be none of the issuer's.
    func isListed(_ path: CertificatePath) -> Bool {
        guard !revocationLists.isEmpty else { return false }
        return isListed(path.leaf) || path.chain.contains { isListed($0) }
    }

    private func isListed(_ der: [UInt8]) -> Bool {
        guard let number = unsafe CertificateReader.serialNumber(inDER: der) else { return false }
        defer { unsafe ASN1_INTEGER_free(number) }
        return revocationLists.contains { list in
            var entry: OpaquePointer?
            return unsafe X509_CRL_get0_by_serial(list.pointer, &entry, number) != 0
        }
    }

    private func installCallbacks() throws(TLSSetupError) {
        let me = unsafe Unmanaged.passUnretained(self).toOpaque()
        try require("context data") { unsafe SSL_CTX_set_ex_data(handle, 0, me) == 1 }
        let verify: Int32 =
            switch (role, configuration.clientCertificate) {
            case (.client, _), (.server, .optional): SSL_VERIFY_PEER
            case (.server, .required): SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT
            case (.server, .none): SSL_VERIFY_NONE
            }
        unsafe SSL_CTX_set_verify(handle, verify, nil)
        unsafe SSL_CTX_set_verify_depth(handle, Self.intermediatesMax)
        unsafe SSL_CTX_set_cert_verify_callback(handle, verifyPeerCertificate, me)
        guard role == .server else { return }
        unsafe segue_ssl_ctx_set_servername_callback(handle, acceptServerName)
        if !staples.isEmpty { unsafe segue_ssl_ctx_set_status_callback(handle, stapleResponse, me) }
        if unsafe !applicationProtocols.isEmpty { unsafe SSL_CTX_set_alpn_select_cb(handle, selectApplicationProtocol, me) }
        if tickets != nil {
            try require("ticket keys") { unsafe SSL_CTX_set_tlsext_ticket_key_evp_cb(handle, keyTicket) == 1 }
            try require("ticket checks") { unsafe SSL_CTX_set_session_ticket_cb(handle, ticketWillBeSealed, ticketWasOpened, me) == 1 }
        }
    }

    private func require(_ operation: String, _ body: () -> Bool) throws(TLSSetupError) {
        guard body() else { throw .library(operation: operation, detail: ErrorQueue.drainText()) }
    }
}
