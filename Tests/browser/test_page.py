"""The page by itself: keyboard, small screens, plain words, hostile names, missing devices."""

import json
import re

import pytest
from people import eventually
from playwright.sync_api import expect

# docs/protocol.md, errors.
CODES = [
    -32700, -32600, -32601, -32602, 1003, 1004, 1005, 1006, 1007, 1008, 1009, 1010, 1011, 1012, 2001, 2002, 2003, 2004, 2005, 2006,
    2007, 2008, 2009, 3001, 3002, 3003, 3004, 3005, 3006, 3007, 3008, 3011, 3012, 3013, 3014, 3015, 3016, 4001, 4002, 4003, 4004,
    4005, 4006, 4007, 5000, 5001, 5002,
]  # fmt: skip

# docs/protocol.md, reasons.
REASONS = [
    "hangup", "rejected", "busy", "no_answer", "cancelled", "answered_elsewhere", "answered_by_other", "rejected_elsewhere",
    "rejected_by_other", "unreachable", "connect_failed", "disconnected", "stopped", "removed", "replaced", "switched_call",
    "caller_lost", "network_changed", "background", "call_ended",
]  # fmt: skip

REFUSE_DEVICES = """const open = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
navigator.mediaDevices.getUserMedia = async (wanted) => {
  if (window.allowed) return open(wanted);
  throw new DOMException("no", %s);
};"""


def test_joining_and_leaving_by_keyboard_alone(person, room):
    anna = person("Anna")
    anna.page.goto(anna.url)
    expect(anna.page.locator("#name")).to_be_focused()
    anna.page.keyboard.type("Anna")
    anna.press("Tab")
    expect(anna.page.locator("#room")).to_be_focused()
    anna.press("Control+a")
    anna.page.keyboard.type(room)
    for field in ("microphone", "camera", "audio-only", "join"):
        anna.press("Tab")
        expect(anna.page.locator(f"#{field}")).to_be_focused()
    anna.press("Enter")
    expect(anna.page.locator("#call")).to_be_visible()
    expect(anna.tile("Anna")).to_have_attribute("data-video", "on", timeout=60_000)
    anna.press("m")
    expect(anna.tile("Anna")).to_have_attribute("data-audio", "muted")
    expect(anna.page.locator("#announce")).to_have_text("Microphone off.")
    anna.press("m")
    expect(anna.tile("Anna")).to_have_attribute("data-audio", "on")
    anna.press("v")
    expect(anna.tile("Anna")).to_have_attribute("data-video", "muted")
    anna.press("c")
    expect(anna.page.locator("#chat")).to_be_hidden()
    anna.press("c")
    expect(anna.page.locator("#chat-text")).to_be_focused()
    anna.page.keyboard.type("my very cosy message")
    anna.press("Enter")
    expect(anna.messages).to_have_count(1)
    expect(anna.tile("Anna")).to_have_attribute("data-audio", "on"), "letters of a message are no shortcuts"
    anna.press("Escape")
    expect(anna.page.locator("#chat")).to_be_hidden()
    expect(anna.page.locator("#chat-toggle")).to_be_focused()
    for button in ("settings", "leave"):
        anna.press("Tab")
        expect(anna.page.locator(f"#{button}")).to_be_focused()
    anna.press("Enter")
    expect(anna.page.locator("#lobby")).to_be_visible()


@pytest.mark.parametrize("width", [320, 390])
def test_phone_sized_screens(person, room, width):
    size = {"width": width, "height": 640}
    anna = person("Anna", viewport=size, has_touch=True, is_mobile=True, device_scale_factor=2).open(room)
    fits = "document.scrollingElement.scrollWidth <= innerWidth && document.body.scrollWidth <= innerWidth"
    assert anna.page.evaluate(fits)
    anna.page.locator("#join").click()
    ben = person("Ben").join(room)
    anna.sees("Ben")
    assert anna.page.evaluate(fits)
    assert anna.page.evaluate("document.scrollingElement.scrollHeight <= innerHeight")
    for button in anna.page.locator(".tools button:visible").all():
        box = button.bounding_box()
        assert 0 <= box["x"] and box["x"] + box["width"] <= width and box["height"] >= 44, box
    expect(anna.page.locator("#chat")).to_be_hidden()
    ben.say("hello phone")
    expect(anna.page.locator("#unread")).to_have_text("1")
    anna.page.locator("#chat-toggle").click()
    assert anna.page.locator("#chat").bounding_box() == {"x": 0, "y": 0, **size}
    expect(anna.page.locator("#unread")).to_be_hidden()
    anna.page.locator("#chat-close").click()
    expect(anna.page.locator("#grid")).to_be_visible()


