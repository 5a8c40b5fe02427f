"""Somebody in a room by aiortc, as a process: `aiortc_person.py [listen] URL ROOM NAME SECONDS`. Prints what stacks/gstreamer.py
prints, and does what it is told as that does."""

import pathlib
import sys
import threading
import time

from program import say

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from native import NativePerson, received  # noqa: E402


class Talking(NativePerson):
    def changed(self, state: str) -> None:
        say(subscribe=state)

    # Of pictures and sounds their number alone: looking at each would take most of a processor in a room of seven.

    async def _watch(self, owner: str, number: str, track) -> None:
        while await received(track) is not None:
            self.frames[self.people.get(owner, owner)] += 1

    async def _listen(self, owner: str, track) -> None:
        while await received(track) is not None:
            self.sounds[self.people.get(owner, owner)] += 1

    async def _event(self, method: str, params: dict) -> None:
        if method != "pc.offer":
            say(event=method, **{key: value for key, value in params.items() if isinstance(value, (str, int))})
        await super()._event(method, params)


class Listening(Talking):
    async def _publish(self) -> None:
        """Nothing."""


def obey(person: Talking, left: threading.Event) -> None:
    """Does what stands on each line of the input, in a thread of its own."""
    for line in sys.stdin:
        word = line.strip()
        if word == "leave":
            left.set()
            return
        for track in person.tracks:
            person.run(person.request(f"track.{word}", trackId=track))
        say(done=word)


if __name__ == "__main__":
    url, room, name, seconds = sys.argv[-4:]
    person = (Listening if sys.argv[1] == "listen" else Talking)(name, url, (90, 90, 200), 700)
    person.join(room)
    left = threading.Event()
    threading.Thread(target=obey, args=(person, left), daemon=True).start()
    end = time.monotonic() + float(seconds)
    while time.monotonic() < end and not left.wait(1):
        say(received={other: {"video": person.frames[other], "audio": person.sounds[other]} for other in person.people.values()})
    person.close()
