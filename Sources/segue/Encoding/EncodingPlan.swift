import AudioEngine
import MediaProtocol
import RelayBase
import Signalling

/// Sound of files is encoded anew before it is published, as a microphone's would be.
struct EncodingPlan: Sendable, Equatable {
    /// Of a stream of its own: 20 ms, which every codec has.
    static let frameMilliseconds = 20
    static let codecs: [AudioCodec] = [.opus, .pcmu, .pcma, .pcmS16]

    var codec: AudioCodec
    /// Of Opus.
    var settings = OpusSettings()
    /// The encoder does what subscribers want of it, within the settings.
    var followsWanted = true

    static let options: [OptionSpec] = [
        .option(
            "--encode", "CODEC",
            "Decode the files' sound, and send it encoded like this: opus, at 48 kHz; pcmu, pcma: G.711, 8 kHz; pcm_s16: 48 kHz.",
            choices: codecs.map(\.name)),
        .option("--bitrate", "BITS", "Of --encode opus, bits a second: 6000 to 510000; by default 32000 for each channel."),
        .option(
            "--bandwidth", "NAME", "Of --encode opus, the widest that is sent; by default fullband.", choices: AudioBandwidth.allCases.map(\.rawValue)
        ),
        .option("--complexity", "N", "Of --encode opus: 0, cheap, to 10, best; by default 5."),
        .option("--expected-loss", "PERCENT", "Of --encode opus: what the encoder is to be robust against; by default 0."),
        .flag("--fec", "Of --encode opus: each packet carries the one before it, coarsely, as far as loss is expected."),
        .flag("--dtx", "Of --encode opus: in silence, only a packet now and then."),
    ]
    private static let ofOpus = ["--bitrate", "--bandwidth", "--complexity", "--expected-loss", "--fec", "--dtx"]

    /// - Returns: `nil` without `--encode`.
    init?(_ arguments: Arguments) throws {
        guard let name = arguments.string("--encode"), let codec = Self.codecs.first(where: { $0.name == name }) else {
            for option in Self.ofOpus where arguments.string(option) != nil || arguments.has(option) {
                throw UsageFault.conflict("\(option) goes with --encode opus")
            }
            return nil
        }
        self.codec = codec
        if codec != .opus {
            for option in Self.ofOpus where arguments.string(option) != nil || arguments.has(option) {
                throw UsageFault.conflict("\(option) goes with --encode opus")
            }
        }
        let bits = OpusSettings.bitsPerSecondBounds
        settings.bitsPerSecond = try arguments.integer("--bitrate", in: bits) ?? 0
        if let name = arguments.string("--bandwidth") { settings.bandwidth = AudioBandwidth(rawValue: name) ?? .fullband }
        settings.complexity = try arguments.integer("--complexity", in: OpusSettings.complexityBounds) ?? settings.complexity
        settings.expectedLossPercent = try arguments.integer("--expected-loss", in: OpusSettings.expectedLossBounds) ?? 0
        settings.usesInbandFEC = arguments.has("--fec")
        settings.isDiscontinuous = arguments.has("--dtx")
        followsWanted = !arguments.has("--ignore-wanted")
    }

    init(codec: AudioCodec) {
        self.codec = codec
    }

    /// Hertz, of what is encoded.
    var sampleRate: Int {
        switch codec {
        case .pcmu, .pcma: 8_000
        case .opus, .pcmS16, .aac: 48_000
        }
    }

    /// - Parameter source: of the file.
    func channels(of source: Int) -> Int {
        switch codec {
        case .pcmu, .pcma: 1
        case .opus, .pcmS16, .aac: min(max(source, 1), 2)
        }
    }

    /// Samples per channel of a frame.
    var samplesPerFrame: Int { sampleRate * Self.frameMilliseconds / 1_000 }

    /// The settings of a stream: the bit rate by its channels, where none was given.
    func settings(channels: Int) -> OpusSettings {
        var settings = settings
        if settings.bitsPerSecond == 0 { settings.bitsPerSecond = 32_000 * channels }
        return settings
    }
}
