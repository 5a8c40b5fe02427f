"""What stands large in a room: a shared screen by itself, a pinned person, who speaks; oneself last. In Chromium and in Firefox."""

import pytest
from people import eventually
from server import Server
from viewers import DESKTOP, PHONE, SHARING, SIZES, ChromiumViewer, Viewer

ALONE = {"audio": 0, "video": 0}

# A screen to share, as the browser would give it.
SCREEN = """() => {
  const canvas = Object.assign(document.createElement("canvas"), { width: 640, height: 360 });
  canvas.getContext("2d").fillRect(0, 0, 640, 360);
  navigator.mediaDevices.getDisplayMedia = async () => canvas.captureStream(5);
}"""

# A camera whose left half is red, and whose right half is blue.
HALVES = """() => {
  const canvas = Object.assign(document.createElement("canvas"), { width: 640, height: 360 });
  const context = canvas.getContext("2d");
  const draw = () => ["rgb(200,40,40)", "rgb(50,70,200)"].forEach((colour, half) => {
    context.fillStyle = colour;
    context.fillRect(half * 320, 0, 320, 360);
  });
  draw();
  setInterval(draw, 100);
  window.halves = canvas.captureStream(10).getVideoTracks()[0];
  return window.roost.room.publish(window.halves, { label: "camera", simulcast: false }).then(() => true);
}"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Rooms of any name have sixteen seats."""
    with Server(tmp_path_factory.mktemp("roost"), unknown="group") as server:
        yield server


def apart(boxes: list[dict]) -> bool:
    """Whether no two of them lie over each other."""
    return all(
        a["x"] + a["width"] <= b["x"] + 1 or b["x"] + b["width"] <= a["x"] + 1 or a["y"] + a["height"] <= b["y"] + 1 or b["y"] + b["height"] <= a["y"] + 1
        for place, a in enumerate(boxes)
        for b in boxes[place + 1 :]
    )


def inside(boxes: list[dict], size: tuple[int, int]) -> bool:
    return all(b["x"] >= 0 and b["y"] >= 0 and b["x"] + b["width"] <= size[0] + 0.5 and b["y"] + b["height"] <= size[1] + 0.5 for b in boxes)


def is_staged(viewer: Viewer, name: str, size: tuple[int, int]) -> dict:
    """That a screen of 16:9 can be read: large, its name under the picture, people beside or below it, nothing over it."""
    wanted = 390 if size == PHONE else 0.6 * 1280

    def look():
        tiles = viewer.tiles()
        screen = tiles.get(name)
        if not screen or not screen["video"] or screen["video"]["width"] < wanted - 0.5:
            return None
        assert screen["name"]["y"] >= screen["video"]["y"] + screen["video"]["height"] - 0.5, "the name stands outside the picture"
        return apart(list(tiles.values())) and inside(list(tiles.values()), size) and tiles

    return eventually(f"{name} is large", look, 20)


def test_a_shared_screen_takes_the_stage(viewer, seats, room):
    seats.enter("Ben", "Cleo")
    viewer.join(room, **ALONE)
    viewer.sees("Ben", "Cleo", "Anna (you)")
    seats.share("Cleo")
    for size in (DESKTOP, PHONE):
        viewer.fit(size)
        tiles = is_staged(viewer, "Cleo’s screen", size)
        assert set(tiles) == {"Cleo’s screen", "Ben", "Cleo", "Anna (you)"}
        assert max(tiles[name]["width"] for name in ("Ben", "Cleo", "Anna (you)")) < 0.55 * tiles["Cleo’s screen"]["width"]
    viewer.fit(DESKTOP)
    if viewer.box("#chat"):
        viewer.click("#chat-close")
    is_staged(viewer, "Cleo’s screen", DESKTOP)
    seats.do("stop", "Cleo", "screen")
    viewer.becomes_large(None)


def test_of_two_screens_the_newest_is_large_and_the_other_a_click_away(viewer, seats, room):
    seats.enter("Ben", "Cleo")
    seats.share("Ben")
    viewer.join(room, **ALONE)
    is_staged(viewer, "Ben’s screen", DESKTOP)
    seats.share("Cleo", label="slides", colour="rgb(40 160 60)")
    is_staged(viewer, "Cleo’s screen", DESKTOP)
    viewer.click_tile("Ben’s screen")
    is_staged(viewer, "Ben’s screen", DESKTOP)
    viewer.fit(PHONE)
    is_staged(viewer, "Ben’s screen", PHONE)
    viewer.click_tile("Cleo’s screen")
    is_staged(viewer, "Cleo’s screen", PHONE)
    seats.do("stop", "Cleo", "slides")
    is_staged(viewer, "Ben’s screen", PHONE)


