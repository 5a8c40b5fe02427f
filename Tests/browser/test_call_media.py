"""What is sent in a call: voice alone, video later, asking for it, devices that come and go, and how good it all is."""

import pytest
from calls import invite, talking
from people import Person
from playwright.sync_api import expect
from relays import UDPRelay
from server import Server

# The cameras that one sends, and whether their lights are on.
CAMERAS = """[...window.roost.room.localTracks].filter(({ kind }) => kind === "video")
  .map(({ mediaStreamTrack }) => mediaStreamTrack.readyState)"""


def button(one: Person, name: str):
    return one.page.locator("#call").get_by_role("button", name=name)


def voices(online):
    """Anna and Ben in a voice call."""
    anna, ben = online("Anna", "Ben")
    anna.call("ben", voice=True)
    expect(ben.page.locator("#ring-kind")).to_have_text("Voice call")
    expect(ben.page.locator("#ring-video")).to_be_hidden()
    ben.answer(voice=True)
    expect(anna.page.get_by_role("timer")).to_be_visible()
    return anna, ben


def test_a_voice_answer_with_video_added_later(online):
    anna, ben = online("Anna", "Ben")
    anna.call("ben")
    ben.answer(voice=True)
    anna.hears("Ben")
    ben.sees("Anna")
    expect(anna.tile("Ben")).to_have_attribute("data-video", "none")
    button(ben, "Start video").click()
    anna.sees("Ben")


def test_video_is_asked_for_taken_back_refused_and_granted(online):
    anna, ben = voices(online)
    asks = ben.page.get_by_role("alertdialog")
    ben.page.locator("#chat-toggle").click()
    expect(ben.page.locator("#chat-text")).to_be_focused()
    button(anna, "Ask for video").click()
    expect(asks).to_contain_text("Anna asks to switch on video.")
    expect(anna.page.locator("#toast")).to_have_text("You have asked. The other side can agree now.")
    expect(ben.page.locator("#chat-text")).to_be_focused()  # what is being typed there must not answer
    button(anna, "Stop asking").click()
    expect(asks).to_be_hidden()
    expect(ben.page.locator("#toast")).to_have_text("Anna does not ask any more.")

    ben.page.locator("#chat-close").click()
    button(anna, "Ask for video").click()
    asks.get_by_role("button", name="No").click()
    expect(asks).to_be_hidden()
    expect(anna.page.locator("#toast")).to_have_text("The other side would rather not.")
    assert [one.page.evaluate(CAMERAS) for one in (anna, ben)] == [[], []]

    button(anna, "Ask for video").click()
    asks.get_by_role("button", name="Yes").click()
    anna.sees("Ben")
    ben.sees("Anna")


def test_what_is_asked_is_asked_still_when_both_pages_are_loaded_again(online):
    anna, ben = voices(online)
    button(anna, "Ask for video").click()
    asks = ben.page.get_by_role("alertdialog")
    expect(asks).to_contain_text("Anna asks to switch on video.")
    for one in (anna, ben):
        one.page.reload()
    expect(button(anna, "Stop asking")).to_be_visible()
    expect(asks).to_contain_text("Anna asks to switch on video.")
    button(anna, "Stop asking").click()
    expect(asks).to_be_hidden()

    button(anna, "Ask for video").click()
    asks.get_by_role("button", name="Yes").click()
    expect(asks).to_be_hidden()
    anna.sees("Ben")
    ben.sees("Anna")


def test_nobody_is_asked_any_more_who_has_left(online):
    anna, ben = voices(online)
    button(anna, "Ask for video").click()
    expect(ben.page.get_by_role("alertdialog")).to_be_visible()
    online("Cleo")
    invite(anna, "cleo")
    ben.page.locator("#leave").click()
    expect(button(anna, "Ask for video")).to_be_disabled()
    expect(anna.page.locator("#invited")).to_contain_text("Ringing…")


def test_going_on_without_video_turns_the_cameras_off(online):
    anna, ben = talking(online)
    track = ben.page.evaluate_handle("[...window.roost.room.localTracks].find(({ kind }) => kind === 'video').mediaStreamTrack")
    anna.page.evaluate("window.roost.call.mediaChange('request', 'audio')")
    asks = ben.page.get_by_role("alertdialog")
    expect(asks).to_contain_text("Anna asks to go on without video.")
    asks.get_by_role("button", name="Yes").click()
    for one, other in ((anna, "Ben"), (ben, "Anna")):
        expect(one.tile(other)).to_have_attribute("data-video", "none")
        expect(button(one, "Ask for video")).to_be_enabled()
        assert one.page.evaluate(CAMERAS) == []
    anna.hears("Ben")
    assert track.evaluate("(track) => track.readyState") == "ended"


