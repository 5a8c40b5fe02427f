"""FFmpeg and pages publish by WHIP, and people in browsers see and hear it; when a seat is free, whose it is, and how long it is kept."""

import contextlib
import json
import statistics
import time

import encoders
import jwt
import pytest
from fixtures import LOOKS
from http_sessions import DTLS, PUBLISH, RESTART, SDP, WATCH, ask
from native import NativePerson
from people import close, eventually
from playwright.sync_api import expect
from server import Server
from test_doors import OFFER
from test_tokens import Wire
from websockets.sync.client import connect

SECRET = "kept-by-the-tests-of-whip-50c1e7d2b9"
# Seconds.
GRACE, SILENCE = 3, 2

pytestmark = pytest.mark.alone


@pytest.fixture
def watcher(room):
    """Makes people who are in the room and hear of the others, and have no media: `watcher(server, "Anna")`."""
    with contextlib.ExitStack() as stack:

        def make(server: Server, name: str, **more: str) -> Wire:
            wire = Wire(stack.enter_context(connect(server.rtc, max_queue=None)))
            for method, params in (
                ("session.hello", {"user": name.lower(), "displayName": name, **more}),
                ("room.join", {"room": room}),
            ):
                answer = wire.request(method, **params)
                assert "result" in answer, answer
            return wire

        yield make


def test_ffmpeg_is_seen_and_heard_and_its_end_frees_the_seat(person, room, server, tmp_path):
    people = [person(name).join(room) for name in ("Anna", "Ben")]
    process = encoders.publish(server.url, room, "Studio", tmp_path / "ffmpeg.log")
    try:
        for one in people:
            expect(one.tile("Studio")).to_be_visible()
            eventually("pictures come", lambda one=one: one.frames_in("Studio", 1) >= 20)
            eventually("its tone is heard", lambda one=one: one.tone("Studio") is not None)
        # The room has three seats, and the publisher has one of them.
        expect(people[0].page.locator("#room-count")).to_have_text("3 of 3")
        counts = {one.name: one.frames_in("Studio", 5) for one in people}
        assert all(count >= 130 for count in counts.values()), counts
    finally:
        process.terminate()
        status = process.wait(30)
    for one in people:
        expect(one.tile("Studio")).to_have_count(0, timeout=5_000)
    assert status in (0, 255), (tmp_path / "ffmpeg.log").read_text(errors="replace")[-2000:]


# The name that the connection's checks go by.
FRAGMENT = """async () => {
  const report = await window.whip.pc.getStats();
  return [...report.values()].find(({ type }) => type === "transport").iceLocalUsernameFragment;
}"""


def test_a_page_restarts_ice_and_nobody_sees_it(person, room, server):
    anna = person("Anna").join(room)
    encoder = person("Ben").page
    encoder.goto(server.url)
    encoder.evaluate(PUBLISH, f"{server.url}/whip/{room}?name=Studio")
    expect(anna.tile("Studio")).to_be_visible()
    eventually("pictures come", lambda: anna.frames_in("Studio", 1) >= 10)
    first = encoder.evaluate(FRAGMENT)
    anna.tile("Studio").evaluate(WATCH)
    assert encoder.evaluate(RESTART, "whip") != encoder.evaluate("window.whip.tag")
    eventually("its checks go by another name", lambda: encoder.evaluate(FRAGMENT) != first)
    assert anna.frames_in("Studio", 3) >= 30
    assert anna.page.evaluate("window.longest") <= 1_000
    status = encoder.evaluate("async () => (await fetch(window.whip.url, { method: 'DELETE' })).status")
    assert status == 200
    expect(anna.tile("Studio")).to_have_count(0, timeout=5_000)


def is_full(endpoint: str, sdp: str, **headers: str) -> bool:
    """Whether an offer is refused for that, with the reason and the time to come again; another refusal is none."""
    answer = ask("POST", endpoint, {**SDP, **headers}, sdp)
    if answer.status == 201:
        return False
    problem = json.loads(answer.body)
    assert (answer.status, problem["code"]) == (503, "ROOM_FULL"), answer
    assert int(answer.headers["Retry-After"]) > 0 and "full" in problem["detail"], answer
    return True


def test_delete_frees_the_seat_within_100_ms(person, room, server, watcher):
    """With media that run: until the others hear of it, from when it is sent. A lost path is the control, see below."""
    anna, _ = (watcher(server, name) for name in ("Anna", "Cleo"))
    encoder = person("Ben").page
    encoder.goto(server.url)
    endpoint, sdp = f"{server.url}/whip/{room}", encoder.evaluate(OFFER, "sendonly")
    took = []
    for _ in range(5):
        encoder.evaluate(PUBLISH, f"{endpoint}?name=Studio")
        eventually("its media are up", lambda: encoder.evaluate(DTLS) == "connected")
        assert is_full(endpoint, sdp)
        session = encoder.evaluate("window.whip.url")
        sent = time.monotonic()
        assert ask("DELETE", session).status == 200
        left = anna.hear("room.participantLeft")
        took.append(time.monotonic() - sent)
        assert left["reason"] == "left"
        # And by the time of the answer somebody else has it.
        following = ask("POST", endpoint, SDP, sdp)
        for _ in range(2):
            assert following.status == 201, following
            assert ask("DELETE", following.headers["Location"]).status == 200
            following = ask("POST", endpoint, SDP, sdp)
        assert ask("DELETE", following.headers["Location"]).status == 200
        for _ in range(3):
            anna.hear("room.participantLeft")
        eventually("the server has ended DTLS too", lambda: encoder.evaluate(DTLS) == "closed", 10)
        encoder.evaluate("window.whip.pc.close()")
    print("from DELETE until the others hear, ms:", [round(one * 1000, 1) for one in took])
    assert statistics.median(took) <= 0.1, took


