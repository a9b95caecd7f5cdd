import MediaProtocol
import Reactor
import RelayBase
import RelayClient
import Signalling
import WebSocketProtocol

/// One client session, and everything that came to it.
final class Member {
    let session: ClientSession
    /// Frames, in the order in which they came; empty unless ``recordsFrames``.
    var receptions: [Reception] = []
    var recordsFrames = true
    private(set) var isWelcome = false
    private(set) var answers: [UInt64: (answer: RelayMessage.Answer, at: MonotonicInstant)] = [:]
    private(set) var news: [(message: RelayMessage, at: MonotonicInstant)] = []
    /// Why the session is over.
    private(set) var end: String?
    /// What it publishes.
    var streams: [SyntheticStream] = []

    init(_ session: ClientSession) {
        self.session = session
    }

    func take(_ event: ClientEvent, at now: MonotonicInstant) {
        switch event {
        case .welcome: isWelcome = true
        case .answer(let id, let answer): answers[id] = (answer, now)
        case .refused(_, let refusal): end = end ?? "refused: \(refusal.message)"
        case .news(let message):
            news.append((message, now))
            obey(message)
        case .closed(let code, let reason): end = end ?? "closed: \(code.rawValue) \(reason)"
        case .failed(let fault): end = end ?? "\(fault)"
        case .opened, .writable, .frame: break
        }
    }

    /// As a publisher with a real encoder would.
    private func obey(_ message: RelayMessage) {
        switch message {
        case .keyFrameRequested(let stream, let layer):
            for place in streams.indices where streams[place].stream.rawValue == stream {
                streams[place].requestKey(layer.map { UInt8(clamping: $0) })
            }
        case .layersWanted(let wanted):
            for place in streams.indices where streams[place].stream.rawValue == wanted.stream {
                streams[place].activate(Set(wanted.layers.map { UInt8(clamping: $0.spatial) }))
            }
        default: break
        }
    }

    var nextDue: MonotonicInstant { streams.map(\.nextDue).min() ?? .distantFuture }

    func publishDue(_ payloads: RandomPayloads, now: MonotonicInstant) {
        for place in streams.indices { streams[place].work(session, payloads, now: now) }
    }

    /// When the relay asked for key frames.
    var keyFrameRequests: [MonotonicInstant] {
        news.compactMap { if case .keyFrameRequested = $0.message { $0.at } else { nil } }
    }
}
