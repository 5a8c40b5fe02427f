"""Apps written for Flashphoner's SDKs join rooms: people who speak their wire (flashphoner.py), and a page of Roost's own."""

import concurrent.futures
import contextlib
import re
import time

import jwt
import pytest
from fixtures import LOOKS
from flashphoner import FlashphonerPerson, stream_of
from flashphoner_page import FlashphonerPage
from http_sessions import ask
from people import close, eventually
from playwright.sync_api import expect
from server import Server
from test_tokens import Wire
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with Server(tmp_path_factory.mktemp("roost"), flashphoner=True, grace="4s") as server:
        yield server


@pytest.fixture
def app(server):
    """Makes people: `app("Ben").connect()`."""
    people = []

    def make(name: str) -> FlashphonerPerson:
        look = LOOKS.get(name)
        people.append(FlashphonerPerson(name, server.flashphoner, *((look.colour, look.tone) if look else ())))
        return people[-1]

    yield make
    for one in people:
        one.close()


def gauge(server: Server, name: str) -> int:
    # Of realms it has the one that is there always.
    text = re.sub(r'\{realm="default"(?:,|\})', lambda found: "{" if found[0].endswith(",") else "", server.metrics())
    found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)
    assert found, f"there is no {name}"
    return int(float(found[1]))


def test_two_apps_and_a_page_see_and_hear_each_other(app, person, room):
    ben, cleo = app("Ben").connect(), app("Cleo").connect()
    assert ben.join(room)["status"] == "ACCEPTED"
    eventually("he is told who is there", lambda: ben.events("STATE") == [[]])
    his = ben.publish()
    eventually("he publishes", lambda: ben.statuses(his) == ["PUBLISHING"])
    anna = person("Anna").join(room)
    assert cleo.join(room)["status"] == "ACCEPTED"
    eventually("both have come", lambda: ben.events("JOINED") == ["Anna", "Cleo"])
    hers = cleo.publish()
    for one, others in ((ben, ("Anna", "Cleo")), (cleo, ("Anna", "Ben"))):
        for other in others:
            stream = stream_of(one, other)
            media = one.play(stream)
            eventually(f"{one.name} plays {other}", lambda: one.statuses(media) == ["PLAYING"])
            eventually(f"{one.name} sees {other}", lambda: one.sees(stream))
            eventually(f"{one.name} hears {other}", lambda: one.hears(stream))
    for name in ("Ben", "Cleo"):
        anna.sees(name)
        anna.hears(name)

    # A fourth is refused, and nobody hears of it.
    dora = app("Dora").connect()
    refused = dora.join(room)
    assert (refused["status"], refused["info"]) == ("FAILED", "Room is full")
    assert ben.events("JOINED") == ["Anna", "Cleo"]

    # Mutes cross.
    ben.mute(his, "audioMuted")
    ben.mute(his, "videoMuted")
    played = cleo.all("notifyStreamStatusEvent")
    media = next(one["mediaSessionId"] for one in played if one["name"] == ben.names[his])
    wanted = [{"mediaSessionId": media, "type": kind} for kind in ("audioMuted", "videoMuted")]
    eventually("Cleo hears of both", lambda: cleo.all("notifyStreamEvent") == wanted)
    anna.page.get_by_role("button", name="Mute").first.click()
    eventually("and of the page's", lambda: len(cleo.all("notifyStreamEvent")) == 3)
    assert cleo.all("notifyStreamEvent")[-1]["type"] == "audioMuted"

    # Chat crosses.
    assert ben.write("hello")["status"] == "ACCEPTED"
    eventually("Cleo reads it", lambda: {"from": "Ben", "text": "hello"} in cleo.events("MESSAGE"))
    assert ben.write("for Cleo", to="Cleo")["status"] == "ACCEPTED"
    eventually("she reads that", lambda: {"from": "Ben", "text": "for Cleo"} in cleo.events("MESSAGE"))
    anna.say("from the page")
    eventually("both read Anna", lambda: all({"from": "Anna", "text": "from the page"} in one.events("MESSAGE") for one in (ben, cleo)))
    expect(anna.page.get_by_text("hello", exact=True)).to_be_visible()
    assert ben.write("nobody", to="Nobody")["status"] == "FAILED"

    # A stream ends for its players, and who leaves is gone.
    stream = ben.names[his]
    ben.stop(his)
    eventually("it is over", lambda: ben.statuses(his)[-1] == "UNPUBLISHED" and cleo.statuses(media)[-1] == "STOPPED")
    eventually("Cleo hears whose it was", lambda: {"login": "Ben", "name": stream} in cleo.events("UNPUBLISHED"))
    assert ben.leave()["status"] == "ACCEPTED"
    eventually("he has left", lambda: cleo.events("LEFT") == ["Ben"])
    expect(anna.page.locator("#room-count")).to_have_text("2 of 3")
    cleo.stop(hers)
    assert dora.join(room)["status"] == "ACCEPTED", "there is a seat again"


