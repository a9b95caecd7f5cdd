import JitterBuffer
import RelayBase
import RelayRooms
import Signalling

/// What loops ask of the thread that works on a room's sound, ``Shared/audioWorker(of:)``.
enum AudioWork: Sendable {
    /// Frames of a stream are to come, through a buffer, to a slot; said again when what is wanted there changes.
    case pace(PaceOrder)
    case unpace(RoomNumber, stream: UInt32, RemoteInterest)
    /// How much a buffer has ready is to be told, by ``AudioNews/ready(_:stream:slot:frames:milliseconds:)``.
    case ready(RoomNumber, stream: UInt32, RemoteInterest)
    /// A stream has ended: what its buffers hold is played out, then ``AudioNews/paceEnded(_:stream:slot:)`` is said.
    case ended(RoomNumber, stream: UInt32)
    /// What its buffers hold of a stream is of no use: its publisher is interrupted, muted, or starts afresh.
    case reset(RoomNumber, stream: UInt32)
    /// A stream is to be heard in the room's mix.
    case mixInput(RoomNumber, StreamEntry)
    /// A member of the room gets the mix; said again when what it can play changes.
    case mixOutput(MixOrder)
    case unmixOutput(RoomNumber, ParticipantID)
    case gain(RoomNumber, ParticipantID, MixGain)
    /// A stream's publisher measures: nothing is done to its sound but what a lost packet makes necessary; or it does no more.
    case measure(RoomNumber, stream: UInt32, Bool)
    /// The loop has nothing of the room any more.
    case forget(RoomNumber, loop: Int)
}

struct PaceOrder: Sendable {
    let room: RoomNumber
    let entry: StreamEntry
    let variant: PacedVariant
    let interest: RemoteInterest
    /// Somebody takes frames there now.
    let isActive: Bool
    /// What the best of them can play; `nil`: nothing.
    let audio: WantedFormat?
}

/// Who gets a room's mix, and in what form.
struct MixOrder: Sendable, Equatable {
    let room: RoomNumber
    let participant: ParticipantID
    /// By the loop's count: what was made for an entry before this one moves nobody.
    let entry: UInt32
    let loop: Int
    /// The room on that loop.
    let handle: Handle
    /// What its output can play; `nil`: nothing.
    let bounds: WantedFormat?
    let channels: Int
    /// Whether it takes anything now.
    let isActive: Bool
    let isMeasurement: Bool
    /// By the mode of its audio session: the most careful of a room's listeners does not decide, the most hurried one does.
    let profile: JitterProfile
}

/// A change of what one member hears.
struct MixGain: Sendable {
    enum Target: Sendable, Equatable {
        case stream(UInt32)
        /// All of the mix, as the client has set it.
        case mix
        /// The same, while its audio session is ducked.
        case duck
    }

    let target: Target
    /// 0 to 1.
    let volume: Float
    let rampMilliseconds: Double
    /// −1 (left) to 1.
    var pan: Float = 0
    /// In the timestamps of the stream, or of the mix: takes effect with the frame that has it; `nil`: at once.
    var at: UInt32?
}

/// What that thread tells loops with subscribers.
enum AudioNews: Sendable {
    /// A stream is not heard in the mix.
    ///
    /// - `participant`: who has just come to the mix and is to hear of it; `nil`: everybody who gets it.
    case unmixed(RoomNumber, stream: UInt32, RelayMessage.UnmixedReason, participant: ParticipantID?)
    /// A stream cannot be decoded: in this slot late frames are dropped instead of concealed.
    case undecodable(RoomNumber, stream: UInt32, slot: StreamSlot, RelayMessage.UnmixedReason)
    /// What the buffer that feeds a slot has ready.
    case ready(RoomNumber, stream: UInt32, slot: StreamSlot, frames: Int, milliseconds: Int)
    /// Of an ended stream, nothing more comes in this slot.
    case paceEnded(RoomNumber, stream: UInt32, slot: StreamSlot)
}
