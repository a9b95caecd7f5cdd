import AudioSession
import RelayBase
import RelayRooms

/// Audio sessions on the loop that they live on.
extension EventLoop {
    func audioSession(_ ask: AudioSessionAsk) {
        guard let desk = audioDesk else { preconditionFailure("mail about audio sessions went to the wrong loop") }
        deliver(desk.handle(ask, now: now))
    }

    /// A few times a second, on that loop.
    func expireInterruptions() {
        guard let desk = audioDesk else { return }
        deliver(desk.expire(now: now))
    }

    private func deliver(_ mail: [(address: MemberAddress, news: AudioSessionNews)]) {
        for (address, news) in mail { post(.toSession(token: address.token, .audioSession(news)), to: address.loop) }
    }
}
