import Signalling

/// The command line.
struct RealTimeOptions {
    /// Literal throughout: `LoadTests/real-time --help` prints it from this file, without a build.
    static let help = """
        Usage: Deploy/dev real-time [SCENARIO]… [OPTION]…

        Plays scenarios with a real relay and real TCP over an emulated link between network namespaces of its own, and prints
        what was measured beside what is demanded. Needs root and /dev/net/tun. Without a scenario: all.

          reader     one reader of 100 stops reading for 30 s
          rate       2 Mbit/s, 200 kbit/s, 2 Mbit/s again, under audio and three-layer video
          stall      a subscriber's link stands still for 2 s
          control    control messages' round trip under a saturated downlink
          keyframes  200 KB key frames in four sessions, and audio, over one HTTP/2 connection of 5 Mbit/s
          joins      200 join a room with video within one second

          --congestion NAMES  congestion controls of the kernel, separated by commas (cubic, the relay's own)
          --short             a few seconds each, generous bounds: whether it works at all
          --whole             clients that do not wish for large frames in parts
          --keep FILE         put the table between the marks of this file (Sources/PERFORMANCE.md)
          --trace FOLDER      write every frame that came to a session behind the link there, as CSV
          --seed N            of the link's losses and jitter (1)
          --hurry-relay       run the relay at the instruments' priority too, on a machine that has other work

        Exit status: 0 when every bound holds, 1 when one does not, 2 when it could not be played.
        """

    var scenarios: [Scenario] = []
    var congestionControls = ["cubic"]
    var isShort = false
    var keep: String?
    var trace: String?
    var seed: UInt64 = 1
    var isRelayHurried = false
    var wantsHelp = false
    /// How sessions want to be served.
    var wishes = ClientRequest.SessionWishes(parts: true)
    /// Set by the script.
    var relay = ".build/release/segue"
    var emulator = ".build/release/link-emulator"
    var folder = ""
    /// What the namespaces' names begin with.
    var name = ""

    init(_ arguments: [String]) throws(ScenarioFault) {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            if let scenario = Scenario(rawValue: argument) {
                scenarios.append(scenario)
                continue
            }
            switch argument {
            case "--help", "-h":
                wantsHelp = true
                return
            case "--short": isShort = true
            case "--whole": wishes.parts = nil
            case "--hurry-relay": isRelayHurried = true
            default:
                guard let value = rest.popFirst() else { throw ScenarioFault("\(argument) is unknown or lacks its value; see --help") }
                try take(argument, value)
            }
        }
        if scenarios.isEmpty { scenarios = Scenario.allCases }
        guard !folder.isEmpty, !name.isEmpty else { throw ScenarioFault("start it by Deploy/dev real-time") }
    }

    private mutating func take(_ option: String, _ value: String) throws(ScenarioFault) {
        switch option {
        case "--congestion": congestionControls = value.split(separator: ",").map(String.init)
        case "--keep": keep = value
        case "--trace": trace = value
        case "--relay": relay = value
        case "--emulator": emulator = value
        case "--folder": folder = value
        case "--name": name = value
        case "--seed":
            guard let number = UInt64(value) else { throw ScenarioFault("--seed: a whole number") }
            seed = number
        default: throw ScenarioFault("\(option) is unknown; see --help")
        }
    }
}