def test_one_person_publishes_several_streams(app, room):
    ben, cleo = app("Ben").connect(), app("Cleo").connect()
    ben.join(room)
    names = [ben.names[ben.publish(label)] for label in ("", "desk", "door")]
    cleo.join(room)
    state = eventually("she is told of all", lambda: cleo.events("STATE"))[0]
    assert state == [{"login": "Ben", "name": name} for name in names]
    for name in names:
        cleo.play(name)
    for name in names:
        eventually(f"she sees {name}", lambda: cleo.sees(name) and cleo.hears(name))
    again = cleo.publish(name=names[0])
    assert cleo.all("fail")[-1]["info"] == "Stream name is already in use" and cleo.statuses(again) == ["FAILED"]
    nothing = cleo.play(f"{room}-Nobody-0000")
    assert cleo.all("fail")[-1] == {
        "apiMethod": "StreamStatusEvent", "id": nothing, "mediaSessionId": nothing, "name": f"{room}-Nobody-0000",
        "status": "FAILED", "info": "Stream not found",
    }


def test_who_comes_back_has_the_seat_again(app, room, server):
    ben, cleo = app("Ben").connect(), app("Cleo").connect()
    cleo.join(room)
    ben.join(room)
    name = ben.names[ben.publish()]
    cleo.play(name)
    eventually("she sees him", lambda: cleo.sees(name))
    ben.cut()
    stranger = app("Ben").connect()
    assert stranger.join(room)["status"] == "FAILED", "the login is Ben's until his seat is given up"
    ben.heard.clear()
    ben.connect(auth_token=ben.auth_token)
    assert ben.join(room)["status"] == "ACCEPTED"
    eventually("his stream is over", lambda: {"login": "Ben", "name": name} in cleo.events("UNPUBLISHED"))
    other = ben.names[ben.publish()]
    eventually("she is told of the next", lambda: {"login": "Ben", "name": other} in cleo.events("PUBLISHED"))
    cleo.play(other)
    eventually("she sees him again", lambda: cleo.sees(other))
    assert cleo.events("LEFT") == []


def test_streams_without_a_room(app, server):
    anna, ben = app("Anna").connect("defaultApp"), app("Ben").connect("defaultApp")
    name = "street-camera"
    early = ben.play(name)
    assert ben.statuses(early) == ["FAILED"] and ben.failures() == ["Stream not found"]
    hers = anna.publish(name=name, room=False, record=True)
    eventually("she publishes", lambda: anna.statuses(hers) == ["PUBLISHING"])
    assert "Recording" in anna.failures()[0]
    ben.send("availableStream", mediaSessionId="look", name=name)
    eventually("it is there", lambda: ben.all("availableStream") == [{"id": "look", "status": True}])
    mine = ben.play(name)
    eventually("he sees it", lambda: ben.sees(name) and ben.hears(name))
    second = ben.publish(name=name, room=False)
    assert ben.failures()[-1] == "Stream name is already in use" and ben.statuses(second) == ["FAILED"]
    own = anna.play(name)
    eventually("she sees herself", lambda: anna.sees(name))
    anna.mute(hers, "videoMuted")
    eventually("he hears of it", lambda: ben.all("notifyStreamEvent") == [{"mediaSessionId": mine, "type": "videoMuted"}])
    anna.stop(hers)
    eventually("it is over", lambda: ben.statuses(mine)[-1] == "STOPPED" and anna.statuses(own)[-1] == "STOPPED")
    assert ben.all("notifyStreamStatusEvent")[-1]["info"] == "Stopped by publisher stop"
    eventually("the room is gone", lambda: gauge(server, "roost_rooms") == 0)


