"""GStreamer, Pion and aiortc publish by WHIP and play by WHEP. Under scripts/private-network, as test_other_stacks.py."""

import inspect
import json
import pathlib
import subprocess

import pytest
from aiortc import RTCPeerConnection
from http_sessions import WATCH
from others import ADDRESS, NAMES, STACKS, Stack
from people import eventually
from playwright.sync_api import expect
from server import Server

# Of a second: pictures (15 are sent) and pieces of sound (50).
PACE = {"video": 10, "audio": 40}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with Server(tmp_path_factory.mktemp("roost"), address=ADDRESS, advertise=ADDRESS, unknown="group") as server:
        yield server


@pytest.fixture
def by_http(server, programs):
    """Starts programs: `by_http("Pion", "play", "/whep/demo")`."""
    stacks: list[Stack] = []

    def start(stack: str, what: str, path: str) -> Stack:
        stacks.append(programs.by_http(stack, what, f"{server.url}{path}", 300))
        return stacks[-1]

    yield start
    for one in stacks:
        print(one)
        one.stop()


def go_on(players: list[Stack], seconds: int) -> None:
    """All decode at the pace of what is sent, and nothing stands still for long."""
    for one in players:
        eventually(f"{one.name} plays", lambda: one.received and all(one.received[-1].get(kind, 0) > 0 for kind in PACE), 30)
    begins = [len(one.received) for one in players]
    for one, begin in zip(players, begins):
        eventually("it reports", lambda: len(one.received) > begin + seconds, seconds + 10)
        told = one.received[begin : begin + seconds + 1]
        for kind, pace in PACE.items():
            counts = [report[kind] for report in told]
            assert counts[-1] - counts[0] >= pace * seconds, (one.name, kind, counts)
            assert all(later > earlier for earlier, later in zip(counts, counts[2:])), (one.name, kind, counts)


@pytest.mark.parametrize("stack", NAMES)
def test_a_stack_plays_a_room_and_a_person(stack, server, room, person, by_http):
    """It is refused while nobody publishes, and plays then; its end by DELETE is the end of its seat."""
    players = [by_http(stack, "play", f"/whep/{room}{target}?name=Player{number}") for number, target in enumerate(("", "/Anna"))]
    eventually("both are refused", lambda: all(one.said("status")[:1] == [409] for one in players))
    anna = person("Anna").join(room)
    eventually("both have come", lambda: all(one.said("status")[-1] == 201 for one in players), 30)
    go_on(players, 4)
    expect(anna.page.locator("#room-count")).to_contain_text("3 of")
    anna.page.locator("#cam").click()
    eventually("no picture", lambda: all(one.received[-1]["video"] == one.received[-3]["video"] for one in players), 20)
    anna.page.locator("#cam").click()
    go_on(players, 2)
    for one in players:
        one.tell("leave")
        eventually("its session is over", lambda: one.said("ended") == [200])
    expect(anna.page.locator("#room-count")).to_contain_text("1 of", timeout=10_000)


def test_pion_restarts_ice_and_media_go_on(server, room, person, by_http):
    """As a publisher, whom a page watches, and as a player of that page."""
    anna = person("Anna").join(room)
    publisher = by_http("Pion", "publish", f"/whip/{room}?name=Pion")
    anna.sees_anything("Pion")
    player = by_http("Pion", "play", f"/whep/{room}/Anna?name=Player")
    go_on([player], 2)
    anna.tile("Pion").evaluate(WATCH)
    for one in (publisher, player):
        one.tell("restart")
        eventually("it has restarted", lambda: one.said("restarted") == [200])
    assert anna.frames_in("Pion", 3) >= 30
    go_on([player], 3)
    assert 0 < anna.page.evaluate("window.longest") <= 1_000
    assert 0 < player.received[-1]["gap"] <= 1_000


def test_aiortc_has_no_restart_of_ice():
    """As docs/clients.md says."""
    assert list(inspect.signature(RTCPeerConnection.createOffer).parameters) == ["self"]
    assert not any("restart" in name.lower() for name in dir(RTCPeerConnection))


def test_gstreamer_has_no_restart_of_ice():
    """As docs/clients.md says: asked for one, its offer has the same names as before, and the library beneath is never told to."""
    said = subprocess.run(["/usr/bin/python3", STACKS / "gstreamer_restart.py"], stdout=subprocess.PIPE, check=True, timeout=60)
    names = json.loads(said.stdout)
    assert names["restarted"] == names["first"] == names["again"], names
    # The controls: another connection has other names, and what is looked for is found.
    assert names["other"] != names["first"], names
    library = next(pathlib.Path("/usr/lib").glob("*/libgstwebrtcnice-1.0.so.0")).read_bytes()
    assert b"\0nice_agent_set_remote_credentials\0" in library
    assert b"nice_agent_restart" not in library


def test_stacks_publish_by_whip_and_play_each_other_by_whep(server, room, person, by_http):
    anna = person("Anna").join(room)
    publishers = [by_http(stack, "publish", f"/whip/{room}?name={stack}") for stack in NAMES]
    for one in publishers:
        eventually(f"{one.name} publishes", lambda: one.said("status") == [201], 30)
        anna.sees_anything(one.name)
        # Pion's sound is silence.
        if one.name != "Pion":
            anna.hears(one.name)
    players = [by_http(stack, "play", f"/whep/{room}/{other}") for stack, other in zip(NAMES, (*NAMES[1:], NAMES[0]))]
    go_on(players, 4)
    for one in publishers:
        one.tell("leave")
        eventually("its session is over", lambda: one.said("ended") == [200])
        expect(anna.tile(one.name)).to_have_count(0, timeout=5_000)


def test_who_comes_late_sees_h264_whose_parameter_sets_came_once(server, room, person, by_http):
    """GStreamer says them in its offer, and leaves them out of the stream: without the server's help nobody would see a picture."""
    studio = by_http("GStreamer", "publish-h264", f"/whip/{room}?name=Studio")
    eventually("it is taken", lambda: studio.said("status")[:1] == [201])
    anna = person("Anna").join(room)
    anna.sees_anything("Studio")
    ben = person("Ben").join(room)
    ben.sees_anything("Studio")
    assert ben.frames_in("Studio", 3) > 30
