import Glibc
import LinkNetwork
import Reactor

/// The program: namespaces made and deleted around one link.
enum EmulatorProgram {
    /// - Returns: the exit code.
    static func run(_ arguments: [String]) -> Int32 {
        if arguments.isEmpty || arguments.contains("--help") || arguments.contains("-h") {
            Output.line(EmulatorOptions.help)
            return arguments.isEmpty ? 64 : 0
        }
        do {
            try SignalReceiver.block([SIGINT, SIGTERM])
            let options = try EmulatorOptions(arguments)
            var made: [NetworkNamespace] = []
            defer {
                for namespace in made { try? namespace.delete() }
            }
            for namespace in [options.a.namespace, options.b.namespace] where try namespace.make() { made.append(namespace) }
            try EmulatedLink(options).run()
            return 0
        } catch {
            Output.line("link-emulator: \(error)", to: 2)
            return 1
        }
    }
}
