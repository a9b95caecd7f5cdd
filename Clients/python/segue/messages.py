"""The control messages of the protocol as TypedDicts. Members are named as on the wire.

Written by generate.py from the protocol's AsyncAPI document (version 1); do not edit.
"""

from __future__ import annotations

import sys
from typing import Literal, TypedDict, Union

if sys.version_info >= (3, 11):
    from typing import NotRequired
else:
    from typing_extensions import NotRequired


# Of the client's choice; the answer has the same.
RequestID = int


class HelloRequestClient(TypedDict):
    name: str
    version: NotRequired[str]


class HelloRequestWishesBundles(TypedDict):
    # How long a frame may be held so that others can join it.
    delayMilliseconds: float


class HelloRequestWishes(TypedDict):
    # Video frames may come cut into parts, so that audio need not wait for a large one.
    parts: NotRequired[bool]
    # Several frames may come in one message.
    bundles: NotRequired[HelloRequestWishesBundles]
    # A data message at least this often: for balancers that do not count pings.
    keepAliveMilliseconds: NotRequired[float]


class HelloRequestResumeReceived(TypedDict):
    stream: int
    sequence: int
    timestamp: int
    # The spatial layer that the frame is of; absent: 0.
    layer: NotRequired[int]


class HelloRequestResume(TypedDict):
    # The resumeToken of the latest welcome; it is good once.
    token: str
    # The last frame that came of each stream; streams of which none came are left out.
    received: NotRequired[list[HelloRequestResumeReceived]]


# First of all, and once: who the client is and how it wants to be served.
class HelloRequest(TypedDict):
    type: Literal["hello"]
    id: RequestID
    # The protocol versions that the client speaks; the relay picks the highest that it speaks too.
    versions: list[int]
    # The program.
    client: NotRequired[HelloRequestClient]
    # A bearer token (JWT, RFC 7519): the identity where there is no certificate, a second factor where there is one.
    token: NotRequired[str]
    # The device's name, shown to devices of the same identity; at most 64 bytes.
    device: NotRequired[str]
    # How the session wants to be served.
    wishes: NotRequired[HelloRequestWishes]
    # Goes on with a session whose connection was lost or is about to be replaced.
    resume: NotRequired[HelloRequestResume]


# SHA-256 of the SubjectPublicKeyInfo (RFC 7469 §2.4).
Fingerprint = str


class Identity(TypedDict):
    # From the certificate's subject alternative names, or the token's subject.
    name: str
    # Absent when only a token proved the name.
    fingerprint: NotRequired[Fingerprint]
    # How it was proven; forwarded: by a certificate that a trusted proxy passed on.
    proof: Literal["certificate", "token", "certificate+token", "forwarded", "forwarded+token"]


class WelcomeLimits(TypedDict):
    controlMessageBytesMax: int
    audioFrameBytesMax: int
    videoFrameBytesMax: int
    dataFrameBytesMax: int
    streamsPerParticipantMax: int
    controlMessagesPerSecondMax: int


# Milliseconds since 1970-01-01T00:00Z.
UnixMilliseconds = float


# What a participant may do in a room.
Role = Literal["host", "speaker", "listener", "recorder"]


# What a stream carries: its frames' kind and its lane.
StreamKind = Literal["audio", "video", "data"]


class AudioPort(TypedDict):
    type: Literal["builtInMic", "builtInReceiver", "builtInSpeaker", "headphones", "headset", "headsetMic", "lineIn", "lineOut", "bluetoothHFP", "bluetoothA2DP", "bluetoothLE", "usbAudio", "airPlay", "carAudio", "HDMI", "displayPort", "virtual", "continuityMicrophone"]
    # To others only where its owner shares it; at most 128 bytes.
    name: NotRequired[str]
    # Hz.
    sampleRate: NotRequired[float]
    channels: NotRequired[int]
    # Seconds.
    latency: NotRequired[float]


class AudioRoute(TypedDict):
    inputs: list[AudioPort]
    outputs: list[AudioPort]


class Participant(TypedDict):
    # 32 bits, never used twice while the relay runs.
    participant: int
    identity: Identity
    # Not verified.
    displayName: NotRequired[str]
    role: Role
    # Kinds of streams that a host has muted; absent: none.
    muted: NotRequired[list[StreamKind]]
    # Its audio session is interrupted; absent: no.
    interrupted: NotRequired[bool]
    # Nothing comes from it and nothing goes to it; absent: no.
    held: NotRequired[bool]
    route: NotRequired[AudioRoute]
    # Of its audio session; absent: it has none.
    category: NotRequired[Literal["ambient", "soloAmbient", "playback", "record", "playAndRecord", "audioProcessing", "multiRoute"]]
    # Of its audio session; absent: it has none.
    mode: NotRequired[Literal["default", "voiceChat", "videoChat", "gameChat", "videoRecording", "measurement", "moviePlayback", "spokenAudio", "voicePrompt"]]


class StreamDescription(TypedDict):
    # Audio, Hz.
    sampleRate: NotRequired[float]
    # Audio.
    channels: NotRequired[int]
    # Audio: nominal duration of a frame.
    frameMilliseconds: NotRequired[float]
    # Video, pixels.
    width: NotRequired[int]
    # Video, pixels.
    height: NotRequired[int]
    # Video: expected frames a second.
    frameRate: NotRequired[float]
    # Ticks of the frames' timestamps a second; absent: 48,000 for audio, 90,000 for video, 1,000,000 for data.
    timescale: NotRequired[Literal[48000, 90000, 1000000]]


class StreamLayer(TypedDict):
    # Temporal layers in this encoding; absent: 1.
    temporalLayers: NotRequired[int]
    width: NotRequired[int]
    height: NotRequired[int]
    frameRate: NotRequired[float]
    # Bits a second that the encoding aims for; absent: measured by the relay.
    bitrate: NotRequired[float]


class StreamInfo(TypedDict):
    # The number that the stream's frames carry.
    stream: int
    # Who publishes it.
    participant: int
    kind: StreamKind
    codec: str
    description: NotRequired[StreamDescription]
    # What the stream is of: microphone, camera, screen or the publisher's own word.
    source: NotRequired[str]
    # Simulcast: the encodings that the stream's frames are of, lowest first.
    layers: NotRequired[list[StreamLayer]]
    # Whose layers go first; absent: medium.
    priority: NotRequired[Literal["very-low", "low", "medium", "high"]]


class Speaker(TypedDict):
    participant: int
    # The stream of audio that it speaks in.
    stream: int
    # dBov, as it was then: 0 is overload.
    level: int


class RoomEntry(TypedDict):
    room: str
    # The client's own number.
    participant: int
    role: Role
    locked: bool
    # Everybody in the room, oneself included, in the order in which they came.
    participants: list[Participant]
    # The streams that are open.
    streams: list[StreamInfo]
    # Who speaks, loudest first; absent: nobody.
    speakers: NotRequired[list[Speaker]]


class WelcomeResumedPublished(TypedDict):
    stream: int
    # The spatial layer; absent: the stream has only one. A stream in layers has an entry for each.
    layer: NotRequired[int]
    # The last frame of it that the relay has; absent: none.
    sequence: NotRequired[int]


class StreamGap(TypedDict):
    stream: int
    # Frames between the last that came and the first that will.
    frames: int
    # Their media time.
    milliseconds: float


