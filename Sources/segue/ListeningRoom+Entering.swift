import MediaProtocol
import RelayClient
import Signalling

/// Coming into the room, and what and who is there.
extension ListeningRoom {
    /// Into the room, and all of it, in one go: the relay keeps a request that comes behind `join` until that is answered.
    func join(_ session: ClientSession) {
        let tag = session.tag
        clients[tag].joinID = session.send(connect.join(plan.room))
        clients[tag].subscribeID = session.send(.subscribe(plan.subscription))
    }

    func add(_ info: RelayMessage.StreamInfo, of name: String, isMix: Bool = false, _ tag: Int) {
        var stream = Stream(info: info, participant: name, reporting: ReceiverReporting(info))
        stream.isMix = isMix
        stream.isInMix = !isMix && info.kind == .audio && plan.delivery.delivery == .mixed
        stream.voice = voice(for: stream)
        if let recording, let folder = plan.folder, let description = MediaProtocol.StreamDescription(of: info) {
            let key = recordingsMade
            recordingsMade += 1
            if recording.recording.open(
                key: key, folder: Self.folder(folder, tag, of: plan.clients), participant: name, stream: info.stream, description)
            {
                stream.recording = key
            }
        }
        clients[tag].streams.append(stream)
    }

    func ended(_ place: Int, _ tag: Int) {
        clients[tag].streams[place].hasEnded = true
        // Counted from here, the quiet after the last stream's end.
        lastFrame = driver.loop.now
        if let voice = clients[tag].streams[place].voice { playback?.playback.post(.end(key: voice), now: lastFrame) }
    }

    /// Who is interrupted or held, as far as that was not told.
    func tellAudio(of participants: [RelayMessage.Participant]?, _ tag: Int) {
        guard tag == 0 else { return }
        for word in (participants ?? []).flatMap({ clients[tag].audio.take($0) }) { tell(word) }
    }

    /// Who speaks, loudest first, when that has changed.
    ///
    /// - Parameter speakers: `nil`: nobody spoke when the room was entered, which needs no telling.
    func speaking(_ speakers: [RelayMessage.Speaker]?, _ tag: Int) {
        guard tag == 0, let speakers, speakers != clients[tag].speakers else { return }
        clients[tag].speakers = speakers
        let names = speakers.map { clients[tag].names[$0.participant] ?? "\($0.participant)" }
        let words = zip(names, speakers).map { "\($0) (\($1.level) dBov)" }.joined(separator: ", ")
        tell(
            "speakers", speakers.isEmpty ? "nobody speaks" : "\(words) \(speakers.count == 1 ? "speaks" : "speak")",
            [
                "participants": names.joined(separator: ","), "streams": speakers.map { "\($0.stream)" }.joined(separator: ","),
                "levels": speakers.map { "\($0.level)" }.joined(separator: ","),
            ])
    }

    func tell(_ word: RoomAudio.Word) {
        let name = clients[0].names[word.participant] ?? "\(word.participant)"
        tell(word.event, "\(name) \(word.sentence)", word.fields.merging(["participant": name]) { field, _ in field })
    }
}