def test_every_refusal_has_a_sentence(person):
    anna = person("Anna").open("demo")
    sentences = anna.page.evaluate(
        """async (codes) => {
          const { RoostError } = await import("/roost.js");
          const sentence = (code, words) => new RoostError(code, words, { limit: 3, count: 3 }).message;
          return [...codes.map((code) => sentence(code, "server text")), sentence(1011, "")];
        }""",
        CODES,
    )
    assert len(set(sentences)) == len(CODES)  # the last is that of 1005
    for code, sentence in zip([*CODES, 1011], sentences):
        # What an application says is for the people whom it is told of.
        if sentence == "server text" and code == 1011:
            continue
        assert re.fullmatch(r"[A-Z].*[.]", sentence) and "server text" not in sentence, (code, sentence)
    assert sentences[CODES.index(1011)] == "server text"


def test_every_reason_has_a_sentence_for_both_sides(person):
    anna = person("Anna").open("demo")
    sentences = anna.page.evaluate(
        """async (reasons) => {
          const { reasonSentence } = await import("/roost.js");
          return reasons.flatMap((reason) => [false, true].map((outgoing) => reasonSentence(reason, { who: "Ben", outgoing })));
        }""",
        REASONS,
    )
    for sentence in sentences:
        assert re.fullmatch(r"[A-Z].*[.]", sentence) and "_" not in sentence, sentence
    assert sentences.count("The call is over.") == 2, "none but call_ended falls back to the general one"


def test_quality_in_words(person):
    anna = person("Anna").open("demo")
    judge = "async (facts) => (await import('/roost.js')).judgeQuality(facts)"
    for level, seen in [
        ("good", {}), ("fair", {"lossIn": 0.03}), ("poor", {"lossOut": 0.2}), ("fair", {"rttMs": 400}),
        ("poor", {"frozen": 0.5}), ("poor", {"connected": False}),
    ]:  # fmt: skip
        facts = {"connected": True, "lossIn": 0, "lossOut": 0, "rttMs": 20, "frozen": 0, **seen}
        judged = anna.page.evaluate(judge, facts)
        assert judged["level"] == level and bool(judged["why"]) == (level != "good"), judged


def test_a_name_that_is_taken(person, room):
    anna = person("Anna").join(room)
    ben = person("Ben").open(room)
    ben.page.locator("#name").fill("Anna")
    ben.page.locator("#join").click()
    expect(ben.page.locator("#join-error")).to_contain_text("already has that name")
    expect(anna.tiles).to_have_count(1)
    ben.page.locator("#name").fill("Ben")
    ben.page.locator("#join").click()
    expect(ben.page.locator("#call")).to_be_visible()
    expect(anna.tiles).to_have_count(2)


def test_the_invite_link_leads_into_the_room(person, room):
    anna = person("Anna", permissions=["clipboard-read", "clipboard-write"]).join(room)
    anna.page.locator("#invite").click()
    expect(anna.page.locator("#toast")).to_contain_text("copied")
    link = anna.page.evaluate("navigator.clipboard.readText()")
    ben = person("Ben")
    ben.page.goto(link)
    expect(ben.page.locator("#room")).to_have_value(room)
    ben.page.goto(f"{ben.url}/#room=other")
    ben.page.reload()
    expect(ben.page.locator("#room")).to_have_value("other")


def test_names_and_messages_are_never_markup(person, room):
    evil = '<img src=x onerror="window.owned=1">'
    anna, ben = person("Anna").open(room), person("Ben").join(room)
    anna.page.locator("#name").fill(evil)
    anna.page.locator("#join").click()
    expect(anna.page.locator("#call")).to_be_visible()
    expect(ben.page.locator("#chat-to option")).to_have_count(2)
    anna.say(evil)
    expect(ben.messages.locator("p")).to_have_text(evil)
    assert evil in ben.page.locator("#grid").inner_text()
    assert ben.page.evaluate("[document.querySelectorAll('img[src=x]').length, window.owned ?? 0]") == [0, 0]


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        ("NotAllowedError", "not allowed to use the camera or microphone"),
        ("NotFoundError", "No camera or microphone was found"),
        ("NotReadableError", "used by another program"),
    ],
)
def test_without_devices_one_can_listen(person, room, error, sentence):
    ben = person("Ben").join(room)
    anna = person("Anna")
    anna.page.add_init_script(REFUSE_DEVICES % json.dumps(error))
    anna.join(room)
    expect(anna.page.locator("#toast")).to_contain_text(sentence)
    anna.sees("Ben")
    anna.hears("Ben")
    expect(ben.tile("Anna")).to_have_attribute("data-video", "none")