class MixInfo(TypedDict):
    # As in the headers of its frames; nobody publishes it, and it is subscribed to by mixed delivery only.
    stream: int
    codec: Literal["opus"]
    # Hz.
    sampleRate: float
    channels: int
    frameMilliseconds: float


class SessionStateFormat(TypedDict):
    # Hz.
    sampleRate: float
    channels: int
    # Opus' audio bandwidth (RFC 6716 §2).
    bandwidth: Literal["narrowband", "mediumband", "wideband", "superwideband", "fullband"]
    # Seconds from the relay's last sample to the ear, as far as the client knows.
    latency: NotRequired[float]


class SessionState(TypedDict):
    state: Literal["uninitialised", "inactive", "active", "interrupted"]
    category: Literal["ambient", "soloAmbient", "playback", "record", "playAndRecord", "audioProcessing", "multiRoute"]
    mode: Literal["default", "voiceChat", "videoChat", "gameChat", "videoRecording", "measurement", "moviePlayback", "spokenAudio", "voicePrompt"]
    # The platform's bits.
    options: int
    # The user paused playback, or the headset was pulled: nothing is sent until playback.continue.
    paused: bool
    # What is sent to the client is fitted to this.
    format: NotRequired[SessionStateFormat]


class WelcomeResumed(TypedDict):
    # Absent when the session is in no room.
    room: NotRequired[RoomEntry]
    # The room whose lobby the session waits in.
    waiting: NotRequired[str]
    # The streams that the session gets.
    subscribed: list[int]
    # The client's own streams.
    published: list[WelcomeResumedPublished]
    # What the session will never get.
    gaps: list[StreamGap]
    # The stream that has the mix, where the session is subscribed to it.
    mix: NotRequired[MixInfo]
    # The audio session; absent: there is none.
    session: NotRequired[SessionState]


# The answer to hello.
class Welcome(TypedDict):
    type: Literal["welcome"]
    id: RequestID
    # The version that both speak from here on.
    version: int
    # Drawn at random; for logs and support.
    session: str
    identity: Identity
    # Of the relay's limits those that a client has to keep to.
    limits: WelcomeLimits
    # At the relay.
    serverTime: UnixMilliseconds
    # The relay's name.
    node: str
    # What to come back with after a lost connection, a secret; absent where the relay keeps no lost sessions.
    resumeToken: NotRequired[str]
    # How long a lost session is kept.
    resumeMilliseconds: NotRequired[int]
    # What the session is again, when hello asked to resume it.
    resumed: NotRequired[WelcomeResumed]


class TimeRequestLast(TypedDict):
    # The client's clock when it asked.
    clientTime: float
    # The relay's, as it answered.
    serverTime: float
    # The client's clock when the answer came.
    received: float


# The relay's clock against the client's.
class TimeRequest(TypedDict):
    type: Literal["time"]
    id: RequestID
    # The client's clock in milliseconds, given back as it came.
    clientTime: float
    # An exchange before this one, completed: from it the relay knows round trip, offset and drift.
    last: NotRequired[TimeRequestLast]


# The answer to time.
class TimeOK(TypedDict):
    type: Literal["ok"]
    id: RequestID
    # As it came.
    clientTime: float
    # With fractions; carried on by a clock that nobody sets.
    serverTime: UnixMilliseconds


# Adds a bearer token as a second factor, or renews the one that the session lives by.
class AuthenticateRequest(TypedDict):
    type: Literal["authenticate"]
    id: RequestID
    # A JWT (RFC 7519) in the compact form.
    token: str


# The answer to authenticate.
class AuthenticateOK(TypedDict):
    type: Literal["ok"]
    id: RequestID
    # When the session ends unless a newer token comes.
    expires: UnixMilliseconds


class ReportRequestStreams(TypedDict):
    stream: int
    # Frames that came.
    received: NotRequired[int]
    # Frames that were played; absent: everything that came in time.
    played: NotRequired[int]
    # Frames that were concealed because they were missing.
    concealed: NotRequired[int]
    # Of those, frames that came too late to be played.
    late: NotRequired[int]
    # What the jitter buffer holds.
    bufferMilliseconds: NotRequired[float]
    # The mean deviation of arrival.
    jitterMilliseconds: NotRequired[float]
    # Bits a second that arrived of the stream, over the last seconds.
    bitrate: NotRequired[float]


# What a receiver says of the streams it plays; counts are totals since it subscribed.
class ReportRequest(TypedDict):
    type: Literal["report"]
    id: RequestID
    streams: list[ReportRequestStreams]


# The answer to report.
class ReportOK(TypedDict):
    type: Literal["ok"]
    id: RequestID


# Enters a room, or its lobby; the room comes into being with its first member.
class JoinRequest(TypedDict):
    type: Literal["join"]
    id: RequestID
    # At most roomNameBytesMax bytes.
    room: str
    # What others see beside the verified identity; at most 64 bytes.
    displayName: NotRequired[str]
    # One of the roles that the policy allows; else the first of them.
    role: NotRequired[Role]
    # For a pair's room: the signed grant, where the relay may not know of it.
    grant: NotRequired[str]


# The answer to join.
class JoinOK(TypedDict):
    type: Literal["ok"]
    id: RequestID
    # As asked.
    room: str
    # The client's own number: 32 bits, never used twice while the relay runs.
    participant: int
    role: Role
    # Waiting: in the lobby, until a host lets the client in.
    state: Literal["joined", "waiting"]
    # Whether the room is locked.
    locked: NotRequired[bool]
    # Everybody in the room, oneself included, in the order in which they came.
    participants: NotRequired[list[Participant]]
    # The streams that are open.
    streams: NotRequired[list[StreamInfo]]
    # Who speaks, loudest first; absent: nobody.
    speakers: NotRequired[list[Speaker]]


# Leaves the room or its lobby; ends the session's streams and subscriptions.
class LeaveRequest(TypedDict):
    type: Literal["leave"]
    id: RequestID


# The answer to leave.
class LeaveOK(TypedDict):
    type: Literal["ok"]
    id: RequestID


# Announces a stream of the client's.
class PublishRequest(TypedDict):
    type: Literal["publish"]
    id: RequestID
    kind: StreamKind
    # opus, pcm_s16, pcmu, pcma, aac, or a video codec string (RFC 6381); for data any text.
    codec: str
    description: NotRequired[StreamDescription]
    # What the stream is of: microphone, camera, screen or the publisher's own word; at most 64 bytes.
    source: NotRequired[str]
    # Simulcast: the encodings that the stream's frames are of, lowest first. Absent: one encoding, spatial layer 0.
    layers: NotRequired[list[StreamLayer]]
    # Whose layers go first when a subscriber's bandwidth does not carry all; absent: medium.
    priority: NotRequired[Literal["very-low", "low", "medium", "high"]]


# The answer to publish.
class PublishOK(TypedDict):
    type: Literal["ok"]
    id: RequestID
    # The number that the stream's frames carry, unique in the room as long as the room exists.
    stream: int


# Ends a stream of the client's.
class UnpublishRequest(TypedDict):
    type: Literal["unpublish"]
    id: RequestID
    stream: int


# The answer to unpublish.
class UnpublishOK(TypedDict):
    type: Literal["ok"]
    id: RequestID
    stream: int


