"""Rooms with many people: pages of tiles that are large enough, by buttons and by keys; a call with a shared screen."""

import pytest
from people import eventually
from server import Server
from viewers import DESKTOP, PHONE, Viewer

ALONE = {"audio": 0, "video": 0}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """The rooms of this file have seats for more than one page."""
    server = Server(tmp_path_factory.mktemp("roost"), unknown="hall")
    server.configuration.write_text(server.configuration.read_text().replace("rooms:\n", "  hall:\n    limits: 60\nrooms:\n", 1))
    with server:
        yield server


def names(count: int) -> list[str]:
    return [f"P{place}" for place in range(1, count + 1)]


def page_of(viewer: Viewer, text: str) -> dict:
    """That page, with its tiles as they are then."""
    eventually(f"page {text}", lambda: viewer.evaluate("() => document.getElementById('pager-text').checkVisibility() && document.getElementById('pager-text').textContent") == text)
    return viewer.tiles()


def test_what_does_not_fit_is_on_a_next_page(viewer, seats, room):
    seats.enter(*names(44))
    viewer.join(room, **ALONE)
    seen: list[str] = []
    first = page_of(viewer, "1 of 2")
    size = {round(box["width"]) for box in first.values()}
    assert len(size) == 1 and size.pop() >= 160
    seen += first
    assert "Anna (you)" not in first
    viewer.click("#pager-next")
    last = page_of(viewer, "2 of 2")
    assert {round(box["width"]) for box in last.values()} == {round(box["width"]) for box in first.values()}, "as large as in the others"
    seen += last
    assert sorted(seen) == sorted([*names(44), "Anna (you)"]) and list(last)[-1] == "Anna (you)"
    viewer.click("#pager-next")
    page_of(viewer, "2 of 2")
    viewer.press("ArrowLeft")
    assert page_of(viewer, "1 of 2") == first
    viewer.press("ArrowRight")
    page_of(viewer, "2 of 2")
    # As people leave, the page that nobody is on any more goes with them.
    for name in names(20):
        seats.do("leave", name)
    eventually("one page", lambda: not viewer.box("#pager") and len(viewer.tiles()) == 25)


def test_pages_on_a_phone_and_by_keys_alone(viewer, seats, room):
    seats.enter(*names(17))
    viewer.join(room, **ALONE)
    viewer.fit(PHONE)
    first = page_of(viewer, "1 of 2")
    assert min(box["width"] for box in first.values()) >= 160
    assert max(box["y"] + box["height"] for box in first.values()) <= viewer.box("#pager")["y"]
    for box in (viewer.box("#pager-back"), viewer.box("#pager-next")):
        assert box["height"] >= 44 and box["x"] >= 0 and box["x"] + box["width"] <= 390
    focused = viewer.tab_to("Next page")
    assert focused["outline"] >= 3
    viewer.press("Enter")
    last = page_of(viewer, "2 of 2")
    assert list(last)[-1] == "Anna (you)" and not set(first) & set(last)
    assert viewer.focused()["name"] == "Next page"


def test_arrows_in_a_message_turn_no_page(viewer, seats, room):
    seats.enter(*names(44))
    viewer.join(room, **ALONE)
    page_of(viewer, "1 of 2")
    viewer.click("#chat-text")
    viewer.type("ab")
    viewer.press("ArrowLeft")
    viewer.press("ArrowRight")
    viewer.press("ArrowLeft")
    viewer.type("c")
    assert viewer.evaluate("() => document.getElementById('chat-text').value") == "acb"
    page_of(viewer, "1 of 2")


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_a_strip_beside_a_screen_has_pages_too(viewer, seats, room, size):
    seats.enter(*names(13))
    viewer.join(room, **ALONE)
    viewer.fit(size)
    seats.share("P2")
    eventually("the screen is large", lambda: viewer.large() == "P2’s screen" and viewer.box("#pager"))
    seen: list[str] = []
    pages = int(viewer.evaluate("() => document.getElementById('pager-text').textContent").split(" of ")[1])
    for page in range(1, pages + 1):
        tiles = page_of(viewer, f"{page} of {pages}")
        assert viewer.large() == "P2’s screen", "it stays on every page"
        pager = viewer.box("#pager")
        for name, box in tiles.items():
            assert box["x"] + box["width"] <= pager["x"] + 1 or box["y"] + box["height"] <= pager["y"] + 1, (name, box, pager)
        seen += [name for name in tiles if name != "P2’s screen"]
        viewer.press("ArrowRight")
    assert sorted(seen) == sorted([*names(13), "Anna (you)"])


# Both ends of a call between two in one page that draws its camera, and its screen.
CALLEE = """async () => {
  const { RoostClient, rtcUrl } = await import("/roost.js");
  const client = new RoostClient(rtcUrl(), { user: "ben", displayName: "Ben" });
  client.addEventListener("incomingCall", async ({ detail: { call } }) => (window.room = await call.accept({ autoSubscribe: false })));
  await client.connect();
  const canvas = Object.assign(document.createElement("canvas"), { width: 1280, height: 720 });
  const context = canvas.getContext("2d");
  setInterval(() => context.fillRect(Math.random() * 1000, 0, 50, 50), 200);
  window.share = () => window.room.publish(canvas.captureStream(5).getVideoTracks()[0], { label: "screen", simulcast: false }).then((track) => (window.shared = track) && true);
}"""


def test_two_in_a_call_and_the_screen_of_one(person, viewer):
    """The other fills the stage, oneself small in the corner; a shared screen takes it, and gives it back."""
    ben = person("Ben")
    ben.page.goto(ben.url)
    ben.page.evaluate(CALLEE)
    viewer.go_online()
    viewer.evaluate("""async () => {
      document.getElementById("dial-to").value = "ben";
      document.getElementById("dial-voice").previousElementSibling.click();
      return true;
    }""")
    for size in (DESKTOP, PHONE):
        viewer.fit(size)
        tiles = eventually("two", lambda: list(viewer.tiles()) == ["Ben", "Anna (you)"] and viewer.large() == "Ben" and viewer.tiles())
        own, other = tiles["Anna (you)"], tiles["Ben"]
        assert other["x"] <= own["x"] and own["x"] + own["width"] <= other["x"] + other["width"]
        assert other["y"] <= own["y"] and own["y"] + own["height"] <= other["y"] + other["height"]
        assert other["width"] >= (390 if size == PHONE else 1240), "it fills the stage"
        ben.page.evaluate("window.share()")
        screen = eventually("the screen", lambda: (tile := viewer.tiles().get("Ben’s screen")) and tile["video"] and viewer.large() == "Ben’s screen" and tile)
        assert screen["width"] >= (390 if size == PHONE else 0.6 * 1280)
        ben.page.evaluate("window.room.unpublish(window.shared)")
        eventually("as before", lambda: list(viewer.tiles()) == ["Ben", "Anna (you)"])
        viewer.click_tile("Anna (you)")
        viewer.becomes_large("Anna (you)")
        viewer.click_tile("Anna (you)")
        viewer.becomes_large("Ben")
