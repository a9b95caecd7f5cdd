import RelayBase
import RelayRooms
import Signalling
final class RoomMix { var nextTick: MonotonicInstant? { nil } }
extension AudioWorker {
    func tickMixes() {}
    func mixInput(_ room: RoomNumber, _ entry: StreamEntry) {}
    func mixOutput(_ order: MixOrder) {}
    func unmixOutput(_ room: RoomNumber, _ participant: ParticipantID) {}
    func setGain(_ room: RoomNumber, _ participant: ParticipantID, _ gain: MixGain) {}
    func forgetMix(_ room: RoomNumber, _ loop: Int) {}
    func resetMixed(_ stream: WorkerStream) {}
    func unmixInput(_ stream: WorkerStream) {}
    func isMixedOut(_ stream: WorkerStream) -> Bool { true }
    func isHeardInMix(_ stream: WorkerStream) -> Bool { false }
    func mixAudio(_ stream: WorkerStream) -> AudioBounds { .full }
    func addMixes(to snapshot: inout AudioSnapshot) {}
}
