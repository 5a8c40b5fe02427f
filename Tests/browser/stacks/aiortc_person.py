"""Somebody in a room by aiortc, as a process: `aiortc_person.py URL ROOM NAME SECONDS`. Prints what stacks/gstreamer.py prints, with
frames that were decoded for packets."""

import json
import os
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from native import NativePerson  # noqa: E402


class Talking(NativePerson):
    def changed(self, state: str) -> None:
        say(subscribe=state)

    async def _event(self, method: str, params: dict) -> None:
        if method != "pc.offer":
            say(event=method, **{key: value for key, value in params.items() if isinstance(value, (str, int))})
        await super()._event(method, params)


def say(**words) -> None:
    """In one piece, as two threads speak."""
    os.write(1, json.dumps(words).encode() + b"\n")


if __name__ == "__main__":
    url, room, name, seconds = sys.argv[1:]
    person = Talking(name, url, (90, 90, 200), 700)
    person.join(room)
    end = time.monotonic() + float(seconds)
    while time.monotonic() < end:
        time.sleep(1)
        say(received={other: {"video": person.frames[other], "audio": person.sounds[other]} for other in person.people.values()})
    person.close()
