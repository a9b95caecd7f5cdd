import BenchmarkSupport
import COpenSSL
import Glibc
import Reactor
import RelayBase
import TLSTransport

/// What the TLS library alone manages: both ends in one thread, a pair of memory BIOs between them, the relay's keys and certificates and its settings, and nothing
/// else. Each certificate is verified, and each connection's objects are freed.
@safe
final class LibraryHandshakes {
    struct Result {
        var handshakes = 0
        /// CPU of both ends, and of the accepting end alone.
        var seconds = 0.0
        var acceptingSeconds = 0.0
    }

    @safe
    private struct Client {
        let handle: OpaquePointer
    }

    private let server: OpaquePointer
    private let clients: [Client]

    init(state: String, clients pairs: [TLSConfiguration.KeyPair]) throws(BenchmarkFault) {
        guard let server = unsafe SSL_CTX_new(TLS_server_method()) else { throw BenchmarkFault("SSL_CTX_new") }
        unsafe self.server = unsafe server
        var clients: [Client] = []
        for pair in pairs {
            guard let client = unsafe SSL_CTX_new(TLS_client_method()),
                unsafe SSL_CTX_use_certificate_chain_file(client, pair.certificateFile) == 1,
                unsafe SSL_CTX_use_PrivateKey_file(client, pair.keyFile, SSL_FILETYPE_PEM) == 1,
                unsafe SSL_CTX_load_verify_locations(client, state + "/ca.pem", nil) == 1
            else { throw BenchmarkFault("the clients' certificates do not load") }
            unsafe SSL_CTX_set_verify(client, SSL_VERIFY_PEER, nil)
            unsafe LibraryHandshakes.settle(client)
            unsafe clients.append(Client(handle: client))
        }
        self.clients = clients
        guard unsafe SSL_CTX_use_certificate_chain_file(server, state + "/ca/live/localhost-ecdsa/certificate.pem") == 1,
            unsafe SSL_CTX_use_PrivateKey_file(server, state + "/ca/live/localhost-ecdsa/key.pem", SSL_FILETYPE_PEM) == 1,
            unsafe SSL_CTX_load_verify_locations(server, state + "/ca.pem", nil) == 1
        else { throw BenchmarkFault("the relay's certificate does not load") }
        if let store = unsafe SSL_CTX_get_cert_store(server), let lookup = unsafe X509_STORE_add_lookup(store, X509_LOOKUP_file()),
            unsafe X509_load_crl_file(lookup, state + "/crl.pem", X509_FILETYPE_PEM) > 0
        {
            unsafe X509_STORE_set_flags(store, UInt(X509_V_FLAG_CRL_CHECK))
        }
        unsafe SSL_CTX_set_verify(server, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nil)
        unsafe SSL_CTX_set_session_id_context(server, "segue", 5)
        unsafe SSL_CTX_set_num_tickets(server, 1)
        unsafe LibraryHandshakes.settle(server)
    }

    deinit {
        unsafe SSL_CTX_free(server)
        for client in clients { unsafe SSL_CTX_free(client.handle) }
    }

    /// The relay's suite and group: see ``TLSContext``.
    private static func settle(_ context: OpaquePointer) {
        unsafe segue_ssl_ctx_set_session_cache_mode(context, Int(SSL_SESS_CACHE_OFF))
        _ = unsafe segue_ssl_ctx_set_min_version(context, Int32(TLS1_3_VERSION))
        _ = unsafe SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256")
        _ = unsafe segue_ssl_ctx_set_groups(context, "X25519")
    }

    /// One handshake with each client, in order.
    func run() throws(BenchmarkFault) -> Result {
        var result = Result()
        let begun = CPUUsage.ofThread().totalNanoseconds
        for client in clients {
            result.acceptingSeconds += Double(try unsafe shakeHands(client.handle)) / 1e9
            result.handshakes += 1
        }
        result.seconds = Double(CPUUsage.ofThread().totalNanoseconds - begun) / 1e9
        return result
    }

    /// - Returns: CPU nanoseconds of the accepting end.
    private func shakeHands(_ context: OpaquePointer) throws(BenchmarkFault) -> UInt64 {
        guard let client = unsafe SSL_new(context) else { throw BenchmarkFault("SSL_new") }
        defer { unsafe SSL_free(client) }
        var spent: UInt64 = 0
        var mark = CPUUsage.ofThread().totalNanoseconds
        guard let accepting = unsafe SSL_new(server) else { throw BenchmarkFault("SSL_new") }
        var near: OpaquePointer?
        var far: OpaquePointer?
        guard unsafe BIO_new_bio_pair(&near, 32 << 10, &far, 32 << 10) == 1 else { throw BenchmarkFault("BIO_new_bio_pair") }
        unsafe SSL_set_bio(client, near, near)
        unsafe SSL_set_bio(accepting, far, far)
        unsafe SSL_set_connect_state(client)
        unsafe SSL_set_accept_state(accepting)
        spent += CPUUsage.ofThread().totalNanoseconds - mark
        for _ in 0..<4 {
            _ = unsafe SSL_do_handshake(client)
            mark = CPUUsage.ofThread().totalNanoseconds
            _ = unsafe SSL_do_handshake(accepting)
            spent += CPUUsage.ofThread().totalNanoseconds - mark
        }
        let isDone = unsafe SSL_is_init_finished(client) == 1 && SSL_is_init_finished(accepting) == 1
        var byte: UInt8 = 0
        // The ticket.
        _ = unsafe SSL_read(client, &byte, 1)
        ERR_clear_error()
        mark = CPUUsage.ofThread().totalNanoseconds
        unsafe SSL_free(accepting)
        spent += CPUUsage.ofThread().totalNanoseconds - mark
        guard isDone else { throw BenchmarkFault("the library alone did not shake hands") }
        return spent
    }
}