class SubscribeRequestMaxLayer(TypedDict):
    spatial: NotRequired[int]
    temporal: NotRequired[int]


# Asks for streams of the room.
class SubscribeRequest(TypedDict):
    type: Literal["subscribe"]
    id: RequestID
    # These streams; not looked at beside all.
    streams: NotRequired[list[int]]
    # True: every stream of the room but one's own, those to come included.
    all: NotRequired[bool]
    # Every stream of the room but one's own whose source is one of these, those to come included.
    sources: NotRequired[list[str]]
    # Live: forwarded at once. Paced: through a jitter buffer of the relay's. Mixed: all audio but one's own as one stream, only with all.
    delivery: NotRequired[Literal["live", "paced", "mixed"]]
    # Nothing above these layers, whatever the bandwidth; an absent member means all.
    maxLayer: NotRequired[SubscribeRequestMaxLayer]
    # Video of one stream, bits a second at most.
    maxBitrate: NotRequired[float]
    # Milliseconds after which a queued frame is of no use to this subscriber; it can only shorten the class's deadline.
    maxDelay: NotRequired[float]
    # Paced: what becomes of late and lost frames; absent: drop.
    late: NotRequired[Literal["drop", "conceal"]]
    # Paced: how much delay for how much concealment; absent: by the audio session's mode.
    profile: NotRequired[Literal["lowLatency", "balanced", "smooth"]]
    # Paced: the buffer's delay in milliseconds, whatever arrives.
    delay: NotRequired[float]
    # Mixed: of the mix; absent: 1.
    channels: NotRequired[int]
    # Of video but screens, only that of so many participants who spoke last; only with all. Absent: of everybody.
    lastN: NotRequired[int]


# The answer to subscribe.
class SubscribeOK(TypedDict):
    type: Literal["ok"]
    id: RequestID
    # The streams that the request named, or means at the moment.
    subscribed: list[int]
    # Mixed: the stream that has all audio but one's own.
    mix: NotRequired[MixInfo]


# Lets go of streams.
class UnsubscribeRequest(TypedDict):
    type: Literal["unsubscribe"]
    id: RequestID
    # These streams; not looked at beside all.
    streams: NotRequired[list[int]]
    # True: all of them, and those to come.
    all: NotRequired[bool]


# The answer to unsubscribe.
class UnsubscribeOK(TypedDict):
    type: Literal["ok"]
    id: RequestID
    # The streams that are left.
    subscribed: list[int]


# Asks the publisher of a video stream for a key frame.
class KeyframeRequestRequest(TypedDict):
    type: Literal["keyframe.request"]
    id: RequestID
    # One that the client is subscribed to.
    stream: int


# The answer to keyframe.request.
class KeyframeRequestOK(TypedDict):
    type: Literal["ok"]
    id: RequestID


# Drops what a participant publishes, or lets it be heard again.
class MuteRequest(TypedDict):
    type: Literal["mute"]
    id: RequestID
    participant: int
    # Absent: all kinds.
    kinds: NotRequired[list[StreamKind]]
    muted: bool


# The answer to mute.
class MuteOK(TypedDict):
    type: Literal["ok"]
    id: RequestID


# Takes a participant out of the room.
class RemoveRequest(TypedDict):
    type: Literal["remove"]
    id: RequestID
    participant: int


# The answer to remove.
class RemoveOK(TypedDict):
    type: Literal["ok"]
    id: RequestID


# Gives a participant another role, above or below the one that it has.
class PromoteRequest(TypedDict):
    type: Literal["promote"]
    id: RequestID
    participant: int
    role: Role


# The answer to promote.
class PromoteOK(TypedDict):
    type: Literal["ok"]
    id: RequestID


# Lets nobody but hosts into the room, or everybody again.
class LockRequest(TypedDict):
    type: Literal["lock"]
    id: RequestID
    locked: bool


# The answer to lock.
class LockOK(TypedDict):
    type: Literal["ok"]
    id: RequestID


# Ends the room for everybody, the lobby included.
class EndRequest(TypedDict):
    type: Literal["end"]
    id: RequestID


# The answer to end.
class EndOK(TypedDict):
    type: Literal["ok"]
    id: RequestID


# Lets somebody in from the lobby.
class AdmitRequest(TypedDict):
    type: Literal["admit"]
    id: RequestID
    participant: int


# The answer to admit.
class AdmitOK(TypedDict):
    type: Literal["ok"]
    id: RequestID


# Sends somebody away from the lobby.
class DenyRequest(TypedDict):
    type: Literal["deny"]
    id: RequestID
    participant: int


# The answer to deny.
class DenyOK(TypedDict):
    type: Literal["ok"]
    id: RequestID


# Asks an identity, or one of its keys, to be a pair.
class PairRequestRequest(TypedDict):
    type: Literal["pair.request"]
    id: RequestID
    # The identity's name.
    peer: str
    # One of its keys, where it has several.
    fingerprint: NotRequired[str]


class PairInfo(TypedDict):
    # The pair's number.
    pair: str
    # The room that only the two may enter.
    room: str
    # What the two are a pair by; grant: a request that was accepted.
    basis: Literal["policy", "grant", "code"]
    # The other one.
    peer: Identity
    # Absent for a pair by policy.
    expires: NotRequired[UnixMilliseconds]
    # The relay's signed word on who the two are (compact JWS, RFC 7515).
    statement: str
    # The same as something that lasts; absent for pairs by policy.
    grant: NotRequired[str]


# The answer to pair.request.
class PairRequestOK(TypedDict):
    type: Literal["ok"]
    id: RequestID
    # Where the policy pairs the two outright, or the peer had asked already.
    pair: NotRequired[PairInfo]
    # Else: what the peer has to accept.
    request: NotRequired[str]
    # When the request ends by itself.
    expires: NotRequired[UnixMilliseconds]


# Accepts a request for a pair.
class PairAcceptRequest(TypedDict):
    type: Literal["pair.accept"]
    id: RequestID
    request: str


# The answer to pair.accept.
class PairAcceptOK(TypedDict):
    type: Literal["ok"]
    id: RequestID
    pair: PairInfo


# Declines a request for a pair.
class PairDeclineRequest(TypedDict):
    type: Literal["pair.decline"]
    id: RequestID
    request: str


# The answer to pair.decline.
class PairDeclineOK(TypedDict):
    type: Literal["ok"]
    id: RequestID


# Takes a request for a pair back.
class PairCancelRequest(TypedDict):
    type: Literal["pair.cancel"]
    id: RequestID
    request: str


# The answer to pair.cancel.
class PairCancelOK(TypedDict):
    type: Literal["ok"]
    id: RequestID


# Opens a one-time code that another key can enter.
class PairCodeRequest(TypedDict):
    type: Literal["pair.code"]
    id: RequestID


# The answer to pair.code.
class PairCodeOK(TypedDict):
    type: Literal["ok"]
    id: RequestID
    code: str
    expires: UnixMilliseconds


# Enters another key's code.
class PairEnterRequest(TypedDict):
    type: Literal["pair.enter"]
    id: RequestID
    # In any case, with spaces and hyphens anywhere; Z, S and B stand for the digits that they look like.
    code: str


