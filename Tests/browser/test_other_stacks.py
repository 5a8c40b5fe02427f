"""Real clients of others in one room: GStreamer, Pion and aiortc, each a process that was written from docs/protocol.md.

libnice leaves out the loopback, so these tests run where there is another address: under scripts/private-network.
"""

import json
import pathlib
import subprocess
import threading
import time

import av
import numpy
import pytest
from native import NativePerson
from people import eventually
from server import ROOT, Server

# Of scripts/private-network.
ADDRESS = "198.51.100.1"
STACKS = pathlib.Path(__file__).parent / "stacks"
# Longer than three times calls.media_timeout (10 s): whoever is cut for saying nothing is out by then.
SECONDS = 45
FAILURES = ("media.failed", "room.participantReconnecting", "subscription.ended", "room.participantLeft")

# How many tracks a page sends.
SENDING = """async () => [...((await window.roost.room.stats()).publish ?? new Map()).values()]
  .filter(({ type, packetsSent }) => type === "outbound-rtp" && packetsSent > 0).length"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with Server(tmp_path_factory.mktemp("roost"), address=ADDRESS, advertise=ADDRESS, unknown="group") as server:
        yield server


@pytest.fixture(scope="module")
def pion():
    """The program; Debian has Pion's source."""
    program = ROOT / ".build" / "stacks" / "pion"
    subprocess.run([ROOT / "scripts" / "pion", program], check=True)
    return program


@pytest.fixture(scope="module")
def picture(tmp_path_factory):
    """Two seconds of VP8 in a file."""
    path = tmp_path_factory.mktemp("picture") / "picture.ivf"
    with av.open(str(path), "w", format="ivf") as file:
        stream = file.add_stream("libvpx", rate=15)
        stream.width, stream.height, stream.pix_fmt = 320, 180, "yuv420p"
        for index in range(30):
            shade = numpy.full((180, 320, 3), (40 + index * 4, 120, 90), numpy.uint8)
            file.mux(stream.encode(av.VideoFrame.from_ndarray(shade, format="rgb24")))
        file.mux(stream.encode())
    return path


def commands(pion) -> dict[str, list]:
    """How each stack is started."""
    return {
        "GStreamer": ["/usr/bin/python3", STACKS / "gstreamer.py"],
        "Pion": [pion],
        "aiortc": [ROOT / ".venv" / "bin" / "python", STACKS / "aiortc_person.py"],
    }


class Stack:
    """A client as a process, and what it has said."""

    def __init__(self, name: str, command: list) -> None:
        self.name = name
        self.events: list[dict] = []
        self.received: list[dict] = []
        self.errors: list[str] = []
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for stream, take in ((self.process.stdout, self.take), (self.process.stderr, self.errors.append)):
            threading.Thread(target=self.read, args=(stream, take), daemon=True).start()

    def read(self, stream, take) -> None:
        for line in stream:
            take(line)

    def take(self, line: str) -> None:
        said = json.loads(line)
        if "received" in said:
            self.received.append(said["received"])
        else:
            self.events.append(said)

    def hears(self, others: list[str]) -> bool:
        return bool(self.received) and all(
            self.received[-1].get(other, {}).get(kind, 0) > 0 for other in others for kind in ("audio", "video")
        )

    def growth(self, other: str) -> list[int]:
        """How much more sound and picture of somebody came within the last two seconds; nothing before three reports."""
        before, after = ((report.get(other, {}) for report in self.received[-3::2]) if len(self.received) > 2 else ({}, {}))
        return [after.get(kind, 0) - before.get(kind, 0) for kind in ("audio", "video")]

    @property
    def connected(self) -> bool:
        """Whether its receiving transport is up."""
        return any(event.get("subscribe") == "connected" for event in self.events)

    @property
    def failures(self) -> list[dict]:
        return [event for event in self.events if event.get("event") in FAILURES]

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(30)


