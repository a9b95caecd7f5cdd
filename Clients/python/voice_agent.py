#!/usr/bin/env python3
"""An agent that is spoken with: hands each utterance as a WAV to a program, and speaks the WAV that it answers, until somebody begins to speak."""

import argparse
import asyncio
import shlex
from asyncio.subprocess import PIPE
from collections.abc import Awaitable, Callable, Iterable

from segue import Client, Flag, Kind, Publication, Stream
from segue.command_line import parser, run
from segue.ogg import head
from segue.opus import FRAME_SAMPLES, RATE, Encoder
from segue.speech import Ear, from_wav, level, to_wav

# From who spoke, and the WAV of what they said, to the WAV of what is to be said to it, or nothing.
Think = Callable[[str, bytes], Awaitable[bytes]]


async def speak(voice: Publication, frames: Iterable[bytes]) -> None:
    encoder, now = Encoder(), asyncio.get_running_loop().time
    begun = now()
    for count, pcm in enumerate(frames):
        flags, timestamp = Flag(0) if count else Flag.DISCONTINUITY, int(begun * RATE) + count * FRAME_SAMPLES
        await voice.send(encoder.encode(pcm), timestamp, flags=flags, level=round(level(pcm)), voice=True)
        await asyncio.sleep(begun + (count + 1) * FRAME_SAMPLES / RATE - now())


async def converse(client: Client, room: str, think: Think) -> None:
    ears: dict[Stream, Ear] = {}
    answering: set[asyncio.Task[None]] = set()
    media, now = client.media(), asyncio.get_running_loop().time

    async def answer(who: str, said: bytes) -> None:
        try:
            await speak(voice, from_wav(await think(who, to_wav(said))))
        except (ValueError, OSError) as fault:
            print(f"no answer: {fault}", flush=True)

    def hear(stream: Stream, said: bytes | None) -> None:
        if said or any(ear.is_speaking for ear in ears.values()):
            while answering:
                answering.pop().cancel()  # Whoever speaks has the floor.
        if said:
            answering.add(asyncio.create_task(answer(stream.participant.name if stream.participant else "", said)))

    async def watch() -> None:
        while True:
            await asyncio.sleep(0.1)
            for stream, ear in list(ears.items()):
                hear(stream, ear.idle(now()))

    await client.join(room, display_name="Agent")
    voice = await client.publish("audio", "opus", source="agent", configuration=head())
    await client.subscribe(all=True)
    watching = asyncio.create_task(watch())
    async for stream, frame in media:
        if frame and frame.kind is Kind.AUDIO and stream.codec.lower() == "opus" and stream.source != "agent" and not frame.flags & Flag.ENCRYPTED:
            hear(stream, ears.setdefault(stream, Ear()).take(frame, now()))
        elif not frame:
            ears.pop(stream, None)
    watching.cancel()


async def main(client: Client, options: argparse.Namespace) -> None:
    async def think(who: str, wav: bytes) -> bytes:
        process = await asyncio.create_subprocess_exec(*shlex.split(options.answer), who, stdin=PIPE, stdout=PIPE)
        try:
            return (await process.communicate(wav))[0]
        finally:
            if process.returncode is None:
                process.kill()

    await converse(client, options.room, think)


if __name__ == "__main__":
    arguments = parser(__doc__)
    arguments.add_argument("--answer", required=True, help="a command: a WAV on its standard input, who spoke as last argument, a WAV as output")
    run(main, arguments, "voice-agent")
