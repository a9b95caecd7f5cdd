import BenchmarkSupport
import Glibc
import JOSE

/// Bearer tokens for as many clients as are wanted, each with a subject of its own, and the key that a relay verifies them by.
final class ClientTokens {
    let keysFile: String
    private let key: SigningKey

    init(folder: String) throws {
        key = try SigningKey.ephemeral()
        keysFile = folder + "/keys.json"
        let text = String(decoding: key.publicSet, as: UTF8.self)
        let file = unsafe fopen(keysFile, "w")
        guard let file = unsafe file, unsafe fputs(text, file) >= 0, unsafe fclose(file) == 0 else {
            throw BenchmarkFault("\(keysFile): errno \(errno)")
        }
    }

    /// For the relay: clients need no certificate, and these tokens are believed.
    var environment: [String] { ["SEGUE_TLS_CLIENT_CERTIFICATES=optional", "SEGUE_TOKENS_KEYS=\(keysFile)"] }

    func token(_ number: Int) throws -> String {
        let claims = "{\"sub\":\"client-\(number)\",\"aud\":\"segue\",\"exp\":\(time(nil) + 3_600)}"
        return try key.sign(type: "JWT", claims: Array(claims.utf8))
    }
}