# The answer to pair.enter.
class PairEnterOK(TypedDict):
    type: Literal["ok"]
    id: RequestID
    pair: PairInfo


# The client's pairs, and the requests that are open.
class PairListRequest(TypedDict):
    type: Literal["pair.list"]
    id: RequestID


class PairInvitation(TypedDict):
    request: str
    # The other's.
    identity: Identity
    # In a list: whether it is to the client or from it.
    direction: NotRequired[Literal["in", "out"]]
    expires: UnixMilliseconds


# The answer to pair.list.
class PairListOK(TypedDict):
    type: Literal["ok"]
    id: RequestID
    pairs: list[PairInfo]
    requests: list[PairInvitation]


# Ends a pair for good.
class PairRevokeRequest(TypedDict):
    type: Literal["pair.revoke"]
    id: RequestID
    # The pair's number.
    pair: str


# The answer to pair.revoke.
class PairRevokeOK(TypedDict):
    type: Literal["ok"]
    id: RequestID


# The keys of an identity that are connected now.
class PairDevicesRequest(TypedDict):
    type: Literal["pair.devices"]
    id: RequestID
    # The identity's name.
    peer: str
    # Not looked at.
    fingerprint: NotRequired[str]


class PairDevicesOKDevices(TypedDict):
    fingerprint: Fingerprint
    # As in its hello; of the client's own identity only.
    device: NotRequired[str]
    sessions: int


# The answer to pair.devices.
class PairDevicesOK(TypedDict):
    type: Literal["ok"]
    id: RequestID
    devices: list[PairDevicesOKDevices]


# Gives the client an audio session: inactive, to play and to record. Without one nothing is restricted.
class SessionInitRequest(TypedDict):
    type: Literal["session.init"]
    id: RequestID


# The answer to session.init.
class SessionInitOK(TypedDict):
    type: Literal["ok"]
    id: RequestID
    # The audio session after the request.
    session: SessionState
    # What was odd about a request that was granted nevertheless; nothing has changed then but what the word says.
    warnings: NotRequired[list[Literal["already_initialised", "not_active", "not_interrupted", "unknown_reason"]]]


# What the audio session may do and is used for; an illegal combination leaves it unchanged.
class SessionSetCategoryRequest(TypedDict):
    type: Literal["session.setCategory"]
    id: RequestID
    # A name as playAndRecord, or its four characters as plar.
    category: Literal["ambient", "ambi", "soloAmbient", "solo", "playback", "medi", "record", "reca", "playAndRecord", "plar", "audioProcessing", "proc", "multiRoute", "mrut"]
    # Absent: default, whatever was set before.
    mode: NotRequired[Literal["default", "voiceChat", "videoChat", "gameChat", "videoRecording", "measurement", "moviePlayback", "spokenAudio", "voicePrompt"]]
    # The platform's bits; absent: none, whatever was set before.
    options: NotRequired[int]


# The answer to session.setCategory.
class SessionSetCategoryOK(TypedDict):
    type: Literal["ok"]
    id: RequestID
    # The audio session after the request.
    session: SessionState
    # What was odd about a request that was granted nevertheless; nothing has changed then but what the word says.
    warnings: NotRequired[list[Literal["already_initialised", "not_active", "not_interrupted", "unknown_reason"]]]


# Activates the audio session, which may interrupt others of the identity, or deactivates it.
class SessionSetActiveRequest(TypedDict):
    type: Literal["session.setActive"]
    id: RequestID
    active: bool
    # Deactivating: whoever was interrupted may go on.
    notifyOthersOnDeactivation: NotRequired[bool]
    # Deactivating: stops running streams instead of being refused.
    force: NotRequired[bool]
    # Activating: the app is in the background.
    background: NotRequired[bool]
    # Activating; absent: 0. A session of lower priority than the active one is refused.
    priority: NotRequired[int]


# The answer to session.setActive.
class SessionSetActiveOK(TypedDict):
    type: Literal["ok"]
    id: RequestID
    # The audio session after the request.
    session: SessionState
    # What was odd about a request that was granted nevertheless; nothing has changed then but what the word says.
    warnings: NotRequired[list[Literal["already_initialised", "not_active", "not_interrupted", "unknown_reason"]]]


# The client's device has interrupted the session, as by a phone call.
class InterruptionBeganRequest(TypedDict):
    type: Literal["interruption.began"]
    id: RequestID
    # default, appWasSuspended, builtInMicMuted, routeDisconnected, handoff, prompt; absent: default, and so is, with a warning, any other word.
    reason: NotRequired[str]


# The answer to interruption.began.
class InterruptionBeganOK(TypedDict):
    type: Literal["ok"]
    id: RequestID
    # The audio session after the request.
    session: SessionState
    # What was odd about a request that was granted nevertheless; nothing has changed then but what the word says.
    warnings: NotRequired[list[Literal["already_initialised", "not_active", "not_interrupted", "unknown_reason"]]]


# The interruption is over.
class InterruptionEndedRequest(TypedDict):
    type: Literal["interruption.ended"]
    id: RequestID
    # Media flows again; absent: false.
    shouldResume: NotRequired[bool]


# The answer to interruption.ended.
class InterruptionEndedOK(TypedDict):
    type: Literal["ok"]
    id: RequestID
    # The audio session after the request.
    session: SessionState
    # What was odd about a request that was granted nevertheless; nothing has changed then but what the word says.
    warnings: NotRequired[list[Literal["already_initialised", "not_active", "not_interrupted", "unknown_reason"]]]


# Where the client's sound goes in and out has changed.
class RouteChangedRequest(TypedDict):
    type: Literal["route.changed"]
    id: RequestID
    # AVAudioSession.RouteChangeReason: 0 to 4 and 6 to 8; any other number is taken as 0, with a warning.
    reason: int
    route: NotRequired[AudioRoute]
    # The route as older systems write it, in place of route; empty: silent.
    legacyRoute: NotRequired[Literal["", "Headset", "Headphone", "Speaker", "SpeakerAndMicrophone", "HeadphonesAndMicrophone", "HeadsetInOut", "ReceiverAndMicrophone", "Lineout"]]
    # The room may see the ports' names too; absent: false.
    sharesNames: NotRequired[bool]


# The answer to route.changed.
class RouteChangedOK(TypedDict):
    type: Literal["ok"]
    id: RequestID
    # The audio session after the request.
    session: SessionState
    # What was odd about a request that was granted nevertheless; nothing has changed then but what the word says.
    warnings: NotRequired[list[Literal["already_initialised", "not_active", "not_interrupted", "unknown_reason"]]]


# The user pauses everything that is played.
class PlaybackPauseRequest(TypedDict):
    type: Literal["playback.pause"]
    id: RequestID


# The answer to playback.pause.
class PlaybackPauseOK(TypedDict):
    type: Literal["ok"]
    id: RequestID
    # The audio session after the request.
    session: SessionState
    # What was odd about a request that was granted nevertheless; nothing has changed then but what the word says.
    warnings: NotRequired[list[Literal["already_initialised", "not_active", "not_interrupted", "unknown_reason"]]]


# Ends the user's pause, and that of a headset that was pulled.
class PlaybackContinueRequest(TypedDict):
    type: Literal["playback.continue"]
    id: RequestID


