import FoundationEssentials
import JOSE
import RelayServer

/// How a browser gets into a relay in development mode without a certificate: a bearer token of a key that the state folder keeps.
struct DevelopmentToken {
    static let subject = "dev"
    static let issuer = "segue-development"
    static let seconds: Int64 = 12 * 3_600

    private let key: SigningKey
    private let keysFile: String

    /// Makes the key and its public set where they are missing. Safe to repeat, and from several processes at once.
    static func prepare(_ state: StateDirectory) throws(CommandFailure) -> DevelopmentToken {
        let key: SigningKey
        do {
            key = try SigningKey.openOrCreate(path: state.tokenKey)
        } catch {
            throw CommandFailure(code: .failure, message: "cannot prepare the key of development tokens: \(error)")
        }
        let keys = Data(key.publicSet)
        do {
            if (try? Data(contentsOf: URL(filePath: state.tokenKeys))) != keys {
                try keys.write(to: URL(filePath: state.tokenKeys), options: .atomic)
            }
        } catch {
            throw CommandFailure(code: .failure, message: "cannot write \(state.tokenKeys)")
        }
        return DevelopmentToken(key: key, keysFile: state.tokenKeys)
    }

    /// What the relay has to believe.
    var settings: TokenSettings {
        var settings = TokenSettings(keysFile: keysFile)
        settings.issuer = DevelopmentToken.issuer
        return settings
    }

    /// - Parameter now: seconds since 1970.
    func token(now: Int64) throws(CommandFailure) -> String {
        let claims =
            "{\"iss\":\"\(DevelopmentToken.issuer)\",\"sub\":\"\(DevelopmentToken.subject)\",\"aud\":\"\(settings.audience)\",\"iat\":\(now),"
            + "\"exp\":\(now + DevelopmentToken.seconds)}"
        do {
            return try key.sign(type: "JWT", claims: Array(claims.utf8))
        } catch {
            throw CommandFailure(code: .failure, message: "cannot sign a development token: \(error)")
        }
    }
}