def test_a_screen_is_known_by_its_source_whatever_it_is_called(viewer, seats, room):
    seats.enter("Ben", "Cleo")
    viewer.join(room, **ALONE)
    seats.share("Cleo", label="whiteboard", size=(1280, 720))
    is_staged(viewer, "Cleo’s screen", DESKTOP)
    seats.do("share", "Ben", "screen", 1280, 720, "rgb(40 160 60)", "camera")
    eventually("that is no screen, for it says that it is a camera", lambda: viewer.tiles()["Ben"]["video"])
    assert viewer.large() == "Cleo’s screen"


def test_who_shares_sees_that_and_stops_it_there(viewer, seats, room):
    seats.enter("Ben")
    viewer.join(room, **ALONE)
    viewer.evaluate(SCREEN)
    for size in (DESKTOP, PHONE):
        viewer.fit(size)
        viewer.click("#screen")
        tiles = viewer.sees("Ben", SHARING, "Anna (you)")
        own = tiles[SHARING]
        assert own["video"] is None and own["height"] < 80 and own["width"] < 430, "small, and no picture in a picture"
        assert tiles["Ben"]["width"] >= own["width"] * 0.9 and apart(list(tiles.values())) and inside(list(tiles.values()), size)
        # The screen of somebody else is large for who shares, too.
        seats.share("Ben")
        is_staged(viewer, "Ben’s screen", size)
        seats.do("stop", "Ben", "screen")
        viewer.sees("Ben", SHARING, "Anna (you)")
        viewer.tab_to("Stop sharing")
        viewer.press("Enter")
        viewer.sees("Ben", "Anna (you)")
        assert viewer.evaluate("() => window.roost.room.localTracks.size") == 0


def test_a_click_keeps_somebody_large_and_another_lets_go(viewer, seats, room):
    seats.enter("Ben", "Cleo", "Dan", "Eva")
    viewer.join(room, **ALONE)
    viewer.sees("Ben", "Cleo", "Dan", "Eva", "Anna (you)")
    for size in (DESKTOP, PHONE):
        viewer.fit(size)
        viewer.click_tile("Cleo")
        tiles = viewer.becomes_large("Cleo")
        assert apart(list(tiles.values())) and inside(list(tiles.values()), size)
        if size == PHONE:
            assert tiles["Cleo"]["width"] == 390
        viewer.click_tile("Dan")
        viewer.becomes_large("Dan")
        viewer.click_tile("Dan")
        viewer.becomes_large(None)
    # It outlives arrivals, also of a screen, and gives the place back when the one who has it leaves.
    viewer.click_tile("Cleo")
    viewer.becomes_large("Cleo")
    seats.enter("Finn")
    eventually("Finn is there", lambda: "Finn" in viewer.tiles())
    seats.share("Ben")
    eventually("the screen is there", lambda: "Ben’s screen" in viewer.tiles())
    assert viewer.large() == "Cleo"
    seats.do("leave", "Cleo")
    is_staged(viewer, "Ben’s screen", PHONE)
    seats.do("stop", "Ben", "screen")
    viewer.becomes_large(None)
    assert "Cleo" not in viewer.tiles()


def test_keys_alone_reach_pin_and_view(viewer, seats, room):
    seats.enter("Ben", "Cleo", "Dan")
    viewer.join(room, **ALONE)
    viewer.sees("Ben", "Cleo", "Dan", "Anna (you)")
    focused = viewer.tab_to("Show Cleo large")
    assert focused["outline"] >= 3 and focused["pressed"] == "false"
    viewer.press("Enter")
    viewer.becomes_large("Cleo")
    assert viewer.focused() == {**focused, "pressed": "true"}, "the focus stays where it was"
    viewer.press("Enter")
    viewer.becomes_large(None)
    focused = viewer.tab_to("Speaker view")
    assert focused["outline"] >= 3
    viewer.press("Enter")
    viewer.becomes_large("Ben")
    assert viewer.focused()["name"] == "Grid view"
    viewer.press("Enter")
    viewer.becomes_large(None)


