"""Roles and moderation on the page, at a server with a key: what a moderator sees and does, and what the others are told."""

import pytest
from guarded import MODERATOR, USUAL, come, enter, guarded, refused, token
from people import Person, eventually
from playwright.sync_api import Locator, expect
from viewers import FirefoxViewer

ADDRESS = "Ban the address too, a day at most"
HOSTILE = '<b id="x">Cleo</b><img src="x">'


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with guarded(tmp_path_factory.mktemp("guarded")) as server:
        yield server


def button(one: Person, name: str) -> Locator:
    return one.page.get_by_role("button", name=name, exact=True)


def people(one: Person) -> None:
    button(one, "People").click()
    expect(one.page.locator("#moderation")).to_be_visible()


def does(one: Person, what: str, name: str) -> None:
    """Chooses something in somebody's menu, which is opened first where it is not."""
    options = button(one, f"Options: {name}")
    if options.get_attribute("aria-expanded") == "false":
        options.click()
    button(one, f"{what}: {name}").click()


def hears(one: Person, words: str) -> None:
    expect(one.page.locator("#toast")).to_have_text(words)


def is_muted(one: Person, name: str, muted: bool = True) -> None:
    expect(one.tile(name)).to_have_attribute("data-audio", "muted" if muted else "on")


def enabled(one: Person) -> list[bool]:
    return one.page.evaluate("[...window.roost.room.localTracks].map(({ mediaStreamTrack }) => mediaStreamTrack.enabled)")


def test_who_is_muted_is_told_and_may_not_unmute(person, room):
    anna, ben = enter(person("Anna"), room, MODERATOR), enter(person("Ben"), room)
    anna.hears("Ben")
    people(anna)
    does(anna, "Mute", "Ben")
    hears(ben, "Anna muted you.")
    hears(anna, "You muted Ben.")
    is_muted(ben, "Ben")
    is_muted(anna, "Ben")
    assert enabled(ben) == [False], "the microphone is off here too"
    ben.press("m")
    is_muted(anna, "Ben", False)
    does(anna, "May not unmute", "Ben")
    hears(ben, "Anna muted you. You cannot unmute.")
    is_muted(anna, "Ben")
    expect(button(anna, "May not unmute: Ben")).to_have_attribute("aria-pressed", "true")
    ben.press("m")
    hears(ben, "A moderator has muted you. You cannot switch it on yourself.")
    is_muted(ben, "Ben")
    is_muted(anna, "Ben")
    assert enabled(ben) == [False]
    does(anna, "May not unmute", "Ben")
    hears(ben, "Anna allowed you to unmute again.")
    ben.press("m")
    is_muted(anna, "Ben", False)
    anna.hears("Ben")
    # All at once, and those who come later. A moderator is not meant.
    button(anna, "Nobody may unmute").click()
    hears(ben, "Anna muted everybody. Nobody can unmute.")
    is_muted(ben, "Ben")
    is_muted(anna, "Anna", False)
    cleo = enter(person("Cleo"), room)
    is_muted(cleo, "Cleo")
    is_muted(anna, "Cleo")
    assert enabled(cleo) == [False]
    button(anna, "Nobody may unmute").click()
    hears(cleo, "Anna allowed everybody to unmute again.")
    cleo.press("m")
    is_muted(anna, "Cleo", False)


def test_the_name_of_who_moderates_is_text_too(person, room):
    anna = come(person("Anna"), room, MODERATOR, claims={"name": HOSTILE}, audio=0)
    expect(anna.page.locator("#call")).to_be_visible()
    ben = enter(person("Ben"), room)
    people(anna)
    does(anna, "Mute", "Ben")
    hears(ben, f"{HOSTILE} muted you.")
    is_muted(ben, "Ben")
    button(anna, "Lobby").click()
    hears(ben, f"{HOSTILE} opened a lobby: who comes waits to be let in.")
    does(anna, "Remove", "Ben")
    expect(ben.page.locator("#lobby")).to_be_visible()
    for one in (anna, ben):
        assert one.page.locator("#x, img[src=x]").count() == 0


def test_stopped_video_ends_and_the_camera_goes_off(person, room):
    anna, ben = enter(person("Anna"), room, MODERATOR), enter(person("Ben"), room, video=1)
    anna.sees("Ben")
    ben.page.evaluate("window.camera = [...window.roost.room.localTracks].find(({ kind }) => kind === 'video').mediaStreamTrack")
    people(anna)
    does(anna, "Stop video", "Ben")
    hears(ben, "Anna stopped your video.")
    for one in (anna, ben):
        expect(one.tile("Ben")).to_have_attribute("data-video", "none")
    eventually("its light is out", lambda: ben.page.evaluate("window.camera.readyState") == "ended")
    ben.page.locator("#cam").click()
    anna.sees("Ben")


