"""Players that come by WHEP see and hear the people of a room: pages of Chromium, and aiortc."""

import asyncio
import concurrent.futures
import http.client
import time
import urllib.error
import urllib.request

import pytest
from aiortc import RTCPeerConnection, RTCSessionDescription
from fixtures import LOOKS
from http_sessions import FRAMES, PLAY, RESTART, WATCH
from people import COLOUR, TONE, close, eventually, near
from playwright.sync_api import expect
from test_layers import PUBLISH

pytestmark = pytest.mark.alone

WIDTH = """() => document.querySelector("#player video").videoWidth"""

# Listens to the session's events, and keeps them in `window.heard`.
LISTEN = """async () => {
  const { url } = window.whep;
  const answer = await fetch(`${url}/sse`, { method: "POST" });
  const events = new EventSource(answer.headers.get("location"));
  window.heard = [];
  for (const name of ["active", "inactive", "layers", "viewercount"])
    events.addEventListener(name, ({ data }) => window.heard.push([name, JSON.parse(data)]));
  return answer.status;
}"""

CHOOSE = """async (body) => (await fetch(`${window.whep.url}/layer`, { method: "POST", body: JSON.stringify(body) })).status"""


class Player:
    """A page that plays."""

    def __init__(self, person, server) -> None:
        # Refusals stand in a page's console, so it is none that is looked at for errors; and one without scripts of its own.
        self.page = person.context.new_page()
        self.page.goto(f"{server.url}/style.css")

    def play(self, url: str) -> dict:
        return self.page.evaluate(PLAY, url)

    def plays(self, url: str) -> bool:
        """Comes again while nothing is published."""
        answer = self.play(url)
        assert answer["status"] in (201, 409), answer
        return answer["status"] == 201

    def sees(self, name: str) -> None:
        player = self.page.locator("#player")
        eventually(f"a picture of {name}", lambda: close(player.evaluate(COLOUR), LOOKS[name].colour), 30)

    def hears(self, name: str) -> None:
        player = self.page.locator("#player")
        eventually(f"the tone of {name}", lambda: near(player.evaluate(TONE), LOOKS[name].tone), 30)

    def goes_on(self) -> None:
        before = self.page.evaluate(FRAMES)
        eventually("pictures go on", lambda: self.page.evaluate(FRAMES) > before + 20, 20)

    def heard(self, name: str) -> list:
        return [data for event, data in self.page.evaluate("window.heard") if event == name]


def test_a_page_plays_who_speaks_and_hears_of_it(person, room, server):
    player = Player(person("Dora"), server)
    refused = player.play(f"{server.url}/whep/{room}")
    assert refused["status"] == 409 and int(refused["retry"]) > 0, refused
    anna = person("Anna").join(room)
    eventually("she publishes", lambda: player.plays(f"{server.url}/whep/{room}?name=Player"), every=1)
    player.sees("Anna")
    player.hears("Anna")
    player.goes_on()
    assert player.page.evaluate("window.whep.streams.size") == 1
    # The player has a seat like anybody.
    expect(anna.page.locator("#room-count")).to_have_text("2 of 3")
    assert player.page.evaluate(LISTEN) == 201
    eventually("it is active", lambda: player.heard("active") == [{}])
    eventually("one plays", lambda: player.heard("viewercount") == [{"viewercount": 1}])
    assert player.page.evaluate(CHOOSE, {"rid": "other"}) == 400
    assert player.page.evaluate(CHOOSE, {"rid": "low"}) == 404, "her small picture has no layers"
    anna.page.get_by_role("button", name="Leave").click()
    eventually("it is inactive", lambda: player.heard("inactive") == [{}])
    status = player.page.evaluate("async () => (await fetch(window.whep.url, { method: 'DELETE' })).status")
    assert status == 200


def test_a_player_chooses_among_layers(person, room, server):
    sender = person("Anna").page
    sender.goto(server.url)
    sender.evaluate(PUBLISH, [room, 640, 360, {}])
    player = Player(person("Dora"), server)
    eventually("she publishes", lambda: player.plays(f"{server.url}/whep/{room}/Sender/camera?name=Player"), every=1)
    assert player.page.evaluate(LISTEN) == 201
    layers = eventually("layers", lambda: player.heard("layers"))[-1]["1"]
    assert [layer["rid"] for layer in layers] == ["high", "low"], layers
    eventually("the best layer", lambda: player.page.evaluate(WIDTH) == 640)
    assert player.page.evaluate(CHOOSE, {"mediaId": "1", "rid": "low"}) == 200
    eventually("the low layer", lambda: player.page.evaluate(WIDTH) == 320, 20)
    player.goes_on()
    assert player.page.evaluate(CHOOSE, {}) == 200
    eventually("the best layer again", lambda: player.page.evaluate(WIDTH) == 640, 20)


def test_a_page_plays_one_person_through_a_restart_and_through_their_return(person, room, server):
    anna, ben = (person(name).join(room) for name in ("Anna", "Ben"))
    player = Player(person("Dora"), server)
    eventually("he publishes", lambda: player.plays(f"{server.url}/whep/{room}/Ben?name=Player"), every=1)
    player.sees("Ben")
    player.hears("Ben")
    player.page.locator("#player").evaluate(WATCH)
    assert player.page.evaluate(RESTART, "whep") == '"2"'
    player.goes_on()
    player.goes_on()
    assert player.page.evaluate("window.longest") <= 1_000
    ben.page.reload()
    ben.join(room)
    player.sees("Ben")
    player.goes_on()
    anna.sees("Ben")


def created(request: urllib.request.Request) -> http.client.HTTPResponse:
    """The answer to an offer, which comes again while nothing is published."""
    for _ in range(30):
        try:
            answer = urllib.request.urlopen(request)
        except urllib.error.HTTPError as refusal:
            assert refusal.status == 409, refusal.read()
            time.sleep(1)
        else:
            assert answer.status == 201
            return answer
    raise AssertionError("nothing is published")


async def play(url: str) -> tuple[int, int]:
    """Pictures and pieces of sound that aiortc decodes in five seconds."""
    counts = {"video": 0, "audio": 0}
    connection = RTCPeerConnection()
    tasks = []

    async def take(track):
        while True:
            await track.recv()
            counts[track.kind] += 1

    connection.on("track", lambda track: tasks.append(asyncio.create_task(take(track))))
    for kind in ("audio", "video"):
        connection.addTransceiver(kind, direction="recvonly")
    await connection.setLocalDescription(await connection.createOffer())
    request = urllib.request.Request(
        url, connection.localDescription.sdp.encode(), {"Content-Type": "application/sdp"}, method="POST"
    )
    answer = await asyncio.to_thread(created, request)
    await connection.setRemoteDescription(RTCSessionDescription(sdp=answer.read().decode(), type="answer"))
    await asyncio.sleep(8)
    await connection.close()
    for task in tasks:
        task.cancel()
    return counts["video"], counts["audio"]


@pytest.mark.parametrize("target", ["", "/Anna"])
def test_aiortc_plays(person, room, server, target):
    anna = person("Anna").join(room)
    expect(anna.page.locator("#room-count")).to_have_text("1 of 3")
    # Playwright has an event loop in this thread.
    with concurrent.futures.ThreadPoolExecutor() as threads:
        url = f"{server.url}/whep/{room}{target}?name=Player"
        video, audio = threads.submit(lambda: asyncio.run(play(url))).result()
    assert video >= 50 and audio >= 250, (video, audio)
    # The end of its DTLS association is the end of its seat.
    expect(anna.page.locator("#room-count")).to_have_text("1 of 3", timeout=10_000)
