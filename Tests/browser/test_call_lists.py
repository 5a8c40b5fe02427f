"""Lists of the page's calls: whom to choose, who is being called and how each answered, running, missed and past calls."""

import urllib.parse

import pytest
from calls import SOUNDING, invite, invited, talking
from people import Person
from playwright.sync_api import expect
from server import Server

# What a page does when it is looked at again: it asks who can be reached, and what is running.
LOOK = """document.dispatchEvent(new Event("visibilitychange", { bubbles: true }))"""


def chips(one: Person, place: str = "#dial-people"):
    return one.page.locator(place).get_by_role("button")


def chip(one: Person, words: str, place: str = "#dial-people"):
    return one.page.locator(place).get_by_role("button", name=words)


def test_people_are_chosen_from_a_list(online):
    anna, ben, cleo = online("Anna", "Ben", "Cleo")
    anna.call("ben", "cleo", "dora")
    anna.page.locator("#outgoing-cancel").click()
    cleo.page.get_by_role("button", name="Go offline").click()
    anna.page.evaluate(LOOK)
    chip(anna, "dora, offline").focus()
    expect(chip(anna, "cleo, offline")).to_be_visible()
    cleo.go_online()
    anna.page.evaluate(LOOK)
    expect(chip(anna, "cleo, reachable")).to_be_visible()
    expect(chip(anna, "dora, offline")).to_be_focused()  # the list was made anew, and took nothing away
    anna.page.locator("#dial-to").fill("")
    for words in ("ben, reachable", "cleo, reachable", "ben, reachable"):
        chip(anna, words).click()
    expect(anna.page.locator("#dial-to")).to_have_value("ben, cleo")
    anna.page.get_by_role("button", name="Video call", exact=True).click()
    cleo.answer()
    anna.sees("Cleo")
    ben.page.get_by_role("button", name="Decline", exact=True).click()

    # In the call: those who are not in it, to be rung with one touch.
    (dora,) = online("Dora")
    anna.page.locator("#add").click()
    expect(chips(anna, "#invite-people")).to_have_count(1)
    chip(anna, "dora, reachable", "#invite-people").click()
    expect(dora.page.locator("#ring-title")).to_have_text("Anna is calling")
    expect(anna.page.locator('#invite-members li[data-user="dora"]')).to_contain_text("Ringing…")
    expect(chips(anna, "#invite-people")).to_have_count(0)
    anna.page.locator("#invite-to").fill("nobody")
    anna.press("Enter")
    expect(anna.page.locator("#invite-error")).to_have_text("nobody cannot be reached at the moment.")


@pytest.fixture
def brief(tmp_path):
    """A server where nothing rings for long."""
    with Server(tmp_path, ring="8s") as server:
        yield server


def test_how_each_answered_is_shown_in_the_call(brief, online):
    anna, ben = talking(online, on=brief)
    cleo, dora = online("Cleo", "Dora", on=brief)
    invite(anna, "cleo")
    expect(invited(ben, "cleo")).to_contain_text("Ringing…")
    cleo.page.get_by_text("Decline with a message").click()
    cleo.page.get_by_role("button", name="Write to me, please.").click()
    expect(anna.page.locator("#toast")).to_have_text("Cleo: Declined: “Write to me, please.”")
    invite(anna, "dora")
    for one in (anna, ben):
        expect(invited(one, "cleo")).to_contain_text("Declined: “Write to me, please.”")
        expect(invited(one, "dora")).to_contain_text("Ringing…")
    for one in (anna, ben):
        expect(invited(one, "dora")).to_contain_text("No answer")
    expect(dora.page.locator("#ring")).to_be_hidden()
    expect(dora.page.locator("#records li.missed").first).to_contain_text("anna")
    assert anna.page.evaluate("window.roost.call.kind") == "one_to_one"
    anna.sees("Ben")
    invited(ben, "dora").get_by_role("button", name="Ring again: Dora").click()
    expect(dora.page.locator("#ring-title")).to_have_text("Ben is calling")
    invited(ben, "dora").get_by_role("button", name="Cancel: Dora").click()
    expect(dora.page.locator("#ring")).to_be_hidden()


