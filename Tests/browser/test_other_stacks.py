"""Real clients of others in one room: GStreamer, Pion and aiortc, each a process that was written from docs/protocol.md.

libnice leaves out the loopback, so these tests run where there is another address: under scripts/private-network.
"""

import os
import signal
import time

import pytest
from native import NativePerson
from others import ADDRESS, NAMES
from people import counts_of, eventually
from server import Server

# Longer than three times calls.media_timeout (10 s): whoever is cut for saying nothing is out by then.
SECONDS = 45

# How many tracks a page sends.
SENDING = """async () => [...((await window.roost.room.stats()).publish ?? new Map()).values()]
  .filter(({ type, packetsSent }) => type === "outbound-rtp" && packetsSent > 0).length"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with Server(tmp_path_factory.mktemp("roost"), address=ADDRESS, advertise=ADDRESS, unknown="group") as server:
        yield server


def grows(counts: list[int], steps: int) -> bool:
    return all(later > earlier for earlier, later in zip(counts, counts[steps:]))


def standing(looks: list[dict[str, dict]], everybody: list[str]) -> dict[tuple, list[int]]:
    """Who has decoded nothing more of whom between two looks of browsers, which are seconds apart."""
    counts = {
        (watcher, other, kind): [look[watcher].get(other, {}).get(kind, 0) for look in looks]
        for watcher in looks[0]
        for other in everybody
        if other != watcher
        for kind in ("audio", "video")
    }
    return {pair: found for pair, found in counts.items() if not grows(found, 1)}


def stay(seconds: float, stacks: list, look, everybody: list[str]) -> None:
    """For so long everybody goes on seeing and hearing everybody, and nobody is told of a failure."""
    before = [len(one.received) for one in stacks]
    start, looks = time.monotonic(), [look()]
    while time.monotonic() - start < seconds:
        time.sleep(4)
        looks.append(look())
    assert standing(looks, everybody) == {}
    for one, begin in zip(stacks, before):
        assert one.process.poll() is None, (one.name, one.errors[-10:])
        told = one.received[begin:]
        assert len(told) > seconds * 0.6, (one.name, len(told))
        for other in (name for name in everybody if name != one.name):
            for kind in ("audio", "video"):
                counts = [report[other][kind] for report in told]
                # Five seconds without anything new would be a gap.
                assert grows(counts, 5), (one.name, other, kind, counts)
        assert one.failures == [], one.name


def come(order: tuple[str, ...], anna, server: Server, room: str, programs, stacks: list) -> list[str]:
    """One after the other, and each sees and hears all who are there. Everybody."""
    everybody = ["Anna", *order]
    for name in order:
        stacks.append(programs.in_room(name, server.rtc, room, name, 600))
        here = everybody[: len(stacks) + 1]
        eventually(
            f"{name} is there",
            lambda: all(one.hears([other for other in here if other != one.name]) for one in stacks),
            60,
        )
    for name in order:
        anna.sees_anything(name)
    return everybody


@pytest.mark.parametrize("order", [("GStreamer", "Pion", "aiortc"), ("Pion", "aiortc", "GStreamer")], ids="-".join)
def test_the_stacks_of_others_see_and_hear_each_other_for_longer_than_media_timeout(order, server, room, person, programs):
    """Whoever comes later must neither disturb those who are there nor be left out; nobody is told of a failure."""
    anna = person("Anna").join(room)
    eventually("Anna publishes", lambda: anna.page.evaluate(SENDING) == 2)
    stacks = []
    try:
        everybody = come(order, anna, server, room, programs, stacks)
        stay(SECONDS if order[0] == "GStreamer" else 15, stacks, lambda: {"Anna": counts_of(anna.received())}, everybody)
    except BaseException:
        print(*stacks, sep="\n")
        raise
    finally:
        for one in stacks:
            one.stop()
    eventually("everybody has left", lambda: anna.tiles.count() == 1)


@pytest.mark.parametrize("name", NAMES)
def test_a_stack_that_is_the_first_in_its_room_sees_who_comes_leaves_and_comes_back(name, server, room, person, programs):
    """Its receiving transport must come up with nothing to receive, and its lines must carry a second person's tracks too."""
    stack = programs.in_room(name, server.rtc, room, name, 300)
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
        print(stack)
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


@pytest.mark.parametrize("who", ["itself", "the server"])
def test_who_gives_a_connection_up_says_whose_silence_it_was(who, programs, person, room, tmp_path, monkeypatch):
    """On a slow machine the server rightly misses a client that is too late for its own timers: nobody is to take that for its fault."""
    monkeypatch.setenv("STACK_CONSENT", "0.3")
    with Server(tmp_path, address=ADDRESS, advertise=ADDRESS, unknown="group") as server:
        person("Anna", on=server).join(room)
        stack = programs.in_room("aiortc", server.rtc, room, "aiortc", 300)
        try:
            eventually("they hear each other", lambda: stack.hears(["Anna"]))
            assert stack.excuse() == ""
            os.kill(*((stack.process.pid, signal.SIGUSR1) if who == "itself" else (server.process.pid, signal.SIGSTOP)))
            try:
                eventually("it has given up", lambda: stack.said("gaveUp"))
            finally:
                os.kill(server.process.pid, signal.SIGCONT)
            wanted = "this machine is too slow" if who == "itself" else "the server went silent"
            assert wanted in stack.excuse()
        finally:
            stack.stop()
