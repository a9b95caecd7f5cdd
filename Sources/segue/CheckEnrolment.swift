import CertificateAuthority
import FoundationEssentials
import RelayServer
import TLSTransport

/// Whether devices can enrol with what is configured, and be let in with what they get.
enum CheckEnrolment {
    static func check(_ configuration: ServerConfiguration, now: UnixTime, _ report: inout CheckReport) {
        guard let enrolment = configuration.enrolment else {
            report.add(.ok, "enrolment", "not in use")
            return
        }
        if configuration.tls.clientCertificate == .required {
            report.add(
                .warn, "tls.clientCertificates", "\"required\": a device without a certificate does not get through the handshake, to enrol",
                advice: "\"optional\"; sessions need a certificate all the same.")
        }
        let end: UnixTime
        let certificate: String?
        do throws(CertificateAuthorityFault) {
            let authority = try CertificateAuthority.open(directory: enrolment.authority)
            end = try authority.validity().notAfter
            certificate = text(authority.certificatePath)
        } catch {
            report.add(.fail, "enrolment.authority", "\(error)", advice: "'segue ca init' makes one; the relay's user must own the folder.")
            return
        }
        guard now < end else {
            report.add(.fail, "enrolment.authority", "\(enrolment.authority) has ended at \(end)")
            return
        }
        report.add(.ok, "enrolment.authority", "\(enrolment.authority) can sign until \(end)")
        let trusted = configuration.tls.authorityFiles.contains { path in
            guard let certificate, let file = text(path) else { return false }
            return file.contains(certificate)
        }
        if !trusted {
            report.add(
                .warn, "tls.clientAuthorities", "lacks the authority of 'enrolment': nobody is let in with a certificate from there",
                advice: "Add \(enrolment.authority)/ca.pem.")
        }
    }

    private static func text(_ path: String) -> String? {
        (try? Data(contentsOf: URL(filePath: path))).map { String(decoding: $0, as: UTF8.self) }
    }
}
