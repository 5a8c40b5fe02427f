"""Calls between people in browsers, from the ring to the end: one, several, at once, out of a room, with another browser."""

from calls import SOUNDING, invite, outgoing
from firefox import FirefoxPerson
from people import eventually
from playwright.sync_api import expect
from test_moderation import button, does, hears, is_muted, people
from upgrade import CONNECTIONS

# Every device that the page opens.
DEVICES = """window.opened = [];
const open = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
navigator.mediaDevices.getUserMedia = async (wanted) => {
  const stream = await open(wanted);
  window.opened.push(...stream.getTracks());
  return stream;
};"""

# Connections that are open, and devices that are on.
OPEN = """[window.connections.filter(({ signalingState }) => signalingState !== "closed").length,
  window.opened.filter(({ readyState }) => readyState === "live").length]"""


def test_a_video_call_from_the_ring_to_the_end(online):
    anna, ben = online("Anna", "Ben")
    anna.call("Ben")
    expect(outgoing(anna, "ben")).to_have_attribute("data-state", "ringing")
    expect(outgoing(anna, "ben")).to_contain_text("Ringing…")
    assert anna.page.evaluate(SOUNDING) == "ringback"
    expect(ben.page.locator("#ring-title")).to_have_text("Anna is calling")
    expect(ben.page.locator("#ring-title")).to_be_focused()
    expect(ben.page.locator("#ring-kind")).to_have_text("Video call")
    assert ben.page.evaluate(SOUNDING) == "ring"
    assert "Anna is calling" in ben.page.title()
    ben.answer()
    expect(anna.page.locator("#outgoing")).to_be_hidden()
    for one, other in ((anna, "Ben"), (ben, "Anna")):
        one.sees(other)
        one.hears(other)
        assert one.page.evaluate(SOUNDING) is None
        expect(one.page.locator("#timer")).to_be_visible()
        expect(one.page.locator("#quality")).to_contain_text("connection")
    anna.page.locator("#leave").click()
    expect(ben.page.locator("#phone-status")).to_have_text("Anna hung up.")
    expect(ben.page.locator("#records li").first).to_contain_text("Incoming, 0:")
    expect(anna.page.locator("#records li").first).to_contain_text("Outgoing, 0:")


def test_two_calls_in_a_row_leave_nothing_open(person):
    anna, ben = person("Anna"), person("Ben")
    for one in (anna, ben):
        one.page.add_init_script(CONNECTIONS + DEVICES)
        one.go_online()
    for caller, other in ((anna, ben), (ben, anna)):
        caller.call(other.name)
        other.answer()
        caller.sees_anything(other.name)
        assert [one.page.evaluate(OPEN) for one in (anna, ben)] == [[2, 2], [2, 2]]
        other.page.locator("#leave").click()
        expect(caller.page.locator("#phone-status")).to_have_text(f"{other.name} hung up.")
        for one in (anna, ben):
            eventually(f"{one.name} has closed everything", lambda: one.page.evaluate(OPEN) == [0, 0])


def test_who_is_in_another_call_is_busy(online):
    anna, ben, cleo = online("Anna", "Ben", "Cleo")
    anna.call("ben")
    ben.answer()
    ben.sees("Anna")
    cleo.page.locator("#dial-to").fill("ben")
    cleo.page.locator("#dial-video").click()
    expect(cleo.page.locator("#phone-status")).to_contain_text("is in another call.")
    expect(ben.page.locator("#ring")).to_be_hidden()
    ben.sees("Anna")
    ben.page.locator("#leave").click()
    expect(ben.page.locator("#records li.missed").first).to_contain_text("Missed while you were in another call")


