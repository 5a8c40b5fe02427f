"""Somebody is moved to another room by an operator: their peer connections stay, and pictures of the other room come soon."""

import json
import statistics
import urllib.parse
import urllib.request

import pytest
from people import Person, eventually
from playwright.sync_api import expect
from server import Server

TOKEN = "an operator's long random text"
# Counts the peer connections that a page makes.
COUNT = """window.made = 0;
window.RTCPeerConnection = class extends RTCPeerConnection { constructor(...all) { super(...all); window.made++; } };"""
# From the news that one was moved until the first picture of somebody there is on the screen, in ms.
WAIT = """() => (window.pictures = new Promise((done) => {
  const { room } = window.roost;
  room.addEventListener("switched", () => {
    const begun = performance.now();
    const look = ({ detail: { track } }) => {
      if (track.kind !== "video") return;
      room.removeEventListener("trackStarted", look);
      const video = document.createElement("video");
      [video.muted, video.srcObject] = [true, new MediaStream([track.mediaStreamTrack])];
      video.requestVideoFrameCallback(() => done(performance.now() - begun));
      video.play();
    };
    room.addEventListener("trackStarted", look);
  }, { once: true });
}), true)"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with Server(tmp_path_factory.mktemp("roost"), unknown="group", more=f"admin:\n  token: {TOKEN}\n") as server:
        yield server


def move(server: Server, user: str, room: str, to: str) -> dict:
    query = urllib.parse.urlencode({"room": room, "user": user, "to": to})
    request = urllib.request.Request(
        f"{server.url}/admin/people?{query}", method="PUT", headers={"Authorization": f"Bearer {TOKEN}"}
    )
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def user(one: Person) -> str:
    return one.page.evaluate("window.roost.client.user")


def come(person, name: str, room: str) -> Person:
    one = person(name)
    one.page.add_init_script(COUNT)
    return one.join(room)


def test_who_is_moved_goes_on_in_the_other_room(person, server):
    anna, ben, cleo = come(person, "Anna", "hall"), come(person, "Ben", "hall"), come(person, "Cleo", "yard")
    ben.sees("Anna")
    anna.sees("Ben")
    made = ben.page.evaluate("window.made")
    track = ben.page.evaluate("[...window.roost.room.localTracks].map(({ trackId }) => trackId).sort()")
    anna.say("only in the hall")
    expect(ben.messages).to_have_count(1)
    assert move(server, user(ben), "hall", "yard") == {"moved": 1}
    expect(ben.page.locator("#toast")).to_have_text("You were moved from hall to yard.")
    expect(ben.page.locator("#room-title")).to_have_text("yard")
    expect(ben.messages).to_have_count(0)
    expect(anna.tile("Ben")).to_have_count(0)
    for one, other in ((ben, cleo), (cleo, ben)):
        one.sees(other.name)
        one.hears(other.name)
    assert "room=yard" in ben.page.url
    assert ben.page.evaluate("window.made") == made, "no peer connection was made"
    assert ben.page.evaluate("[...window.roost.room.localTracks].map(({ trackId }) => trackId).sort()") == track
    cleo.say("welcome", to="Ben")
    expect(ben.messages).to_have_count(1)
    # And back, where somebody has stayed.
    move(server, user(ben), "yard", "hall")
    ben.sees("Anna")
    anna.sees("Ben")
    assert ben.page.evaluate("window.made") == made
    # A page that loses its session comes back to the room that it was moved to.
    move(server, user(ben), "hall", "yard")
    ben.sees("Cleo")
    assert ben.page.evaluate("window.roost.room._seat.params.room") == "yard"


def test_the_first_picture_comes_soon(person, server):
    people = [come(person, name, "left" if name != "Cleo" else "right") for name in ("Anna", "Ben", "Cleo")]
    ben = people[1]
    ben.sees("Anna")
    waits = []
    for turn in range(6):
        rooms = ("left", "right") if turn % 2 == 0 else ("right", "left")
        ben.page.evaluate(WAIT)
        move(server, user(ben), *rooms)
        waits.append(ben.page.evaluate("window.pictures"))
        ben.sees("Cleo" if turn % 2 == 0 else "Anna")
    print(f"first picture after a move: median {statistics.median(waits):.0f} ms, all {[round(one) for one in waits]}")
    assert statistics.median(waits) <= 1000, waits


def test_a_room_on_another_worker_is_connected_to_anew(person, tmp_path):
    more = f"admin:\n  token: {TOKEN}\n"
    with Server(tmp_path, unknown="group", more=more, workers=2) as server:
        anna, ben = person("Anna", server), person("Ben", server)
        for one, room in ((anna, "hall"), (ben, "yard")):
            one.page.add_init_script(COUNT)
            one.join(room)
        publishes = (
            "(({ localTracks: own }) => own.size > 1 && [...own].every(({ trackId }) => trackId))(window.roost.room)"
        )
        eventually("Ben publishes", lambda: ben.page.evaluate(publishes))
        made = ben.page.evaluate("window.made")
        assert move(server, user(ben), "yard", "hall") == {"moved": 1}
        ben.sees("Anna")
        anna.sees("Ben")
        anna.hears("Ben")
        assert ben.page.evaluate("window.made") == made + 2, "both were made anew"
