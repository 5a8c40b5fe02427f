"""Who speaks in a room with one place keeps it while the page is loaded anew, on an open server too."""

import pytest
from playwright.sync_api import expect
from server import Server


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Rooms of any name have one place to publish."""
    with Server(tmp_path_factory.mktemp("roost"), unknown="broadcast", grace="8s") as server:
        yield server


PUBLISH = """async () => {
  const [track] = (await navigator.mediaDevices.getUserMedia({ audio: true })).getAudioTracks();
  return window.roost.room.publish(track).then(() => "published", ({ code, data }) => `${code} ${data.reason}`).finally(() => track.stop());
}"""


def may_not_speak(one) -> None:
    assert one.page.evaluate(PUBLISH) == "1005 publishers"


def test_nobody_takes_it_meanwhile(person, room):
    anna = person("Anna").join(room, video=0)
    ben = person("Ben").join(room, video=0, audio=0)
    ben.hears("Anna")
    may_not_speak(ben)
    ben.page.locator("#mic").click()
    expect(ben.page.locator("#toast")).to_have_text("Nobody else may speak here now.")
    expect(anna.tile("Ben")).to_have_attribute("data-audio", "none")
    # The page is gone, and not there again yet.
    anna.page.goto("about:blank")
    expect(ben.tile("Anna")).to_have_count(0)
    may_not_speak(ben)
    anna.join(room, video=0)
    ben.hears("Anna")
    may_not_speak(ben)
    # On purpose it is given up.
    anna.leave()
    expect(ben.tile("Anna")).to_have_count(0)
    ben.page.locator("#mic").click()
    anna.join(room, video=0, audio=0)
    anna.hears("Ben")
    may_not_speak(anna)


def test_it_waits_no_longer_than_the_grace(person, room):
    anna = person("Anna").join(room, video=0)
    ben = person("Ben").join(room, video=0, audio=0)
    ben.hears("Anna")
    anna.page.goto("about:blank")
    expect(ben.tile("Anna")).to_have_count(0)
    may_not_speak(ben)
    ben.page.wait_for_timeout(8_500)
    ben.page.locator("#mic").click()
    cleo = person("Cleo").join(room, video=0, audio=0)
    cleo.hears("Ben")