def test_what_there_is_not_is_refused_at_once(app, room):
    ben = app("Ben").connect()
    ben.join(room, record=True)
    assert "Recording" in ben.failures()[0]
    for word in ("call", "hangup", "hold", "transfer", "sendDtmf", "snapshot", "submitBugReport", "sessionDebug", "pushLogs"):
        ben.send(word, callId="1", mediaSessionId="2", name="x")
        eventually(f"{word} is refused", lambda: ben.all("fail")[-1].get("apiMethod") == word)
    before = len(ben.all("fail"))
    media = ben.publish(rtmpUrl="rtmp://elsewhere/live")
    assert ben.statuses(media) == ["FAILED"] and len(ben.all("fail")) == before + 1
    stranger = app("Cleo")
    with pytest.raises(ConnectionError):
        stranger.connect("otherApp")
    eventually("it is pinged", lambda: ben.pings > 1, timeout=15)


# What there is of rooms, people and their media, and of the listener. All of it ends with those who came.
LEFT = (
    "roost_rooms", "roost_participants", "roost_tracks", "roost_subscriptions", "roost_sessions", "roost_flashphoner_members",
    "roost_flashphoner_waiting", 'roost_websockets{listener="flashphoner"}', 'roost_connections{listener="flashphoner"}',
    'roost_worker_transports{worker="0"}', 'roost_worker_producers{worker="0"}', 'roost_worker_consumers{worker="0"}',
)
MEMORY = "roost_process_resident_memory_bytes"
# Bytes.
GROWTH = 4 << 20


def left_behind(server: Server) -> dict[str, int]:
    return {name: count for name in LEFT if (count := gauge(server, name))}


def two_guests(server: Server, room: str, number: int) -> None:
    """Two come, publish, see each other, and go: in order, with a streams's end first, by a close, or with a broken socket."""
    guests = [FlashphonerPerson(f"Guest {number + one}", server.flashphoner).connect() for one in range(2)]
    try:
        streams = []
        for guest in guests:
            assert guest.join(room)["status"] == "ACCEPTED"
            streams.append(guest.publish())
        for guest, other, stream in zip(guests, guests[::-1], streams[::-1]):
            name = other.names[stream]
            eventually("the other's stream is told", lambda: name in (one["name"] for one in guest.events("PUBLISHED") + guest.streams()))
            media = guest.play(name)
            eventually(f"{guest.name} sees", lambda: guest.sees(name, 2))
            if number % 4 == 0:
                guest.stop(media)
        if number % 4 == 0:
            for guest, stream in zip(guests, streams):
                guest.stop(stream)
                assert guest.leave()["status"] == "ACCEPTED"
        elif number % 8 == 2:
            for guest in guests:
                guest.cut()
    finally:
        for guest in guests:
            guest.close()


def test_a_hundred_who_come_and_go_leave_nothing_behind(tmp_path, room):
    with Server(tmp_path, flashphoner=True, grace="4s") as server:

        def go(numbers: range) -> int:
            """Ten at a time. The memory that is taken when all are gone."""
            with concurrent.futures.ThreadPoolExecutor(5) as threads:
                list(threads.map(lambda number: two_guests(server, f"{room}-{number}", number), numbers))
            eventually("nothing is left", lambda: not left_behind(server), 30)
            return gauge(server, MEMORY)

        # The control: twenty who stay are seen, each by all that they have, and by their memory.
        before, open_before = gauge(server, MEMORY), gauge(server, "roost_process_open_fds")
        staying = [FlashphonerPerson(f"Guest {number}", server.flashphoner).connect() for number in range(20)]
        for number, guest in enumerate(staying):
            guest.join(f"{room}-{number}")
            guest.publish()
        taken, seen = gauge(server, MEMORY) - before, left_behind(server)
        for guest in staying:
            guest.close()
        assert set(LEFT) - set(seen) == {"roost_subscriptions", "roost_flashphoner_waiting", 'roost_worker_consumers{worker="0"}'}
        assert seen["roost_sessions"] == 20 and seen['roost_worker_producers{worker="0"}'] == 40
        assert taken > GROWTH, f"{taken >> 10} KiB"

        # What is needed for the first time is there after twenty. Eighty more make no difference.
        first = go(range(0, 20, 2))
        growth = go(range(20, 100, 2)) - first
        print(f"twenty who stay: {taken >> 10} KiB; eighty who went: {growth >> 10} KiB")
        assert growth < GROWTH, f"{growth >> 10} KiB"
        eventually("no descriptor is left", lambda: gauge(server, "roost_process_open_fds") <= open_before, 15)


