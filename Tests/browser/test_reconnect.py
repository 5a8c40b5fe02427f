"""Bad networks: the page comes back by itself, and where it can, nobody notices."""

import json
import time

import pytest
from people import eventually
from playwright.sync_api import Page, expect
from relays import server_behind_relay
from wire import wired

NOTE_EVENTS = """() => {
  window.heard = [];
  window.roost.client.addEventListener("notification", ({ detail: { method } }) => window.heard.push(method));
}"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with server_behind_relay(tmp_path_factory.mktemp("roost")) as server:
        yield server


def test_a_cut_socket_is_resumed_and_nobody_notices(person, server, line, room):
    anna, ben = person("Anna", on=line).join(room), person("Ben").join(room)
    anna.sees("Ben")
    ben.sees("Anna")
    ben.page.evaluate(NOTE_EVENTS)
    identity = "[window.roost.room.selfId, window.roost.client.session.hello.sessionId]"
    before = anna.page.evaluate(identity)
    line.cut()
    expect(anna.page.locator("#banner")).to_have_text("Reconnecting…")
    # What happens meanwhile is told afterwards, once.
    ben.say("are you there?")
    assert anna.frames_in("Ben", 1) > 0, "media does not depend on the socket"
    line.mend()
    expect(anna.page.locator("#banner")).to_be_hidden(timeout=60_000)
    expect(anna.messages).to_have_count(1)
    assert anna.page.evaluate(identity) == before
    anna.say("here I am")
    expect(ben.messages).to_have_count(2)
    expect(anna.messages).to_have_count(2)
    heard = ben.page.evaluate("window.heard")
    assert not {"room.participantLeft", "room.participantJoined", "room.trackPublished"} & set(heard), heard
    anna.sees("Ben")
    ben.sees("Anna")


@pytest.mark.parametrize(("what", "method"), [("room", "room.leave"), ("call", "call.hangup")])
def test_who_leaves_on_a_slow_line_is_not_seen_to_be_lost(what, method, person, room):
    """Their connections stay until the server has heard of it, and what they send ends at once."""
    anna, ben = person("Anna"), person("Ben")
    held = []

    def route(socket):
        onward = socket.connect_to_server()
        socket.on_message(lambda message: held.append((onward, message)) if f'"{method}"' in message else onward.send(message))

    anna.page.route_web_socket("**/rtc", route)
    if what == "room":
        anna.join(room)
        ben.join(room)
    else:
        anna.go_online()
        ben.go_online()
        ben.call("anna")
        anna.answer()
    ben.sees("Anna")
    ben.hears("Anna")
    ben.page.evaluate(NOTE_EVENTS)
    anna.page.locator("#leave").click()
    expect(anna.page.locator("#call")).to_be_hidden()
    ben.page.wait_for_timeout(400)
    assert ben.frames_in("Anna", 0.4) == 0, "she has left"
    assert held
    for onward, message in held:
        onward.send(message)
    eventually("she is gone", lambda: {"room.participantLeft", "call.ended"} & set(ben.page.evaluate("window.heard")))
    heard = ben.page.evaluate("window.heard")
    assert "room.participantReconnecting" not in heard, heard


def test_a_silent_socket_gets_another_beside_it(person, line, room):
    anna, ben = person("Anna", on=line).join(room), person("Ben").join(room)
    anna.sees("Ben")
    ben.page.evaluate(NOTE_EVENTS)
    identity = "[window.roost.room.selfId, window.roost.client.session.hello.sessionId]"
    before = anna.page.evaluate(identity)
    line.hush()
    ben.say("are you there?")
    # The control: that nothing comes is no sign of anything for seconds.
    anna.page.wait_for_timeout(2500)
    expect(anna.messages).to_have_count(0)
    anna.page.evaluate("dispatchEvent(new Event('online')) && null")
    expect(anna.messages).to_have_count(1, timeout=3500)
    assert anna.page.evaluate(identity) == before
    assert "room.participantLeft" not in ben.page.evaluate("window.heard")
    anna.say("here I am")
    expect(ben.messages).to_have_count(2)


def test_a_socket_that_answers_stays(person, line, room):
    anna = wired(person("Anna", on=line)).join(room, audio=0, video=0)
    sockets = anna.page.evaluate("window.wire.sockets.length")
    assert anna.page.evaluate("window.roost.client.session.check()") is True
    assert anna.page.evaluate("window.wire.sockets.length") == sockets


def test_a_request_made_while_the_socket_is_down_takes_effect_once(person, line, room):
    anna, ben = person("Anna", on=line).join(room), person("Ben").join(room)
    expect(anna.tiles).to_have_count(2)
    line.cut()
    expect(anna.page.locator("#banner")).to_be_visible()
    anna.say("written in the dark")
    anna.page.locator("#mic").click()
    line.mend()
    expect(ben.messages).to_have_count(1, timeout=60_000)
    expect(ben.tile("Anna")).to_have_attribute("data-audio", "muted")


def test_after_the_grace_one_comes_back_as_new(person, line, room):
    anna, ben = person("Anna", on=line).join(room), person("Ben").join(room)
    ben.sees("Anna")
    anna.page.locator("#mic").click()
    expect(ben.tile("Anna")).to_have_attribute("data-audio", "muted")
    line.cut()
    expect(ben.tile("Anna").locator(".away")).to_be_visible()
    expect(ben.tile("Anna")).to_have_count(0, timeout=60_000)
    line.mend()
    expect(ben.tile("Anna")).to_have_count(1, timeout=60_000)
    ben.sees("Anna")
    anna.sees("Ben")
    anna.hears("Ben")
    expect(ben.tile("Anna")).to_have_attribute("data-audio", "muted")


def test_a_reloaded_page_is_in_the_room_again_at_once(person, room):
    anna, ben = person("Anna").join(room), person("Ben").join(room)
    ben.sees("Anna")
    anna.page.reload()
    expect(anna.page.locator("#call")).to_be_visible(timeout=60_000)
    expect(ben.tiles).to_have_count(2)
    anna.sees("Ben")
    anna.hears("Ben")
    ben.sees("Anna")


def test_the_server_is_started_again(person, server, room):
    anna, ben = person("Anna").join(room), person("Ben").join(room)
    anna.sees("Ben")
    server.stop()
    expect(anna.page.locator("#banner")).to_have_text("Reconnecting…")
    server.start()
    for one, other in ((anna, ben), (ben, anna)):
        expect(one.page.locator("#banner")).to_be_hidden(timeout=60_000)
        expect(one.tiles).to_have_count(2, timeout=60_000)
        one.sees(other.name)
        one.hears(other.name)


SAY_TWELVE = """async (what) => {
  for (let index = 0; index < 12; index++) await window.roost.room.sendChat(`${what} ${index}`);
}"""


def forget(server):
    server.stop()
    for file in server.configuration.parent.glob("roost.db*"):
        file.unlink()
    server.start()


def test_what_is_said_after_a_restart_is_shown_where_ids_begin_anew(person, server, room):
    forget(server)
    anna, ben = person("Anna").join(room, audio=0, video=0), person("Ben").join(room, audio=0, video=0)
    anna.page.evaluate(SAY_TWELVE, "before")
    expect(ben.messages).to_have_count(12)
    for one in (anna, ben):
        one.page.evaluate("window.roost.client.addEventListener('rejoined', () => (window.isBack = true)) ?? null")
    forget(server)
    for one in (anna, ben):
        eventually(f"{one.name} is back", lambda: one.page.evaluate("window.isBack"))
    anna.page.evaluate(SAY_TWELVE, "after")
    for one in (anna, ben):
        expect(one.messages.locator("p")).to_have_text([f"{when} {index}" for when in ("before", "after") for index in range(12)])
    ids = ben.page.evaluate("window.roost.room.chat.map(({ msgId }) => msgId)")
    assert len(set(ids)) < 24, "some ids came twice"


def test_a_changed_address_goes_unnoticed(person, server, room):
    anna, ben = person("Anna").join(room), person("Ben").join(room)
    anna.sees("Ben")
    ben.sees("Anna")
    carried = server.relay.carried
    server.relay.move()
    time.sleep(1)
    anna.sees("Ben", timeout=60)
    ben.sees("Anna", timeout=60)
    anna.hears("Ben")
    assert server.relay.carried > carried, "media goes through the relay"
    assert anna.page.evaluate("window.roost.room.mediaStates") == {"publish": "connected", "subscribe": "connected"}


def test_a_lost_media_path_is_mended_by_an_ice_restart(person, server, room):
    anna, ben = person("Anna").join(room), person("Ben").join(room)
    anna.sees("Ben")
    ufrag = """async () => [...(await window.roost.room.stats()).publish.values()]
      .filter(({ type }) => type === "transport").map(({ iceLocalUsernameFragment }) => iceLocalUsernameFragment)"""
    before = anna.page.evaluate(ufrag)
    server.relay.deaf = True
    # Sooner than ICE says that anything is wrong, which takes Chromium six seconds.
    eventually("an ICE restart", lambda: anna.page.evaluate(ufrag) != before, 5)
    eventually("the page notices", lambda: anna.page.locator("#banner").is_visible(), 60)
    server.relay.deaf = False
    expect(anna.page.locator("#banner")).to_be_hidden(timeout=60_000)
    anna.sees("Ben")
    ben.sees("Anna")
    anna.hears("Ben")


def test_who_vanishes_is_gone_after_the_grace(person, line, room):
    anna, ben = person("Anna").join(room), person("Ben", on=line).join(room)
    anna.sees("Ben")
    line.cut()
    ben.page.goto("about:blank")
    expect(anna.tile("Ben")).to_have_count(0, timeout=60_000)
    expect(anna.page.locator("#alone")).to_be_visible()


class Tab:
    """A tab as the browser itself sees it: a page that crashed is none for Playwright any more."""

    def __init__(self, person, clock: Page) -> None:
        self.clock = clock
        target = person.context.new_cdp_session(person.page).send("Target.getTargetInfo")["targetInfo"]["targetId"]
        self.browser = person.context.browser.new_browser_cdp_session()
        self.answers: dict[int, dict] = {}
        self.browser.on("Target.receivedMessageFromTarget", self.take)
        self.session = self.browser.send("Target.attachToTarget", {"targetId": target, "flatten": False})["sessionId"]
        self.asked = 0

    def take(self, event: dict) -> None:
        message = json.loads(event["message"])
        if "id" in message:
            self.answers[message["id"]] = message

    def say(self, method: str, **params) -> int:
        self.asked += 1
        message = json.dumps({"id": self.asked, "method": method, "params": params})
        self.browser.send("Target.sendMessageToTarget", {"message": message, "sessionId": self.session})
        return self.asked

    def evaluate(self, script: str):
        asked = self.say("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        for _ in range(100):
            if asked in self.answers:
                return self.answers[asked].get("result", {}).get("result", {}).get("value")
            self.clock.wait_for_timeout(50)
        return None


SEAT = "window.roost?.room ? [window.roost.room.selfId, window.roost.client.user] : null"
MUTED = "document.getElementById('mic').getAttribute('aria-pressed')"


# Nothing is said when the tab crashes, as by a machine that crashes. Chromium says 1001 for a tab that has crashed, which is a leave.
MUTE_SOCKET = """() => {
  window.WebSocket = class { close() {} };
  window.roost.client.session.dropSocket();
}"""


@pytest.mark.parametrize("is_silent", [False, True], ids=["browser-closes", "silent"])
def test_a_tab_that_crashed_has_its_seat_again(is_silent, person, room):
    anna = person("Anna").join(room)
    ben = person("Ben").join(room)
    anna.sees("Ben")
    ben.page.locator("#mic").click()
    expect(ben.page.locator("#mic")).to_have_attribute("aria-pressed", "true")
    seat, user = ben.page.evaluate(SEAT)
    anna.page.evaluate("""() => {
      window.heard = [];
      for (const type of ["participantJoined", "participantLeft"]) window.roost.room.addEventListener(type, () => window.heard.push(type));
    }""")
    # As somebody has it who typed in the names: the address does not say to join.
    ben.page.evaluate("history.replaceState(null, '', '/')")
    tab = Tab(ben, anna.page)
    if is_silent:
        ben.page.evaluate(MUTE_SOCKET)
    # The renderer dies, as where memory runs out: no goodbye of the page, and no pagehide.
    with ben.page.expect_event("crash"):
        tab.say("Page.crash")
    lost = "[...window.roost.room.participants.values()].every(({ displayName, state }) => displayName !== 'Ben' || state === 'reconnecting')"
    eventually("Ben is lost", lambda: anna.page.evaluate(lost))
    began = time.monotonic()
    tab.say("Page.reload")
    # Far sooner than the 15 s of its grace.
    back = eventually("Ben is back", lambda: tab.evaluate(SEAT), timeout=12)
    assert time.monotonic() - began < 12
    assert back[1] == user
    eventually("the microphone is muted", lambda: tab.evaluate(MUTED) == "true")
    anna.sees("Ben")
    if is_silent:
        assert back[0] == seat and anna.page.evaluate("window.heard") == []
    else:
        assert anna.page.evaluate("window.heard") == ["participantLeft", "participantJoined"]
    # Who leaves is not brought back.
    tab.evaluate("document.getElementById('leave').click()")
    expect(anna.tile("Ben")).to_have_count(0)
    assert tab.evaluate("sessionStorage.getItem('roost.seat')") is None


def test_a_duplicated_tab_takes_nobodys_seat(person, room):
    anna = person("Anna").join(room, video=0)
    before = anna.page.evaluate(SEAT)
    kept = eventually("it is remembered", lambda: anna.page.evaluate("sessionStorage.getItem('roost.seat')"))
    copy = anna.page.context.new_page()
    # What a duplicate begins with. Chromium's own command cannot be given from here.
    copy.add_init_script(f"if (!sessionStorage.getItem('copied')) {{ sessionStorage.setItem('copied', 1); sessionStorage.setItem('roost.seat', {json.dumps(kept)}); }}")
    copy.goto(f"{anna.url}/?room={room}&name=Copy")
    expect(copy.locator("#lobby")).to_be_visible()
    expect(copy.locator("#name")).to_have_value("Copy")
    copy.locator("#join").click()
    expect(copy.locator("#call")).to_be_visible()
    assert copy.evaluate(SEAT)[1] != before[1]
    assert anna.page.evaluate(SEAT) == before
    expect(anna.page.locator("#call")).to_be_visible()
    # Each holds its own.
    assert copy.evaluate("navigator.locks.query().then(({ held }) => held.filter(({ name }) => name.startsWith('roost.seat')).length)") == 2