def test_a_cancelled_call_stops_ringing_and_is_listed_as_missed(online):
    anna, ben = online("Anna", "Ben")
    ben.page.get_by_role("tab", name="Join a room").click()
    anna.call("ben")
    expect(ben.page.locator("#ring")).to_be_visible()
    anna.page.get_by_role("button", name="Cancel").click()
    expect(ben.page.locator("#ring")).to_be_hidden()
    assert ben.page.evaluate(SOUNDING) is None
    expect(anna.page.locator("#phone-status")).to_have_text("You cancelled the call.")
    expect(ben.page.locator("#missed")).to_have_text("1")
    ben.page.locator("#tab-calls").click()
    expect(ben.page.locator("#missed")).to_be_hidden()
    expect(ben.page.locator("#phone-status")).to_have_text("You missed a call from anna.")
    expect(ben.page.locator("#records li.missed").first).to_contain_text("anna")
    # From the list it is one touch to call back.
    ben.page.locator("#records").get_by_role("button", name="Call anna again").first.click()
    expect(anna.page.locator("#ring-title")).to_have_text("Ben is calling")


def test_who_was_away_reads_what_he_missed(online):
    anna, ben = online("Anna", "Ben")
    ben.page.get_by_role("button", name="Go offline").click()
    anna.page.locator("#dial-to").fill("Ben")
    anna.page.get_by_role("button", name="Video call", exact=True).click()
    expect(anna.page.locator("#phone-status")).to_have_text("Ben cannot be reached at the moment.", ignore_case=True)
    ben.go_online()
    expect(ben.page.locator("#phone-status")).to_have_text("You missed a call.")
    expect(ben.page.locator("#records li.missed").first).to_contain_text("anna")


def test_a_call_is_listed_as_running_until_it_is_over(online):
    anna, ben, cleo = online("Anna", "Ben", "Cleo")
    anna.call("ben", "cleo")
    ben.answer()
    anna.hears("Ben")
    cleo.page.get_by_role("button", name="Decline", exact=True).click()
    running = cleo.page.locator("#running li")
    expect(running).to_contain_text("Anna and Ben")
    expect(running).to_contain_text("Video call of 2")
    expect(running.get_by_role("button", name="Join: the call with Anna and Ben")).to_be_visible()
    anna.page.locator("#leave").click()
    ben.page.locator("#leave").click()
    expect(cleo.page.locator("#running-box")).to_be_hidden()


def test_older_calls_are_shown_when_asked_for(online, person):
    (anna,), ben = online("Anna"), person("Ben").go_online(name="Benjamin")  # whom no other test has called
    anna.page.evaluate("""async () => {
      for (let index = 0; index < 22; index++) {
        await (await window.roost.client.startCall(["benjamin"], { media: "audio" })).call.cancel();
        // A call, its place and its answers weigh as much as twenty small requests, of which there are so many a second.
        await new Promise((resolve) => setTimeout(resolve, 400));
      }
    }""")
    expect(ben.page.locator("#records li")).to_have_count(22)
    ben.go_online(name="Benjamin")
    expect(ben.page.locator("#records li")).to_have_count(20)
    ben.page.get_by_role("button", name="Show older calls").click()
    expect(ben.page.locator("#records li")).to_have_count(22)
    expect(ben.page.get_by_role("button", name="Show older calls")).to_be_hidden()


def test_names_of_callers_are_never_markup(person, online):
    evil = '<img src=x onerror="window.owned=1">'
    anna, (ben,) = person("Anna"), online("Ben")
    anna.page.goto(f"{anna.url}/?{urllib.parse.urlencode({'online': 1, 'name': evil})}")
    expect(anna.page.locator("#phone")).to_be_visible()
    anna.call("ben")
    expect(ben.page.locator("#ring-title")).to_have_text(f"{evil} is calling")
    ben.page.get_by_role("button", name="Decline", exact=True).click()
    expect(ben.page.locator("#records li").first).to_contain_text("<img")
    expect(chips(ben).first).to_contain_text("<img")
    chips(ben).first.click()
    ben.page.get_by_role("button", name="Video call", exact=True).click()
    expect(anna.page.locator("#ring")).to_be_visible()
    expect(ben.page.locator("#outgoing-people li")).to_contain_text(evil)
    for one in (anna, ben):
        assert one.page.evaluate("[document.querySelectorAll('img[src=x]').length, window.owned ?? 0]") == [0, 0]