# The answer to playback.continue.
class PlaybackContinueOK(TypedDict):
    type: Literal["ok"]
    id: RequestID
    # The audio session after the request.
    session: SessionState
    # What was odd about a request that was granted nevertheless; nothing has changed then but what the word says.
    warnings: NotRequired[list[Literal["already_initialised", "not_active", "not_interrupted", "unknown_reason"]]]


# Plays a stream.
class StreamStartRequest(TypedDict):
    type: Literal["stream.start"]
    id: RequestID
    # One that the client is subscribed to.
    stream: int
    # The media time to start at, in units of the stream's timescale; absent: now.
    at: NotRequired[int]


class StreamStartOKPlayback(TypedDict):
    stream: int
    state: Literal["stopped", "waiting", "playing", "paused"]
    # Seconds of media that were sent on.
    elapsed: float
    # 0: it does not move.
    rate: float
    # At the relay, when that was so.
    at: UnixMilliseconds


# The answer to stream.start.
class StreamStartOK(TypedDict):
    type: Literal["ok"]
    id: RequestID
    # Where the stream stands.
    playback: StreamStartOKPlayback


# Fills a stream up to where it could be played.
class StreamPrimeRequest(TypedDict):
    type: Literal["stream.prime"]
    id: RequestID
    # One that the client is subscribed to.
    stream: int


class StreamPrimeOKPlayback(TypedDict):
    stream: int
    state: Literal["stopped", "waiting", "playing", "paused"]
    # Seconds of media that were sent on.
    elapsed: float
    # 0: it does not move.
    rate: float
    # At the relay, when that was so.
    at: UnixMilliseconds


class StreamPrimeOKPrimed(TypedDict):
    frames: int
    milliseconds: float


# The answer to stream.prime.
class StreamPrimeOK(TypedDict):
    type: Literal["ok"]
    id: RequestID
    # Where the stream stands.
    playback: StreamPrimeOKPlayback
    # What is there to be played at once.
    primed: StreamPrimeOKPrimed


# Pauses a stream; what is there is kept.
class StreamPauseRequest(TypedDict):
    type: Literal["stream.pause"]
    id: RequestID
    # One that the client is subscribed to.
    stream: int


class StreamPauseOKPlayback(TypedDict):
    stream: int
    state: Literal["stopped", "waiting", "playing", "paused"]
    # Seconds of media that were sent on.
    elapsed: float
    # 0: it does not move.
    rate: float
    # At the relay, when that was so.
    at: UnixMilliseconds


# The answer to stream.pause.
class StreamPauseOK(TypedDict):
    type: Literal["ok"]
    id: RequestID
    # Where the stream stands.
    playback: StreamPauseOKPlayback


# Stops a stream.
class StreamStopRequest(TypedDict):
    type: Literal["stream.stop"]
    id: RequestID
    # One that the client is subscribed to.
    stream: int
    # Drain: what is queued goes out first; absent: immediate.
    mode: NotRequired[Literal["immediate", "drain"]]


class StreamStopOKPlayback(TypedDict):
    stream: int
    state: Literal["stopped", "waiting", "playing", "paused"]
    # Seconds of media that were sent on.
    elapsed: float
    # 0: it does not move.
    rate: float
    # At the relay, when that was so.
    at: UnixMilliseconds


# The answer to stream.stop.
class StreamStopOK(TypedDict):
    type: Literal["ok"]
    id: RequestID
    # Where the stream stands.
    playback: StreamStopOKPlayback


# Plays out everything of a stream, and then starts its decoder afresh.
class StreamFlushRequest(TypedDict):
    type: Literal["stream.flush"]
    id: RequestID
    # One that the client is subscribed to.
    stream: int


class StreamFlushOKPlayback(TypedDict):
    stream: int
    state: Literal["stopped", "waiting", "playing", "paused"]
    # Seconds of media that were sent on.
    elapsed: float
    # 0: it does not move.
    rate: float
    # At the relay, when that was so.
    at: UnixMilliseconds


# The answer to stream.flush.
class StreamFlushOK(TypedDict):
    type: Literal["ok"]
    id: RequestID
    # Where the stream stands.
    playback: StreamFlushOKPlayback


# Silences a stream now, and drops everything that is queued of it.
class StreamResetRequest(TypedDict):
    type: Literal["stream.reset"]
    id: RequestID
    # One that the client is subscribed to.
    stream: int


class StreamResetOKPlayback(TypedDict):
    stream: int
    state: Literal["stopped", "waiting", "playing", "paused"]
    # Seconds of media that were sent on.
    elapsed: float
    # 0: it does not move.
    rate: float
    # At the relay, when that was so.
    at: UnixMilliseconds


# The answer to stream.reset.
class StreamResetOK(TypedDict):
    type: Literal["ok"]
    id: RequestID
    # Where the stream stands.
    playback: StreamResetOKPlayback


# How a stream is played.
class StreamSetParametersRequest(TypedDict):
    type: Literal["stream.setParameters"]
    id: RequestID
    # One that the client is subscribed to.
    stream: int
    volume: NotRequired[float]
    # How long the volume takes to get there; absent: at once.
    rampMilliseconds: NotRequired[float]
    rate: NotRequired[float]
    # -1 is left, 1 right.
    pan: NotRequired[float]
    # Timestamp of the frame with which it takes effect, when that plays; absent: at once.
    at: NotRequired[int]


class StreamSetParametersOKPlayback(TypedDict):
    stream: int
    state: Literal["stopped", "waiting", "playing", "paused"]
    # Seconds of media that were sent on.
    elapsed: float
    # 0: it does not move.
    rate: float
    # At the relay, when that was so.
    at: UnixMilliseconds


class StreamSetParametersOKParameters(TypedDict):
    stream: int
    volume: float
    rampMilliseconds: NotRequired[float]
    rate: float
    pan: float
    at: NotRequired[int]


# The answer to stream.setParameters.
class StreamSetParametersOK(TypedDict):
    type: Literal["ok"]
    id: RequestID
    # Where the stream stands.
    playback: StreamSetParametersOKPlayback
    # What holds now; with `at`, from that frame on.
    parameters: StreamSetParametersOKParameters


# Somebody has entered the room; to everybody else in it.
class ParticipantJoinedEvent(TypedDict):
    type: Literal["participant.joined"]
    # 32 bits, never used twice while the relay runs.
    participant: int
    identity: Identity
    # Not verified.
    displayName: NotRequired[str]
    role: Role
    # Kinds of streams that a host has muted; absent: none.
    muted: NotRequired[list[StreamKind]]
    # Its audio session is interrupted; absent: no.
    interrupted: NotRequired[bool]
    # Nothing comes from it and nothing goes to it; absent: no.
    held: NotRequired[bool]
    route: NotRequired[AudioRoute]
    # Of its audio session; absent: it has none.
    category: NotRequired[Literal["ambient", "soloAmbient", "playback", "record", "playAndRecord", "audioProcessing", "multiRoute"]]
    # Of its audio session; absent: it has none.
    mode: NotRequired[Literal["default", "voiceChat", "videoChat", "gameChat", "videoRecording", "measurement", "moviePlayback", "spokenAudio", "voicePrompt"]]


# Somebody is not in the room any more; to everybody else.
class ParticipantLeftEvent(TypedDict):
    type: Literal["participant.left"]
    participant: int
    # left: it asked to, or its session was closed; lost: its connection ended without that; removed: it was taken out.
    reason: Literal["left", "lost", "removed"]