@pytest.mark.parametrize("order", [("GStreamer", "Pion", "aiortc"), ("Pion", "aiortc", "GStreamer")], ids="-".join)
def test_the_stacks_of_others_see_and_hear_each_other_for_longer_than_media_timeout(order, server, room, person, pion, picture):
    """Whoever comes later must neither disturb those who are there nor be left out; nobody is told of a failure."""
    programs = commands(pion)
    anna = person("Anna").join(room)
    eventually("Anna publishes", lambda: anna.page.evaluate(SENDING) == 2)
    seconds = SECONDS if order[0] == "GStreamer" else 15
    everybody = ["Anna", *order]
    stacks: list[Stack] = []
    try:
        for name in order:
            more = [picture] if name == "Pion" else []
            stacks.append(Stack(name, [*programs[name], server.rtc, room, name, str(seconds + 240), *more]))
            here = everybody[: len(stacks) + 1]
            eventually(
                f"{name} is there",
                lambda: all(one.hears([other for other in here if other != one.name]) for one in stacks),
                60,
            )
        for name in order:
            anna.sees_anything(name)
        before = [len(one.received) for one in stacks]
        time.sleep(seconds)
        for one, start in zip(stacks, before):
            assert one.process.poll() is None, (one.name, one.errors[-10:])
            told = one.received[start:]
            assert len(told) > seconds * 0.6, (one.name, len(told))
            for other in (name for name in everybody if name != one.name):
                for kind in ("audio", "video"):
                    counts = [report[other][kind] for report in told]
                    # Five seconds without anything new would be a gap.
                    assert all(later > earlier for earlier, later in zip(counts, counts[5:])), (one.name, other, kind, counts)
            assert one.failures == [], one.name
    except BaseException:
        for one in stacks:
            print(one.name, one.events[-10:], one.received[-1:], "".join(one.errors[-10:]))
        raise
    finally:
        for one in stacks:
            one.stop()
    eventually("everybody has left", lambda: anna.tiles.count() == 1)


@pytest.mark.parametrize("name", ["GStreamer", "Pion", "aiortc"])
def test_a_stack_that_is_the_first_in_its_room_sees_who_comes_leaves_and_comes_back(name, server, room, person, pion, picture):
    """Its receiving transport must come up with nothing to receive, and its lines must carry a second person's tracks too."""
    more = [picture] if name == "Pion" else []
    stack = Stack(name, [*commands(pion)[name], server.rtc, room, name, "300", *more])
    try:
        eventually(f"{name} is connected alone", lambda: stack.connected)
        anna = person("Anna").join(room)
        for time_of_hers in ("first", "second", "third"):
            eventually(f"{name} hears and sees Anna, the {time_of_hers} time", lambda: min(stack.growth("Anna")) > 0)
            anna.sees_anything(name)
            anna.leave()
            eventually("nothing of her comes", lambda: len(stack.received) > 2 and stack.growth("Anna") == [0, 0])
            anna.join(room)
        broken = [event for event in stack.failures if event["event"] in ("media.failed", "room.participantReconnecting")]
        assert broken == []
        assert stack.process.poll() is None
    except BaseException:
        print(stack.events[-10:], stack.received[-1:], "".join(stack.errors[-10:]))
        raise
    finally:
        stack.stop()


@pytest.mark.parametrize("position", [3, 6])
def test_aiortc_joins_where_several_publish_already(position, server, room):
    """It waits for the candidates of each line that it has not bundled yet."""
    people = [NativePerson(f"Nat{index}", server.rtc, (180, 60, 170), 800, pictures=1) for index in range(position - 1)]
    try:
        for one in people:
            one.join(room)
        last = NativePerson("Last", server.rtc, (60, 170, 60), 600, pictures=2)
        people.append(last)
        last.join(room)
        names = [one.name for one in people]
        for one in people:
            for other in (name for name in names if name != one.name):
                eventually(f"{one.name} decodes {other}", lambda: one.frames[other] > 5)
                eventually(f"{one.name} hears {other}", lambda: one.sounds[other] > 5)
            assert one.failures == []
        for one in people[:-1]:
            eventually(f"{one.name} sees both pictures", lambda: sum(count > 5 for count in one.shown["Last"].values()) == 2)
    finally:
        for one in people:
            one.close()
