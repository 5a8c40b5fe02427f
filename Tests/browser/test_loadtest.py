"""The load test's people: in a room with a real browser, where each decodes what the other sends, on a path of short
packets, and in rooms of a Janus gateway."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

from people import eventually
from server import ROOT

pytestmark = pytest.mark.alone


def loadtest() -> pathlib.Path:
    """The program under test: LOADTEST_BINARY, else what `make loadtest-build` makes."""
    path = pathlib.Path(os.environ.get("LOADTEST_BINARY", ROOT / ".build/release/loadtest"))
    assert path.exists(), f"{path} is missing: make loadtest-build, or set LOADTEST_BINARY"
    return path


def test_synthetic_people_and_a_browser_see_and_hear_each_other(person, server, room, tmp_path):
    anna = person("Anna").join(room)
    report = tmp_path / "report.json"
    people = subprocess.Popen(
        [loadtest(), "--real", "--publishers", "2", "--bitrate", "300", "--frame-rate", "15", "--ramp", "1", "--duration", "12",
         "--room", room, "--server", server.url, "--no-limit", "--json", report],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        names = eventually("two came", lambda: two_others(anna))
        for name in names:
            anna.sees_anything(name)
            anna.hears(name)
            video = anna.received()[name]["video"]
            assert (video["frameWidth"], video["frameHeight"]) == (640, 360), video
            assert video["packetsLost"] == 0, video
        output, _ = people.communicate(timeout=120)
    finally:
        people.kill()
    assert people.returncode == 0, output
    result = json.loads(report.read_text())
    # Anna's sound and picture, to each of the two, and nothing of hers is taken for wrong.
    others = result["others"]
    assert others["streams"] == 4, others
    assert others["undecodableFrames"] == 0, others
    assert others["decodedFrames"] >= others["frames"] * 0.9 > 100, others
    assert result["streamsSeen"] == 4, "the two have each other's sound and picture"
    assert result["wrongStream"] == result["wrongPictures"] == result["undecodableFrames"] == 0, output
    assert result["decodedFrames"] > 100


def test_a_path_of_short_packets_loses_nothing(tmp_path):
    """Segments of 1,200 bytes are refused there, and so are single datagrams until the kernel may fragment them."""
    report = tmp_path / "report.json"
    # Root needs no user namespace, which a chroot would refuse.
    own_network = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--net"]
    people = subprocess.run(
        [*own_network, sys.executable, pathlib.Path(__file__).with_name("narrow.py"), "1000",
         loadtest(), "--publishers", "3", "--bitrate", "1440", "--ramp", "1", "--duration", "4", "--no-limit", "--json", report],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
    assert people.returncode == 0, people.stdout
    result = json.loads(report.read_text())
    assert result["streamsSeen"] == 12, people.stdout
    assert result["packetsReceived"] == result["packetsExpected"] > 1000, people.stdout


JANUS = ROOT / ".build" / "janus"


def fill_janus(report: pathlib.Path, *more: str) -> tuple[int, str, dict]:
    """Two who send and one who watches, in each of two rooms of a Janus gateway."""
    assert (JANUS / "usr/bin/janus").exists(), f"scripts/janus {JANUS} unpacks it"
    people = subprocess.run(
        [ROOT / "scripts/private-network", loadtest(), "--janus", JANUS, "--publishers", "2", "--subscribers", "1", "--rooms", "2",
         "--ramp", "1", "--duration", "2", "--no-limit", "--json", report, *more],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
    return people.returncode, people.stdout, json.loads(report.read_text())


@pytest.mark.parametrize("loops", [[], ["--event-loops", "1"]])
def test_participants_do_with_others_servers_what_they_do_with_ours(tmp_path, loops):
    before = set(pathlib.Path("/tmp").glob("roost-loadtest-janus-*"))
    status, output, result = fill_janus(tmp_path / "report.json", *loops)
    assert status == 0, output
    assert set(pathlib.Path("/tmp").glob("roost-loadtest-janus-*")) <= before, "files were left behind"
    # In each room two tracks of each of two, to the other one and to whoever watches.
    assert result["streamsSeen"] == 16, output
    assert result["loaded"] == ("Janus, 1 event loop" if loops else "Janus, a thread for each connection")
    assert result["packetsReceived"] == result["packetsExpected"] > 500, output
    assert result["server"]["cpuMicrosPerForwardedPacket"] > 0 and result["server"]["rssBytes"] > 1 << 20


def test_what_others_servers_break_is_found(tmp_path):
    status, output, result = fill_janus(tmp_path / "report.json", "--fault", "swap")
    assert status == 1, output
    assert result["wrongStream"] > 0, output


def two_others(one) -> list[str]:
    """The names of two people in the room, once both of their tracks are there."""
    names = [name for name, tracks in one.received().items() if {"audio", "video"} <= tracks.keys()]
    return names if len(names) == 2 else []
