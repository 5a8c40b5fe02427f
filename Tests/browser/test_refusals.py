"""Negotiations that the server refuses, for a while or for good."""

from people import eventually
from playwright.sync_api import expect
from wire import refusal, rule, sent, wired

BUSY = refusal(5002, retryable=True, retryAfterMs=100)
FORGET = "window.roost.client.session.dropSocket()"


def test_an_answer_that_is_refused_or_lost_is_sent_again(person, room):
    anna = wired(person("Anna")).join(room)
    state = "window.roost.room.mediaStates.subscribe"
    eventually("the first offer is answered", lambda: anna.page.evaluate(state) == "connected")
    anna.page.evaluate("window.roost.client.session.constructor.requestTimeoutMs = 2_000")
    before = sent(anna, "pc.answer")
    rule(anna, "pc.answer", BUSY, refusal(1006, retryable=True), None)
    ben = person("Ben").join(room)
    anna.sees("Ben")
    anna.hears("Ben")
    assert sent(anna, "pc.answer") >= before + 4
    # The next offers come, too.
    ben.page.locator("#cam").click()
    person("Cleo").join(room)
    anna.sees("Cleo")


def test_what_is_published_again_is_insisted_on(person, room):
    anna, ben = wired(person("Anna")).join(room), person("Ben").join(room)
    ben.sees("Anna")
    rule(anna, "session.resume", refusal(1007))
    rule(anna, "pc.offer", BUSY, refusal(5002, retryable=True))
    anna.page.evaluate(FORGET)
    expect(anna.page.locator("#toast")).to_contain_text("too busy")
    eventually("both refusals", lambda: anna.page.evaluate("window.wire.rules['pc.offer'].length === 0"))
    ben.sees("Anna")
    ben.hears("Anna")


def test_what_is_refused_for_good_is_not_shown_as_sent(person, room):
    anna, ben = wired(person("Anna")).join(room), person("Ben").join(room)
    ben.sees("Anna")
    anna.page.evaluate("window.devices = [...window.roost.room.localTracks].map(({ mediaStreamTrack }) => mediaStreamTrack)")
    rule(anna, "session.resume", refusal(1007))
    rule(anna, "pc.offer", *[refusal(4003)] * 3)  # both, then each of them
    anna.page.evaluate(FORGET)
    expect(anna.page.locator("#toast")).to_contain_text("Too many audio or video tracks")
    expect(anna.tile("Anna")).to_have_attribute("data-audio", "none")
    expect(anna.tile("Anna")).to_have_attribute("data-video", "none")
    assert anna.page.evaluate("window.devices.map(({ readyState }) => readyState)") == ["ended", "ended"]
    anna.page.get_by_role("button", name="Start video").click()
    ben.sees("Anna")