def test_the_speaker_view_follows_who_speaks_and_does_not_flap(viewer, seats, room):
    seats.enter("Ben", "Cleo", "Dan")
    viewer.join(room, **ALONE)
    viewer.sees("Ben", "Cleo", "Dan", "Anna (you)")
    viewer.click("#view")
    viewer.speak("Cleo")
    viewer.becomes_large("Cleo")
    # Who speaks in between takes no place; who goes on does, two seconds later, without another word from the server.
    shown = viewer.evaluate(
        """async () => {
          const { room } = window.roost;
          const of = (name) => ({ participant: [...room.participants.values()].find(({ displayName }) => displayName === name), level: 20 });
          const speak = (...names) => room.dispatchEvent(new CustomEvent("activeSpeakers", { detail: { speakers: names.map(of) } }));
          const large = () => [...document.querySelectorAll("#grid > *")].reduce((a, b) => a.clientWidth > b.clientWidth ? a : b).querySelector(".name").textContent;
          const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
          const seen = new Set();
          for (let turn = 0; turn < 8; turn++) {
            speak(...(turn % 2 ? ["Cleo", "Ben"] : ["Ben", "Cleo"]));
            await wait(150);
            seen.add(large());
          }
          speak("Cleo");
          await wait(50);
          speak("Dan", "Anna");
          const at = performance.now();
          while (large() !== "Dan" && performance.now() < at + 20_000) await wait(20);
          return { seen: [...seen], after: performance.now() - at };
        }"""
    )
    assert shown["seen"] == ["Cleo"]
    assert 1900 <= shown["after"] < 15_000
    seats.enter("Finn")
    eventually("Finn is there", lambda: "Finn" in viewer.tiles())
    assert viewer.large() == "Dan", "the view outlives arrivals"
    viewer.click_tile("Ben")
    viewer.becomes_large("Ben")
    viewer.speak("Finn")
    seats.do("leave", "Ben")
    viewer.becomes_large("Finn")
    seats.do("leave", "Finn")
    eventually("somebody else is large", lambda: viewer.large() in ("Cleo", "Dan"))


def test_a_screen_is_sent_back_into_the_grid_and_a_newer_one_is_not(viewer, seats, room):
    seats.enter("Ben", "Cleo")
    seats.share("Ben")
    viewer.join(room, **ALONE)
    is_staged(viewer, "Ben’s screen", DESKTOP)
    viewer.click("#view")
    viewer.becomes_large(None)
    viewer.click("#view")
    is_staged(viewer, "Ben’s screen", DESKTOP)
    viewer.click("#view")
    viewer.becomes_large(None)
    seats.share("Cleo", label="slides")
    is_staged(viewer, "Cleo’s screen", DESKTOP)


def test_a_double_click_is_full_screen_and_pins_nothing(viewer, seats, room):
    seats.enter("Ben", "Cleo")
    viewer.join(room, **ALONE)
    viewer.sees("Ben", "Cleo", "Anna (you)")
    # Each width that the tile has on the way: it must not jump to and fro.
    viewer.evaluate(
        """() => {
          window.widths = [];
          const tile = [...document.querySelectorAll("#grid > *")].find((one) => one.querySelector(".name").textContent === "Cleo");
          new ResizeObserver(() => window.widths.push(Math.round(tile.clientWidth))).observe(tile);
        }"""
    )
    before = viewer.tiles()["Cleo"]["width"]
    viewer.click_tile("Cleo", 2)
    full = eventually("full screen", lambda: viewer.evaluate("() => document.fullscreenElement?.querySelector('.name').textContent"))
    assert full == "Cleo"
    eventually("over it all", lambda: viewer.tiles()["Cleo"]["width"] >= 1279)
    viewer.evaluate("() => document.exitFullscreen().then(() => true)")
    eventually("back in its place", lambda: abs(viewer.tiles()["Cleo"]["width"] - before) < 1)
    assert viewer.large() is None
    assert len(viewer.evaluate("() => window.widths")) <= 3, "its place, full screen, its place"