def test_who_knocks_waits_and_is_let_in_or_refused(person, room):
    anna, ben = enter(person("Anna"), room, MODERATOR, audio=0), enter(person("Ben"), room, audio=0)
    people(anna)
    button(anna, "Lobby").click()
    hears(ben, "Anna opened a lobby: who comes waits to be let in.")
    anna.press("Escape")
    cleo, dora = come(person("Cleo"), room, claims={"name": HOSTILE}, audio=0), come(person("Dora"), room, audio=0)
    for one in (cleo, dora):
        expect(one.page.locator("#waiting-text")).to_have_text(f"Please wait until somebody lets you into {room}.")
    expect(anna.page.locator("#knocks li[data-user]")).to_have_count(2)
    expect(anna.page.locator("#knocks li[data-user=cleo] strong")).to_have_text(HOSTILE)
    button(anna, "Refuse: Dora").click()
    refused(dora, "You were not let into this room.")
    expect(dora.page.locator("#waiting")).to_be_hidden()
    assert dora.page.locator("#call").is_hidden() and cleo.page.locator("#call").is_hidden(), "nobody is in yet"
    button(anna, f"Let in: {HOSTILE}").click()
    expect(cleo.page.locator("#call")).to_be_visible()
    expect(anna.page.locator("#knocks li")).to_have_count(0)
    # What others call themselves is text, wherever it stands.
    people(anna)
    expect(anna.page.locator("#moderation li[data-user=cleo] strong")).to_have_text(HOSTILE)
    does(anna, "Speaker", HOSTILE)
    hears(anna, f"You made {HOSTILE} a speaker.")
    assert anna.page.locator("#x, #call img[src=x], #moderation img, #toast img").count() == 0
    # Who gives up is gone from the list.
    anna.press("Escape")
    late = come(person("Ben"), room, claims={"user": "late", "name": "Late"}, audio=0)
    expect(late.page.locator("#waiting-stop")).to_be_focused()
    expect(anna.page.locator("#knocks li[data-user=late]")).to_be_visible()
    button(late, "Stop waiting").click()
    expect(late.page.locator("#join")).to_be_focused()
    expect(late.page.locator("#join-error")).to_be_hidden()
    expect(anna.page.locator("#knocks li")).to_have_count(0)
    assert ben.page.locator("#knocks").count() == 0


def test_who_is_removed_may_come_back_and_who_is_banned_may_not(person, room):
    anna, ben = enter(person("Anna"), room, MODERATOR, audio=0), enter(person("Ben"), room, audio=0)
    people(anna)
    does(anna, "Remove", "Ben")
    refused(ben, "Anna removed you from this room.")
    expect(anna.tile("Ben")).to_have_count(0)
    ben.page.locator("#join").click()
    expect(ben.page.locator("#call")).to_be_visible()
    expect(anna.tile("Ben")).to_have_count(1)
    does(anna, "Ban for an hour", "Ben")
    refused(ben, "Anna removed you from this room. You cannot come back before ")
    ben.page.locator("#join").click()
    refused(ben, "You were banned from this room. You cannot come in before ")
    # Who is banned is in a list, also for who comes later, and is let in again from there.
    bans = anna.page.get_by_role("list", name="People who are banned").get_by_role("listitem")
    expect(bans).to_have_count(1)
    cleo = enter(person("Cleo"), room, MODERATOR, audio=0)
    people(cleo)
    expect(cleo.page.locator("#bans li[data-user=ben]")).to_contain_text("until ")
    button(cleo, "Let in again: ben").click()
    hears(cleo, "You allowed ben to come back.")
    expect(bans).to_have_count(0)
    expect(anna.page.locator("#bans")).to_be_hidden()
    ben.page.locator("#join").click()
    expect(ben.page.locator("#call")).to_be_visible()
    does(anna, "Ban for a day", "Ben")
    tomorrow = ben.page.evaluate("new Date(Date.now() + 86_400_000).toLocaleString([], { dateStyle: 'medium' })")
    refused(ben, f"Anna removed you from this room. You cannot come back before {tomorrow}")
    button(anna, "Let in again: ben").click()
    ben.page.locator("#join").click()
    expect(ben.page.locator("#call")).to_be_visible()
    does(anna, "Ban for good", "Ben")
    refused(ben, "Anna removed you from this room. You cannot come back.")
    expect(bans).to_contain_text("until somebody lets them in again")


