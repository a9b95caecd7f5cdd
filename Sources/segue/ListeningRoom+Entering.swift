import RelayClient
import Signalling

/// Coming into the room, and who of those who are there is held.
extension ListeningRoom {
    /// Into the room, and all of it, in one go: the relay keeps a request that comes behind `join` until that is answered.
    func join(_ session: ClientSession) {
        let tag = session.tag
        clients[tag].joinID = session.send(connect.join(plan.room))
        clients[tag].subscribeID = session.send(.subscribe(plan.subscription))
    }

    /// Who is interrupted or held, as far as that was not told.
    func tellAudio(of participants: [RelayMessage.Participant]?, _ tag: Int) {
        guard tag == 0 else { return }
        for word in (participants ?? []).flatMap({ clients[tag].audio.take($0) }) { tell(word) }
    }

    func tell(_ word: RoomAudio.Word) {
        let name = clients[0].names[word.participant] ?? "\(word.participant)"
        tell(word.event, "\(name) \(word.sentence)", word.fields.merging(["participant": name]) { field, _ in field })
    }
}
