import CertificateAuthority
import FoundationEssentials
import Glibc

/// The folder that a development relay and its clients share.
///
/// ```
/// ca/                        the certificate authority
/// ca.pem  crl.pem            links into it: what both sides trust, and who is revoked
/// relay/                     the relay's signing key and the grants of pairs
/// clients/alice.pem          a link to the client's certificate, the newest after renewals too
/// clients/alice-key.pem      and to its private key (mode 0600, in a folder of mode 0700)
/// token-key.pem              the key of the tokens that browsers get in by, with --web
/// token-keys.json            its public half, which the relay believes
/// ```
struct StateDirectory: Equatable {
    /// Absolute, without a slash at the end.
    let path: String
    /// Named by flag or variable, so that commands in other terminals must name it too.
    let isNamed: Bool

    static let option = OptionSpec.option(
        "--state", "DIR", "Development mode's state folder; else $SEGUE_STATE, $XDG_STATE_HOME/segue or ~/.local/state/segue.", completion: .folder)

    var authority: String { path + "/ca" }
    var trustStore: String { path + "/ca.pem" }
    var revocationList: String { path + "/crl.pem" }
    var relay: String { path + "/relay" }
    var tokenKey: String { path + "/token-key.pem" }
    var tokenKeys: String { path + "/token-keys.json" }
    func clientCertificate(_ name: String) -> String { "\(path)/clients/\(name).pem" }
    func clientKey(_ name: String) -> String { "\(path)/clients/\(name)-key.pem" }

    /// The folder that `--state` names, or the environment, or the user's own.
    static func find(_ arguments: Arguments) throws(CommandFailure) -> StateDirectory {
        try find(
            option: arguments.string(option.name), environment: ProcessInfo.processInfo.environment,
            workingDirectory: FileManager.default.currentDirectoryPath)
    }

    static func find(option: String?, environment: [String: String], workingDirectory: String) throws(CommandFailure) -> StateDirectory {
        func isGiven(_ text: String?) -> Bool { text.map { !$0.isEmpty } ?? false }
        if let option {
            guard isGiven(option) else { throw CommandFailure(code: .usage, message: "--state must not be empty") }
            return StateDirectory(path: absolute(option, workingDirectory), isNamed: true)
        }
        if let named = environment["SEGUE_STATE"], isGiven(named) { return StateDirectory(path: absolute(named, workingDirectory), isNamed: true) }
        // The XDG base directory specification has relative paths ignored.
        if let base = environment["XDG_STATE_HOME"], base.hasPrefix("/") {
            return StateDirectory(path: absolute(base + "/segue", workingDirectory), isNamed: false)
        }
        guard let home = environment["HOME"], home.hasPrefix("/") else {
            throw CommandFailure(code: .configuration, message: "there is no HOME to keep the state in; name a folder with --state")
        }
        return StateDirectory(path: absolute(home + "/.local/state/segue", workingDirectory), isNamed: false)
    }

    static func absolute(_ path: String, _ workingDirectory: String) -> String {
        var path = path.hasPrefix("/") ? path : workingDirectory + "/" + path
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        return path
    }
}

// MARK: Links

extension StateDirectory {
    /// Makes what is missing or near its end, and the links to it. Safe to repeat, and from several processes at once.
    func prepare(now: UnixTime) throws(CommandFailure) -> DevelopmentState {
        let state: DevelopmentState
        do {
            state = try DevelopmentState.prepare(directory: path, now: now)
        } catch {
            throw CommandFailure(code: .failure, message: "cannot prepare \(path): \(error)")
        }
        try linkAuthority()
        for client in state.clients { try linkClient(client.certificate) }
        return state
    }

    func linkAuthority() throws(CommandFailure) {
        try link(trustStore, to: "ca/ca.pem")
        try link(revocationList, to: "ca/crl.pem")
    }

    /// Links the newest certificate of a client's label, which stays so over renewals.
    func linkClient(_ issued: IssuedCertificate) throws(CommandFailure) {
        let folder = path + "/clients"
        if unsafe mkdir(folder, 0o700) != 0, errno != EEXIST { throw .system("mkdir", folder) }
        try link(clientCertificate(issued.entry.label), to: relative(issued.livePaths.certificate))
        if let key = issued.livePaths.key { try link(clientKey(issued.entry.label), to: relative(key)) }
    }

    private func relative(_ target: String) -> String {
        target.hasPrefix(path + "/") ? "../" + target.dropFirst(path.utf8.count + 1) : target
    }

    /// Makes `place` a symbolic link in one step. A file that is no link is somebody's own, and stays.
    private func link(_ place: String, to target: String) throws(CommandFailure) {
        var status = stat()
        if unsafe lstat(place, &status) == 0 {
            guard status.st_mode & S_IFMT == S_IFLNK else {
                throw CommandFailure(
                    code: .failure, message: "\(place) is in the way: a link to \(target) belongs there. Move it, or name another --state")
            }
            if (try? FileManager.default.destinationOfSymbolicLink(atPath: place)) == target { return }
        }
        let temporary = "\(place).\(getpid()).new"
        unsafe unlink(temporary)
        guard unsafe symlink(target, temporary) == 0 else { throw .system("symlink", temporary) }
        guard unsafe rename(temporary, place) == 0 else { throw .system("rename", place) }
    }
}
