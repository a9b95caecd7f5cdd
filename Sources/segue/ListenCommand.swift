import MediaProtocol
import RelayBase
import RelayServer
import Signalling

/// `segue listen`: hears a room, counts what comes, and saves it.
enum ListenCommand {
    static var command: Command { Command(spec, run: run) }

    private static let spec = CommandSpec(
        name: "listen", summary: "receive everything that is published in a room",
        text: [
            "Tells who comes, goes and publishes, and whose audio is interrupted, held or goes another way, and counts the frames of every stream and the holes in their numbering. With --save it writes, for each "
                + "stream, a log with every byte of every frame (.segue) and, where the codec allows, a file that players play.",
            "It ends with Ctrl-C, after --for, when a host ends the room, or with --until-end when everything that was published has ended; then it prints a "
                + "summary. A lost connection is made anew, and what was missed meanwhile comes as far as it is still of use. Where the room has a lobby it waits to be let in. Not let in, or taken out, it ends with exit code 5.",
            "With --play it hears what comes as a player would: every audio stream through a jitter buffer, decoded and summed into a WAV file of 48 kHz, with silence where "
                + "there is none. Audio may come as it is published, evenly through a jitter buffer of the relay's (--delivery paced), or as one stream with "
                + "everybody in it (--delivery mixed).",
            "With --script it plays the part of a phone: it goes through a timeline of activations, interruptions and route changes of its audio session, lost "
                + "connections among them, tells what happened when, and checks what the script says should have. Deploy/scripts has some, which explain the form.",
            "Of a script --json prints one object a line: 'event' is \(ScriptLine.Kind.allCases.map(\.rawValue).joined(separator: ", ")); 'at' is the seconds "
                + "since the script began, as 'at' in the script, and times of other units have them in their names. Deploy/scripts/README.md describes each.",
            "A host is told who waits in the lobby; 'segue room admit' lets them in.",
        ],
        options: [
            .option("--room", "ROOM", "The room; it is made when nobody is there yet."),
            .option(
                "--save", "DIR", "Where to save; made if missing. With several clients, each has a folder client-N in it.", completion: .folder),
            .option("--clients", "N", "So many sessions at once, to see how one publisher reaches many."),
            .option("--max-layer", "N", "Of streams in several encodings, none above this one; 0 is the lowest."),
            .option("--max-bitrate", "BITS", "Of each video stream, no encoding of more bits a second."),
            .option("--for", "SECONDS", "End after so long."),
        ] + ListenDelivery.options + [
            .option(
                "--script", "FILE", "Play this script (JSON5), - for standard input, and end with it; exit code 1 when something was not as it says.",
                completion: .file),
            .flag("--until-end", "End when every stream that was published has ended."),
            .flag("--json", "Print events and the summary as JSON, one object a line."),
            ClientConnect.resumeOption,
            ClientConnect.roleOption,
        ] + ClientConnect.options,
        examples: [
            .init("segue listen --room demo --save out/", "Save all that is published, as bob of the development mode."),
            .init("segue listen --room demo --clients 50 --until-end --json", "Fifty listeners, and figures for a script."),
            .init(
                "segue listen --room ward --ca ca.pem --cert me.pem --key me-key.pem --token-file me.jwt",
                "Into a room that asks for a token beside the certificate."),
            .init("segue listen --room demo --script Deploy/scripts/call.json5", "A phone call in the middle of a conversation."),
            .init("segue listen --room demo --delivery mixed --play heard.wav", "Everybody in one stream, and what that sounds like."),
            .init("segue listen --room demo --http 2 --for 60", "Over HTTP/2, for a minute."),
        ])

    private static func run(_ arguments: Arguments) throws -> ExitCode {
        if let script = arguments.string("--script") { return try play(script, arguments) }
        var plan = ListenPlan(room: try arguments.required("--room"))
        plan.clients = try arguments.integer("--clients", in: 1...100_000) ?? 1
        plan.folder = arguments.string("--save")
        plan.seconds = try arguments.positive("--for", max: 1e7)
        plan.maxLayer = try arguments.integer("--max-layer", in: 0...7)
        plan.maxBitrate = try arguments.integer("--max-bitrate", in: 1...1_000_000_000)
        plan.endsWithStreams = arguments.has("--until-end")
        plan.asJSON = arguments.has("--json")
        plan.resumes = !arguments.has("--no-resume")
        plan.delivery = try ListenDelivery(arguments)
        if let path = arguments.string("--play") {
            guard plan.clients == 1 else { throw UsageFault.conflict("--play is what one client hears: it does not go with --clients") }
            plan.playback = plan.delivery.playback(path: path)
        }
        let room = try ListeningRoom(plan, ClientConnect(arguments, defaultName: "bob"))
        let (summary, failure) = try room.run()
        report(summary, asJSON: plan.asJSON, hasListened: failure == nil)
        if let failure {
            Console.error("segue listen: \(failure.message)")
            return failure.code
        }
        if summary.playback?.problem != nil { return .failure }
        return summary.streams.contains { $0.problem != nil || $0.unsavedFrames > 0 } ? .failure : .ok
    }

    /// What a script does not go with: it is one client that saves nothing and ends by itself.
    private static let notWithScript = ["--save", "--clients", "--max-layer", "--max-bitrate", "--for", "--until-end"]

