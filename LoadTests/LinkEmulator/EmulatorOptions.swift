import LinkEmulation
import LinkNetwork

/// The command line of the emulator.
struct EmulatorOptions {
    static let help = """
        Usage: link-emulator --a NAMESPACE:ADDRESS --b NAMESPACE:ADDRESS [OPTION]…

        One link between two network namespaces: a TUN device in each, and between them a queue, a transmitter and a way
        for each direction. Real TCP of the kernel runs at both ends. A namespace that is missing is made, and deleted at
        the end. Both addresses must be of one network of 256 (10.9.0.1 and 10.9.0.2). Needs root.

          --rate KBIT      kbit/s, IP headers included; 0, the default: unlimited
          --delay MS       one way
          --jitter MS      added to the delay, 0 up to this; order is kept
          --loss PERCENT   of packets, each by itself
          --queue BYTES    that may wait to be sent (262144); what travels does not count
          --seed N         of losses and jitter (1)
          --seconds S      end after so long
          --at SECONDS:KEY=VALUE[,KEY=VALUE]…
                           change the link; keys as above, and stall=1, which holds everything, stall=0, which lets it go;
                           with the prefix ab. or ba. in one direction only
          --control        read commands from the standard input and end with it:
                             set KEY=VALUE[,…]   change the link now; answered by "set INSTANT"
                             show                answered by "show INSTANT WAITING-AB INSIDE-AB WAITING-BA INSIDE-BA" in bytes

        Prints "ready DEVICE DEVICE INSTANT" when the link is up, instants being nanoseconds of CLOCK_MONOTONIC, and at the
        end a line of counters for each direction. SIGINT and SIGTERM end it in order.
        """

    struct End {
        var namespace: NetworkNamespace
        var address: String
    }

    var a: End
    var b: End
    var aToB = LinkSettings()
    var bToA = LinkSettings()
    var schedule = LinkSchedule()
    var seed: UInt64 = 1
    var seconds: Double?
    var isControlled = false

    /// - Throws: ``LinkSyntaxFault``, ``NetworkFault``.
    init(_ arguments: [String]) throws {
        var a: End?
        var b: End?
        var rest = arguments[...]
        while let option = rest.popFirst() {
            if option == "--control" {
                isControlled = true
                continue
            }
            guard let value = rest.popFirst() else { throw NetworkFault("\(option) is unknown or lacks its value; see --help") }
            switch option {
            case "--a": a = try EmulatorOptions.end(value)
            case "--b": b = try EmulatorOptions.end(value)
            case "--at": try schedule.add(value)
            case "--seed":
                guard let number = UInt64(value) else { throw NetworkFault("--seed: a whole number") }
                seed = number
            case "--seconds":
                guard let number = Double(value), number > 0, number <= 1e6 else { throw NetworkFault("--seconds: over 0, at most a million") }
                seconds = number
            default:
                guard let key = LinkChange.Key(rawValue: String(option.trimmingPrefix("--"))), option.hasPrefix("--") else {
                    throw NetworkFault("\(option) is unknown; see --help")
                }
                let change = try LinkChange(key, value)
                change.apply(to: &aToB)
                change.apply(to: &bToA)
            }
        }
        guard let a, let b else { throw NetworkFault("--a and --b are needed; see --help") }
        self.a = a
        self.b = b
    }

    private static func end(_ text: String) throws(NetworkFault) -> End {
        let parts = text.split(separator: ":", maxSplits: 1)
        guard parts.count == 2 else { throw NetworkFault("\(text): not NAMESPACE:ADDRESS") }
        return End(namespace: NetworkNamespace(String(parts[0])), address: String(parts[1]))
    }
}
