"""How good lines are: what the server finds, what the page says of it, and what one can do."""

import pytest
from people import eventually
from playwright.sync_api import expect
from relays import server_behind_relay

pytestmark = pytest.mark.alone


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with server_behind_relay(tmp_path_factory.mktemp("roost")) as server:
        yield server


TOLD = """() => {
  window.told = [];
  window.roost.room.addEventListener("quality", ({ detail: { people, own } }) => window.told.push({ people: people.map(({ displayName }) => displayName), own }));
}"""


def test_loss_is_told_and_shown_until_it_is_over(person, server, room):
    anna, ben = person("Anna").join(room), person("Ben").join(room)
    anna.sees("Ben")
    ben.sees("Anna")
    anna.page.evaluate(TOLD)
    # The control: on a good line nothing is said.
    anna.page.wait_for_timeout(6000)
    assert anna.page.evaluate("window.told") == []
    assert not anna.tile("Ben").get_attribute("data-weak")
    server.relay.loses = 4
    expect(anna.tile("Ben")).to_have_attribute("data-weak", "poor", timeout=30_000)
    expect(anna.tile("Ben").locator(".away")).to_have_text("Part of what they send gets lost on their line.")
    eventually("her own way too", lambda: anna.page.evaluate("window.roost.room.own?.level") == "poor", 30)
    own = anna.page.evaluate("window.roost.room.own")
    assert own["reason"] == "loss" and own["tracks"] and any(track["loss"] > 0.1 for track in own["tracks"]), own
    expect(anna.page.locator("#quality")).to_have_attribute("data-level", "poor")
    expect(anna.page.locator("#quality-why")).to_contain_text("lost")
    server.relay.loses = 0
    expect(anna.tile("Ben")).to_have_attribute("data-weak", "", timeout=60_000)
    eventually("all is well", lambda: anna.page.evaluate("window.roost.room.own.level") == "good", 60)


def test_one_can_ask_for_less(person, room):
    anna, ben, cleo = person("Anna").join(room), person("Ben").join(room), person("Cleo").join(room)
    for one in (anna, cleo):
        one.sees("Ben")
    choose = lambda what: anna.page.locator("#receive").select_option(what, force=True)  # noqa: E731
    choose("sound")
    eventually("pictures stop", lambda: anna.frames_in("Ben", 1) == 0, 60)
    anna.hears("Ben")
    assert cleo.frames_in("Ben", 1) > 0, "others notice nothing"
    choose("all")
    eventually("pictures go on", lambda: anna.frames_in("Ben", 1) > 0, 60)


def test_a_network_that_lets_nothing_through_is_said_for_as_long_as_it_lasts(person, server, room):
    server.relay.deaf = True
    anna = person("Anna").join(room)
    expect(anna.page.locator("#banner")).to_contain_text("cannot reach the server", timeout=90_000)
    anna.page.wait_for_timeout(8000)
    expect(anna.page.locator("#banner")).to_contain_text("cannot reach the server")
    server.relay.deaf = False
    expect(anna.page.locator("#banner")).to_be_hidden(timeout=90_000)
