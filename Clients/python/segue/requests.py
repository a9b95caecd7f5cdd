"""The protocol's requests as methods: parameters are the members, None leaves one out.

Written by generate.py from the protocol's AsyncAPI document (version 1); do not edit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, cast

from . import messages


class Requests:
    """Every request, asked of the relay as it stands. Raises `Refused`, and what else `_ask` raises."""

    async def _ask(self, kind: str, members: Mapping[str, Any]) -> Mapping[str, Any]:
        raise NotImplementedError

    async def time(self, *, clientTime: float, last: messages.TimeRequestLast | None = None) -> messages.TimeOK:
        """The relay's clock against the client's.

        clientTime: The client's clock in milliseconds, given back as it came.
        last: An exchange before this one, completed: from it the relay knows round trip, offset and drift.
        """
        members: dict[str, Any] = {"clientTime": clientTime, "last": last}
        return cast("messages.TimeOK", await self._ask("time", members))

    async def authenticate(self, *, token: str) -> messages.AuthenticateOK:
        """Adds a bearer token as a second factor, or renews the one that the session lives by.

        token: A JWT (RFC 7519) in the compact form.
        """
        members: dict[str, Any] = {"token": token}
        return cast("messages.AuthenticateOK", await self._ask("authenticate", members))

    async def report(self, *, streams: list[messages.ReportRequestStreams]) -> messages.ReportOK:
        """What a receiver says of the streams it plays; counts are totals since it subscribed."""
        members: dict[str, Any] = {"streams": streams}
        return cast("messages.ReportOK", await self._ask("report", members))

    async def join(self, *, room: str, displayName: str | None = None, role: messages.Role | None = None, grant: str | None = None) -> messages.JoinOK:
        """Enters a room, or its lobby; the room comes into being with its first member.

        room: At most roomNameBytesMax bytes.
        displayName: What others see beside the verified identity; at most 64 bytes.
        role: One of the roles that the policy allows; else the first of them.
        grant: For a pair's room: the signed grant, where the relay may not know of it.
        """
        members: dict[str, Any] = {"room": room, "displayName": displayName, "role": role, "grant": grant}
        return cast("messages.JoinOK", await self._ask("join", members))

    async def leave(self) -> messages.LeaveOK:
        """Leaves the room or its lobby; ends the session's streams and subscriptions."""
        members: dict[str, Any] = {}
        return cast("messages.LeaveOK", await self._ask("leave", members))

    async def publish(
        self,
        *,
        kind: messages.StreamKind,
        codec: str,
        description: messages.StreamDescription | None = None,
        source: str | None = None,
        layers: list[messages.StreamLayer] | None = None,
        priority: Literal["very-low", "low", "medium", "high"] | None = None,
    ) -> messages.PublishOK:
        """Announces a stream of the client's.

        codec: opus, pcm_s16, pcmu, pcma, aac, or a video codec string (RFC 6381); for data any text.
        source: What the stream is of: microphone, camera, screen or the publisher's own word; at most 64 bytes.
        layers: Simulcast: the encodings that the stream's frames are of, lowest first. Absent: one encoding, spatial layer 0.
        priority: Whose layers go first when a subscriber's bandwidth does not carry all; absent: medium.
        """
        members: dict[str, Any] = {"kind": kind, "codec": codec, "description": description, "source": source, "layers": layers, "priority": priority}
        return cast("messages.PublishOK", await self._ask("publish", members))

    async def unpublish(self, *, stream: int) -> messages.UnpublishOK:
        """Ends a stream of the client's."""
        members: dict[str, Any] = {"stream": stream}
        return cast("messages.UnpublishOK", await self._ask("unpublish", members))

    async def subscribe(
        self,
        *,
        streams: list[int] | None = None,
        all: bool | None = None,
        sources: list[str] | None = None,
        delivery: Literal["live", "paced", "mixed"] | None = None,
        maxLayer: messages.SubscribeRequestMaxLayer | None = None,
        maxBitrate: float | None = None,
        maxDelay: float | None = None,
        late: Literal["drop", "conceal"] | None = None,
        profile: Literal["lowLatency", "balanced", "smooth"] | None = None,
        delay: float | None = None,
        channels: int | None = None,
    ) -> messages.SubscribeOK:
        """Asks for streams of the room.

        streams: These streams; not looked at beside all.
        all: True: every stream of the room but one's own, those to come included.
        sources: Every stream of the room but one's own whose source is one of these, those to come included.
        delivery: Live: forwarded at once. Paced: through a jitter buffer of the relay's. Mixed: all audio but one's own as one stream, only with all.
        maxLayer: Nothing above these layers, whatever the bandwidth; an absent member means all.
        maxBitrate: Video of one stream, bits a second at most.
        maxDelay: Milliseconds after which a queued frame is of no use to this subscriber; it can only shorten the class's deadline.
        late: Paced: what becomes of late and lost frames; absent: drop.
        profile: Paced: how much delay for how much concealment; absent: by the audio session's mode.
        delay: Paced: the buffer's delay in milliseconds, whatever arrives.
        channels: Mixed: of the mix; absent: 1.
        """
        members: dict[str, Any] = {
            "streams": streams,
            "all": all,
            "sources": sources,
            "delivery": delivery,
            "maxLayer": maxLayer,
            "maxBitrate": maxBitrate,
            "maxDelay": maxDelay,
            "late": late,
            "profile": profile,
            "delay": delay,
            "channels": channels,
        }
        return cast("messages.SubscribeOK", await self._ask("subscribe", members))

    async def unsubscribe(self, *, streams: list[int] | None = None, all: bool | None = None) -> messages.UnsubscribeOK:
        """Lets go of streams.

        streams: These streams; not looked at beside all.
        all: True: all of them, and those to come.
        """
        members: dict[str, Any] = {"streams": streams, "all": all}
        return cast("messages.UnsubscribeOK", await self._ask("unsubscribe", members))

    async def keyframe_request(self, *, stream: int) -> messages.KeyframeRequestOK:
        """Asks the publisher of a video stream for a key frame.

        stream: One that the client is subscribed to.
        """
        members: dict[str, Any] = {"stream": stream}
        return cast("messages.KeyframeRequestOK", await self._ask("keyframe.request", members))

    async def mute(self, *, participant: int, muted: bool, kinds: list[messages.StreamKind] | None = None) -> messages.MuteOK:
        """Drops what a participant publishes, or lets it be heard again.

        kinds: Absent: all kinds.
        """
        members: dict[str, Any] = {"participant": participant, "kinds": kinds, "muted": muted}
        return cast("messages.MuteOK", await self._ask("mute", members))

    async def remove(self, *, participant: int) -> messages.RemoveOK:
        """Takes a participant out of the room."""
        members: dict[str, Any] = {"participant": participant}
        return cast("messages.RemoveOK", await self._ask("remove", members))

    async def promote(self, *, participant: int, role: messages.Role) -> messages.PromoteOK:
        """Gives a participant another role, above or below the one that it has."""
        members: dict[str, Any] = {"participant": participant, "role": role}
        return cast("messages.PromoteOK", await self._ask("promote", members))

    async def lock(self, *, locked: bool) -> messages.LockOK:
        """Lets nobody but hosts into the room, or everybody again."""
        members: dict[str, Any] = {"locked": locked}
        return cast("messages.LockOK", await self._ask("lock", members))

    async def end(self) -> messages.EndOK:
        """Ends the room for everybody, the lobby included."""
        members: dict[str, Any] = {}
        return cast("messages.EndOK", await self._ask("end", members))

    async def admit(self, *, participant: int) -> messages.AdmitOK:
        """Lets somebody in from the lobby."""
        members: dict[str, Any] = {"participant": participant}
        return cast("messages.AdmitOK", await self._ask("admit", members))

    async def deny(self, *, participant: int) -> messages.DenyOK:
        """Sends somebody away from the lobby."""
        members: dict[str, Any] = {"participant": participant}
        return cast("messages.DenyOK", await self._ask("deny", members))

    async def pair_request(self, *, peer: str, fingerprint: str | None = None) -> messages.PairRequestOK:
        """Asks an identity, or one of its keys, to be a pair.

        peer: The identity's name.
        fingerprint: One of its keys, where it has several.
        """
        members: dict[str, Any] = {"peer": peer, "fingerprint": fingerprint}
        return cast("messages.PairRequestOK", await self._ask("pair.request", members))

    async def pair_accept(self, *, request: str) -> messages.PairAcceptOK:
        """Accepts a request for a pair."""
        members: dict[str, Any] = {"request": request}
        return cast("messages.PairAcceptOK", await self._ask("pair.accept", members))

    async def pair_decline(self, *, request: str) -> messages.PairDeclineOK:
        """Declines a request for a pair."""
        members: dict[str, Any] = {"request": request}
        return cast("messages.PairDeclineOK", await self._ask("pair.decline", members))

    async def pair_cancel(self, *, request: str) -> messages.PairCancelOK:
        """Takes a request for a pair back."""
        members: dict[str, Any] = {"request": request}
        return cast("messages.PairCancelOK", await self._ask("pair.cancel", members))

    async def pair_code(self) -> messages.PairCodeOK:
        """Opens a one-time code that another key can enter."""
        members: dict[str, Any] = {}
        return cast("messages.PairCodeOK", await self._ask("pair.code", members))

    async def pair_enter(self, *, code: str) -> messages.PairEnterOK:
        """Enters another key's code.

        code: In any case, with spaces and hyphens anywhere; Z, S and B stand for the digits that they look like.
        """
        members: dict[str, Any] = {"code": code}
        return cast("messages.PairEnterOK", await self._ask("pair.enter", members))

    async def pair_list(self) -> messages.PairListOK:
        """The client's pairs, and the requests that are open."""
        members: dict[str, Any] = {}
        return cast("messages.PairListOK", await self._ask("pair.list", members))

    async def pair_revoke(self, *, pair: str) -> messages.PairRevokeOK:
        """Ends a pair for good.

        pair: The pair's number.
        """
        members: dict[str, Any] = {"pair": pair}
        return cast("messages.PairRevokeOK", await self._ask("pair.revoke", members))

    async def pair_devices(self, *, peer: str, fingerprint: str | None = None) -> messages.PairDevicesOK:
        """The keys of an identity that are connected now.

        peer: The identity's name.
        fingerprint: Not looked at.
        """
        members: dict[str, Any] = {"peer": peer, "fingerprint": fingerprint}
        return cast("messages.PairDevicesOK", await self._ask("pair.devices", members))

    async def session_init(self) -> messages.SessionInitOK:
        """Gives the client an audio session: inactive, to play and to record. Without one nothing is restricted."""
        members: dict[str, Any] = {}
        return cast("messages.SessionInitOK", await self._ask("session.init", members))

    async def session_set_category(
        self,
        *,
        category: Literal["ambient", "ambi", "soloAmbient", "solo", "playback", "medi", "record", "reca", "playAndRecord", "plar", "audioProcessing", "proc", "multiRoute", "mrut"],
        mode: Literal["default", "voiceChat", "videoChat", "gameChat", "videoRecording", "measurement", "moviePlayback", "spokenAudio", "voicePrompt"] | None = None,
        options: int | None = None,
    ) -> messages.SessionSetCategoryOK:
        """What the audio session may do and is used for; an illegal combination leaves it unchanged.

        category: A name as playAndRecord, or its four characters as plar.
        mode: Absent: default, whatever was set before.
        options: The platform's bits; absent: none, whatever was set before.
        """
        members: dict[str, Any] = {"category": category, "mode": mode, "options": options}
        return cast("messages.SessionSetCategoryOK", await self._ask("session.setCategory", members))

    async def session_set_active(
        self,
        *,
        active: bool,
        notifyOthersOnDeactivation: bool | None = None,
        force: bool | None = None,
        background: bool | None = None,
        priority: int | None = None,
    ) -> messages.SessionSetActiveOK:
        """Activates the audio session, which may interrupt others of the identity, or deactivates it.

        notifyOthersOnDeactivation: Deactivating: whoever was interrupted may go on.
        force: Deactivating: stops running streams instead of being refused.
        background: Activating: the app is in the background.
        priority: Activating; absent: 0. A session of lower priority than the active one is refused.
        """
        members: dict[str, Any] = {
            "active": active,
            "notifyOthersOnDeactivation": notifyOthersOnDeactivation,
            "force": force,
            "background": background,
            "priority": priority,
        }
        return cast("messages.SessionSetActiveOK", await self._ask("session.setActive", members))

    async def interruption_began(self, *, reason: str | None = None) -> messages.InterruptionBeganOK:
        """The client's device has interrupted the session, as by a phone call.

        reason: default, appWasSuspended, builtInMicMuted, routeDisconnected, handoff, prompt; absent: default, and so is, with a warning, any other word.
        """
        members: dict[str, Any] = {"reason": reason}
        return cast("messages.InterruptionBeganOK", await self._ask("interruption.began", members))

    async def interruption_ended(self, *, shouldResume: bool | None = None) -> messages.InterruptionEndedOK:
        """The interruption is over.

        shouldResume: Media flows again; absent: false.
        """
        members: dict[str, Any] = {"shouldResume": shouldResume}
        return cast("messages.InterruptionEndedOK", await self._ask("interruption.ended", members))

    async def route_changed(
        self,
        *,
        reason: int,
        route: messages.AudioRoute | None = None,
        legacyRoute: Literal["", "Headset", "Headphone", "Speaker", "SpeakerAndMicrophone", "HeadphonesAndMicrophone", "HeadsetInOut", "ReceiverAndMicrophone", "Lineout"] | None = None,
        sharesNames: bool | None = None,
    ) -> messages.RouteChangedOK:
        """Where the client's sound goes in and out has changed.

        reason: AVAudioSession.RouteChangeReason: 0 to 4 and 6 to 8; any other number is taken as 0, with a warning.
        legacyRoute: The route as older systems write it, in place of route; empty: silent.
        sharesNames: The room may see the ports' names too; absent: false.
        """
        members: dict[str, Any] = {"reason": reason, "route": route, "legacyRoute": legacyRoute, "sharesNames": sharesNames}
        return cast("messages.RouteChangedOK", await self._ask("route.changed", members))

    async def playback_pause(self) -> messages.PlaybackPauseOK:
        """The user pauses everything that is played."""
        members: dict[str, Any] = {}
        return cast("messages.PlaybackPauseOK", await self._ask("playback.pause", members))

    async def playback_continue(self) -> messages.PlaybackContinueOK:
        """Ends the user's pause, and that of a headset that was pulled."""
        members: dict[str, Any] = {}
        return cast("messages.PlaybackContinueOK", await self._ask("playback.continue", members))

    async def stream_start(self, *, stream: int, at: int | None = None) -> messages.StreamStartOK:
        """Plays a stream.

        stream: One that the client is subscribed to.
        at: The media time to start at, in units of the stream's timescale; absent: now.
        """
        members: dict[str, Any] = {"stream": stream, "at": at}
        return cast("messages.StreamStartOK", await self._ask("stream.start", members))

    async def stream_prime(self, *, stream: int) -> messages.StreamPrimeOK:
        """Fills a stream up to where it could be played.

        stream: One that the client is subscribed to.
        """
        members: dict[str, Any] = {"stream": stream}
        return cast("messages.StreamPrimeOK", await self._ask("stream.prime", members))

    async def stream_pause(self, *, stream: int) -> messages.StreamPauseOK:
        """Pauses a stream; what is there is kept.

        stream: One that the client is subscribed to.
        """
        members: dict[str, Any] = {"stream": stream}
        return cast("messages.StreamPauseOK", await self._ask("stream.pause", members))

    async def stream_stop(self, *, stream: int, mode: Literal["immediate", "drain"] | None = None) -> messages.StreamStopOK:
        """Stops a stream.

        stream: One that the client is subscribed to.
        mode: Drain: what is queued goes out first; absent: immediate.
        """
        members: dict[str, Any] = {"stream": stream, "mode": mode}
        return cast("messages.StreamStopOK", await self._ask("stream.stop", members))

    async def stream_flush(self, *, stream: int) -> messages.StreamFlushOK:
        """Plays out everything of a stream, and then starts its decoder afresh.

        stream: One that the client is subscribed to.
        """
        members: dict[str, Any] = {"stream": stream}
        return cast("messages.StreamFlushOK", await self._ask("stream.flush", members))

    async def stream_reset(self, *, stream: int) -> messages.StreamResetOK:
        """Silences a stream now, and drops everything that is queued of it.

        stream: One that the client is subscribed to.
        """
        members: dict[str, Any] = {"stream": stream}
        return cast("messages.StreamResetOK", await self._ask("stream.reset", members))

    async def stream_set_parameters(
        self,
        *,
        stream: int,
        volume: float | None = None,
        rampMilliseconds: float | None = None,
        rate: float | None = None,
        pan: float | None = None,
        at: int | None = None,
    ) -> messages.StreamSetParametersOK:
        """How a stream is played.

        stream: One that the client is subscribed to.
        rampMilliseconds: How long the volume takes to get there; absent: at once.
        pan: -1 is left, 1 right.
        at: Timestamp of the frame with which it takes effect, when that plays; absent: at once.
        """
        members: dict[str, Any] = {"stream": stream, "volume": volume, "rampMilliseconds": rampMilliseconds, "rate": rate, "pan": pan, "at": at}
        return cast("messages.StreamSetParametersOK", await self._ask("stream.setParameters", members))
