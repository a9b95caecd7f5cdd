import CertificateAuthority

/// The names of a client's certificate as the commands of the authority take them.
struct ClientNames {
    static let options: [OptionSpec] = [
        .option("--uri", "URI", "A URI of the identity.", repeatable: true),
        .option("--dns", "NAME", "A DNS name of it.", repeatable: true),
        .option("--email", "ADDRESS", "An e-mail address of it.", repeatable: true),
    ]

    static func count(_ arguments: Arguments) -> Int { options.reduce(0) { $0 + arguments.strings($1.name).count } }

    /// URIs first: the relay takes the first of them for the identity, before any other kind of name.
    static func read(_ arguments: Arguments) throws -> [SubjectAlternativeName] {
        try arguments.strings("--uri").map { try .uri($0) } + arguments.strings("--dns").map { try .dns($0) }
            + arguments.strings("--email").map { try .email($0) }
    }
}