def test_leaving_and_joining_again_is_no_way_round_the_pace_of_messages(app, room):
    ben = app("Ben").connect()
    ben.join(room)
    texts = [f"message {number}" for number in range(25)]
    began = time.monotonic()
    written = ben.write_at_once(texts)
    assert written[:20] == ["ACCEPTED"] * 20 and "FAILED" in written
    ben.leave()
    ben.join(f"{room}-other")
    again = ben.write_at_once(texts)
    # Twenty at once and five a second, however long a busy machine took for it.
    may = 21 + 5 * (time.monotonic() - began)
    assert (written + again).count("ACCEPTED") <= may, "another room is no new beginning"


def test_apps_are_told_that_the_server_stops(tmp_path, room):
    with Server(tmp_path, flashphoner=True) as server:
        ben = FlashphonerPerson("Ben", server.flashphoner).connect()
        ben.join(room)
        ben.join(f"{room}-other")
    eventually("his socket is closed", lambda: ben.close_code == 1001)
    assert ben.failures() == ["The server is stopping: connect again"]
    ben.close()


def test_an_app_in_a_page_is_one_of_the_room(app, person, room, server):
    anna = person("Anna").join(room)
    dora = app("Dora").connect()
    dora.join(room)
    cleo = FlashphonerPage(person("Cleo"), server).join(room)
    eventually("it publishes", lambda: cleo.publishes)
    anna.sees("Cleo")
    anna.hears("Cleo")
    dora.play(cleo.stream)
    eventually("Dora sees the page", lambda: dora.sees(cleo.stream) and dora.hears(cleo.stream))
    name = stream_of(dora, "Anna")
    media = cleo.play(name)
    eventually("it plays Anna", lambda: cleo.status(media) == "PLAYING")
    eventually("it shows Anna", lambda: close(cleo.colour(name), LOOKS["Anna"].colour), 30)
    cleo.leave()
    eventually("it has left", lambda: dora.events("LEFT") == ["Cleo"])


def test_nonsense_is_refused_and_harms_nobody_else(app, room):
    ben = app("Ben").connect()
    ben.join(room)
    cleo = app("Cleo").connect()
    cleo.join(room)
    his = ben.publish()
    mine = cleo.play(ben.names[his])
    eventually("she plays", lambda: cleo.statuses(mine) == ["PLAYING"])
    early = app("Early").open()
    early.send("sendData", operationId="1", payload={"command": "join", "options": {"name": room}})
    eventually("nothing before the connection", lambda: early.failures() == ["Session does not exist"])
    eventually("and none without it", lambda: early.close_code == 1008, timeout=20)
    wrong = app("Wrong").connect()
    for text in ("hello", "[" * 100, '{"message":1}', '{"message":"sendData","data":[{}]}', "x" * 600_000):
        before = len(wrong.failures())
        wrong.send_text(text)
        eventually(f"{text[:20]} is refused", lambda: len(wrong.failures()) == before + 1)
    assert "larger than 524288 bytes" in wrong.failures()[-1]
    stranger = app("Stranger").open()
    for size, is_read in ((65_536, True), (65_537, False)):
        before = len(stranger.failures())
        stranger.send_text("x" * size)
        eventually(f"{size} bytes are refused", lambda: len(stranger.failures()) == before + 1)
        assert ("larger than 65536 bytes" in stranger.failures()[-1]) != is_read
    with contextlib.suppress(ConnectionClosed):
        for _ in range(10):
            wrong.send_text("hello")
    eventually("ten mistakes in a row are enough", lambda: wrong.close_code == 1008)
    flood = app("Flood").connect()

    async def send_many() -> None:
        # In one write, so that a busy machine makes no slow sender of it.
        text = b'{"message":"ping","data":[null]}'
        flood.socket.transport.write((bytes([0x81, 0x80 | len(text), 0, 0, 0, 0]) + text) * 3000)

    flood.run(send_many())
    eventually("a flood is cut off", lambda: flood.close_code == 1008)
    assert any("slow down" in info for info in flood.failures())
    # All the while the others were served.
    before = cleo.frames[ben.names[his], "video"]
    assert ben.write("still here")["status"] == "ACCEPTED"
    eventually("she reads it", lambda: {"from": "Ben", "text": "still here"} in cleo.events("MESSAGE"))
    eventually("and sees him", lambda: cleo.frames[ben.names[his], "video"] > before + 10)
    assert ben.close_code is None and cleo.close_code is None