def test_two_slow_clicks_fill_the_screen_too_and_two_on_different_tiles_do_not(person, seats, room):
    """As the system counts clicks, two may be half a second apart; a phone may not count them at all."""
    seats.enter("Ben", "Cleo")
    anna = ChromiumViewer(person("Anna", viewport={"width": 1280, "height": 760})).join(room, **ALONE)
    anna.sees("Ben", "Cleo", "Anna (you)")
    full = "() => document.fullscreenElement?.querySelector('.name').textContent ?? null"
    click = """([name, detail]) => {
      const tile = [...document.querySelectorAll("#grid > *")].find((one) => one.querySelector(".name").textContent === name);
      tile.querySelector("button").dispatchEvent(new MouseEvent("click", { bubbles: true, detail }));
    }"""
    anna.evaluate("() => { Element.prototype.requestFullscreen = async function () { window.full = this.querySelector('.name').textContent; }; }")
    anna.evaluate(click, ["Ben", 1])
    anna.evaluate(click, ["Cleo", 1])
    anna.becomes_large("Cleo")
    assert anna.evaluate("() => window.full ?? null") is None and anna.evaluate(full) is None
    anna.evaluate(click, ["Cleo", 2])
    anna.becomes_large(None)
    assert anna.evaluate("() => window.full") == "Cleo", "the first click is taken back"
    anna.evaluate(click, ["Ben", 1])
    anna.evaluate(click, ["Ben", 1])
    eventually("without a count", lambda: anna.evaluate("() => window.full") == "Ben")
    anna.evaluate("() => new Promise((resolve) => setTimeout(() => resolve(true), 400))")  # longer than a click waits
    assert anna.large() is None


def test_oneself_stands_last_and_is_mirrored(viewer, seats, room):
    viewer.join(room, **ALONE)
    viewer.evaluate(HALVES)
    for size in (DESKTOP, PHONE):
        viewer.fit(size)
        eventually("alone one is large", lambda: (own := viewer.tiles()["Anna (you)"]) and own["width"] >= 0.6 * size[0] and own["video"])
    viewer.fit(DESKTOP)
    seats.enter("Ben", "Cleo")
    tiles = viewer.sees("Ben", "Cleo", "Anna (you)")
    own = tiles["Anna (you)"]
    last = max(tiles.values(), key=lambda box: (round(box["y"]), box["x"]))
    assert own == last

    def halves() -> bool:
        left, right = (viewer.colour_at(own["x"] + own["width"] * at, own["y"] + own["height"] / 3) for at in (0.25, 0.75))
        return left[2] > 150 > left[0] and right[0] > 150 > right[2]

    eventually("the right half is seen at the left", halves, 20)


def test_a_shared_screen_is_not_mirrored(viewer, seats, room):
    """Nor is it for who shares it on another page: what is written on it shall be read."""
    seats.enter("Ben")
    viewer.join(room, **ALONE)
    seats.do("share", "Ben", "screen", 1280, 720, "rgb(50 70 200)")
    tiles = is_staged(viewer, "Ben’s screen", DESKTOP)
    video = tiles["Ben’s screen"]["video"]

    # Its lines begin at the left, one twelfth in.
    def reads() -> bool:
        left, right = (viewer.colour_at(video["x"] + video["width"] * at, video["y"] + video["height"] * (159 / 720)) for at in (0.15, 0.85))
        return left[0] > 150 and right[0] < 120

    eventually("lines begin at the left", reads, 20)


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES.keys())
def test_rooms_of_any_number_fit(viewer, seats, room, size):
    """Nobody lies over another or outside, one's own tile is last, and all tiles are of one size."""
    viewer.join(room, **ALONE)
    viewer.fit(size)
    here = ["Anna (you)"]
    for more in (["Ben"], ["Cleo"], ["Dan", "Eva"], [f"P{place}" for place in range(6, 14)]):
        seats.enter(*more)
        here = [*here[:-1], *more, "Anna (you)"]
        tiles = list(viewer.sees(*here).values())
        assert apart(tiles) and inside(tiles, size)
        assert max(box["width"] for box in tiles) - min(box["width"] for box in tiles) < 1, "also in a last row that is not full"
        assert min(box["width"] for box in tiles) >= 160
        assert tiles[-1] == max(tiles, key=lambda box: (round(box["y"]), box["x"])), "oneself is last"