def test_in_a_group_nobody_else_switches_ones_camera_on(online):
    anna, ben = online("Anna", "Ben")
    anna.call("ben", "nobody", voice=True)
    ben.answer(voice=True)
    expect(anna.tile("Ben")).to_be_visible()
    # Left and joined again, it is the same call: what happens in it must not be heard twice.
    ben.page.locator("#leave").click()
    expect(anna.page.get_by_text("Nobody else is in the call any more.")).to_be_visible()
    expect(button(anna, "Hang up")).to_be_visible()
    ben.page.locator("#running").get_by_role("button", name="Join").click()
    expect(ben.tile("Anna")).to_be_visible()
    button(ben, "Start video").click()
    expect(anna.page.locator("#toast")).to_have_text("Ben switched on video.")
    anna.sees("Ben")
    assert [one.page.evaluate(CAMERAS) for one in (anna, ben)] == [[], ["live"]]
    button(anna, "Start video").click()
    ben.sees("Anna")


# Opening a microphone, or one with a camera, takes until `window.go()`; a camera alone comes at once.
HELD_BACK = """(wanted) => {
  const open = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
  const gate = new Promise((go) => (window.go = go));
  navigator.mediaDevices.getUserMedia = async (asked) => {
    if (wanted.every((kind) => asked[kind])) await gate;
    return open(asked);
  };
}"""


@pytest.mark.parametrize("others", [["nobody"], []], ids=["group", "two"])
def test_video_is_switched_on_while_the_microphone_is_still_being_opened(online, others):
    anna, ben = online("Anna", "Ben")
    ben.page.evaluate(HELD_BACK, ["audio"])
    anna.call("ben", *others, voice=True)
    ben.answer(voice=True)
    expect(button(ben, "Start mic")).to_be_disabled()
    if others:
        button(ben, "Start video").click()
    else:
        expect(anna.page.get_by_role("timer")).to_be_visible()
        button(anna, "Ask for video").click()
        ben.page.get_by_role("alertdialog").get_by_role("button", name="Yes").click()
    anna.sees("Ben")
    assert ben.page.evaluate(CAMERAS) == ["live"]
    expect(button(ben, "Start mic")).to_be_disabled()
    ben.page.evaluate("window.go()")
    anna.hears("Ben")


def test_a_camera_that_still_opens_for_a_call_that_was_left_holds_up_no_other(online):
    anna, ben = online("Anna", "Ben")
    ben.page.evaluate(HELD_BACK, ["audio", "video"])
    anna.call("ben")
    ben.answer()
    ben.page.locator("#leave").click()
    expect(anna.page.locator("#phone-status")).to_have_text("Ben hung up.")
    anna.call("ben", "nobody", voice=True)
    ben.answer(voice=True)
    expect(button(ben, "Mute")).to_be_visible()
    button(ben, "Start video").click()
    anna.sees("Ben")
    ben.page.evaluate("window.go()")
    anna.hears("Ben")


def test_a_screen_that_is_chosen_after_the_call_is_not_shared(online):
    anna, ben = talking(online)
    anna.page.evaluate("""() => {
      const stream = document.createElement("canvas").captureStream(5);
      window.screen_ = stream.getVideoTracks()[0];
      navigator.mediaDevices.getDisplayMedia = () => new Promise((resolve) => (window.choose = () => resolve(stream)));
    }""")
    button(anna, "Share screen").click()
    ben.page.locator("#leave").click()
    expect(anna.page.locator("#phone-status")).to_have_text("Ben hung up.")
    anna.page.evaluate("window.choose()")
    anna.page.wait_for_function("window.screen_.readyState === 'ended'")


@pytest.fixture
def weak(tmp_path):
    """A server behind a path that loses what it is told to."""
    server = Server(tmp_path, advertise="127.0.0.3")
    server.relay = UDPRelay("127.0.0.3", server.media, "127.0.0.1")
    with server:
        yield server
    server.relay.stop()


def test_how_good_the_connection_is_stands_in_plain_words(weak, online):
    anna, _ = talking(online, on=weak)
    quality = anna.page.locator("#quality")
    expect(quality).to_contain_text("connection")
    weak.relay.loses = 5
    expect(quality.locator("summary")).to_have_text("Poor connection")
    quality.locator("summary").click()
    expect(quality.locator("#quality-why")).to_be_visible()
    expect(quality.locator("#quality-numbers")).to_contain_text("There and back")
    weak.relay.loses = 0
    expect(quality).not_to_have_attribute("data-level", "poor")
