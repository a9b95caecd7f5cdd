import CertificateAuthority
import FoundationEssentials
import Glibc
import Reactor
import RelayServer

/// What a relay in development mode tells whoever started it: the next commands, exactly as they can be pasted into another terminal.
struct DevelopmentBanner {
    let state: StateDirectory
    let addresses: [SocketAddress]
    /// How the program was called.
    let program: String
    /// What a browser gets in by; `nil` where no web client is served.
    let token: String?

    /// As it was called, in a form that holds in other folders too.
    static var program: String {
        let name = CommandLine.arguments.first ?? "segue"
        guard name.contains("/"), !name.hasPrefix("/") else { return name }
        return FileManager.default.currentDirectoryPath + "/" + (name.hasPrefix("./") ? String(name.dropFirst(2)) : name)
    }

    var text: String {
        var lines = [
            "Segue \(SegueVersion.text) in development mode, for this machine only: the relay has made its own certificates.",
            "State folder: \(state.path)",
        ]
        for address in addresses where !address.isLoopback {
            lines.append("Warning: \(address) can be reached from other machines, but the certificates name this one as localhost only.")
        }
        guard let address = addresses.first else { return lines.joined(separator: "\n") + "\n" }
        let place = state.isNamed ? ["--state", state.path] : []
        let client = place + connect(address)
        let common = client + ["--room", "demo"]
        if let token {
            lines += [
                "",
                "Meet in a browser that trusts \(state.trustStore) (the link is good for 12 hours, and whoever has it is '\(DevelopmentToken.subject)'):",
                "    https://\(urlHost(address)):\(address.port)/#/r/demo?token=\(token)",
            ]
        }
        lines += [
            "",
            "Save what a room plays, as bob:",
            "    " + ShellQuote.join([program, "listen"] + common + ["--save", "out/"]),
            "Publish media files into it, as alice:",
            "    " + ShellQuote.join([program, "publish"] + common + ["speech.opus", "clip.mp4"]),
            "Ask how the relay is:",
            "    " + ShellQuote.join(curl("alice", address, "/healthz")),
            "Pair two devices: alice shows a code, bob enters it:",
            "    " + ShellQuote.join([program, "pair", "code"] + client),
            "    " + ShellQuote.join([program, "pair", "enter"] + client + ["CODE"]),
            "See who is in the room, and as an administrator which rooms there are:",
            "    " + ShellQuote.join([program, "room", "show"] + client + ["demo"]),
            "    " + ShellQuote.join(curl("operator", address, "/v1/rooms")),
            "Let a device enrol, where the relay runs with --client-certificates optional:",
            "    " + ShellQuote.join([program, "ca", "token"] + place + ["--client", "carol", "--out", "carol.token"]),
            "    "
                + ShellQuote.join(
                    [program, "enroll"] + connect(address) + ["--ca", state.trustStore, "--token-file", "carol.token", "--out", "carol"]),
            "",
            "Ctrl-C ends it.",
        ]
        return lines.joined(separator: "\n") + "\n"
    }

    private func curl(_ client: String, _ address: SocketAddress, _ path: String) -> [String] {
        [
            "curl", "--cacert", state.trustStore, "--cert", state.clientCertificate(client), "--key", state.clientKey(client),
            "https://\(urlHost(address)):\(address.port)\(path)",
        ]
    }

    /// Nothing for the address that clients take by themselves.
    private func connect(_ address: SocketAddress) -> [String] {
        let host = reachable(address)
        if host == "127.0.0.1", address.port == 8_443 { return [] }
        return ["--connect", host.contains(":") ? "[\(host)]:\(address.port)" : "\(host):\(address.port)"]
    }

    /// An address that takes all interfaces is reached by the loopback one.
    private func reachable(_ address: SocketAddress) -> String {
        switch address.host {
        case "0.0.0.0": "127.0.0.1"
        case "::": "::1"
        default: address.host
        }
    }

    private func urlHost(_ address: SocketAddress) -> String {
        let host = reachable(address)
        if host == "127.0.0.1" { return "localhost" }
        return host.contains(":") ? "[\(host)]" : host
    }
}

/// Words for a POSIX shell.
enum ShellQuote {
    static func join(_ words: [String]) -> String { words.map(quote).joined(separator: " ") }

    /// The word itself where no character of it means anything to a shell, else in single quotes.
    static func quote(_ word: String) -> String {
        let isPlain = word.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
            case let byte: "/._-+:=@%,".utf8.contains(byte)
            }
        }
        if isPlain, !word.isEmpty { return word }
        return "'" + word.map { $0 == "'" ? "'\\''" : String($0) }.joined() + "'"
    }
}

/// Renews the development certificates of a relay that runs for weeks. The relay notices the changed files by itself.
enum DevelopmentRenewal {
    private static let daySeconds: UInt32 = 86_400

    /// Starts a thread that lives as long as the process.
    static func start(_ state: StateDirectory, log: Log) throws {
        _ = try LoopThread(name: "segue-renewal") {
            while true {
                sleep(daySeconds)
                do throws(CommandFailure) {
                    if try state.prepare(now: .current()).changed { log.info("development_certificates_renewed", [("state", state.path)]) }
                } catch {
                    log.error("development_renewal_failed", [("fault", error.message)])
                }
            }
        }
    }
}
