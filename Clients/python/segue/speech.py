"""Speech in pieces: where somebody begins and ends to speak, and WAV files. 16-bit samples of one channel at 48 kHz, little-endian, as `segue.opus` has them."""

from __future__ import annotations

import array
import io
import math
import sys
import wave
from collections.abc import Iterator

from .frames import Frame
from .opus import FRAME_SAMPLES, Decoder, OpusError

RATE = 48_000
SAMPLE_BYTES = 2
# Where a publisher says no level, sound above this counts as voice.
VOICE_DECIBELS_MIN = -45.0


def _samples(pcm: bytes) -> array.array[int]:
    values = array.array("h", pcm)
    if sys.byteorder == "big":
        values.byteswap()
    return values


def level(pcm: bytes) -> float:
    """In dBov: 0 is the loudest, -127 silence (RFC 6464 section 3)."""
    values = _samples(pcm)
    power = sum(value * value for value in values) / max(len(values), 1)
    return max(10 * math.log10(power / 32_768**2), -127.0) if power else -127.0


def is_voice(frame: Frame, pcm: bytes) -> bool:
    """By the header's voice bit; where the header says nothing at all, by the samples."""
    says_level = frame.voice or frame.level > -127
    return frame.voice if says_level else level(pcm) > VOICE_DECIBELS_MIN


class Utterances:
    """Cuts one speaker's sound into utterances: from a little before voice lasts `start_seconds` to where it has been away for `end_seconds`."""

    def __init__(self, start_seconds: float = 0.1, end_seconds: float = 0.7, lead_seconds: float = 0.3, seconds_max: float = 60.0) -> None:
        self.is_speaking = False
        self._start, self._end, self._lead, self._max = (
            int(seconds * RATE) * SAMPLE_BYTES for seconds in (start_seconds, end_seconds, lead_seconds, seconds_max)
        )
        self._sound = bytearray()
        # How much voice, or how much of none, came last without a break.
        self._voiced = self._silent = 0

    def take(self, pcm: bytes, has_voice: bool) -> bytes | None:
        """The utterance that ends here, if one does."""
        self._sound += pcm
        self._voiced, self._silent = (self._voiced + len(pcm), 0) if has_voice else (0, self._silent + len(pcm))
        if not self.is_speaking:
            self.is_speaking = self._voiced >= self._start
            if not self.is_speaking:
                del self._sound[: max(len(self._sound) - self._lead - self._voiced, 0)]
            return None
        return self.end() if self._silent >= self._end or len(self._sound) >= self._max else None

    def end(self) -> bytes | None:
        """Nothing more comes for the time being: what was said until now, if anything was."""
        said = bytes(self._sound[: len(self._sound) - self._silent]) if self.is_speaking else None
        self.is_speaking, self._sound, self._voiced, self._silent = False, bytearray(), 0, 0
        return said


class Ear:
    """One speaker's frames of Opus, cut into utterances."""

    # Who is silent may send nothing at all (DTX); so does who is muted, or gone.
    SILENCE_SECONDS = 1.0

    def __init__(self) -> None:
        self.utterances = Utterances()
        self._decoder = Decoder()
        self._heard_at = -math.inf

    @property
    def is_speaking(self) -> bool:
        return self.utterances.is_speaking

    def take(self, frame: Frame, now: float) -> bytes | None:
        """The utterance that ends with this frame, if one does. What is no Opus packet counts as lost."""
        self._heard_at = now
        try:
            pcm = self._decoder.decode(frame.payload or None)
        except OpusError:
            pcm = self._decoder.decode(None)
        return self.utterances.take(pcm, is_voice(frame, pcm))

    def idle(self, now: float) -> bytes | None:
        """To be asked now and then: the utterance after which nothing more came."""
        return self.utterances.end() if now > self._heard_at + self.SILENCE_SECONDS else None


def to_wav(pcm: bytes) -> bytes:
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setnchannels(1)
        writer.setsampwidth(SAMPLE_BYTES)
        writer.setframerate(RATE)
        writer.writeframes(pcm)
    return file.getvalue()


def from_wav(data: bytes) -> Iterator[bytes]:
    """Frames of 20 ms, the last filled with silence, each made when it is asked for. Raises ValueError, at once, for what is no WAV file of 16 bits.

    Of any rate and number of channels: the first channel counts, brought to 48 kHz by straight lines between samples.
    """
    try:
        with wave.open(io.BytesIO(data)) as reader:
            channels, width, rate = reader.getnchannels(), reader.getsampwidth(), reader.getframerate()
            # Programs that write to a pipe do not know the length: what is there counts.
            body = reader.readframes(len(data))
    except (wave.Error, EOFError) as error:
        raise ValueError(f"no WAV file: {error}") from None
    if width != SAMPLE_BYTES or not rate:
        raise ValueError(f"{8 * width} bits a sample at {rate} Hz")
    return _frames(_samples(body[: len(body) - len(body) % (SAMPLE_BYTES * channels)])[::channels], rate)


def _frames(values: array.array[int], rate: int) -> Iterator[bytes]:
    count, last = len(values) * RATE // rate, len(values) - 1
    for start in range(0, count, FRAME_SAMPLES):
        places = [index * rate / RATE for index in range(start, min(start + FRAME_SAMPLES, count))]
        made = array.array("h", (round(values[int(at)] * (1 - at % 1) + values[min(int(at) + 1, last)] * (at % 1)) for at in places))
        if sys.byteorder == "big":
            made.byteswap()
        yield made.tobytes().ljust(FRAME_SAMPLES * SAMPLE_BYTES, b"\0")
