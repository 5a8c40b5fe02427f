"""Bad networks: the page comes back by itself, and where it can, nobody notices."""

import time

import pytest
from people import eventually
from playwright.sync_api import expect
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