SECRET = "kept-by-the-tests-of-flashphoner-7c1d"
GRANTS = ["join", "publish:audio", "publish:video", "subscribe", "chat"]


def token(**more) -> str:
    claims = {"sub": "b1", "name": "Benedict", "exp": int(time.time()) + 600, "grants": GRANTS}
    return jwt.encode(claims | more, SECRET, "HS256")


def guarded(folder, more: str = "") -> Server:
    return Server(folder, flashphoner=True, access=f'{{keys: [{{alg: HS256, secret: "{SECRET}"}}]}}', more=more)


def test_tokens_say_who_comes(tmp_path, room):
    with guarded(tmp_path) as server:
        people = [FlashphonerPerson(name, server.flashphoner) for name in ("Ben", "Cleo", "Eve")]
        ben, cleo, eve = people
        for wrong in ({}, {"token": "x"}, {"token": token(exp=1)}):
            with pytest.raises(ConnectionError):
                eve.connect(**wrong)
        ben.connect(token=token())
        cleo.connect(token=token(sub="c1", name="Cleo", grants=["join", "subscribe"]))
        assert ben.join(room)["status"] == "ACCEPTED" and cleo.join(room)["status"] == "ACCEPTED"
        eventually("she sees his name", lambda: cleo.events("STATE") == [["Benedict"]])
        media = cleo.publish()
        assert cleo.statuses(media) == ["FAILED"] and cleo.failures() == ["Restricted access"]
        refused = cleo.write("hello")
        assert (refused["status"], refused["info"]) == ("FAILED", "Restricted access")
        # The same user again takes the seat over.
        eve.connect(token=token())
        assert eve.join(room)["status"] == "ACCEPTED"
        eventually("he is out", lambda: any("no longer in the room" in info for info in ben.failures()))
        for one in people:
            one.close()


def test_a_token_that_is_taken_back_ends_its_client(tmp_path, room):
    operators = "kept-by-the-operators-of-the-tests"
    with guarded(tmp_path, f"admin:\n  token: {operators}\n") as server:
        ben, cleo = (FlashphonerPerson(name, server.flashphoner) for name in ("Ben", "Cleo"))
        ben.connect(token=token(jti="b-1"))
        cleo.connect(token=token(sub="c1", name="Cleo", jti="c-1"))
        assert ben.join(room)["status"] == "ACCEPTED" and cleo.join(room)["status"] == "ACCEPTED"
        his = ben.publish()
        mine = cleo.play(stream_of(cleo, "Benedict"))
        eventually("she plays", lambda: cleo.statuses(mine) == ["PLAYING"])
        taken = ask("PUT", f"{server.url}/admin/revoked?jti=b-1", {"Authorization": f"Bearer {operators}"})
        assert (taken.status, taken.body) == (200, '{"removed":1}\n')
        eventually("his stream ends", lambda: ben.statuses(his) == ["PUBLISHING", "FAILED"])
        assert ben.all("notifyStreamStatusEvent")[-1]["info"] == "Restricted access"
        eventually("and cut off", lambda: ben.close_code == 1008)
        eventually("she sees him go", lambda: cleo.events("LEFT") == ["Benedict"])
        with pytest.raises(ConnectionError):
            ben.connect(token=token(jti="b-1"))
        assert cleo.close_code is None and cleo.write("still here")["status"] == "ACCEPTED"
        for one in (ben, cleo):
            one.close()


def test_who_knocks_waits_and_comes_in_when_they_are_let_in(tmp_path, room):
    with guarded(tmp_path) as server, connect(server.rtc) as socket:
        host, ben = Wire(socket), FlashphonerPerson("Ben", server.flashphoner).connect(token=token())
        host.request("session.hello", user="h1", token=token(sub="h1", name="Host", grants=["join", "moderate"]))
        host.request("room.join", room=room)
        host.request("room.moderate", room=room, action="lobby")
        for _ in range(2):
            assert ben.join(room)["status"] == "FAILED"
        host.request("ping")
        knocks = [event["params"] for event in host.events if event["method"] == "room.knock"]
        assert [(knock["user"], knock.get("gone")) for knock in knocks] == [("b1", None)], "one knock, and it stands"
        host.request("room.moderate", room=room, action="admit", user="b1")
        assert ben.join(room)["status"] == "ACCEPTED"
        ben.close()
