import BenchmarkSupport
import COpenSSL
import Glibc
import TLSTransport

/// Certificates for as many clients as are wanted, each with a key and a name of its own, signed by the authority of the benchmark's relay. A relay that saw one
/// certificate ten thousand times would have less to do, and less to keep, than one that sees ten thousand clients.
@safe
final class ClientCertificates {
    private let folder: String
    private let authority: OpaquePointer
    private let key: OpaquePointer

    /// - Parameter state: the relay's state folder, which has its development authority.
    init(state: String, folder: String) throws(BenchmarkFault) {
        self.folder = folder
        let certificate = unsafe ClientCertificates.reading(state + "/ca/ca.pem") { unsafe PEM_read_bio_X509($0, nil, nil, nil) }
        let key = unsafe ClientCertificates.reading(state + "/ca/ca-key.pem") { unsafe segue_x509_read_private_key($0) }
        guard let certificate = unsafe certificate, let key = unsafe key else { throw BenchmarkFault("the authority in \(state) cannot be read") }
        unsafe authority = unsafe certificate
        unsafe self.key = unsafe key
        unsafe mkdir(folder, 0o700)
    }

    deinit {
        unsafe X509_free(authority)
        unsafe EVP_PKEY_free(key)
    }

    private static func reading(_ path: String, _ read: (OpaquePointer) -> OpaquePointer?) -> OpaquePointer? {
        guard let bio = unsafe BIO_new_file(path, "r") else { return nil }
        defer { unsafe BIO_free(bio) }
        return unsafe read(bio)
    }

    /// Makes the certificate and key of client `number`; where there is one already, that is it.
    func keyPair(_ number: Int) throws(BenchmarkFault) -> TLSConfiguration.KeyPair {
        let pair = TLSConfiguration.KeyPair(certificateFile: "\(folder)/\(number).pem", keyFile: "\(folder)/\(number)-key.pem")
        if unsafe access(pair.keyFile, R_OK) == 0 { return pair }
        guard let own = unsafe segue_x509_generate_p256(), let certificate = unsafe X509_new() else { throw BenchmarkFault("out of memory") }
        defer {
            unsafe EVP_PKEY_free(own)
            unsafe X509_free(certificate)
        }
        guard unsafe fill(certificate, own, number), unsafe X509_sign(certificate, key, EVP_sha256()) > 0,
            unsafe write(pair.certificateFile, { unsafe PEM_write_bio_X509($0, certificate) }),
            unsafe write(pair.keyFile, { unsafe PEM_write_bio_PrivateKey($0, own, nil, nil, 0, nil, nil) })
        else { throw BenchmarkFault("a client's certificate could not be made") }
        return pair
    }

    private func fill(_ certificate: OpaquePointer, _ own: OpaquePointer, _ number: Int) -> Bool {
        let name = "bench-\(number)"
        let serial = unsafe X509_get_serialNumber(certificate)
        guard unsafe X509_set_version(certificate, 2) == 1, unsafe ASN1_INTEGER_set_uint64(serial, UInt64(number) + 1 << 40) == 1,
            unsafe X509_set_issuer_name(certificate, X509_get_subject_name(authority)) == 1,
            unsafe X509_gmtime_adj(X509_getm_notBefore(certificate), -3_600) != nil,
            unsafe X509_gmtime_adj(X509_getm_notAfter(certificate), 86_400) != nil,
            unsafe X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8, name, -1, -1, 0) == 1,
            unsafe X509_set_pubkey(certificate, own) == 1
        else { return false }
        return [
            (NID_subject_alt_name, "URI:urn:segue:client:\(name)"), (NID_ext_key_usage, "clientAuth"), (NID_key_usage, "critical,digitalSignature"),
            (NID_subject_key_identifier, "hash"), (NID_authority_key_identifier, "keyid"),
        ].allSatisfy { unsafe segue_x509_add_extension(certificate, authority, $0.0, $0.1) == 1 }
    }

    private func write(_ path: String, _ body: (OpaquePointer) -> Int32) -> Bool {
        guard let bio = unsafe BIO_new_file(path, "w") else { return false }
        defer { unsafe BIO_free(bio) }
        return unsafe body(bio) == 1
    }
}