def test_audio_only(person, room):
    anna = person("Anna").open(room)
    anna.page.locator("#audio-only").check()
    anna.page.locator("#join").click()
    ben = person("Ben").join(room)
    ben.hears("Anna")
    expect(ben.tile("Anna")).to_have_attribute("data-video", "none")
    anna.page.get_by_role("button", name="Start video").click()
    ben.sees("Anna")


def test_audio_only_counts_while_the_preview_still_opens(person, room):
    anna = person("Anna")
    anna.page.add_init_script("""const open = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
      const gate = new Promise((go) => (window.go = go));
      window.asked = [];
      navigator.mediaDevices.getUserMedia = async (wanted) => {
        window.asked.push(Boolean(wanted.video));
        await gate;
        return open(wanted);
      };""")
    anna.open(room)
    eventually("the preview opens a camera", lambda: anna.page.evaluate("window.asked[0]"))
    anna.page.locator("#audio-only").check()
    anna.page.evaluate("window.go()")
    ben = person("Ben").join(room)
    anna.page.locator("#join").click()
    ben.hears("Anna")
    expect(ben.tile("Anna")).to_have_attribute("data-video", "none")
    assert anna.page.evaluate("window.asked") == [True, False]


def test_a_browser_that_holds_back_the_sound(person, room):
    anna, ben = person("Anna"), person("Ben").join(room)
    anna.page.add_init_script("""const play = HTMLMediaElement.prototype.play;
      HTMLMediaElement.prototype.play = function () {
        if (this.tagName === "AUDIO" && !window.touched) return Promise.reject(new DOMException("no", "NotAllowedError"));
        return play.call(this);
      };""")
    anna.join(room)
    expect(anna.page.locator("#banner")).to_contain_text("holding back the sound", timeout=60_000)
    anna.page.evaluate("window.touched = true")
    anna.page.locator("#banner-action").click()
    expect(anna.page.locator("#banner")).to_be_hidden()
    anna.hears("Ben")


def test_a_lost_camera_is_replaced(person, room):
    anna, ben = person("Anna").join(room), person("Ben").join(room)
    ben.sees("Anna")
    anna.page.evaluate("""() => {
      const track = [...window.roost.room.localTracks].find(({ kind }) => kind === "video").mediaStreamTrack;
      track.stop();
      track.dispatchEvent(new Event("ended"));
    }""")
    expect(anna.page.locator("#toast")).to_contain_text("The camera is gone, so another one is used now.")
    ben.sees("Anna")


# A screen to share, as the browser would give it, and a count of how often a camera or microphone is opened.
SCREEN = """() => {
  const canvas = document.createElement("canvas");
  canvas.getContext("2d").fillRect(0, 0, 10, 10);
  window.screen_ = canvas.captureStream(5).getVideoTracks()[0];
  navigator.mediaDevices.getDisplayMedia = async () => new MediaStream([window.screen_]);
  window.opened = 0;
  const open = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
  navigator.mediaDevices.getUserMedia = (wanted) => (window.opened++, open(wanted));
  window.roost.room.addEventListener("localTrackUpdated", ({ detail: { track } }) => (window.shared ||= track.label === "screen"));
}"""


