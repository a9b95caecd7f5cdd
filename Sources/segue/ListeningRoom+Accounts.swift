import RelayClient
import Signalling

extension ListeningRoom {
    /// One stream as one session gets it.
    struct Stream {
        let info: RelayMessage.StreamInfo
        let participant: String
        /// The stream's number in the recording; `nil` when it is not saved.
        var recording: Int?
        var account = SequenceAccount()
        var reporting: ReceiverReporting
        /// The spatial layer that comes: each has its own numbering.
        var spatialLayer: UInt8 = 0
        var configurations: UInt64 = 0
        var unsaved: UInt64 = 0
        var hasEnded = false
    }

    /// One session and what it has got.
    struct Client {
        var wasOpen = false
        var joinID: UInt64?
        var subscribeID: UInt64?
        var hasEntered = false
        var isSubscribed = false
        var isLost = false
        var names: [UInt32: String] = [:]
        /// Who waits in the lobby, as a host is told.
        var lobby: [UInt32: String] = [:]
        var streams: [Stream] = []
        var strayFrames: UInt64 = 0
        /// The last report; a relay that does not take reports gets no more.
        var reportID: UInt64?
        var reports = true
        var hasEnded = false
    }
}
