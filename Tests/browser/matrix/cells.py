"""One cell of the matrix: somebody of a stack in a situation, and whether each thing that they do comes to what it should."""

import json
import time
import typing
import urllib.request

from members import Member
from people import eventually
from server import Server

SITUATIONS = ("alone", "first", "second", "five")
CAPABILITIES = ("publish", "subscribe", "mute", "leave", "come back")
KINDS = ("audio", "video")
# Of sound that may come while silence is looked at: what was on its way.
REST = 3


class Cell:
    """`anna` is who is tested; `others` are in the room already, or come when she has."""

    # Seconds that anything may take, and between two looks at it.
    patience = 45.0
    every = 0.25
    # Seconds over which silence is looked at.
    look = 2.5
    # Seconds between two looks at those who stay, in which something new must have come. Processes tell once a second.
    gap = 5.0

    def __init__(self, server: Server, room: str, anna: Member, others: list[Member], token: str) -> None:
        self.server, self.room, self.anna, self.others, self.token = server, room, anna, others, token

    def run(self, seconds: float, arrive: typing.Callable[[], None]) -> dict[str, str]:
        """What came of each capability: "yes", why not, or "not reached". `arrive` brings everybody into the room."""
        results = dict.fromkeys(CAPABILITIES, "not reached")
        step = "publish"
        try:
            arrive()
            self.publishes()
            results["publish"] = "yes"
            step = "subscribe"
            self.subscribes()
            self.stays(seconds)
            results["subscribe"] = "yes"
            for step, act in (("mute", self.mutes), ("leave", self.leaves), ("come back", self.comes_back)):
                act()
                results[step] = "yes"
        except Exception as error:
            excuses = filter(None, (one.excuse() for one in (self.anna, *self.others)))
            results[step] = "; ".join([f"no: {type(error).__name__}: {error}"[:1000], *excuses])
        return results

    def is_listed(self) -> None:
        self.wait("the tested one is in the room", self.listed)

    def wait(self, what: str, look: typing.Callable[[], typing.Any]) -> None:
        eventually(what, look, self.patience, self.every)

    # What is looked at.

    def listed(self) -> dict | None:
        """The tested person as the server lists them."""
        headers = {"Authorization": f"Bearer {self.token}"}
        request = urllib.request.Request(f"{self.server.url}/admin/rooms", headers=headers)
        rooms = json.load(urllib.request.urlopen(request))["rooms"]
        people = [person for room in rooms if room["room"] == self.room for person in room["participants"]]
        return next((person for person in people if person["displayName"] == self.anna.name), None)

    def packets(self) -> float:
        return self.server.packets()

    def tracks(self) -> list[dict]:
        return (self.listed() or {}).get("tracks", [])

    def pairs(self) -> list[tuple[Member, str]]:
        """Who sees whom: the tested person all others, and each of them that person."""
        return [(self.anna, one.name) for one in self.others] + [(one, self.anna.name) for one in self.others]

    def counts(self, pairs: list[tuple[Member, str]]) -> dict[tuple[str, str, str], int]:
        seen = {watcher.name: watcher.counts() for watcher, _ in pairs}
        return {
            (watcher.name, whom, kind): seen[watcher.name].get(whom, {}).get(kind, 0) for watcher, whom in pairs for kind in KINDS
        }

    def grow(self, pairs: list[tuple[Member, str]], what: str) -> None:
        before = self.counts(pairs)
        missing: list = []

        def all_grow() -> bool:
            now = self.counts(pairs)
            # A page counts anew for who has come back, from when it has heard that they had left.
            before.update({key: min(count, now[key]) for key, count in before.items()})
            missing[:] = [key for key, count in now.items() if count <= before[key]]
            return not missing

        try:
            self.wait(what, all_grow)
        except AssertionError:
            raise AssertionError(f"{what}: nothing new of {missing}") from None

    def check_failures(self) -> None:
        for one in (self.anna, *self.others):
            assert not one.failures(), f"{one.name}: {one.failures()}"

    # What is done.

    def publishes(self) -> None:
        self.wait("two tracks", lambda: len(self.tracks()) == 2)
        if self.others:
            return self.grow([(one, self.anna.name) for one in self.others], "all see and hear the tested one")
        before = self.packets()
        self.wait("packets come", lambda: self.packets() > before + 50)

    def subscribes(self) -> None:
        self.wait("the connection that receives is up", self.anna.is_up)
        self.grow([(self.anna, one.name) for one in self.others], "the tested one sees and hears all")

    def stays(self, seconds: float) -> None:
        """Everybody goes on seeing and hearing everybody."""
        end = time.monotonic() + seconds
        pairs = self.pairs()
        last, when = self.counts(pairs), time.monotonic()
        while time.monotonic() < end:
            time.sleep(self.gap)
            now = self.counts(pairs)
            still = [key for key, count in now.items() if count <= last[key]]
            assert not still, f"nothing new within {time.monotonic() - when:.1f} s of {still}"
            last, when = now, time.monotonic()
            if not self.others:
                assert self.anna.is_up() and len(self.tracks()) == 2
        self.check_failures()

    def mutes(self) -> None:
        self.anna.mute("mute")
        self.wait("the server says so", lambda: [track["muted"] for track in self.tracks()] == [True, True])
        watched = [(one, self.anna.name) for one in self.others]

        def silent() -> bool:
            before = self.counts(watched)
            time.sleep(self.look)
            grown = {key: count - before[key] for key, count in self.counts(watched).items()}
            return all(count <= (REST if key[2] == "audio" else 0) for key, count in grown.items())

        self.wait("nothing comes of the tested one", silent)
        self.anna.mute("unmute")
        self.wait("the server says so", lambda: [track["muted"] for track in self.tracks()] == [False, False])
        self.grow(watched, "it goes on after the mute")

    def leaves(self) -> None:
        self.anna.leave()
        eventually("the seat is free", lambda: self.listed() is None, min(self.patience, 10), self.every)
        self.check_failures()

    def comes_back(self) -> None:
        self.anna.join(self.room)
        self.publishes()
        self.subscribes()
        self.check_failures()