@pytest.mark.parametrize("when", ["while it is published", "before"])
def test_a_screen_that_ends_before_it_is_published_is_no_lost_camera(person, line, room, when):
    anna, ben = person("Anna", on=line).join(room), person("Ben").join(room)
    ben.sees("Anna")
    anna.page.evaluate(SCREEN)
    share = anna.page.locator("#screen")
    stop = "window.screen_.stop(); window.screen_.dispatchEvent(new Event('ended'))"
    if when == "before":
        anna.page.evaluate(stop)
        share.click()
    else:
        line.cut()
        expect(anna.page.locator("#banner")).to_have_text("Reconnecting…")
        share.click()
        expect(share).to_have_text("Stop sharing")
        anna.page.evaluate(stop)
        line.mend()
        expect(anna.page.locator("#banner")).to_be_hidden()
    eventually("it is not sent", lambda: anna.page.evaluate("window.shared && window.roost.room.localTracks.size === 2"))
    expect(share).to_have_text("Share screen")
    # In the order of the requests: what is said now comes after what was done about the screen.
    anna.say("done")
    expect(ben.messages).to_have_count(1)
    expect(ben.tiles).to_have_count(2)
    assert anna.page.evaluate("[window.opened, [...window.roost.room.localTracks].map(({ label }) => label).sort()]") == [
        0,
        ["camera", "microphone"],
    ]
    ben.sees("Anna")


def test_devices_that_are_allowed_later_or_taken_away_are_switched_on(person, room):
    anna, ben = person("Anna"), person("Ben").join(room)
    anna.page.add_init_script(REFUSE_DEVICES % '"NotAllowedError"')
    anna.join(room)
    anna.page.get_by_role("button", name="Start mic").click()
    expect(anna.page.locator("#toast")).to_contain_text("not allowed to use the camera or microphone")
    anna.page.evaluate("window.allowed = true")
    anna.page.get_by_role("button", name="Start mic").click()
    anna.page.get_by_role("button", name="Start video").click()
    ben.sees("Anna")
    ben.hears("Anna")
    anna.page.evaluate("""() => {
      window.allowed = false;
      const track = [...window.roost.room.localTracks].find(({ kind }) => kind === "video").mediaStreamTrack;
      track.stop();
      track.dispatchEvent(new Event("ended"));
    }""")
    expect(anna.page.locator("#toast")).to_contain_text("not allowed to use the camera")
    expect(ben.tile("Anna")).to_have_attribute("data-video", "muted")
    anna.page.evaluate("window.allowed = true")
    anna.page.get_by_role("button", name="Start video").click()
    ben.sees("Anna")


def test_another_window_of_the_same_device_takes_over(person, room):
    """The old one says so and does not fight back."""
    anna = person("Anna").join(room)
    eventually("Anna is in", lambda: anna.tiles.count() == 1)
    anna.page.evaluate("""async () => {
      const { RoostClient, rtcUrl } = await import("/roost.js");
      const { user, deviceId, resumeToken } = window.roost.client.session.hello;
      window.second = new RoostClient(rtcUrl(), { user, deviceId, resumeToken, displayName: "Anna" });
      await window.second.connect();
    }""")
    expect(anna.page.locator("#lobby")).to_be_visible()
    expect(anna.page.locator("#join-error")).to_contain_text("from another window or device")
    anna.page.evaluate("window.second.close()")


def test_preview_before_joining(person, room):
    anna = person("Anna").open(room)
    # It starts by itself where the browser has allowed the devices already.
    anna.page.locator("#preview-start").dispatch_event("click")
    eventually("a picture", lambda: anna.page.evaluate("document.querySelector('#preview').videoWidth > 0"))
    anna.page.locator("#join").click()
    ben = person("Ben").join(room)
    ben.sees("Anna")
    ben.hears("Anna")
    expect(anna.page.locator("#preview")).to_be_hidden()


def test_names_that_are_too_long_are_said_to_be(person, room):
    """What counts is bytes, of which other scripts have several a letter."""
    anna = person("Anna").open(room)
    error = anna.page.locator("#join-error")
    sockets = []
    anna.page.on("websocket", lambda socket: sockets.append(socket.url))
    for field, short, words in (("name", "名", "Your name"), ("room", room, "The name of the room")):
        anna.page.locator(f"#{field}").fill("名" * 50)
        anna.page.locator("#join").click()
        expect(error).to_have_text(f"{words} is too long. Please choose a shorter one.")
        anna.page.locator(f"#{field}").fill(short)
    assert not sockets, "the server need not be asked"
    refused = anna.page.evaluate(
        """async (name) => {
          const { RoostClient, rtcUrl } = await import("/roost.js");
          const client = new RoostClient(rtcUrl(), { displayName: name });
          return client.connect().catch(({ code, message }) => [code, message]).finally(() => client.close());
        }""",
        "名" * 50,
    )
    assert refused == [1010, "Your name is too long. Please choose a shorter one."], "nor does it say anything else"
    anna.page.locator("#join").click()
    expect(anna.page.locator("#call")).to_be_visible()
