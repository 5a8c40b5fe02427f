"""The same room from other WebRTC stacks, and the odd offers that clients make."""

import pytest
from firefox import TONE, FirefoxPerson
from fixtures import LOOKS
from native import NativePerson
from people import close, eventually, near


@pytest.fixture
def firefox(server, tmp_path):
    person = FirefoxPerson("Fox", server.url, tmp_path)
    yield person
    person.close()


@pytest.fixture
def native(server):
    person = NativePerson("Nat", server.rtc, (180, 60, 170), 800)
    yield person
    person.close()


@pytest.mark.parametrize("first", ["Firefox", "Chromium"])
def test_firefox_and_chromium_see_and_hear_each_other(firefox, person, room, first):
    if first == "Firefox":
        firefox.join(room)
    anna = person("Anna").join(room)
    if first == "Chromium":
        firefox.join(room)
    firefox.sees_and_hears("Anna")
    anna.sees("Fox")
    anna.hears("Fox")
    eventually("Anna sees the colour that Fox shows", lambda: close(anna.colour("Fox"), firefox.colour("Fox") or (-99,) * 3))
    eventually("Anna hears Fox's tone", lambda: near(anna.tone("Fox"), TONE), 15)


@pytest.mark.parametrize("first", ["aiortc", "Chromium"])
def test_aiortc_and_chromium_see_and_hear_each_other(native, person, room, first):
    if first == "aiortc":
        native.join(room)
    anna = person("Anna").join(room)
    if first == "Chromium":
        native.join(room)
    anna.sees("Nat")
    anna.hears("Nat")
    eventually("Anna sees Nat's colour", lambda: close(anna.colour("Nat"), native.colour), 10)
    eventually("Anna hears Nat's tone", lambda: near(anna.tone("Nat"), native.tone), 10)
    before = eventually("aiortc decodes Anna", lambda: native.frames["Anna"])
    eventually("aiortc goes on decoding Anna", lambda: native.frames["Anna"] > before + 5)
    eventually("aiortc sees Anna's colour", lambda: close(native.colours.get("Anna"), LOOKS["Anna"].colour), 10)
    eventually("aiortc hears Anna's tone", lambda: near(native.tones.get("Anna"), LOOKS["Anna"].tone), 10)


def test_three_stacks_in_one_room(firefox, native, person, room):
    native.join(room)
    firefox.join(room)
    anna = person("Anna").join(room)
    for other in ("Nat", "Fox"):
        anna.sees(other)
        anna.hears(other)
    firefox.sees_and_hears("Anna")
    eventually("aiortc decodes Firefox", lambda: native.frames["Fox"] > 5)
    eventually("Firefox decodes aiortc", lambda: close(firefox.colour("Nat"), native.colour))


@pytest.mark.parametrize("policy", ["max-compat", "balanced", "max-bundle"])
def test_bundle_policies(person, room, policy):
    anna, ben = person("Anna").join(room, bundlePolicy=policy), person("Ben").join(room)
    ben.sees("Anna")
    ben.hears("Anna")
    anna.sees("Ben")
    anna.hears("Ben")


def test_offers_go_out_before_any_candidate_was_gathered(person, room):
    anna = person("Anna")
    anna.page.add_init_script("""const send = WebSocket.prototype.send;
      window.sent = [];
      WebSocket.prototype.send = function (text) { window.sent.push(JSON.parse(text)); return send.call(this, text); };""")
    anna.join(room)
    ben = person("Ben").join(room)
    ben.sees("Anna")
    anna.sees("Ben")
    offers = [m["params"]["sdp"] for m in anna.page.evaluate("window.sent") if m["method"] == "pc.offer"]
    assert offers and "a=candidate" not in offers[0]