def test_everybody_who_is_called_is_shown(online):
    """A group call from a phone: who rings, who declined, who cannot be reached."""
    size = {"width": 360, "height": 700}
    (anna,) = online("Anna", viewport=size, has_touch=True, is_mobile=True, device_scale_factor=2)
    ben, cleo = online("Ben", "Cleo")
    anna.call("ben", "cleo", "nobody")
    expect(outgoing(anna, "nobody")).to_contain_text("Cannot be reached")
    expect(outgoing(anna, "cleo")).to_contain_text("Ringing…")
    assert anna.page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")
    people = anna.page.locator("#outgoing-people")
    assert people.evaluate("(list) => list.scrollHeight <= list.clientHeight"), "all three are in sight"
    # Whatever somebody answers, there is room for the others.
    ben.page.evaluate("window.roost.client.calls.find(({ isRinging }) => isRinging).reject({ text: 'no '.repeat(2700) })")
    expect(outgoing(anna, "ben")).to_contain_text("Declined")
    assert people.evaluate("(list) => list.scrollHeight <= list.clientHeight"), "all three are in sight"
    cleo.answer()
    anna.sees("Cleo")
    anna.page.locator("#add").click()
    again = anna.page.locator('#invite-members li[data-user="ben"]')
    again.get_by_role("button", name="Ring again: Ben").click()
    expect(ben.page.locator("#ring")).to_be_visible()
    box = ben.page.locator("#ring").bounding_box()
    assert box["height"] <= ben.page.viewport_size["height"]
    expect(again).to_contain_text("Ringing…")
    again.get_by_role("button", name="Cancel: Ben").click()
    expect(ben.page.locator("#ring")).to_be_hidden()


def test_two_who_call_each_other_at_once_talk(online):
    anna, ben = online("Anna", "Ben")
    for one, other in ((anna, "ben"), (ben, "anna")):
        one.page.locator("#dial-to").fill(other)
    press = "document.getElementById('dial-video').click()"
    anna.page.evaluate(press)
    ben.page.evaluate(press)
    anna.sees("Ben")
    ben.sees("Anna")
    for one in (anna, ben):
        expect(one.page.locator("#ring")).to_be_hidden()
        expect(one.page.locator("#outgoing")).to_be_hidden()


def test_a_namesake_is_told(online):
    (anna,) = online("Anna")
    (other,) = online("Anna")
    expect(other.page.locator("#phone-status")).to_contain_text("If that is not you, choose another name.")
    expect(anna.page.locator("#phone-status")).not_to_contain_text("another name")


def test_firefox_is_called(online, server, tmp_path):
    fox = FirefoxPerson("Fox", server.url, tmp_path)
    try:
        fox.go_online()
        (anna,) = online("Anna")
        anna.call("fox")
        fox.click("ring-video")
        fox.sees_and_hears("Anna")
        anna.sees("Fox")
        anna.hears("Fox")
    finally:
        fox.close()


def test_answering_in_a_room_leaves_it_and_keeps_the_camera(online, person, room):
    cleo = person("Cleo").join(room)
    anna, ben = online("Anna", "Ben")
    ben.page.locator("#tab-room").click()
    ben.page.locator("#room").fill(room)
    ben.page.locator("#join").click()
    cleo.sees("Ben")
    camera = "[...window.roost.room.localTracks].find(({ kind }) => kind === 'video').mediaStreamTrack.id"
    before = ben.page.evaluate(camera)
    anna.call("ben")
    expect(ben.page.locator("#ring-about")).to_have_text("Answering leaves the call or room you are in.")
    ben.answer()
    anna.sees("Ben")
    ben.sees("Anna")
    expect(cleo.tile("Ben")).to_have_count(0)
    assert ben.page.evaluate(camera) == before
    ben.page.locator("#leave").click()
    expect(anna.page.locator("#phone-status")).to_have_text("Ben hung up.")


def test_who_hosts_a_group_has_the_menus_of_a_moderator(online):
    """The caller of two who become a group, and then who has been in it longest: both see it on the page that they have open."""
    anna, ben, cleo = online("Anna", "Ben", "Cleo")
    anna.call("ben")
    ben.answer()
    anna.sees("Ben")
    expect(button(anna, "People")).to_be_hidden()
    invite(anna, "cleo")
    cleo.answer()
    ben.sees("Cleo")
    people(anna)
    does(anna, "Mute", "Cleo")
    hears(cleo, "Anna muted you.")
    is_muted(ben, "Cleo")
    expect(button(ben, "People")).to_be_hidden()
    anna.press("Escape")
    anna.page.locator("#leave").click()
    people(ben)
    does(ben, "Remove", "Cleo")
    expect(cleo.page.locator("#lobby")).to_be_visible()
