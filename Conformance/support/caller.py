"""Somebody in a call: a browser with the web client in it, used as a person uses it, and asked what it plays and shows."""

from __future__ import annotations

from dataclasses import dataclass

from .browser import Browser, shown

# A fake microphone's tone and the far side's idea of it: the resolution of what is measured, and a jitter buffer that stretches time a little.
TONE_HERTZ_MAX = 12
# Under this, a tone is not heard (dBFS): tones come at some −13, comfort noise at −50 and below.
SILENCE_LEVEL = -40
# Where the picture of somebody is, or of a screen.
TILE = '[data-participant="%d"][data-source="%s"]'


@dataclass
class Caller:
    browser: Browser
    name: str
    hertz: int

    def join(self, link: str) -> None:
        self.browser.open("about:blank")
        self.browser.open(link)
        self.enter()

    def enter(self) -> None:
        """From the page before a call into the call."""
        self.browser.wait("the page before the call", f"((e) => e && !e.disabled)({shown('join')})")
        self.browser.clear("name")
        self.browser.type("name", self.name)
        self.browser.click("join")
        self.browser.wait("to be in the room", 'segue.client?.state === "open" && segue.client.room?.me != null')

    @property
    def participant(self) -> int:
        return self.browser.get("((me) => me.participant ?? me)(segue.client.room.me)")

    # What is heard

    def heard(self) -> tuple[float, float]:
        """The strongest tone of what was played just now: Hz, dBFS."""
        tone = self.browser.run("return await segue.media.test.playedSpectrum();") or {}
        return tone.get("hertz") or 0.0, tone.get("level") if tone.get("level") is not None else -127.0

    def heard_of(self, other: Caller) -> tuple[float, float]:
        """As `heard`, of the other's voice alone."""
        tone = self.browser.run(
            """const stream = [...segue.client.room.streams.values()].find((s) => s.participant === arguments[0] && s.kind === "audio");
            return stream ? await segue.media.test.playedFrom(stream.stream) : null;""",
            other.participant,
        )  # fmt: skip
        return (tone or {}).get("hertz") or 0.0, (tone or {}).get("level") or -127.0

    def hears(self, other: Caller, *, gone: bool = False, seconds: float = 40) -> None:
        """The other's tone comes out; or, when `gone`, no longer does."""

        def is_there(tone: object) -> bool:
            hertz, level = tone
            return abs(hertz - other.hertz) < TONE_HERTZ_MAX and level > SILENCE_LEVEL

        what = f"to hear {other.name}'s {other.hertz} Hz{' no longer' if gone else ''}"
        self.browser.judge(what, self.heard, lambda tone: is_there(tone) != gone, seconds)

    # What is seen

    def statistics(self) -> dict:
        return self.browser.get("segue.media.statistics()")

    def pictures(self, participant: int, source: str = "camera") -> int:
        """Decoded so far, of one participant's camera or screen."""
        return self.browser.run(
            """const [participant, source] = arguments;
            const wanted = [...segue.client.room.streams.values()].filter((s) => s.participant === participant && s.kind === "video" &&
                (s.source === "screen") === (source === "screen")).map((s) => s.stream);
            return segue.media.statistics().video.filter((v) => wanted.includes(v.stream)).reduce((sum, v) => sum + v.decoded, 0);""",
            participant, source,
        )  # fmt: skip

    def sees(self, other: Caller, source: str = "camera", *, count: int = 5, seconds: float = 40) -> None:
        """Pictures come: `count` more than there are, and they are drawn where people look, not all of one colour."""
        participant = other.participant
        self.browser.judge(f"any picture of {other.name}'s {source}", lambda: self.pictures(participant, source), lambda decoded: decoded > 0, seconds)
        first = self.pictures(participant, source)
        self.browser.judge(f"pictures of {other.name}'s {source}", lambda: self.pictures(participant, source), lambda decoded: decoded >= first + count, seconds)
        self.browser.judge(f"{other.name}'s {source} drawn", lambda: self.colours(participant, source), lambda colours: colours > 1, seconds)

    def colours(self, participant: int, source: str = "camera") -> int:
        """How many colours some points of the picture have, as it is drawn now."""
        return self.browser.run(
            """const canvas = document.querySelector(arguments[0])?.querySelector("canvas");
            if (!canvas || !canvas.width) return 0;
            const copy = new OffscreenCanvas(32, 32).getContext("2d");
            copy.drawImage(canvas, 0, 0, 32, 32);
            return new Set(new Uint32Array(copy.getImageData(0, 0, 32, 32).data.buffer)).size;""",
            TILE % (participant, source),
        )  # fmt: skip

    def states_of(self, other: Caller) -> set[str]:
        """What the tile says of somebody: held, muted, …"""
        state = self.browser.run("return document.querySelector(arguments[0])?.dataset.state ?? null;", TILE % (other.participant, "camera"))
        return set((state or "").split())

    def shows(self, other: Caller, word: str, *, gone: bool = False, seconds: float = 20) -> None:
        what = f"{other.name} shown {'no longer ' if gone else ''}as {word}"
        self.browser.judge(what, lambda: word in self.states_of(other), lambda found: found != gone, seconds)