    private static func play(_ path: String, _ arguments: Arguments) throws -> ExitCode {
        let room = try arguments.required("--room")
        for name in notWithScript where arguments.string(name) != nil || arguments.has(name) {
            throw UsageFault.conflict("\(name) does not go with --script")
        }
        if path == "-", arguments.string("--token-file") == "-" {
            throw UsageFault.conflict("--script and --token-file cannot both be standard input")
        }
        let text = try SecretInput.bytes(path)
        let script: ListenScript
        do throws(ServerConfiguration.Invalid) {
            script = try ListenScript(text: text)
        } catch {
            for fault in error.faults { Console.error("\(path): \(Console.plain(fault.text))") }
            return .configuration
        }
        let listener = try ScriptedListener(
            room: room, script, ClientConnect(arguments, defaultName: "bob"), ListenDelivery(arguments), play: arguments.string("--play"),
            resumes: !arguments.has("--no-resume"), asJSON: arguments.has("--json"))
        return try listener.play()
    }

    /// - Parameter hasListened: it was in the room, and went by itself; else the failure says what there is to say.
    private static func report(_ summary: ListenSummary, asJSON: Bool, hasListened: Bool) {
        if asJSON {
            Console.json(summary)
            return
        }
        for stream in summary.streams {
            let client = summary.clients > 1 ? "client \(stream.client), " : ""
            if stream.isInMix == true {
                Console.out("\(client)stream \(stream.stream) \(Console.plain(stream.codec)) of \(Console.plain(stream.participant)): in the mix")
                continue
            }
            Console.out(
                "\(client)stream \(stream.stream) \(Console.plain(stream.codec)) of \(Console.plain(stream.participant)): \(stream.frames) frames, "
                    + "\(stream.bytes) bytes, \(stream.missingFrames) missing\(gaps(stream.gaps)), \(stream.reorderedFrames) out of order\(layers(stream))"
            )
            if let path = stream.framesPath { Console.out("  saved: \(([path] + stream.playablePaths).joined(separator: ", "))") }
            if stream.unsavedFrames > 0 { Console.error("  \(stream.unsavedFrames) frames could not be saved: the disk is too slow") }
            if let played = stream.played { Console.out("  \(played.sentence)") }
            if let problem = stream.problem { Console.error("  \(Console.plain(problem))") }
        }
        if let playback = summary.playback {
            Console.out(playback.sentence)
            if let problem = playback.problem { Console.error(Console.plain(problem)) }
        }
        for clock in summary.clocks { Console.out("\(summary.clients > 1 ? "client \(clock.client), " : "")\(clock.sentence)") }
        if summary.streams.isEmpty, hasListened { Console.out("nothing was published") }
    }
}

extension ListenCommand {
    /// ` in 2 gaps`.
    private static func gaps(_ count: UInt64) -> String {
        count == 0 ? "" : " in \(count) gap\(count == 1 ? "" : "s")"
    }

    /// Of a stream in several layers: `; layer 0: 120 frames, layer 2: 380 frames, 1 change`.
    private static func layers(_ stream: ListenSummary.Stream) -> String {
        guard stream.layers.count > 1 || (stream.layers.first?.spatial ?? 0) > 0 else { return "" }
        let layers = stream.layers.map { "layer \($0.spatial): \($0.frames) frames" }.joined(separator: ", ")
        return "; \(layers), \(stream.layerChanges) change\(stream.layerChanges == 1 ? "" : "s")"
    }
}

struct ListenPlan {
    let room: String
    var clients = 1
    var folder: String?
    var seconds: Double?
    var maxLayer: Int?
    var maxBitrate: Int?
    var endsWithStreams = false
    var asJSON = false
    var resumes = true
    var delivery = ListenDelivery()
    var playback: PlaybackPlan?

    init(room: String) {
        self.room = room
    }

    var subscription: ClientRequest.Subscribe {
        var request = ClientRequest.Subscribe(
            streams: nil, all: true, delivery: .live, maxLayer: maxLayer.map { LayerBound(spatial: $0) }, maxBitrate: maxBitrate.map(Double.init))
        delivery.apply(to: &request)
        return request
    }
}

/// What was received, for people and for scripts.
struct ListenSummary: Encodable {
    struct Layer: Encodable {
        var spatial: Int
        var frames: UInt64
    }

    struct Stream: Encodable {
        var client: Int
        var participant: String
        var stream: UInt32
        var kind: String
        var codec: String
        var frames: UInt64 = 0
        var bytes: UInt64 = 0
        var missingFrames: UInt64 = 0
        var gaps: UInt64 = 0
        var reorderedFrames: UInt64 = 0
        /// The spatial layers that came, lowest first, and how often the relay went from one to another.
        var layers: [Layer] = []
        var layerChanges: UInt64 = 0
        var configurations: UInt64 = 0
        /// It was heard in the relay's mix, and did not come by itself.
        var isInMix: Bool?
        var hasEnded = false
        var unsavedFrames: UInt64 = 0
        var framesPath: String?
        var playablePaths: [String] = []
        var problem: String?
        /// Of audio that was played.
        var played: PlayedSummary?
    }

    var event = "summary"
    var room: String
    var clients: Int
    var elapsedSeconds: Double = 0
    /// Frames of streams that the relay had not told of, and bytes that are no frame.
    var strayFrames: UInt64 = 0
    var streams: [Stream] = []
    /// Of the clients that have exchanged time with the relay.
    var clocks: [ClockSummary] = []
    /// With `--play`.
    var playback: PlaybackSummary?
}
