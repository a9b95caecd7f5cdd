#!/usr/bin/env python3
"""Says back to a room what each of its speakers said, some seconds later: each speaker's Opus packets, in an Opus stream of the bot's own."""

import argparse
import asyncio

from segue import Client, ConnectionLost, Flag, Frame, Kind, Publication, Refused, Stream
from segue.command_line import parser, run

Heard = asyncio.Queue[tuple[float, Stream, Frame | None]]  # when to say it, whose it is, and what; None: no more of it comes


async def say(client: Client, heard: Heard) -> None:
    echoes: dict[Stream, Publication | None] = {}
    while True:
        due, stream, frame = await heard.get()
        await asyncio.sleep(due - asyncio.get_running_loop().time())
        try:
            if frame and stream not in echoes:
                head, about = stream.configuration or b"", stream.description
                echoes[stream] = await client.publish("audio", "opus", source="echo", configuration=head, description=about)
            if (echo := echoes.get(stream)) and frame:
                await echo.send(frame.payload, frame.timestamp, flags=frame.flags, level=frame.level, voice=frame.voice)
            elif echo:
                echoes[stream] = None
                await client.unpublish(echo)
        except (Refused, ConnectionLost) as fault:
            print(f"stream {stream.number}: {fault}", flush=True)
            echoes[stream] = None


async def main(client: Client, options: argparse.Namespace) -> None:
    heard, media, now = Heard(), client.media(), asyncio.get_running_loop().time
    saying = asyncio.create_task(say(client, heard))
    await client.join(options.room, display_name="Echo")
    await client.subscribe(all=True)
    async for stream, frame in media:
        # The relay sends nobody their own streams; another bot's echo would come back for ever.
        if frame is None or (frame.kind is Kind.AUDIO and stream.codec.lower() == "opus" and stream.source != "echo" and not frame.flags & Flag.ENCRYPTED):
            heard.put_nowait((now() + options.delay, stream, frame))
    saying.cancel()


if __name__ == "__main__":
    arguments = parser(__doc__)
    arguments.add_argument("--delay", type=float, default=3, help="seconds (default: %(default)s)")
    run(main, arguments, "echo-bot")
