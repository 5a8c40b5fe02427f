"""One room for people of all doors: pages, an encoder by WHIP, a player by WHEP, an app for Flashphoner's SDKs."""

import json
import urllib.error
import urllib.request

import pytest
from flashphoner import FlashphonerPerson, stream_of
from http_sessions import PUBLISH
from native import NativePerson
from people import COLOUR, close, eventually
from playwright.sync_api import expect
from server import Server
from test_whep import Player

TOKEN = "token-of-the-doors"
PURPLE = (120, 30, 120)

# Whether somebody's tracks are muted, by kind.
MUTED = """(name) => {
  const person = [...window.roost.room.participants.values()].find(({ displayName }) => displayName === name);
  return Object.fromEntries([...person.tracks.values()].map(({ kind, muted }) => [kind, muted]));
}"""

# An offer of one that only comes to be refused.
OFFER = """async (direction) => {
  const pc = new RTCPeerConnection();
  for (const kind of ["audio", "video"]) pc.addTransceiver(kind, { direction });
  const { sdp } = await pc.createOffer();
  pc.close();
  return sdp;
}"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Its rooms have five seats."""
    server = Server(tmp_path_factory.mktemp("roost"), flashphoner=True, unknown="five", more=f"admin:\n  token: {TOKEN}\n")
    server.configuration.write_text(server.configuration.read_text().replace("rooms:\n", "  five:\n    limits: 5\nrooms:\n", 1))
    with server:
        yield server


def doors(server: Server, room: str) -> dict[str, str]:
    """By which door each came, as operators see it."""
    request = urllib.request.Request(f"{server.url}/admin/rooms", headers={"Authorization": f"Bearer {TOKEN}"})
    rooms = json.load(urllib.request.urlopen(request))["rooms"]
    people = next(one["participants"] for one in rooms if one["room"] == room)
    return {person["displayName"]: person["door"] for person in people}


def refusal(url: str, sdp: str) -> str:
    """The word for what an offer is refused with."""
    request = urllib.request.Request(url, sdp.encode(), {"Content-Type": "application/sdp"}, method="POST")
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request)
    return json.load(refused.value)["code"]


def test_a_room_of_all_doors(person, room, server):
    anna, cleo = (person(name).join(room) for name in ("Anna", "Cleo"))
    studio = person("Ben").page
    studio.goto(server.url)
    studio.evaluate(PUBLISH, f"{server.url}/whip/{room}?name=Studio")
    flora = FlashphonerPerson("Flora", server.flashphoner, PURPLE, 1200).connect()
    assert flora.join(room)["status"] == "ACCEPTED"
    hers = flora.publish()
    wall = Player(person("Dora"), server)
    eventually("she publishes", lambda: wall.plays(f"{server.url}/whep/{room}/Flora?name=Wall"), every=1)
    try:
        everybody = {"Anna": "native", "Cleo": "native", "Studio": "whip", "Flora": "flashphoner", "Wall": "whep"}
        assert doors(server, room) == everybody

        # Names and tracks.
        for name in ("Cleo", "Studio", "Flora", "Wall"):
            expect(anna.tile(name)).to_be_visible()
        for name in ("Studio", "Flora"):
            anna.sees_anything(name)
        eventually("the player sees the app", lambda: close(wall.page.locator("#player").evaluate(COLOUR), PURPLE), 30)
        state = flora.events("STATE")[0]
        logins = {one if isinstance(one, str) else one["login"] for one in state} | set(flora.events("JOINED"))
        eventually("the app is told of the player", lambda: "Wall" in flora.events("JOINED"))
        assert logins | {"Wall"} == set(everybody) - {"Flora"}
        played = {}
        for name in ("Anna", "Cleo", "Studio"):
            stream = stream_of(flora, name)
            played[name] = flora.play(stream)
            eventually(f"the app sees and hears {name}", lambda: flora.sees(stream) and flora.hears(stream))

        # Mutes.
        flora.mute(hers, "videoMuted")
        eventually("the page is told", lambda: anna.page.evaluate(MUTED, "Flora") == {"audio": False, "video": True})
        anna.page.get_by_role("button", name="Mute").first.click()
        told = {"mediaSessionId": played["Anna"], "type": "audioMuted"}
        eventually("the app is told", lambda: told in flora.all("notifyStreamEvent"))

        # Chat.
        cleo.say("from a page")
        eventually("the app reads it", lambda: {"from": "Cleo", "text": "from a page"} in flora.events("MESSAGE"))
        assert flora.write("from an app")["status"] == "ACCEPTED"
        expect(anna.page.get_by_text("from an app", exact=True)).to_be_visible()

        # A sixth is refused at each door.
        nat = NativePerson("Nat", server.rtc, PURPLE, 800)
        with pytest.raises(RuntimeError, match="ROOM_FULL"):
            nat.join(room)
        nat.close()
        sdp = {way: anna.page.evaluate(OFFER, way) for way in ("sendonly", "recvonly")}
        assert refusal(f"{server.url}/whip/{room}", sdp["sendonly"]) == "ROOM_FULL"
        assert refusal(f"{server.url}/whep/{room}", sdp["recvonly"]) == "ROOM_FULL"
        ed = FlashphonerPerson("Ed", server.flashphoner).connect()
        assert ed.join(room)["info"] == "Room is full"
        ed.close()
        assert doors(server, room) == everybody
    finally:
        flora.close()