def test_an_address_is_banned_only_where_it_is_theirs_alone(person, room):
    anna, ben = enter(person("Anna"), room, MODERATOR, audio=0), enter(person("Ben"), room, audio=0)
    people(anna)
    does(anna, ADDRESS, "Ben")
    expect(button(anna, f"{ADDRESS}: Ben")).to_have_attribute("aria-pressed", "true")
    does(anna, "Ban for an hour", "Ben")
    # All browsers of this test come from the server's own machine.
    hears(anna, "Their address cannot be kept out, since others come from it too. Nothing was done.")
    expect(anna.tile("Ben")).to_have_count(1)
    expect(anna.page.locator("#bans")).to_be_hidden()
    # It is asked for anew each time.
    expect(button(anna, f"{ADDRESS}: Ben")).to_have_attribute("aria-pressed", "false")
    does(anna, "Ban for an hour", "Ben")
    refused(ben, "Anna removed you from this room. You cannot come back before ")


def test_all_at_once(person, room):
    anna, ben, cleo = enter(person("Anna"), room, MODERATOR), enter(person("Ben"), room), enter(person("Cleo"), room)
    anna.hears("Ben")
    anna.hears("Cleo")
    people(anna)
    button(anna, "Mute all").click()
    for one in (ben, cleo):
        hears(one, "Anna muted everybody.")
        is_muted(anna, one.name)
    is_muted(ben, "Anna", False)
    ben.press("m")
    is_muted(anna, "Ben", False)
    for one in (ben, cleo):
        one.press("h")
    expect(anna.page.locator("#moderation li[data-user=cleo]")).to_contain_text("hand raised")
    button(anna, "Lower all hands").click()
    for one in (ben, cleo):
        expect(one.page.locator("#hand")).to_have_attribute("aria-pressed", "false")
    expect(button(anna, "Lower all hands")).to_have_count(0)
    button(anna, "Lobby").click()
    anna.press("Escape")
    late = [come(person("Dora"), room, audio=0), come(person("Ben"), room, claims={"user": "late", "name": "Late"}, audio=0)]
    expect(anna.page.locator("#knocks li[data-user]")).to_have_count(2)
    button(anna, "Let all in").click()
    for one in late:
        expect(one.page.locator("#call")).to_be_visible()
    expect(anna.page.locator("#knocks li")).to_have_count(0)


def test_a_room_is_locked_silenced_and_ended(person, room):
    anna, ben = enter(person("Anna"), room, MODERATOR, audio=0), enter(person("Ben"), room, audio=0)
    people(anna)
    button(anna, "Lock the room").click()
    hears(ben, "Anna locked the room: nobody else can come in.")
    expect(button(anna, "Lock the room")).to_have_attribute("aria-pressed", "true")
    cleo = come(person("Cleo"), room, audio=0)
    refused(cleo, "This room is locked.")
    button(anna, "Lock the room").click()
    cleo.page.locator("#join").click()
    expect(cleo.page.locator("#call")).to_be_visible()
    button(anna, "Disable chat").click()
    expect(ben.page.locator("#chat-text")).to_be_disabled()
    expect(anna.page.locator("#chat-text")).to_be_enabled()
    button(anna, "Disable chat").click()
    expect(ben.page.locator("#chat-text")).to_be_enabled()
    anna.page.once("dialog", lambda dialog: dialog.dismiss())
    button(anna, "End for all").click()
    expect(ben.page.locator("#call")).to_be_visible()
    anna.page.once("dialog", lambda dialog: dialog.accept())
    button(anna, "End for all").click()
    refused(ben, "Anna ended this meeting for everybody.")
    refused(cleo, "Anna ended this meeting for everybody.")
    refused(anna, "You ended this meeting for everybody.")


def test_hands_are_seen_and_roles_given_and_taken(person, room):
    anna, ben = enter(person("Anna"), room, MODERATOR, audio=0), enter(person("Ben"), room, audio=0)
    hand = ben.page.locator("#hand")
    ben.press("h")
    hears(anna, "Ben raised a hand.")
    expect(hand).to_have_attribute("aria-pressed", "true")
    expect(anna.tile("Ben")).to_have_attribute("aria-label", "Ben, hand raised, microphone off, camera off")
    people(anna)
    expect(anna.page.locator("#moderation li").first).to_have_attribute("data-user", "ben"), "who waits for the word is the first"
    does(anna, "Lower hand", "Ben")
    hears(ben, "Anna lowered your hand.")
    expect(hand).to_have_attribute("aria-pressed", "false")
    ben.press("h")
    expect(anna.tile("Ben")).to_have_attribute("aria-label", "Ben, hand raised, microphone off, camera off")
    does(anna, "Speaker", "Ben")
    hears(ben, "Anna made you a speaker.")
    expect(hand).to_have_attribute("aria-pressed", "false"), "who has the word asks for it no more"
    expect(button(ben, "People")).to_have_count(0)
    # Who is made a moderator sees who waits already, and does what moderators do.
    button(anna, "Lobby").click()
    come(person("Cleo"), room, audio=0)
    expect(anna.page.locator("#knocks li[data-user=cleo]")).to_be_visible()
    does(anna, "Moderator", "Ben")
    hears(ben, "Anna made you a moderator.")
    expect(ben.page.locator("#knocks li[data-user=cleo]")).to_be_visible()
    people(ben)
    does(ben, "Remove", "Anna")
    hears(ben, "That cannot be done to somebody who moderates by invitation.")
    does(anna, "Moderator", "Ben")
    hears(ben, "Anna ended your role.")
    expect(button(ben, "People")).to_have_count(0)
    expect(ben.page.locator("#knocks")).to_be_hidden()
    expect(ben.page.locator("#moderation")).to_be_hidden()
    expect(ben.page.locator("#call")).to_be_visible()


