import Reactor
import RelayServer
import TLSTransport
import Testing

@testable import segue

@Suite("What serve runs on")
struct ServeTests {
    private static func resolve(
        _ words: [String] = [], file: String? = nil, environment: [String: String] = [:], cores: Int = 3
    ) throws -> ServerConfiguration {
        let arguments = try Arguments.parse(words, ServeCommand.spec)
        return try ServeConfiguration.resolve(
            text: file.map { Array($0.utf8) }, environment: environment, arguments: arguments, development: nil, cores: cores)
    }

    private static let certificates = "tls: { certificates: [{ chain: 'c', key: 'k' }], clientAuthorities: ['a'] }"

    @Test(
        "flags win over the environment, the environment over the file, the file over the number of cores",
        arguments: [
            ([], nil, nil, 3), ([], nil, "5", 5), ([], "loops: 7, ", nil, 7), ([], "loops: 7, ", "5", 5), (["--loops", "2"], "loops: 7, ", "5", 2),
            (["--loops", "2"], nil, nil, 2), ([], "loops: 1, ", nil, 1),
        ] as [([String], String?, String?, Int)])
    func precedence(words: [String], file: String?, variable: String?, loops: Int) throws {
        let environment = variable.map { ["SEGUE_LOOPS": $0] } ?? [:]
        let configuration = try Self.resolve(words, file: file.map { "{ \($0)\(Self.certificates) }" }, environment: environment)
        #expect(configuration.loops == loops)
    }

    @Test("as many loops as cores, within what the relay can have", arguments: [(0, 1), (1, 1), (64, 64), (65, 64), (1_000, 64), (-1, 1)])
    func cores(cores: Int, loops: Int) throws {
        #expect(try Self.resolve(cores: cores).loops == loops)
    }

    @Test("every flag reaches its key")
    func flags() throws {
        let configuration = try Self.resolve(
            [
                "--listen", "127.0.0.1:0", "--listen=[::1]:9000", "--client-certificates", "optional", "--tls-max", "1.2", "--echo",
                "--echo-message-bytes-max", "2048",
            ],
            environment: ["SEGUE_LISTEN": "192.0.2.1:1", "SEGUE_STATE": "/x", "SEGUE_BIN": "/y", "SEGUE_CONFIG": "/z", "HOME": "/h"])
        #expect(configuration.listen.map(\.description) == ["127.0.0.1:0", "[::1]:9000"])
        #expect(configuration.tls.clientCertificate == .optional)
        #expect(configuration.tls.maximumVersion == .tls12)
        #expect(configuration.echo)
        #expect(configuration.echoMessageBytesMax == 2_048)
    }

    @Test("without anything said the relay listens on this machine only")
    func loopback() throws {
        #expect(try Self.resolve().listen == [.loopback(port: 8_443)])
    }

    @Test(
        "a flag that is wrong in itself is a fault of the command line",
        arguments: [["--loops", "0"], ["--loops", "65"], ["--loops", "x"], ["--listen", "8443"], ["--listen", "localhost:1"]])
    func usage(words: [String]) {
        #expect(throws: UsageFault.self) { try Self.resolve(words) }
    }