# A participant's role or what is muted of it has changed; to everybody in the room.
class ParticipantChangedEvent(TypedDict):
    type: Literal["participant.changed"]
    participant: int
    role: Role
    muted: list[StreamKind]


# A stream is there; to everybody else in the room.
class StreamPublishedEvent(TypedDict):
    type: Literal["stream.published"]
    # The number that the stream's frames carry.
    stream: int
    # Who publishes it.
    participant: int
    kind: StreamKind
    codec: str
    description: NotRequired[StreamDescription]
    # What the stream is of: microphone, camera, screen or the publisher's own word.
    source: NotRequired[str]
    # Simulcast: the encodings that the stream's frames are of, lowest first.
    layers: NotRequired[list[StreamLayer]]
    # Whose layers go first; absent: medium.
    priority: NotRequired[Literal["very-low", "low", "medium", "high"]]


# A stream is no more; to the publisher too when it did not ask for it.
class StreamEndedEvent(TypedDict):
    type: Literal["stream.ended"]
    stream: int


# Others speak than before; to everybody in the room.
class SpeakersEvent(TypedDict):
    type: Literal["speakers"]
    # Loudest first, at most speakersMax. Empty: nobody speaks.
    speakers: list[Speaker]


# Which video streams are forwarded now; to who has subscribed with lastN.
class StreamForwardedEvent(TypedDict):
    type: Literal["stream.forwarded"]
    # Of the streams of video that the client is subscribed to.
    streams: list[int]


# What a resumed session will never get of a stream.
class StreamGapEvent(TypedDict):
    type: Literal["stream.gap"]
    stream: int
    # Frames between the last that came and the first that will.
    frames: int
    # Their media time.
    milliseconds: float


# A publisher's stream as its receivers have it, over the reports of the last seconds.
class StreamReportEvent(TypedDict):
    type: Literal["stream.report"]
    stream: int
    # Receivers that reported.
    receivers: int
    # Of what should have been played, over all receivers.
    concealedShare: float
    # Of the receiver that has it worst.
    concealedShareMax: float
    # Of what should have been played, over all receivers.
    lateShare: float
    # Of the receiver that has it worst.
    lateShareMax: float
    # What jitter buffers hold, over all receivers that said it.
    bufferMilliseconds: NotRequired[float]
    bufferMillisecondsMax: NotRequired[float]
    # The largest mean deviation of arrival.
    jitterMillisecondsMax: NotRequired[float]


# Somebody needs a key frame; to the publisher.
class KeyframeRequestedEvent(TypedDict):
    type: Literal["keyframe.requested"]
    stream: int
    # The spatial layer, where the stream has several.
    layer: NotRequired[int]


class LayersWantedEventLayers(TypedDict):
    spatial: int
    # The highest temporal layer that somebody gets.
    temporal: int


# What the best subscribers of a stream want of it; to the publisher.
class LayersWantedEvent(TypedDict):
    type: Literal["layers.wanted"]
    stream: int
    # Empty: nobody gets anything of the stream now.
    layers: list[LayersWantedEventLayers]


# The client's connection does not carry what is due to it.
class CongestedEvent(TypedDict):
    type: Literal["congested"]
    # What the relay takes the connection to carry, bits a second; absent while it does not know.
    bitrate: NotRequired[float]


# The client's connection carries what is due to it again.
class RecoveredEvent(TypedDict):
    type: Literal["recovered"]
    # What the relay takes the connection to carry, bits a second; absent while it does not know.
    bitrate: NotRequired[float]


# Nothing else has gone to the client for as long as its hello wishes.
class KeepaliveEvent(TypedDict):
    type: Literal["keepalive"]


# The relay ends this session after so many milliseconds.
class GoawayEvent(TypedDict):
    type: Literal["goaway"]
    deadlineMilliseconds: int
    reason: str
    # Where the client may go, HOST:PORT; absent: the way it came.
    node: NotRequired[str]


# The relay stays after all: sessions that have not gone may stay.
class GoawayCancelledEvent(TypedDict):
    type: Literal["goaway.cancelled"]


# The room has been locked or unlocked; to everybody in it.
class RoomLockedEvent(TypedDict):
    type: Literal["room.locked"]
    locked: bool


# The client is not in its room any more, or was not let in from the lobby.
class RoomRemovedEvent(TypedDict):
    type: Literal["room.removed"]
    room: str
    # By a host (removed, ended, denied), a changed policy, the end of a pair, or an administrator.
    reason: Literal["removed", "ended", "denied", "policy", "grant_revoked", "grant_expired", "admin"]


# The client was let in from the lobby.
class RoomAdmittedEvent(TypedDict):
    type: Literal["room.admitted"]
    room: str
    # The client's own number.
    participant: int
    role: Role
    locked: bool
    # Everybody in the room, oneself included, in the order in which they came.
    participants: list[Participant]
    # The streams that are open.
    streams: list[StreamInfo]
    # Who speaks, loudest first; absent: nobody.
    speakers: NotRequired[list[Speaker]]


# Somebody waits in the lobby; to hosts.
class LobbyWaitingEvent(TypedDict):
    type: Literal["lobby.waiting"]
    # 32 bits, never used twice while the relay runs.
    participant: int
    identity: Identity
    # Not verified.
    displayName: NotRequired[str]
    role: Role
    # Kinds of streams that a host has muted; absent: none.
    muted: NotRequired[list[StreamKind]]
    # Its audio session is interrupted; absent: no.
    interrupted: NotRequired[bool]
    # Nothing comes from it and nothing goes to it; absent: no.
    held: NotRequired[bool]
    route: NotRequired[AudioRoute]
    # Of its audio session; absent: it has none.
    category: NotRequired[Literal["ambient", "soloAmbient", "playback", "record", "playAndRecord", "audioProcessing", "multiRoute"]]
    # Of its audio session; absent: it has none.
    mode: NotRequired[Literal["default", "voiceChat", "videoChat", "gameChat", "videoRecording", "measurement", "moviePlayback", "spokenAudio", "voicePrompt"]]


# Somebody waits no more: let in, sent away, or gone; to hosts.
class LobbyLeftEvent(TypedDict):
    type: Literal["lobby.left"]
    participant: int


# Somebody asks the client's key to be a pair.
class PairRequestedEvent(TypedDict):
    type: Literal["pair.requested"]
    request: str
    # Who asks.
    identity: Identity
    expires: UnixMilliseconds


# The client's key is one of a pair now; to both keys.
class PairMadeEvent(TypedDict):
    type: Literal["pair.made"]
    pair: PairInfo
    # The request that led to it.
    request: NotRequired[str]


# A request was declined; to the key that asked.
class PairDeclinedEvent(TypedDict):
    type: Literal["pair.declined"]
    request: str


# A request is not open any more; to both keys.
class PairWithdrawnEvent(TypedDict):
    type: Literal["pair.withdrawn"]
    request: str
    # answered: by another session.
    reason: Literal["answered", "cancelled", "expired"]


# A pair has ended; to both keys.
class PairRevokedEvent(TypedDict):
    type: Literal["pair.revoked"]
    # The pair's number.
    pair: str
    reason: Literal["revoked", "expired", "policy", "admin"]


