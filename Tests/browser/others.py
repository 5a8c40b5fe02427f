"""Clients of others as processes: GStreamer, Pion and aiortc (stacks/), what they are told and what they say."""

import json
import os
import pathlib
import subprocess
import threading

import av
import numpy
from server import ROOT

# Of scripts/private-network: libnice leaves out the loopback.
ADDRESS = "198.51.100.1"
STACKS = pathlib.Path(__file__).parent / "stacks"
FAILURES = ("media.failed", "room.participantReconnecting", "subscription.ended", "room.participantLeft")
NAMES = ("GStreamer", "Pion", "aiortc")


class Programs:
    """How each stack is started. Building Pion's and drawing its picture is done once."""

    def __init__(self, folder: pathlib.Path, pictures: int = 15) -> None:
        """`pictures`: of each camera, a second."""
        self.pictures = pictures
        self.pion = ROOT / ".build" / "stacks" / "pion"
        # Debian has Pion's source.
        subprocess.run([ROOT / "scripts" / "pion", self.pion], check=True)
        self.picture = folder / "picture.ivf"
        draw(self.picture, pictures)

    def in_room(self, stack: str, rtc: str, room: str, name: str, seconds: float, listens: bool = False) -> "Stack":
        """`listens`: it publishes nothing, and never makes the connection for that."""
        how = ["listen"] if listens else []
        return self._start(name, stack, "gstreamer.py", "aiortc_person.py", *how, rtc, room, name, seconds)

    def by_http(self, stack: str, what: str, url: str, seconds: float) -> "Stack":
        """`what`: publish or play."""
        return self._start(stack, stack, "gstreamer_http.py", "aiortc_http.py", what, url, seconds)

    def _start(self, name: str, stack: str, gstreamer: str, aiortc: str, *arguments) -> "Stack":
        before, after = {
            "GStreamer": (["/usr/bin/python3", STACKS / gstreamer], []),
            "Pion": ([self.pion], [self.picture]),
            "aiortc": ([ROOT / ".venv" / "bin" / "python", STACKS / aiortc], []),
        }[stack]
        command = [str(word) for word in (*before, *arguments, *after)]
        return Stack(name, command, {**os.environ, "STACK_PICTURES": str(self.pictures)})


class Stack:
    """A client as a process, and what it has said."""

    def __init__(self, name: str, command: list[str], environment: dict[str, str]) -> None:
        self.name = name
        self.events: list[dict] = []
        self.received: list[dict] = []
        self.errors: list[str] = []
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
        for stream, take in ((self.process.stdout, self.take), (self.process.stderr, self.errors.append)):
            threading.Thread(target=self.read, args=(stream, take), daemon=True).start()

    def read(self, stream, take) -> None:
        for line in stream:
            take(line)

    def take(self, line: str) -> None:
        try:
            said = json.loads(line)
        except ValueError:
            # Pion's log goes there too.
            self.errors.append(line)
            return
        if "received" in said:
            self.received.append(said["received"])
        else:
            self.events.append(said)

    def tell(self, word: str) -> None:
        """`mute`, `unmute` or `leave`."""
        self.process.stdin.write(f"{word}\n")
        self.process.stdin.flush()

    def hears(self, others: list[str]) -> bool:
        return bool(self.received) and all(
            self.received[-1].get(other, {}).get(kind, 0) > 0 for other in others for kind in ("audio", "video")
        )

    def growth(self, other: str) -> list[int]:
        """How much more sound and picture of somebody came within the last two seconds; nothing before three reports."""
        before, after = ((report.get(other, {}) for report in self.received[-3::2]) if len(self.received) > 2 else ({}, {}))
        return [after.get(kind, 0) - before.get(kind, 0) for kind in ("audio", "video")]

    def said(self, key: str) -> list:
        return [event[key] for event in self.events if key in event]

    @property
    def connected(self) -> bool:
        """Whether its receiving transport is up."""
        return "connected" in self.said("subscribe")

    def excuse(self) -> str:
        """What it says of itself when it has given a connection up: that it was late, or that the server went silent. Empty where it
        has given none up."""
        late = next(iter(self.said("gaveUp")), None)
        if late is None:
            return ""
        # An answer counts for half a second, and six must have missed that.
        if late < 3:
            return f"{self.name} gave up, and its own loop was in time: the server went silent"
        return f"{self.name} gave up: its own loop was late {late} times while it waited; this machine is too slow"

    @property
    def failures(self) -> list[dict]:
        return [event for event in self.events if event.get("event") in FAILURES]

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(30)

    def __str__(self) -> str:
        return f"{self.name}: {self.events[-10:]} {self.received[-1:]} {''.join(self.errors[-10:])}"


def draw(path: pathlib.Path, rate: int) -> None:
    """Thirty pictures of VP8 in a file."""
    with av.open(str(path), "w", format="ivf") as file:
        stream = file.add_stream("libvpx", rate=rate)
        stream.width, stream.height, stream.pix_fmt = 320, 180, "yuv420p"
        for index in range(30):
            shade = numpy.full((180, 320, 3), (40 + index * 4, 120, 90), numpy.uint8)
            file.mux(stream.encode(av.VideoFrame.from_ndarray(shade, format="rgb24")))
        file.mux(stream.encode())
