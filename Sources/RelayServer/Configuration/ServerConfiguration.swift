import FoundationEssentials
package import HTTPProtocol
package import Reactor
package import RelayBase
package import RelayRooms
package import TLSTransport

/// Everything that `segue serve` can be told. The annotated sample under `Deploy/` explains each key.
package struct ServerConfiguration: Sendable {
    package var listen: [SocketAddress] = [.loopback(port: 8_443)]
    package var node = "segue"
    /// Of the program, for who asks how the relay is.
    package var version = ""
    package var loops = 1
    /// Threads that decode, mix and encode sound; they sleep as long as nobody asks for paced or mixed delivery.
    package var audioWorkers = 1
    package var tls = TLSConfiguration()
    package var origins: OriginAllowList
    /// Whose bearer tokens are believed; `nil`: nobody's.
    package var tokens: TokenSettings?
    /// The file that ``policy`` is read from, at the start and whenever it changes; whoever sets it sets both.
    package var policyFile: String?
    /// Who may do what, as it is at the start; a reload replaces it in the loops.
    package var policy = AccessPolicy()
    /// Devices enrol here; `nil`: they do not.
    package var enrolment: EnrolmentConfiguration?
    /// Where the audit is written; `nil`: to the log.
    package var auditLog: String?
    /// The folder of the web client; `nil`: none is served.
    package var webFolder: String?
    package var proxies = ProxySettings()
    /// The relay is one of several; `nil`: it is alone.
    package var cluster: ClusterSettings?
    /// Where the relay keeps its signing key and the grants; `nil`: they end with it.
    package var stateFolder: String?
    package var limits = Limits()
    package var drainMilliseconds: UInt64 = 60_000
    package var reloadCheckMilliseconds: UInt64 = 1_000
    /// The algorithm by which the kernel paces connections (tcp(7), `tcp_congestion_control`); empty, or unknown to the kernel: the machine's own.
    package var congestionControl = "cubic"
    private static let congestionControlBytesMax = 15
    /// Test only: a WebSocket at `/echo` that sends back what it gets.
    package var echo = false
    package var echoMessageBytesMax = 16 << 20

    /// Faults of what is configured, all of them, for an operator to mend in one go.
    package struct Invalid: Error, Sendable, CustomStringConvertible {
        package let faults: [ConfigurationFault]

        package init(faults: [ConfigurationFault]) {
            self.faults = faults
        }

        package var description: String { faults.map(\.description).joined(separator: "\n") }
    }

    package init() {
        tls.applicationProtocols = ["h2", "http/1.1"]
        // An empty list has no entry that could be at fault.
        guard let none = try? OriginAllowList([]) else { preconditionFailure("an empty origin list is valid") }
        origins = none
    }

    package static let loopsMax = 64
    package static let audioWorkersMax = 16
    /// Environment variables that name nothing in the configuration.
    static let foreignVariables: Set<String> = ["SEGUE_BIN", "SEGUE_STATE", "SEGUE_CONFIG", "SEGUE_PYTHON", "SEGUE_PYTHON2", "SEGUE_ENROLMENT_TOKEN"]

    /// Reads a configuration file (JSON5), then lets `SEGUE_…` variables override it.
    ///
    /// - Parameters:
    ///   - text: the file's content, or `nil` without one.
    ///   - environment: all variables; those that do not begin with `SEGUE_` are ignored.
    ///   - defaults: what holds where neither of the two says anything.
    ///   - certificatesRequired: a configuration that names no certificate, or no authority for the clients' ones, is at fault.
    package init(
        text: [UInt8]?, environment: [String: String] = [:], defaults: ServerConfiguration = ServerConfiguration(), certificatesRequired: Bool = false
    ) throws(Invalid) {
        let (configuration, faults) = Self.examine(
            text: text, environment: environment, defaults: defaults, certificatesRequired: certificatesRequired)
        guard let configuration, faults.isEmpty else { throw Invalid(faults: faults) }
        self = configuration
    }

    /// The same for whoever wants to look further in spite of faults.
    ///
    /// - Returns: the configuration without what is at fault, `nil` when the text is none at all; and all faults.
    package static func examine(
        text: [UInt8]?, environment: [String: String], defaults: ServerConfiguration, certificatesRequired: Bool
    ) -> (configuration: ServerConfiguration?, faults: [ConfigurationFault]) {
        var configuration = defaults
        var members: [String: JSONValue] = [:]
        if let text {
            let decoder = JSONDecoder()
            decoder.allowsJSON5 = true
            guard let value = try? decoder.decode(JSONValue.self, from: Data(text)), case .object(let object) = value else {
                return (nil, [ConfigurationFault(path: "(file)", message: "is not one JSON5 object")])
            }
            members = object
        }
        var faults: [ConfigurationFault] = []
        for (name, value) in environment.sorted(by: { $0.key < $1.key }) where name.hasPrefix("SEGUE_") && !Self.foreignVariables.contains(name) {
            guard let path = path(ofVariable: name) else {
                faults.append(ConfigurationFault(path: name, message: "is not a known variable"))
                continue
            }
            set(&members, path, Self.value(ofVariable: value, path: path))
        }
        var reader = ConfigurationReader(members)
        configuration.read(&reader)
        faults += reader.finish()
        // What follows from a fault that is told already is not told again.
        let told = faults
        faults += configuration.check().filter { fault in !told.contains { $0.path.hasPrefix(fault.path) } }
        if certificatesRequired { faults += configuration.missingCertificates() }
        return (configuration, faults)
    }

    private mutating func read(_ reader: inout ConfigurationReader) {
        if let addresses = reader.strings("listen") {
            listen = []
            for (index, text) in addresses.enumerated() {
                if let address = SocketAddress(text) { listen.append(address) } else { reader.fault("listen[\(index)]", "must be ADDRESS:PORT") }
            }
        }
        if let value = reader.string("node") { node = value }
        if let value = reader.integer("loops", in: 1...Self.loopsMax) { loops = value }
        if let value = reader.integer("audioWorkers", in: 1...Self.audioWorkersMax) { audioWorkers = value }
        if let value = reader.integer("drainMilliseconds", in: 0...3_600_000) { drainMilliseconds = UInt64(value) }
        if let value = reader.integer("reloadCheckMilliseconds", in: 100...3_600_000) { reloadCheckMilliseconds = UInt64(value) }
        if let value = reader.string("congestionControl") {
            if value.utf8.count > Self.congestionControlBytesMax {
                reader.fault("congestionControl", "must have 15 bytes at most")
            } else if !value.isEmpty, CongestionControl.fault(value, calls: .linux) != nil {
                let known = CongestionControl.available() ?? []
                reader.fault("congestionControl", "must be one that the kernel has (\(known.joined(separator: ", "))), or \"\" for the machine's own")
            }
            congestionControl = value
        }
        if let value = reader.strings("origins") {
            do { origins = try OriginAllowList(value) } catch { reader.fault("origins", "'\(error.entry)' is not an origin") }
        }
        if let value = reader.string("state") {
            if value.isEmpty { reader.fault("state", "must name a folder") }
            stateFolder = value
        }
        if let value = reader.string("policy") {
            if value.isEmpty { reader.fault("policy", "must name a file") }
            policyFile = value
        }
        if let value = reader.string("auditLog") { auditLog = value }
        if let value = reader.string("web") {
            if value.isEmpty { reader.fault("web", "must name a folder") }
            webFolder = value
        }
        reader.object("tls") { readTLS(&$0) }
        reader.object("proxies") { proxies.read(&$0) }
        reader.object("cluster") { cluster = ClusterSettings(&$0) }
        reader.object("tokens") { tokens = TokenSettings(&$0) }
        reader.object("limits") { readLimits(&$0) }
        reader.object("enrolment") { enrolment = EnrolmentConfiguration(&$0, defaults: enrolment) }
        reader.object("echo") { reader in
            if let value = reader.bool("enabled") { echo = value }
            if let value = reader.integer("messageBytesMax", in: 1_024...(1 << 28)) { echoMessageBytesMax = value }
        }
    }

    private mutating func readTLS(_ reader: inout ConfigurationReader) {
        var pairs: [TLSConfiguration.KeyPair] = []
        reader.objects("certificates") { reader in
            let chain = reader.string("chain")
            let key = reader.string("key")
            let response = reader.string("ocspResponse")
            guard let chain, let key else {
                reader.fault("chain", "and 'key' must both be given")
                return
            }
            pairs.append(TLSConfiguration.KeyPair(certificateFile: chain, keyFile: key, ocspResponseFile: response))
        }
        if !pairs.isEmpty { tls.keyPairs = pairs }
        if let value = reader.strings("clientAuthorities") { tls.authorityFiles = value }
        if let value = reader.strings("revocationLists") { tls.revocationListFiles = value }
        if let value = reader.string("clientCertificates") {
            switch value {
            case "required": tls.clientCertificate = .required
            case "optional": tls.clientCertificate = .optional
            default: reader.fault("clientCertificates", "must be \"required\" or \"optional\"")
            }
        }
        if let value = reader.string("revocation") {
            switch value {
            case "leaf": tls.revocation = .leaf
            case "chain": tls.revocation = .chain
            default: reader.fault("revocation", "must be \"leaf\" or \"chain\"")
            }
        }
        if let value = version("minimumVersion", &reader) { tls.minimumVersion = value }
        if let value = version("maximumVersion", &reader) { tls.maximumVersion = value }
    }

    private func version(_ key: String, _ reader: inout ConfigurationReader) -> TLSVersion? {
        guard let text = reader.string(key) else { return nil }
        if let version = TLSVersion(text: text) { return version }
        reader.fault(key, "must be \"1.2\" or \"1.3\"")
        return nil
    }

    private mutating func readLimits(_ reader: inout ConfigurationReader) {
        for key in reader.keys {
            guard let limit = LimitName.all.first(where: { $0.name == key }), let value = reader.integer(key, in: limit.range) else { continue }
            limit.set(&limits, value)
        }
    }

    private func missingCertificates() -> [ConfigurationFault] {
        var faults: [ConfigurationFault] = []
        if tls.keyPairs.isEmpty {
            faults.append(ConfigurationFault(path: "tls.certificates", message: "must name at least one 'chain' with its 'key'"))
        }
        if tls.clientCertificate != .none, tls.authorityFiles.isEmpty {
            faults.append(ConfigurationFault(path: "tls.clientAuthorities", message: "must name the authority that clients' certificates come from"))
        }
        return faults
    }

    /// Faults that only show when everything is read.
    private func check() -> [ConfigurationFault] {
        var faults: [ConfigurationFault] = []
        faults += proxies.check()
        if listen.isEmpty { faults.append(ConfigurationFault(path: "listen", message: "must name at least one address")) }
        if tls.minimumVersion > tls.maximumVersion {
            faults.append(ConfigurationFault(path: "tls.minimumVersion", message: "is above tls.maximumVersion"))
        }
        if limits.tcpUserTimeoutMilliseconds > 0, limits.tcpUserTimeoutMilliseconds < limits.stallMillisecondsMax {
            faults.append(
                ConfigurationFault(
                    path: "limits.tcpUserTimeoutMilliseconds",
                    message: "must be 0 or at least stallMillisecondsMax: the kernel ends readers that pause for so long"))
        }
        if node.isEmpty || node.utf8.count > 128 { faults.append(ConfigurationFault(path: "node", message: "must have 1 to 128 bytes")) }
        return faults
    }
}

extension TLSVersion {
    /// `1.2` or `1.3`.
    package init?(text: String) {
        switch text {
        case "1.2": self = .tls12
        case "1.3": self = .tls13
        default: return nil
        }
    }
}
