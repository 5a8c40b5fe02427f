"""One room of all stacks: pages in Chromium and Firefox, GStreamer, Pion, aiortc, and two apps for Flashphoner's SDKs. All decode all, for
thirty seconds. Under scripts/private-network, as test_other_stacks.py."""

import contextlib
import pathlib
import time
import typing

import pytest
from firefox import FirefoxPerson
from flashphoner import FlashphonerPerson, stream_of
from flashphoner_page import OWN, FlashphonerPage
from others import ADDRESS, Programs, Stack
from people import Person, counts_of, eventually
from server import Server
from stays import KINDS, SENT, Counts, Look, nominal, stay
from test_other_stacks import SENDING, come

SECONDS = 30
PROGRAMS = ("GStreamer", "Pion", "aiortc")
PUBLISHED = "async () => [...((await window.roost.room.stats()).publish ?? new Map()).values()]"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with Server(tmp_path_factory.mktemp("roost"), address=ADDRESS, advertise=ADDRESS, unknown="group", flashphoner=True) as server:
        yield server


class MixedRoom:
    """Seven in a room, who have come one after the other."""

    def __init__(self, server: Server, room: str, programs: Programs, person: typing.Callable[..., Person], folder: pathlib.Path) -> None:
        self.server = server
        self.stacks: list[Stack] = []
        self.closing = contextlib.ExitStack()
        self.anna = person("Anna").join(room, height=180)
        eventually("Anna publishes", lambda: self.anna.page.evaluate(SENDING) == 2)
        try:
            self.names = come(PROGRAMS, self.anna, server, room, programs, self.stacks)
            # Less than 360 lines, which would be several layers.
            self.fox = FirefoxPerson("Fox", server.url, folder)
            self.closing.callback(self.fox.close)
            self.fox.join(room, height=180)
            self.flora = FlashphonerPerson("Flora", server.flashphoner, (120, 30, 120), 1200).connect()
            self.closing.callback(self.flora.close)
            assert self.flora.join(room)["status"] == "ACCEPTED"
            self.flora.publish()
            self.ben = FlashphonerPage(person("Ben"), server).join(room)
            self.closing.callback(self.ben.leave)
            self.names += ["Fox", "Flora", "Ben"]
            self.apps = {app: {stream_of(app, other): other for other in self.names if other != app.name} for app in (self.ben, self.flora)}
            for app, streams in self.apps.items():
                for stream in streams:
                    app.play(stream)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        try:
            self.closing.close()
        finally:
            for one in self.stacks:
                one.stop()

    def look(self) -> Look:
        now = time.monotonic()
        sent = {name: nominal(now) for name in PROGRAMS} | {
            "Anna": self.anna.page.evaluate(f"async () => ({SENT})(await ({PUBLISHED})())"),
            "Fox": self.fox.evaluate(f"async () => ({SENT})(await ({PUBLISHED})())"),
            "Flora": nominal(now) | {"audio": self.flora.sound_sent()},
            "Ben": self.ben.page.evaluate(f"async () => ({SENT})(await ({OWN})())"),
        }
        return Look(sent, self.decoded(), now)

    def decoded(self) -> dict[str, Counts]:
        apps = {app.name: {streams[stream]: seen for stream, seen in app.counts().items()} for app, streams in self.apps.items()}
        pages = {one.name: counts_of(one.received()) for one in (self.anna, self.fox)}
        return pages | apps | {one.name: one.received[-1] for one in self.stacks}

    def all_decode_all(self) -> bool:
        seen = self.decoded()
        pairs = [(watcher, other) for watcher in self.names for other in self.names if other != watcher]
        return all(seen[watcher].get(other, {}).get(kind, 0) > 0 for watcher, other in pairs for kind in KINDS)

    def __str__(self) -> str:
        return "\n".join([*self.server.drops(), *(str(one) for one in self.stacks)])


@pytest.fixture
def mixed(server, room, programs, person, tmp_path):
    mixed = MixedRoom(server, room, programs, person, tmp_path)
    yield mixed
    print(mixed)
    mixed.close()


def test_five_stacks_and_two_apps_for_flashphoner_decode_all_of_each_other(mixed):
    eventually("all decode all", mixed.all_decode_all, 60)
    assert stay(SECONDS, mixed.look) == {}
    for one in mixed.stacks:
        assert one.failures == [] and one.process.poll() is None, one.name
    # The control: one of them is muted at the server, and the same look finds that all others miss it, and nothing else.
    mixed.stacks[1].tell("mute")
    eventually("Pion has done so", lambda: mixed.stacks[1].said("done") == ["mute"])
    others = [name for name in mixed.names if name != "Pion"]
    assert set(stay(6, mixed.look, window=6)) == {(watcher, "Pion", kind) for watcher in others for kind in KINDS}
    mixed.close()
    eventually("everybody has left", lambda: mixed.anna.tiles.count() == 1)