    @Test("all faults of file, variables and flags are told together")
    func faults() throws {
        let invalid = try #require(throws: ServerConfiguration.Invalid.self) {
            try Self.resolve(
                ["--tls-max", "1.2", "--echo-message-bytes-max", "1"], file: "{ loops: 99, wrong: 1, tls: { minimumVersion: '1.3' } }",
                environment: ["SEGUE_NODE": "", "SEGUE_NONSENSE": "1"])
        }
        let paths = Set(invalid.faults.map(\.path))
        #expect(
            paths == [
                "SEGUE_NONSENSE", "loops", "wrong", "tls.minimumVersion", "echo.messageBytesMax", "node", "tls.certificates", "tls.clientAuthorities",
            ])
        let failure = ServeConfiguration.failure(invalid, path: "file.json5")
        #expect(failure.code == .configuration)
        for fault in invalid.faults { #expect(failure.message.contains("  \(fault)")) }
    }

    @Test("--config goes before SEGUE_CONFIG, and an empty variable is none")
    func configurationPath() throws {
        let none = try Arguments.parse([], ServeCommand.spec)
        let named = try Arguments.parse(["--config", "a"], ServeCommand.spec)
        #expect(ServeConfiguration.path(none, environment: [:]) == nil)
        #expect(ServeConfiguration.path(none, environment: ["SEGUE_CONFIG": ""]) == nil)
        #expect(ServeConfiguration.path(none, environment: ["SEGUE_CONFIG": "b"]) == "b")
        #expect(ServeConfiguration.path(named, environment: ["SEGUE_CONFIG": "b"]) == "a")
    }

    @Test(
        "the state folder is that of the flag, $SEGUE_STATE, $XDG_STATE_HOME or the home folder, in this order",
        arguments: [
            ("x", ["SEGUE_STATE": "/s", "XDG_STATE_HOME": "/d", "HOME": "/h"], "/here/x", true), ("/x/", ["HOME": "/h"], "/x", true),
            (nil, ["SEGUE_STATE": "s", "XDG_STATE_HOME": "/d", "HOME": "/h"], "/here/s", true),
            (nil, ["SEGUE_STATE": "", "XDG_STATE_HOME": "/d", "HOME": "/h"], "/d/segue", false),
            (nil, ["XDG_STATE_HOME": "relative", "HOME": "/h"], "/h/.local/state/segue", false),
            (nil, ["HOME": "/h"], "/h/.local/state/segue", false),
        ] as [(String?, [String: String], String, Bool)])
    func stateFolder(option: String?, environment: [String: String], path: String, isNamed: Bool) throws {
        let state = try StateDirectory.find(option: option, environment: environment, workingDirectory: "/here")
        #expect(state == StateDirectory(path: path, isNamed: isNamed))
    }

    @Test("without a home there is no state folder", arguments: [[:], ["HOME": ""], ["HOME": "relative"]])
    func noHome(environment: [String: String]) throws {
        let failure = try #require(throws: CommandFailure.self) {
            try StateDirectory.find(option: nil, environment: environment, workingDirectory: "/here")
        }
        #expect(failure.code == .configuration)
    }

    @Test(
        "the banner's commands reach the relay from another terminal",
        arguments: [
            ("127.0.0.1:8443", false, "segue listen --room demo", "https://localhost:8443/healthz"),
            ("127.0.0.1:9000", false, "segue listen --connect 127.0.0.1:9000 --room demo", "https://localhost:9000/healthz"),
            ("127.0.0.1:8443", true, "segue listen --state '/my state' --room demo", "https://localhost:8443/healthz"),
            ("[::1]:8443", false, "segue listen --connect '[::1]:8443' --room demo", "'https://[::1]:8443/healthz'"),
            ("0.0.0.0:8443", false, "segue listen --room demo", "https://localhost:8443/healthz"),
        ])
    func banner(address: String, isNamed: Bool, listen: String, url: String) throws {
        let address = try #require(SocketAddress(address))
        let text = DevelopmentBanner(state: StateDirectory(path: "/my state", isNamed: isNamed), addresses: [address], program: "segue", token: nil)
            .text
        #expect(text.contains("    \(listen) --save out/\n"))
        #expect(text.contains(" \(url)\n"))
        #expect(text.contains("--cacert '/my state/ca.pem' --cert '/my state/clients/alice.pem' --key '/my state/clients/alice-key.pem'"))
        let place = isNamed ? " --state '/my state'" : ""
        let connect = listen.contains("--connect") ? " " + listen.split(separator: " ").dropFirst(2).prefix(2).joined(separator: " ") : ""
        for line in [
            "pair code\(place)\(connect)", "pair enter\(place)\(connect) CODE", "room show\(place)\(connect) demo",
            "ca token\(place) --client carol --out carol.token",
            "enroll\(connect) --ca '/my state/ca.pem' --token-file carol.token --out carol",
        ] { #expect(text.contains("    segue \(line)\n"), "\(line)") }
        #expect(text.contains("/v1/rooms"))
        #expect(text.contains("for this machine only"))
        #expect(text.contains("Warning") == !address.isLoopback)
    }

    @Test(
        "a quoted word is the same word to a shell",
        arguments: ["plain/a.b_c-d", "", "two words", "it's", "$HOME `id` \"x\" \\ * ? ~ # ; & | < >", "\n", "é"])
    func quoting(word: String) throws {
        let result = try Program.run("sh", ["-c", "printf %s " + ShellQuote.quote(word)])
        #expect(result.output == word)
    }

    @Test(
        "the first dotted number of a library's version text",
        arguments: [
            ("OpenSSL 3.0.17 1 Jul 2025", [3, 0, 17]), ("1.52.0", [1, 52, 0]), ("libopus 1.3.1-dirty", [1, 3, 1]), ("libopus unknown", nil),
            ("", nil), ("1..2", nil),
        ] as [(String, [Int]?)])
    func versions(text: String, numbers: [Int]?) {
        #expect(CheckLibraries.numbers(in: text) == numbers)
    }
}
