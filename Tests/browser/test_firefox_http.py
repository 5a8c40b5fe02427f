"""Firefox publishes by WHIP and plays by WHEP: plain pages, with the lines that those of Chromium have."""

import pytest
from firefox import TONE
from fixtures import LOOKS
from http_sessions import FRAMES, PLAY, PUBLISH, RESTART, WATCH
from people import close, eventually, near
from playwright.sync_api import expect

pytestmark = pytest.mark.alone

END = "async (session) => (await fetch(window[session].url, { method: 'DELETE' })).status"


def test_firefox_publishes_and_restarts_ice(fox, person, room, server):
    ben = person("Ben").join(room)
    # A page of the server without scripts of its own.
    fox.visit("/style.css")
    fox.evaluate(PUBLISH, f"{server.url}/whip/{room}?name=Studio")
    expect(ben.tile("Studio")).to_be_visible()
    eventually("pictures come", lambda: ben.frames_in("Studio", 1) >= 10)
    eventually("its tone is heard", lambda: near(ben.tone("Studio"), TONE), 20)
    ben.tile("Studio").evaluate(WATCH)
    assert fox.evaluate(RESTART, "whip") == '"2"'
    assert ben.frames_in("Studio", 3) >= 30
    assert 0 < ben.page.evaluate("window.longest") <= 1_000
    assert fox.evaluate(END, "whip") == 200
    expect(ben.tile("Studio")).to_have_count(0, timeout=5_000)


def test_firefox_plays_and_restarts_ice(fox, person, room, server):
    fox.visit("/style.css")
    url = f"{server.url}/whep/{room}/Ben?name=Player"
    assert fox.evaluate(PLAY, url)["status"] == 409, "nobody publishes"
    ben = person("Ben").join(room)
    eventually("Ben publishes", lambda: fox.evaluate(PLAY, url)["status"] == 201, every=1)
    fox.evaluate("() => { document.getElementById('player').dataset.name = 'Ben'; }")
    eventually("Firefox sees Ben's colour", lambda: close(fox.colour("Ben"), LOOKS["Ben"].colour), 30)
    eventually("Firefox hears Ben's tone", lambda: near(fox.tone("Ben"), LOOKS["Ben"].tone), 20)
    fox.evaluate(f"() => ({WATCH})(document.getElementById('player'))")
    assert fox.evaluate(RESTART, "whep") == '"2"'
    before = fox.evaluate(FRAMES)
    ben.page.wait_for_timeout(3_000)
    assert fox.evaluate(FRAMES) - before >= 30
    assert 0 < fox.evaluate("() => window.longest") <= 1_000
    expect(ben.page.locator("#room-count")).to_have_text("2 of 3")
    assert fox.evaluate(END, "whep") == 200
    expect(ben.page.locator("#room-count")).to_have_text("1 of 3")
