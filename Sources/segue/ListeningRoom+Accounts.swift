import FoundationEssentials
import RelayClient
import Signalling

extension ListeningRoom {
    /// One stream as one session gets it.
    struct Stream {
        let info: RelayMessage.StreamInfo
        let participant: String
        /// The stream's number in the recording; `nil` when it is not saved.
        var recording: Int?
        /// As whom the playback knows it; `nil` when it is not played.
        var voice: Int?
        var played: PlayedStatistics?
        /// The relay's mix, which ends with the session.
        var isMix = false
        /// It is heard in the mix, and does not come by itself.
        var isInMix = false
        var problem: String?
        var account = SequenceAccount()
        var reporting: ReceiverReporting
        var layers = LayerCounts()
        var configurations: UInt64 = 0
        var unsaved: UInt64 = 0
        var hasEnded = false
    }

    /// How many frames came of each spatial layer of a stream, and how often another began.
    struct LayerCounts {
        /// Of what comes now; each layer has its own numbering.
        private(set) var current: UInt8 = 0
        private(set) var changes: UInt64 = 0
        private var frames: [UInt64] = Array(repeating: 0, count: 16)
        private var hasBegun = false

        /// - Returns: whether another layer begins.
        mutating func take(_ layer: UInt8) -> Bool {
            defer { hasBegun = true }
            frames[Int(layer & 15)] &+= 1
            guard layer != current else { return false }
            current = layer
            if hasBegun { changes &+= 1 }
            return true
        }

        var received: [ListenSummary.Layer] {
            frames.enumerated().filter { $0.element > 0 }.map { ListenSummary.Layer(spatial: $0.offset, frames: $0.element) }
        }
    }

    /// One session and what it has got.
    struct Client {
        var wasOpen = false
        var joinID: UInt64?
        var subscribeID: UInt64?
        var hasEntered = false
        var isSubscribed = false
        var isLost = false
        /// In the lobby.
        var isWaiting = false
        var names: [UInt32: String] = [:]
        var speakers: [RelayMessage.Speaker] = []
        var audio = RoomAudio()
        /// Who waits in the lobby, as a host is told.
        var lobby: [UInt32: String] = [:]
        var streams: [Stream] = []
        var strayFrames: UInt64 = 0
        /// The last report; a relay that does not take reports gets no more.
        var reportID: UInt64?
        var reports = true
        var hasEnded = false
    }

    // MARK: Words

    /// What a participant is called: the last part of its verified identity. What it calls itself proves nothing.
    static func name(of participant: RelayMessage.Participant) -> String {
        participant.identity.map { short($0.name) } ?? "\(participant.participant)"
    }

    static func short(_ identity: String) -> String {
        identity.split(separator: ":").last.map(String.init) ?? identity
    }

    static func words(for reason: RelayMessage.LeaveReason) -> String {
        switch reason {
        case .left: "left"
        case .lost: "was lost"
        case .removed: "was taken out"
        }
    }

    // MARK: Folders

    static func folder(_ folder: String, _ client: Int, of clients: Int) -> String {
        var folder = folder
        // A folder is often typed with its slash.
        while folder.count > 1, folder.hasSuffix("/") { folder.removeLast() }
        return clients > 1 ? "\(folder)/client-\(client + 1)" : folder
    }

    static func makeFolder(_ path: String) throws(CommandFailure) {
        do {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        } catch {
            throw CommandFailure(code: .failure, message: "cannot make the folder \(path)")
        }
    }
}