def test_who_may_not_moderate_sees_and_loads_nothing_of_it(person, room):
    anna, ben = enter(person("Anna"), room, MODERATOR, audio=0), enter(person("Ben"), room, audio=0)
    loaded = "performance.getEntriesByType('resource').map(({ name }) => new URL(name).pathname)"
    expect(button(anna, "People")).to_be_visible()
    assert "/moderating.js" in anna.page.evaluate(loaded)
    expect(ben.tile("Anna")).to_be_visible()
    assert not {"/moderating.js", "/moderated.js", "/online.js"} & set(ben.page.evaluate(loaded))
    for selector in ("#moderate", "#moderation", "#knocks"):
        assert ben.page.locator(selector).count() == 0
    expect(ben.page.locator("#hand")).to_be_visible()
    said = ben.page.evaluate("window.roost.room.moderate('lock').catch(({ code, data }) => [code, data.reason])")
    assert said == [1005, "moderate"]
    assert ben.page.evaluate("window.roost.client.grants") == USUAL


def test_a_phone_has_room_for_it(person, room):
    size = {"width": 320, "height": 640}
    anna = enter(person("Anna", viewport=size, has_touch=True, is_mobile=True), room, MODERATOR, audio=0)
    enter(person("Ben"), room, audio=0)
    people(anna)
    button(anna, "Options: Ben").click()
    menu = anna.page.get_by_role("group", name="Options: Ben").get_by_role("button").all()
    assert len(menu) == 8
    for box in [one.bounding_box() for one in [*menu, anna.page.locator("#moderation"), *anna.page.locator(".tools button:visible").all()]]:
        assert 0 <= box["x"] and box["x"] + box["width"] <= size["width"] and box["height"] >= 36, box
    assert anna.page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")


def test_the_menu_by_keys_alone_in_firefox(fox, person, room):
    viewer = FirefoxViewer(fox)
    fox.visit(f"/#token={token('anna', MODERATOR)}&room={room}&name=Anna&autojoin=1&audio=0&video=0")
    eventually("Firefox moderates", lambda: fox.shows("moderate"))
    ben = enter(person("Ben"), room)
    focused = "() => document.activeElement.ariaLabel ?? document.activeElement.textContent"
    # The row changes when he is heard, and the focus must not be on its way then.
    eventually("his microphone is on", lambda: fox.evaluate("() => document.querySelector('article[data-name=Ben]')?.dataset.audio") == "on")
    fox.evaluate("() => document.getElementById('hand').focus()")
    viewer.press("Tab")
    assert fox.evaluate(focused) == "People"
    viewer.press("Enter")
    eventually("it opens", lambda: fox.evaluate("() => document.activeElement.id") == "moderation-title")
    for name in ("Options: Ben", "Mute: Ben"):
        for _ in range(20):
            viewer.press("Tab")
            if fox.evaluate(focused) == name:
                break
        assert fox.evaluate(focused) == name
        viewer.press("Enter")
    hears(ben, "Anna muted you.")
    viewer.press("Escape")
    eventually("the focus is back", lambda: fox.evaluate("() => document.activeElement.id") == "moderate")
    assert not fox.shows("moderation")


# What is said in a room of three seats when it hears these events, one after the other.
SEATS = """async (events) => {
  const { Room } = await import("/room.js");
  const { inWords } = await import("/moderated.js");
  const room = new Room({ request: async () => ({}) }, { media: "video", limit: 3 }, {});
  [room.media, room.limit] = ["video", 3];
  const said = [];
  room.addEventListener("moderated", ({ detail }) => said.push(inWords(detail)));
  for (const event of events) room._handle("room.moderated", { action: "media", ...event });
  return [...said, room.media, room.limit];
}"""


def test_seats_are_told(person):
    anna = person("Anna")
    anna.page.goto(anna.url)
    events = [{"media": "video", "limit": 5}, {"media": "audio", "limit": 5}, {"media": "audio", "limit": 9}]
    said = anna.page.evaluate(SEATS, events)
    assert said == ["The operator changed the room to 5 seats.", "The operator switched the room to sound alone.", "The operator changed the room to 9 seats.", "audio", 9]