# The audio session has changed without the client's having asked.
class SessionChangedEvent(TypedDict):
    type: Literal["session.changed"]
    session: SessionState
    # refused: the session was to go on, and may not; it is inactive.
    cause: Literal["refused"]


# Another session of the identity has interrupted this one; its media has stopped already.
class InterruptionBeganEvent(TypedDict):
    type: Literal["interruption.began"]
    reason: Literal["default", "appWasSuspended", "builtInMicMuted", "routeDisconnected", "handoff", "prompt"]
    # The device that interrupts, as it named itself.
    device: NotRequired[str]


# The interruption is over: exactly once for each that began.
class InterruptionEndedEvent(TypedDict):
    type: Literal["interruption.ended"]
    shouldResume: bool
    # What ended it.
    cause: Literal["deactivated", "left", "activated", "media", "timeout"]


# Others are to be heard: lower the sound.
class DuckBeganEvent(TypedDict):
    type: Literal["duck.began"]
    # Decibels that a client, or the relay's mixer, lowers by.
    gainDecibels: float
    rampMilliseconds: float


# The sound may be as loud as before.
class DuckEndedEvent(TypedDict):
    type: Literal["duck.ended"]
    # Decibels that a client, or the relay's mixer, lowers by.
    gainDecibels: float
    rampMilliseconds: float


# A primary session plays: secondary audio should be silent.
class SilenceSecondaryAudioBeginEvent(TypedDict):
    type: Literal["silenceSecondaryAudio.begin"]


# No primary session plays any more.
class SilenceSecondaryAudioEndEvent(TypedDict):
    type: Literal["silenceSecondaryAudio.end"]


# The relay has lost the session's media state.
class MediaServicesWereLostEvent(TypedDict):
    type: Literal["mediaServices.wereLost"]


# The session is to be created anew.
class MediaServicesWereResetEvent(TypedDict):
    type: Literal["mediaServices.wereReset"]


# A route change that the relay itself brings about.
class RouteChangedEvent(TypedDict):
    type: Literal["route.changed"]
    reason: Literal[0, 1, 2, 3, 4, 6, 7, 8]


# A stream, own or subscribed, that the session no longer carries.
class StreamStoppedEvent(TypedDict):
    type: Literal["stream.stopped"]
    stream: int
    # Category: it has ended for the session. Deactivated, by force: it stands still until the session is active again.
    reason: Literal["category", "deactivated"]


# Where a subscribed stream stands: told on change, extrapolated by the reader.
class StreamStateEvent(TypedDict):
    type: Literal["stream.state"]
    stream: int
    state: Literal["stopped", "waiting", "playing", "paused"]
    # Seconds of media that were sent on.
    elapsed: float
    # 0: it does not move.
    rate: float
    # At the relay, when that was so.
    at: UnixMilliseconds


# What the best of an audio stream's subscribers can use of it; to the publisher.
class FormatWantedEvent(TypedDict):
    type: Literal["format.wanted"]
    stream: int
    channels: int
    bandwidth: Literal["narrowband", "mediumband", "wideband", "superwideband", "fullband"]


# A stream that is not heard in the mix, or comes paced with late frames dropped instead of concealed.
class StreamUnmixedEvent(TypedDict):
    type: Literal["stream.unmixed"]
    stream: int
    # Why the relay cannot decode it.
    reason: Literal["codec", "encrypted", "limit"]


# A participant's audio session is interrupted, or not any more.
class ParticipantInterruptedEvent(TypedDict):
    type: Literal["participant.interrupted"]
    participant: int
    interrupted: bool
    reason: NotRequired[Literal["default", "appWasSuspended", "builtInMicMuted", "routeDisconnected", "handoff", "prompt"]]


# Nothing comes from the participant, and nothing goes to it, until further notice.
class ParticipantHeldEvent(TypedDict):
    type: Literal["participant.held"]
    participant: int
    held: bool


# Where a participant's sound goes in and out; ports have names only where their owner shares them.
class ParticipantRouteEvent(TypedDict):
    type: Literal["participant.route"]
    participant: int
    inputs: list[AudioPort]
    outputs: list[AudioPort]


# What a participant's audio session is for.
class ParticipantModeEvent(TypedDict):
    type: Literal["participant.mode"]
    participant: int
    category: Literal["ambient", "soloAmbient", "playback", "record", "playAndRecord", "audioProcessing", "multiRoute"]
    mode: Literal["default", "voiceChat", "videoChat", "gameChat", "videoRecording", "measurement", "moviePlayback", "spokenAudio", "voicePrompt"]


class ErrorMessage(TypedDict):
    type: Literal["error"]
    id: NotRequired[RequestID]
    # Stable, for programs.
    code: str
    # A sentence for people.
    message: str
    # Whether the same request may succeed later.
    retry: bool
    fourCharCode: NotRequired[str]
    status: NotRequired[int]


