"""Servers and people for the tests. A failing test leaves pictures of every page and the server's log in `out/browser`."""

import contextlib
import itertools
import pathlib
import re
import shutil

import pytest
from others import Programs
from people import Crowd, Person, ignorable
from playwright.sync_api import Error, expect, sync_playwright
from relays import TCPRelay
from seats import Seats
from server import ROOT, Server
from viewers import ChromiumViewer, FirefoxViewer, Viewer, firefox

OUT = ROOT / "out" / "browser"
rooms = itertools.count(1)

# Deadlines are for what never happens: a busy machine with five browsers may take long for anything.
expect.set_options(timeout=60_000)


@pytest.fixture(scope="session")
def crowd(tmp_path_factory):
    with sync_playwright() as playwright:
        crowd = Crowd(playwright, tmp_path_factory.mktemp("looks"))
        yield crowd
        crowd.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """One for all tests of a file, each of which takes a room of its own."""
    with Server(tmp_path_factory.mktemp("roost")) as server:
        yield server


@pytest.fixture
def room():
    """The name of a room with three seats that no other test uses."""
    return f"test{next(rooms)}"


@pytest.fixture
def person(request, crowd, server):
    """Makes people: `person("Anna").join(room)`. Errors in a page's console fail the test."""
    people: list[Person] = []

    def make(name: str, on: Server | TCPRelay = server, **context) -> Person:
        people.append(Person(name, crowd.browser(name), on.url, **context))
        return people[-1]

    yield make
    failed = getattr(request.node, "failed", False)
    if failed:
        keep(request.node.name, people, server)
    errors = [error for one in people for error in one.errors if not ignorable(error)]
    for one in people:
        one.close()
    if not failed:
        assert errors == []


@pytest.fixture(scope="module")
def fox(server, tmp_path_factory):
    """One Firefox for all tests of a file: starting it is what costs."""
    fox = firefox(server.url, tmp_path_factory.mktemp("firefox"))
    yield fox
    fox.close()


@pytest.fixture(params=["Chromium", "Firefox"])
def viewer(request, person) -> Viewer:
    """Anna, who looks at the page in either browser; in 1280 × 760 to begin with."""
    if request.param == "Chromium":
        return ChromiumViewer(person("Anna", viewport={"width": 1280, "height": 760}))
    viewer = FirefoxViewer(request.getfixturevalue("fox"))
    viewer.resize(1280, 760)
    return viewer


@pytest.fixture(scope="session")
def programs(tmp_path_factory):
    """GStreamer, Pion and aiortc."""
    return Programs(tmp_path_factory.mktemp("programs"))


@pytest.fixture
def seats(person, room):
    """Others in the room, who need no browser each."""
    return Seats(person("Dora"), room)


@pytest.fixture
def online(person):
    """Makes people who can be called, and call."""
    return lambda *names, **context: [person(name, **context).go_online() for name in names]


@pytest.fixture
def line(server):
    """The TCP path of one person."""
    relay = TCPRelay(server.port)
    yield relay
    relay.stop()


def keep(test: str, people: list[Person], server: Server) -> None:
    folder = OUT / re.sub(r"\W+", "-", test)
    folder.mkdir(parents=True, exist_ok=True)
    for index, one in enumerate(people):
        # A page that has crashed has no picture.
        with contextlib.suppress(Error):
            one.page.screenshot(path=folder / f"{index}-{one.name}.png", timeout=5_000)
        (folder / f"{index}-{one.name}.txt").write_text("\n".join(one.errors))
    shutil.copy(server.log, folder / "roost.log")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.when == "call" and report.failed:
        item.failed = True
    return report


def pytest_sessionstart(session):
    if not hasattr(session.config, "workerinput"):
        shutil.rmtree(OUT, ignore_errors=True)


def pytest_configure(config):
    pathlib.Path(OUT).parent.mkdir(exist_ok=True)
