"""One interface to somebody of each stack: Chromium, Firefox, GStreamer, Pion and aiortc."""

import pathlib
import typing

from firefox import FirefoxPerson
from others import Programs, Stack
from people import Crowd, Person, counts_of, eventually, ignorable
from server import Server

STACKS = ("Chromium", "Firefox", "GStreamer", "Pion", "aiortc")

# Mutes all that the page sends, or lets it through again.
MUTE = """(how) => Promise.all([...window.roost.room.localTracks].map((track) => track[how]()))"""

# Whether the page's connection that receives is up.
UP = """async () => [...((await window.roost.room.stats()).subscribe ?? new Map()).values()].some(
  ({ type, dtlsState, state }) => dtlsState === "connected" || (type === "candidate-pair" && state === "succeeded"))"""

Counts = dict[str, dict[str, int]]


class Member(typing.Protocol):
    name: str

    def join(self, room: str) -> None: ...

    def leave(self) -> None: ...

    def mute(self, how: str) -> None:
        """`mute` or `unmute`."""

    def is_up(self) -> bool:
        """Whether it can receive."""

    def counts(self) -> Counts:
        """Pictures and pieces of sound that came so far, by whose they are."""

    def failures(self) -> list[str]: ...

    def excuse(self) -> str:
        """What kept it from its part, on this machine; empty where nothing did. So nobody takes a slow machine for the server's fault."""

    def close(self) -> None: ...


class Page:
    """In either browser."""

    def __init__(self, person: Person | FirefoxPerson, evaluate: typing.Callable[..., typing.Any]) -> None:
        self.person, self.name, self.evaluate = person, person.name, evaluate

    def join(self, room: str) -> None:
        self.person.join(room)

    def mute(self, how: str) -> None:
        self.evaluate(f"async () => {{ await ({MUTE})('{how}'); return true; }}")

    def is_up(self) -> bool:
        return self.evaluate(UP)

    def counts(self) -> Counts:
        return counts_of(self.person.received())

    def excuse(self) -> str:
        return ""

    def close(self) -> None:
        self.person.close()


class ChromiumPage(Page):
    def __init__(self, person: Person) -> None:
        super().__init__(person, person.page.evaluate)

    def leave(self) -> None:
        self.person.leave()

    def failures(self) -> list[str]:
        return [error for error in self.person.errors if not ignorable(error)]


class FirefoxPage(Page):
    def __init__(self, person: FirefoxPerson) -> None:
        super().__init__(person, person.evaluate)

    def leave(self) -> None:
        self.person.click("leave")
        eventually("Firefox has left", lambda: self.person.shows("lobby"))

    def failures(self) -> list[str]:
        return []


class Program:
    """A process, and another one when it comes back."""

    def __init__(self, programs: Programs, stack: str, name: str, rtc: str) -> None:
        self.programs, self.stack, self.name, self.rtc = programs, stack, name, rtc
        self.process: Stack | None = None

    def join(self, room: str) -> None:
        self.process = self.programs.in_room(self.stack, self.rtc, room, self.name, 3600)

    def leave(self) -> None:
        self.process.tell("leave")
        assert self.process.process.wait(20) == 0, str(self.process)

    def mute(self, how: str) -> None:
        before = len(self.process.said("done"))
        self.process.tell(how)
        eventually(f"{self.name} has done so", lambda: len(self.process.said("done")) > before)

    def is_up(self) -> bool:
        return self.process.connected

    def counts(self) -> Counts:
        return self.process.received[-1] if self.process.received else {}

    def failures(self) -> list[str]:
        # Those who are tested leave, and their tracks end with that.
        usual = {("room.participantLeft", "left"), ("subscription.ended", "track_ended")}
        told = [str(event) for event in self.process.failures if (event["event"], event.get("reason")) not in usual]
        status = self.process.process.poll()
        return told if status in (None, 0) else [*told, f"ended with {status}: {''.join(self.process.errors[-5:])}"]

    def excuse(self) -> str:
        return self.process.excuse() if self.process else ""

    def close(self) -> None:
        if self.process:
            self.process.stop()


class Cast:
    """Makes members, and ends them."""

    def __init__(self, server: Server, crowd: Crowd, programs: Programs, folder: pathlib.Path, pictures: int) -> None:
        """`pictures`: of each camera, a second."""
        self.server, self.crowd, self.programs, self.folder, self.pictures = server, crowd, programs, folder, pictures
        self.foxes: dict[str, FirefoxPage] = {}

    def make(self, stack: str, name: str) -> Member:
        if stack == "Chromium":
            return ChromiumPage(Person(name, self.crowd.browser(name), self.server.url))
        if stack != "Firefox":
            return Program(self.programs, stack, name, self.server.rtc)
        # Starting one is what costs.
        if name not in self.foxes:
            self.foxes[name] = FirefoxPage(FirefoxPerson(name, self.server.url, self.folder, self.pictures))
        return self.foxes[name]

    def end(self, member: Member) -> None:
        if member not in self.foxes.values():
            member.close()

    def close(self) -> None:
        for fox in self.foxes.values():
            fox.close()