@pytest.fixture(scope="module")
def impatient(tmp_path_factory):
    """A server that takes a path for lost after two seconds, and keeps its seat for three more."""
    calls = f"media_timeout: {SILENCE}s"
    with Server(tmp_path_factory.mktemp("impatient"), grace=f"{GRACE}s", calls=calls) as server:
        yield server


def test_a_lost_path_keeps_the_seat_for_the_grace_and_then_ends_it(room, impatient, watcher, person, tmp_path):
    """An encoder that is killed says nothing any more, neither by HTTP nor by DTLS."""
    anna, _ = (watcher(impatient, name) for name in ("Anna", "Cleo"))
    sdp = person("Ben", on=impatient).page.evaluate(OFFER, "sendonly")
    endpoint = f"{impatient.url}/whip/{room}"
    process = encoders.publish(impatient.url, room, "Studio", tmp_path / "ffmpeg.log")
    try:
        eventually("its media come", lambda: impatient.packets() > 100)
    finally:
        process.kill()
        process.wait(30)
    killed = time.monotonic()
    anna.hear("room.participantReconnecting")
    lost = time.monotonic()
    assert SILENCE - 0.5 <= lost - killed <= SILENCE + 2, lost - killed
    while time.monotonic() < lost + GRACE - 0.5:
        assert is_full(endpoint, sdp), "the seat was given away"
        time.sleep(0.3)
    left = anna.hear("room.participantLeft")
    kept = time.monotonic() - lost
    assert left["reason"] == "lost" and GRACE - 0.2 <= kept <= GRACE + 2, (left, kept)
    assert not is_full(endpoint, sdp)


def token(user: str, *grants: str, **more: str) -> str:
    claims = {"sub": user, "exp": int(time.time()) + 600, "grants": ["join", *grants], **more}
    return jwt.encode(claims, SECRET, "HS256")


def test_the_same_user_takes_the_seat_over(person, room, watcher, tmp_path):
    """In a room that is full: who comes has a seat already."""
    with Server(tmp_path, access=f'{{keys: [{{alg: HS256, secret: "{SECRET}"}}]}}') as server, contextlib.ExitStack() as closing:
        anna = watcher(server, "Anna", token=token("anna"))
        nat = NativePerson("Nat", server.rtc, (180, 60, 170), 800, token=token("native-Nat", "publish:audio", "publish:video", "subscribe"))
        closing.callback(nat.close)
        nat.join(room)
        studio = token("studio", "publish:audio", "publish:video", name="Studio")
        own = {"Authorization": f"Bearer {studio}"}
        pages = [person(name, on=server).context.new_page() for name in ("Ben", "Cleo")]

        def publish(page) -> str:
            # One without scripts of its own, as the server's are for open ones; and none whose console is looked at: it has no icon.
            page.goto(f"{server.url}/style.css")
            page.evaluate(PUBLISH, {"url": f"{server.url}/whip/{room}", "token": studio})
            return page.evaluate("window.whip.url")

        def sees(name: str) -> bool:
            return close(nat.colours.get("Studio"), LOOKS[name].colour)

        def count() -> int:
            return anna.request("room.info", room=room)["result"]["count"]

        first = publish(pages[0])
        eventually("the first one's picture", lambda: sees("Ben"))
        assert count() == 3 and ask("GET", first, own).status == 204
        before = set(nat.shown["Studio"])
        anna.events.clear()
        second = publish(pages[1])
        eventually("the second one's picture", lambda: sees("Cleo"))
        assert count() == 3
        told = {event["method"] for event in anna.events}
        assert not told & {"room.participantLeft", "room.participantJoined"} and "room.participantUpdated" in told, told
        # The first session is gone, and its media are over.
        fragment = {**own, "Content-Type": "application/trickle-ice-sdpfrag", "If-Match": "*"}
        for method, headers in (("GET", own), ("PATCH", fragment), ("DELETE", own)):
            body = "a=ice-ufrag:ysXw\r\na=ice-pwd:vw5LmwG4y/e6dPP/zAP9Gp5k\r\n" if method == "PATCH" else None
            assert ask(method, first, headers, body).status == 404, method
        eventually("the first connection is closed", lambda: pages[0].evaluate(DTLS) == "closed", 20)
        assert pages[1].evaluate(DTLS) == "connected" and ask("GET", second, own).status == 204
        counts = nat.shown["Studio"].copy()
        eventually("pictures go on", lambda: sum(nat.shown["Studio"].values()) > sum(counts.values()) + 15)
        assert all(nat.shown["Studio"][track] == counts[track] for track in before) and sees("Cleo")
