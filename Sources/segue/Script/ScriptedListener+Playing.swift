import AudioSession
import RelayBase
import RelayClient
import RelayServer
import Signalling

/// What the client hears.
extension ScriptedListener {
    func published(_ info: RelayMessage.StreamInfo) {
        guard info.participant != participant, playing.add(info, now: driver.loop.now) else { return }
        watch.add(info.stream, info.kind)
    }

    /// All audio but one's own comes as one stream.
    func mixed(_ mix: RelayMessage.MixInfo) {
        guard playing.add(mix, now: driver.loop.now) else { return }
        watch.add(mix.stream, .audio)
    }

    /// What buffers hold is from before: nothing of it is heard.
    func restartBuffers(_ reason: String, outputLatency: Double? = nil) {
        guard playing.restart(now: driver.loop.now) else { return }
        var line = line(.buffersRestarted)
        line.reason = reason
        line.outputLatency = outputLatency
        tell(line)
        run?.happened(line.event, ["reason": .string(reason)])
    }

    func applyRoute(_ body: ClientRequest.RouteChanged) {
        switch playing.change(body) {
        case .keep: break
        case .reset: restartBuffers("wakeFromSleep")
        case .retarget(let latency): restartBuffers("outputLatency", outputLatency: latency)
        }
    }
}
