"""Text that is code: whatever others may choose is text on the page, wherever it stands. Names of people and what they write have their tests
beside what they are shown in (test_page, test_chat, test_call_lists, test_moderation)."""

import urllib.parse

from people import Person, eventually
from playwright.sync_api import expect

EVIL = '<img src=x onerror="window.owned=1">'

# The texts and attributes of all tiles.
SHOWN = """() => [...document.querySelectorAll("article.tile, article.tile *")].flatMap(
  (element) => [element.textContent, ...[...element.attributes].map(({ value }) => value)])"""


def untouched(*people: Person) -> None:
    for one in people:
        assert one.page.evaluate("[document.querySelectorAll('img[src=x]').length, window.owned ?? 0]") == [0, 0]


def test_the_name_of_a_room(person, room):
    name = f"{EVIL} {room}"
    anna, ben = person("Anna"), person("Ben")
    anna.page.goto(f"{anna.url}/?{urllib.parse.urlencode({'room': name, 'name': 'Anna', 'autojoin': 1, 'video': 0})}")
    expect(anna.page.locator("#call")).to_be_visible()
    expect(anna.page.locator("#room-title")).to_have_text(name)
    # In a link, and in the list of rooms.
    ben.page.goto(f"{ben.url}/#{urllib.parse.urlencode({'room': name}, quote_via=urllib.parse.quote)}")
    expect(ben.page.locator("#room")).to_have_value(name)
    ben.page.locator("#name").fill("Ben")
    ben.page.locator("#join").click()
    expect(ben.page.locator("#room-title")).to_have_text(name)
    assert name in anna.page.evaluate("window.roost.client.rooms().then((rooms) => rooms.map(({ name }) => name))")
    untouched(anna, ben)


def test_metadata_and_the_label_of_a_track(person, seats, room):
    anna = person("Anna").join(room, video=0)
    seats.page.evaluate(
        """async ([room, evil]) => {
          const { RoostClient, rtcUrl } = await import("/roost.js");
          const client = new RoostClient(rtcUrl(), { user: "mallory", displayName: "Mallory", capabilities: { [evil]: evil } });
          await client.connect();
          await client.join(room, { autoSubscribe: false, metadata: { note: evil, [evil]: [evil], displayName: evil, picture: evil } });
        }""",
        [room, EVIL],
    )
    seats.enter("Ben")
    # The second of two cameras is shown with its label.
    for label in ("camera", EVIL):
        seats.do("share", "Ben", label, 320, 180, "rgb(50 70 200)", "camera")
    expect(anna.tile("Mallory")).to_be_visible()
    eventually("the label", lambda: any(f"Ben: {EVIL}" in text for text in anna.page.evaluate(SHOWN)))
    notes = anna.page.evaluate("[...window.roost.room.participants.values()].map(({ metadata }) => metadata?.note)")
    assert EVIL in notes, "it has come"
    untouched(anna)


def test_what_a_caller_sends_along(online):
    anna, ben = online("Anna", "Ben")
    anna.page.evaluate(
        """(evil) => window.roost.client.startCall(["ben"], {
          media: "audio", extra: { title: evil, subject: evil, from: evil, [evil]: evil } })""",
        EVIL,
    )
    expect(ben.page.locator("#ring")).to_be_visible()
    assert ben.page.evaluate("window.roost.client.calls.map(({ extra }) => extra?.title)") == [EVIL], "it has come"
    untouched(anna, ben)
    ben.page.get_by_role("button", name="Decline", exact=True).click()
    expect(ben.page.locator("#records li")).to_have_count(1)
    untouched(anna, ben)
