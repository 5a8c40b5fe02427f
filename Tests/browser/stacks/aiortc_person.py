"""Somebody in a room by aiortc, as a process: `aiortc_person.py [listen] URL ROOM NAME SECONDS`. Prints what stacks/gstreamer.py
prints, and does what it is told as that does."""

import asyncio
import collections
import logging
import os
import pathlib
import signal
import sys
import threading
import time

import aioice.ice
from program import say

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import native  # noqa: E402
from native import NativePerson, received  # noqa: E402

native.PICTURES = int(os.environ.get("STACK_PICTURES", native.PICTURES))
# Seconds between two checks, for tests that do not wait for half a minute.
aioice.ice.CONSENT_INTERVAL = float(os.environ.get("STACK_CONSENT", aioice.ice.CONSENT_INTERVAL))


class GivenUp(logging.Handler):
    """aioice (0.10) gives a connection up after six checks whose answers came later than half a second, or not at all, and says so in its
    log alone."""

    def __init__(self, person: "Talking") -> None:
        super().__init__()
        self.person = person

    def emit(self, record: logging.LogRecord) -> None:
        if "Consent to send expired" in record.getMessage():
            # As long as six checks take at most, each with its half second and a fifth of an interval more.
            since = self.person.loop.time() - 6 * (1.2 * aioice.ice.CONSENT_INTERVAL + 0.5)
            say(gaveUp=sum(when > since for when in self.person.late))


class Talking(NativePerson):
    async def _join(self, room: str) -> None:
        # When its loop was half a second late: so late an answer that has come counts for none.
        self.late: collections.deque[float] = collections.deque(maxlen=1000)
        self.clock = asyncio.create_task(self._watch_clock())
        await super()._join(room)

    async def _watch_clock(self) -> None:
        while True:
            due = self.loop.time() + 0.1
            await asyncio.sleep(0.1)
            if self.loop.time() - due > 0.5:
                self.late.append(self.loop.time())

    async def stall(self) -> None:
        """Keeps the loop busy for longer than an answer counts, as a slow machine does. A test asks for it."""
        while True:
            time.sleep(0.7)
            await asyncio.sleep(0.01)

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
    log = logging.getLogger("aioice.ice")
    log.setLevel(logging.INFO)
    log.addHandler(GivenUp(person))
    log.propagate = False
    signal.signal(signal.SIGUSR1, lambda *_: asyncio.run_coroutine_threadsafe(person.stall(), person.loop))
    person.join(room)
    left = threading.Event()
    threading.Thread(target=obey, args=(person, left), daemon=True).start()
    end = time.monotonic() + float(seconds)
    while time.monotonic() < end and not left.wait(1):
        say(received={other: {"video": person.frames[other], "audio": person.sounds[other]} for other in person.people.values()})
    person.close()
