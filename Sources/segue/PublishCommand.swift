import MediaFiles
import RelayBase
import Signalling

/// `segue publish`: media files, paced in real time, one stream for each of theirs.
enum PublishCommand {
    static var command: Command { Command(spec, run: run) }

    private static let spec = CommandSpec(
        name: "publish", summary: "send media files to a room, in real time",
        text: [
            "Every audio and video stream of the files becomes a stream of the room: packets are sent as the file holds them, each when it is due on one "
                + "common timeline. Nothing is decoded or converted, unless --encode says so. Opus, AAC, PCM, G.711, H.264, HEVC, VP8, VP9 and AV1 can be carried, from any container "
                + "that libavformat reads.",
            "With --simulcast the files are encodings of one picture, lowest first: their video becomes one stream in layers, of which each subscriber gets the "
                + "one that its connection carries. Their frame rates and codecs must be the same, and the first file's audio goes with them. A layer that "
                + "nobody wants is not sent; it begins again with its next key frame.",
            "With --encode sound is decoded and encoded anew, as a microphone's or a telephone's would be: Opus by these settings, or samples. An Opus encoder makes no "
                + "more than the best of the subscribers can hear: where all have a hands-free headset, its bandwidth and channels go down, and come back.",
            "A lost connection is made anew, and the streams go on; what the relay had not got is sent again. What has become too late to be live by then, or "
                + "because the connection takes too little, is left out: of video everything up to the next key frame. With --send-late it is sent all the "
                + "same, for listeners that record.",
            "Ctrl-C ends in order: the streams are unpublished and the session is closed. Where the room has a lobby it waits to be let in. Not let in, taken "
                + "out, or not allowed to publish any more, it ends with exit code 5.",
        ],
        options: [
            .option("--room", "ROOM", "The room; it is made when nobody is there yet."),
            .option("--loop", "N", "Play each file N times, one pass right behind the other; a shorter file is over before a longer one."),
            .option("--rate", "FACTOR", "Faster (2) or slower (0.5) than real time."),
            .option("--wait-for-subscribers", "N", "Begin once N others are in the room."),
            .flag("--simulcast", "The files are encodings of one picture, lowest first."),
            .flag("--ignore-wanted", "With --simulcast: send layers that nobody wants, too. With --encode: encode more than anybody hears, too."),
            .flag("--send-late", "After an outage, send what has become late as well."),
            .flag("--json", "Print the summary as JSON."),
            ClientConnect.resumeOption,
            ClientConnect.roleOption,
        ] + EncodingPlan.options + ClientConnect.options,
        operand: OperandSpec(name: "FILE", help: "Media files.", minimum: 1, maximum: 16, completion: .file),
        examples: [
            .init("segue publish --room demo speech.opus clip.mp4", "Two files at once, as alice of the development mode."),
            .init(
                "segue publish --room demo --connect relay.example.org:443 --ca ca.pem --cert me.pem --key me-key.pem talk.mkv",
                "To a relay elsewhere, with a certificate of one's own."),
            .init("segue publish --room demo --simulcast low.ivf mid.ivf high.ivf", "One picture in three encodings; each listener gets one."),
            .init(
                "segue publish --room demo --encode opus --bitrate 24000 --fec --expected-loss 10 speech.wav",
                "A WAV file, as a telephone would send it."),
            .init("segue publish --room demo --http 2 --loop 100 tone.opus", "Over HTTP/2, for a long while."),
        ])

    private static func run(_ arguments: Arguments) throws -> ExitCode {
        let room = try arguments.required("--room")
        let passes = try arguments.integer("--loop", in: 1...1_000_000) ?? 1
        let rate = try arguments.positive("--rate", max: 1_000) ?? 1
        let others = try arguments.integer("--wait-for-subscribers", in: 0...100_000) ?? 0
        let encoding = try EncodingPlan(arguments)
        var files: [FileFeed] = []
        for path in arguments.operands {
            files.append(try FileFeed(path: path, passes: passes, encoding: encoding))
        }
        for file in files {
            for stream in file.skipped {
                Console.error("\(file.path): stream \(stream.index) (\(stream.kindName), \(stream.codecName)) is left out: \(stream.reason)")
            }
        }
        let simulcast = try SimulcastPlan(arguments, files)
        let publisher = try Publisher(
            ClientConnect(arguments, defaultName: "alice"), PublishFeed(files: files), rate: rate, simulcast: simulcast, encoding: encoding,
            resumes: !arguments.has("--no-resume"), isLive: !arguments.has("--send-late"))
        let summary = try publisher.run(room: room, others: others)
        report(summary, asJSON: arguments.has("--json"))
        return summary.problems.isEmpty ? .ok : .failure
    }

    private static func report(_ summary: Publisher.Summary, asJSON: Bool) {
        for problem in summary.problems { Console.error(problem) }
        if asJSON {
            Console.json(summary)
            return
        }
        for stream in summary.streams {
            Console.out(
                "stream \(stream.stream) \(stream.codec) of \(stream.file): \(stream.frames) frames, \(stream.bytes) bytes, \(seconds(stream.seconds)) s"
            )
        }
        for change in summary.formats {
            Console.out(
                "stream \(change.stream): encoded \(change.bandwidth), \(change.channels) channel\(change.channels == 1 ? "" : "s") from \(seconds(change.seconds)) s on"
            )
        }
        for stream in summary.streams where stream.framesSkipped > 0 {
            Console.out("stream \(stream.stream): \(stream.framesSkipped) frames left out, too late to be live")
        }
        for stream in summary.streams {
            guard let reception = stream.reception else { continue }
            Console.out(
                "stream \(stream.stream) reached \(reception.receivers): \(percent(reception.concealedShare)) missing, worst \(percent(reception.concealedShareMax))"
            )
        }
        if let clock = summary.clock { Console.out(clock.sentence) }
        Console.out("sent in \(seconds(summary.elapsedSeconds)) s, latest frame \(summary.latenessMillisecondsMax) ms behind its time")
    }

    private static func percent(_ share: Double) -> String { "\(seconds(max(0, min(1, share)) * 100)) %" }

    static func seconds(_ value: Double) -> String {
        let hundredths = Int((value * 100).rounded())
        return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100)"
    }
}
