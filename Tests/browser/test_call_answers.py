"""How one who is called may answer: decline with words, ignore, answer on one of several devices, or in the midst of another call."""

from calls import SOUNDING, outgoing, talking
from playwright.sync_api import expect

# A browser that keeps silent until it is touched.
SILENT = """window.AudioContext = class extends AudioContext {
  get state() {
    return window.touched ? super.state : "suspended";
  }
};
addEventListener("pointerdown", () => (window.touched = true), true);"""


def test_declining_with_a_text(online):
    anna, ben = online("Anna", "Ben")
    anna.call("ben")
    ben.page.get_by_text("Decline with a message").click()
    ben.page.get_by_label("Message to the caller").fill("In <b>ten</b> minutes, please.")
    ben.press("Enter")
    expect(ben.page.locator("#ring")).to_be_hidden()
    expect(anna.page.locator("#phone-status")).to_have_text("Ben declined the call. “In <b>ten</b> minutes, please.”")
    assert anna.page.evaluate(SOUNDING) is None
    expect(anna.page.locator("#records li").first).to_have_attribute("data-result", "declined")
    # Or with a word that is there already.
    anna.call("ben")
    ben.page.get_by_text("Decline with a message").click()
    expect(ben.page.get_by_label("Message to the caller")).to_have_value("")
    ben.page.get_by_role("button", name="I’ll call you back.").click()
    expect(ben.page.locator("#ring")).to_be_hidden()
    expect(anna.page.locator("#phone-status")).to_have_text("Ben declined the call. “I’ll call you back.”")


def test_an_ignored_call_goes_on_ringing_for_the_caller(online, person):
    anna, ben = online("Anna", "Ben")
    second = person("Ben").go_online()
    anna.call("ben")
    for one in (ben, second):
        expect(one.page.locator("#ring")).to_be_visible()
    ben.press("Escape")
    expect(ben.page.locator("#ring")).to_be_hidden()
    assert ben.page.evaluate(SOUNDING) is None
    expect(second.page.locator("#ring")).to_be_visible()
    second.page.get_by_role("button", name="Ignore on this device").click()
    expect(second.page.locator("#ring")).to_be_hidden()
    expect(outgoing(anna, "ben")).to_have_attribute("data-state", "ringing")
    assert anna.page.evaluate(SOUNDING) == "ringback"


def test_answering_on_one_device_silences_the_other(online, person):
    anna, ben = online("Anna", "Ben")
    second = person("Ben").go_online()
    anna.call("ben")
    expect(second.page.locator("#ring")).to_be_visible()
    ben.answer()
    expect(second.page.locator("#ring")).to_be_hidden()
    expect(second.page.locator("#toast")).to_have_text("You answered on another device.")
    anna.sees("Ben")
    expect(second.page.locator("#missed")).to_be_hidden()


def test_who_touches_twice_answers_once(online):
    anna, ben = online("Anna", "Ben")
    anna.page.locator("#dial-to").fill("ben")
    anna.page.evaluate("for (const time of [1, 2]) document.getElementById('dial-video').click()")
    expect(ben.page.locator("#ring")).to_be_visible()
    ben.page.evaluate("for (const time of [1, 2]) document.getElementById('ring-video').click()")
    anna.sees("Ben")
    ben.sees("Anna")
    for one in (anna, ben):
        assert one.page.evaluate("[...window.roost.room.localTracks].map(({ kind }) => kind).sort()") == ["audio", "video"]


def test_a_browser_that_keeps_silent_until_it_is_touched_says_so(online, person):
    ben = person("Ben")
    ben.page.add_init_script(SILENT)
    ben.go_online()
    (anna,) = online("Anna")
    anna.call("ben")
    held = ben.page.get_by_text("The browser keeps silent until you touch this page.")
    expect(held).to_be_visible()
    ben.page.locator("#ring-title").click()
    expect(held).to_be_hidden()
    assert ben.page.evaluate(SOUNDING) == "ring"


def test_a_call_that_waits_goes_on_ringing_when_the_other_is_over(online, person):
    anna, ben = talking(online)
    second = person("Ben").go_online()
    (cleo,) = online("Cleo")
    cleo.call("ben", "nobody")
    expect(outgoing(cleo, "ben")).to_contain_text("In another call, but ringing…")
    leaves = "Answering leaves the call or room you are in."
    for one in (ben, second):
        expect(one.page.locator("#ring-about")).to_contain_text(leaves)
    assert ben.page.evaluate(SOUNDING) == "waiting"
    anna.page.locator("#leave").click()
    expect(ben.page.locator("#phone-status")).to_have_text("Anna hung up.")
    assert ben.page.evaluate(SOUNDING) == "ring"
    for one in (ben, second):
        expect(one.page.locator("#ring-about")).to_have_text("nobody is being called too.")
    ben.answer()
    cleo.sees("Ben")
