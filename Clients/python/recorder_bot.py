#!/usr/bin/env python3
"""Records a room: an Ogg Opus file for each stream of audio that anybody publishes, with silence where nothing came. Ends with Ctrl-C, or with the room."""

import argparse
import contextlib
import re
from datetime import datetime, timezone
from pathlib import Path

from segue import Client, Flag, Kind, Stream
from segue.command_line import parser, run
from segue.ogg import OggOpusWriter


def new_file(folder: Path, stream: Stream) -> OggOpusWriter:
    who, begun = stream.participant.name if stream.participant else "unknown", datetime.now(timezone.utc)
    path = folder / f"{begun:%Y%m%dT%H%M%S}-{re.sub('[^A-Za-z0-9.-]+', '-', who)}-{stream.number}.opus"
    print(f"{who}: {path}", flush=True)
    return OggOpusWriter(path.open("xb"), stream.configuration, {"ARTIST": who, "DATE": begun.isoformat()}, serial=stream.number)


async def main(client: Client, options: argparse.Namespace) -> None:
    options.out.mkdir(parents=True, exist_ok=True)
    files: dict[Stream, OggOpusWriter] = {}
    media = client.media()
    await client.join(options.room, role="recorder")
    await client.subscribe(all=True)
    try:
        async for stream, frame in media:
            if frame is None and stream in files:
                files.pop(stream).close()
            elif frame and frame.kind is Kind.AUDIO and stream.codec.lower() == "opus" and not frame.flags & Flag.ENCRYPTED:
                if stream not in files:
                    files[stream] = new_file(options.out, stream)
                with contextlib.suppress(ValueError):  # No Opus packet, whatever the publisher says.
                    files[stream].write(frame.payload, frame.timestamp, stream.timescale)
    finally:
        for file in files.values():
            file.close()


if __name__ == "__main__":
    arguments = parser(__doc__)
    arguments.add_argument("--out", type=Path, default=Path("."), help="the folder for the files (default: %(default)s)")
    run(main, arguments, "recorder-bot")
