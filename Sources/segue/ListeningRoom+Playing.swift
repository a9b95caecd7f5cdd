import RelayBase
import RelayClient
import Signalling

/// What is heard, through jitter buffers.
extension ListeningRoom {
    /// The relay gives all audio as one stream, which is told of in the answer to `subscribe` and when a session goes on over another connection.
    func mixed(_ mix: RelayMessage.MixInfo, _ tag: Int) {
        guard !clients[tag].streams.contains(where: { $0.isMix && $0.info.stream == mix.stream }) else { return }
        add(RelayMessage.StreamInfo(mix), of: "the room", isMix: true, tag)
        guard tag == 0 else { return }
        let channels = "\(mix.channels) channel\(mix.channels == 1 ? "" : "s")"
        tell(
            "mix", "all audio of the room but one's own comes as stream \(mix.stream): \(mix.codec), \(channels)",
            ["stream": "\(mix.stream)", "codec": mix.codec, "channels": "\(mix.channels)"])
    }

    /// The relay cannot decode a stream: it is not in the mix, or not concealed.
    func unmixed(_ news: RelayMessage.StreamUnmixed, _ tag: Int) {
        for place in clients[tag].streams.indices where clients[tag].streams[place].info.stream == news.stream {
            clients[tag].streams[place].isInMix = false
        }
        guard tag == 0 else { return }
        let what = plan.delivery.delivery == .mixed ? "is not in the mix" : "comes with late frames left out, not concealed"
        let why =
            switch news.reason {
            case .codec: "the relay does not decode its codec"
            case .encrypted: "it is encrypted between the ends"
            case .limit: "the mix has as many as it may"
            }
        tell("unmixed", "stream \(news.stream) \(what): \(why)", ["stream": "\(news.stream)", "reason": news.reason.rawValue])
    }

    /// What is in the mix does not come by itself.
    func voice(for stream: Stream) -> Int? {
        guard let playback, stream.isMix || plan.delivery.delivery != .mixed, let description = PlayedDescription(stream.info) else { return nil }
        voicesMade += 1
        playback.playback.post(.open(key: voicesMade, description), now: driver.loop.now)
        return voicesMade
    }

    func play(_ frame: RawSpan, _ stream: inout Stream) {
        guard let playback, let voice = stream.voice, !playback.playback.take(voice, frame, now: driver.loop.now) else { return }
        stream.problem = "not all of it was played: this machine decodes too slowly"
    }

    /// What the buffers have done so far; once all is over, of what was heard as a whole.
    @discardableResult
    func takePlayed() -> PlaybackSummary? {
        guard let playback else { return nil }
        let result = playback.playback.takeResult()
        guard let news = result?.news ?? playback.playback.takeNews() else { return nil }
        for tag in clients.indices {
            for place in clients[tag].streams.indices {
                guard let voice = clients[tag].streams[place].voice else { continue }
                if let statistics = news.statistics[voice] { clients[tag].streams[place].played = statistics }
                if let problem = news.problems[voice] { clients[tag].streams[place].problem = problem }
            }
        }
        return result?.summary
    }
}