Request = Union[
    HelloRequest,
    TimeRequest,
    AuthenticateRequest,
    ReportRequest,
    JoinRequest,
    LeaveRequest,
    PublishRequest,
    UnpublishRequest,
    SubscribeRequest,
    UnsubscribeRequest,
    KeyframeRequestRequest,
    MuteRequest,
    RemoveRequest,
    PromoteRequest,
    LockRequest,
    EndRequest,
    AdmitRequest,
    DenyRequest,
    PairRequestRequest,
    PairAcceptRequest,
    PairDeclineRequest,
    PairCancelRequest,
    PairCodeRequest,
    PairEnterRequest,
    PairListRequest,
    PairRevokeRequest,
    PairDevicesRequest,
    SessionInitRequest,
    SessionSetCategoryRequest,
    SessionSetActiveRequest,
    InterruptionBeganRequest,
    InterruptionEndedRequest,
    RouteChangedRequest,
    PlaybackPauseRequest,
    PlaybackContinueRequest,
    StreamStartRequest,
    StreamPrimeRequest,
    StreamPauseRequest,
    StreamStopRequest,
    StreamFlushRequest,
    StreamResetRequest,
    StreamSetParametersRequest,
]
Answer = Union[
    Welcome,
    TimeOK,
    AuthenticateOK,
    ReportOK,
    JoinOK,
    LeaveOK,
    PublishOK,
    UnpublishOK,
    SubscribeOK,
    UnsubscribeOK,
    KeyframeRequestOK,
    MuteOK,
    RemoveOK,
    PromoteOK,
    LockOK,
    EndOK,
    AdmitOK,
    DenyOK,
    PairRequestOK,
    PairAcceptOK,
    PairDeclineOK,
    PairCancelOK,
    PairCodeOK,
    PairEnterOK,
    PairListOK,
    PairRevokeOK,
    PairDevicesOK,
    SessionInitOK,
    SessionSetCategoryOK,
    SessionSetActiveOK,
    InterruptionBeganOK,
    InterruptionEndedOK,
    RouteChangedOK,
    PlaybackPauseOK,
    PlaybackContinueOK,
    StreamStartOK,
    StreamPrimeOK,
    StreamPauseOK,
    StreamStopOK,
    StreamFlushOK,
    StreamResetOK,
    StreamSetParametersOK,
]
Event = Union[
    ParticipantJoinedEvent,
    ParticipantLeftEvent,
    ParticipantChangedEvent,
    StreamPublishedEvent,
    StreamEndedEvent,
    SpeakersEvent,
    StreamForwardedEvent,
    StreamGapEvent,
    StreamReportEvent,
    KeyframeRequestedEvent,
    LayersWantedEvent,
    CongestedEvent,
    RecoveredEvent,
    KeepaliveEvent,
    GoawayEvent,
    GoawayCancelledEvent,
    RoomLockedEvent,
    RoomRemovedEvent,
    RoomAdmittedEvent,
    LobbyWaitingEvent,
    LobbyLeftEvent,
    PairRequestedEvent,
    PairMadeEvent,
    PairDeclinedEvent,
    PairWithdrawnEvent,
    PairRevokedEvent,
    SessionChangedEvent,
    InterruptionBeganEvent,
    InterruptionEndedEvent,
    DuckBeganEvent,
    DuckEndedEvent,
    SilenceSecondaryAudioBeginEvent,
    SilenceSecondaryAudioEndEvent,
    MediaServicesWereLostEvent,
    MediaServicesWereResetEvent,
    RouteChangedEvent,
    StreamStoppedEvent,
    StreamStateEvent,
    FormatWantedEvent,
    StreamUnmixedEvent,
    ParticipantInterruptedEvent,
    ParticipantHeldEvent,
    ParticipantRouteEvent,
    ParticipantModeEvent,
]
# What each request can be refused with (`code`).
REFUSALS: dict[str, tuple[str, ...]] = {
    "hello": ("version", "hello_twice", "bad_value", "token_refused", "unauthenticated", "resume_refused", "connection_shared", "pending", "malformed"),
    "time": ("bad_value", "malformed", "hello_first"),
    "authenticate": ("token_refused", "pending", "malformed", "hello_first"),
    "report": ("not_in_room", "bad_value", "malformed", "hello_first", "pending", "cluster_unavailable"),
    "join": (
        "room_name",
        "bad_value",
        "already_in_room",
        "pending",
        "unauthenticated",
        "not_allowed",
        "proof_required",
        "room_locked",
        "lobby_full",
        "rooms_max",
        "participants_max",
        "draining",
        "malformed",
        "hello_first",
        "cluster_unavailable",
    ),
    "leave": ("not_in_room", "malformed", "hello_first", "pending", "cluster_unavailable"),
    "publish": (
        "not_in_room",
        "role",
        "not_allowed",
        "unknown_codec",
        "bad_value",
        "streams_max",
        "publishers_max",
        "room_streams_max",
        "cannot_start_recording",
        "category",
        "malformed",
        "hello_first",
        "pending",
        "cluster_unavailable",
    ),
    "unpublish": ("not_in_room", "unknown_stream", "malformed", "hello_first", "pending", "cluster_unavailable"),
    "subscribe": (
        "not_in_room",
        "bad_value",
        "unknown_stream",
        "pending",
        "deliveries_max",
        "cannot_start_playing",
        "category",
        "malformed",
        "hello_first",
        "cluster_unavailable",
    ),
    "unsubscribe": ("not_in_room", "bad_value", "unknown_stream", "malformed", "hello_first", "pending", "cluster_unavailable"),
    "keyframe.request": ("not_in_room", "unknown_stream", "bad_value", "malformed", "hello_first", "pending", "cluster_unavailable"),
    "mute": ("not_in_room", "not_host", "unknown_participant", "bad_value", "malformed", "hello_first", "pending", "cluster_unavailable"),
    "remove": ("not_in_room", "not_host", "unknown_participant", "malformed", "hello_first", "pending", "cluster_unavailable"),
    "promote": ("not_in_room", "not_host", "unknown_participant", "malformed", "hello_first", "pending", "cluster_unavailable"),
    "lock": ("not_in_room", "not_host", "malformed", "hello_first", "pending", "cluster_unavailable"),
    "end": ("not_in_room", "not_host", "malformed", "hello_first", "pending", "cluster_unavailable"),
    "admit": ("not_in_room", "not_host", "unknown_participant", "participants_max", "malformed", "hello_first", "pending", "cluster_unavailable"),
    "deny": ("not_in_room", "not_host", "unknown_participant", "malformed", "hello_first", "pending", "cluster_unavailable"),
    "pair.request": ("certificate_needed", "not_allowed", "peer_unavailable", "peer_ambiguous", "pairs_max", "internal", "malformed", "hello_first"),
    "pair.accept": ("certificate_needed", "not_allowed", "unknown_request", "pairs_max", "internal", "malformed", "hello_first"),
    "pair.decline": ("certificate_needed", "unknown_request", "malformed", "hello_first"),
    "pair.cancel": ("certificate_needed", "unknown_request", "malformed", "hello_first"),
    "pair.code": ("certificate_needed", "not_allowed", "pairs_max", "malformed", "hello_first"),
    "pair.enter": ("certificate_needed", "not_allowed", "pair_code", "pair_rate", "pairs_max", "bad_value", "internal", "malformed", "hello_first"),
    "pair.list": ("certificate_needed", "pairs_max", "internal", "malformed", "hello_first"),
    "pair.revoke": ("certificate_needed", "not_allowed", "unknown_pair", "not_stored", "malformed", "hello_first"),
    "pair.devices": ("certificate_needed", "not_allowed", "peer_unavailable", "malformed", "hello_first"),
    "session.init": ("audio_sessions_max", "malformed", "hello_first", "pending"),
    "session.setCategory": ("session_lost", "illegal_category", "bad_value", "malformed", "hello_first", "pending"),
    "session.setActive": ("session_lost", "insufficient_priority", "io_running", "bad_value", "malformed", "hello_first", "pending"),
    "interruption.began": ("session_lost", "malformed", "hello_first", "pending"),
    "interruption.ended": ("session_lost", "insufficient_priority", "malformed", "hello_first", "pending"),
    "route.changed": ("session_lost", "bad_value", "malformed", "hello_first", "pending"),
    "playback.pause": ("session_lost", "malformed", "hello_first", "pending"),
    "playback.continue": ("session_lost", "malformed", "hello_first", "pending"),
    "stream.start": (
        "session_lost",
        "not_in_room",
        "unknown_stream",
        "category",
        "pending",
        "cannot_start_playing",
        "malformed",
        "hello_first",
        "cluster_unavailable",
    ),
    "stream.prime": ("session_lost", "not_in_room", "unknown_stream", "category", "pending", "malformed", "hello_first", "cluster_unavailable"),
    "stream.pause": ("session_lost", "not_in_room", "unknown_stream", "category", "pending", "malformed", "hello_first", "cluster_unavailable"),
    "stream.stop": ("session_lost", "not_in_room", "unknown_stream", "category", "pending", "malformed", "hello_first", "cluster_unavailable"),
    "stream.flush": ("session_lost", "not_in_room", "unknown_stream", "category", "pending", "malformed", "hello_first", "cluster_unavailable"),
    "stream.reset": ("session_lost", "not_in_room", "unknown_stream", "category", "pending", "malformed", "hello_first", "cluster_unavailable"),
    "stream.setParameters": (
        "session_lost",
        "not_in_room",
        "unknown_stream",
        "category",
        "pending",
        "bad_value",
        "malformed",
        "hello_first",
        "cluster_unavailable",
    ),
}
