"""True words about connections, and room for them: what is said of reconnecting, how good it is, and the bar at the top."""

import pytest
from people import eventually
from server import Server
from viewers import DESKTOP, PHONE

ALONE = {"audio": 0, "video": 0}

# What is seen now of all that is said of connections.
SAID = """() => {
  const seen = (element) => Boolean(element?.checkVisibility({ visibilityProperty: true }));
  const text = (element) => (seen(element) ? element.innerText.trim().replace(/\\s+/g, " ") : "");
  return {
    banner: text(document.getElementById("banner-text")),
    quality: text(document.getElementById("quality-words")),
    away: [...document.querySelectorAll("#grid .away")].filter(seen).map((one) => one.parentElement.querySelector(".name").textContent),
  };
}"""

# Notes each moment at which something false is said: good, while something or somebody reconnects. Frames are what is seen.
WATCH = """() => {
  const said = %s;
  window.lies = [];
  const look = () => {
    const { banner, quality, away } = said();
    if (quality.startsWith("Good") && (/Reconnecting|Trying again/.test(banner) || away.length)) window.lies.push({ banner, quality, away });
    requestAnimationFrame(look);
  };
  look();
}""" % SAID

MEASURED = """(quality) => {
  window.roost.room.quality = async () => ({ level: "good", why: "", lossIn: 0, lossOut: 0, rttMs: 20, frozenMs: 0, ...quality });
}"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with Server(tmp_path_factory.mktemp("roost"), unknown="group") as server:
        yield server


def said(one) -> dict:
    return one.evaluate(SAID)


def test_nothing_is_good_while_somebody_reconnects(viewer, person, line, room):
    ben = person("Ben", on=line).join(room, **ALONE)
    viewer.join(room, **ALONE)
    viewer.evaluate(MEASURED, {})
    viewer.evaluate(WATCH)
    eventually("all is well", lambda: said(viewer) == {"banner": "", "quality": "Good connection", "away": []})
    line.cut()
    eventually("Ben reconnects", lambda: said(viewer)["away"] == ["Ben"])
    assert said(viewer)["quality"] == ""
    # Ben's page says it of Ben alone, of the banner and the tile.
    eventually("Ben knows", lambda: ben.page.evaluate(SAID) == {"banner": "Reconnecting…", "quality": "Reconnecting…", "away": ["Ben (you)"]})
    line.mend()
    eventually("all is well again", lambda: said(viewer) == {"banner": "", "quality": "Good connection", "away": []})
    eventually("and at Ben's", lambda: (now := ben.page.evaluate(SAID))["banner"] == "" and now["away"] == [])
    assert viewer.evaluate("() => window.lies") == []


def test_nothing_is_good_while_ones_own_media_is_interrupted(viewer, seats, room):
    seats.enter("Ben")
    viewer.join(room, **ALONE)
    viewer.evaluate(MEASURED, {})
    viewer.evaluate(WATCH)
    eventually("all is well", lambda: said(viewer)["quality"] == "Good connection")
    tell = """(state) => {
      const { room } = window.roost;
      Object.defineProperty(room, "mediaStates", { value: { publish: "connected", subscribe: state }, configurable: true });
      room.dispatchEvent(new CustomEvent("media", { detail: { pc: "subscribe", state } }));
    }"""
    for state in ("disconnected", "failed"):
        viewer.evaluate(tell, state)
        now = eventually("it is said", lambda: (now := said(viewer))["banner"] and now)
        assert now["away"] == ["Anna (you)"] and now["quality"] == "Reconnecting…"
    viewer.evaluate(tell, "connected")
    eventually("all is well again", lambda: said(viewer) == {"banner": "", "quality": "Good connection", "away": []})
    assert viewer.evaluate("() => window.lies") == []


def test_of_oneself_a_tile_says_what_one_knows(viewer, seats, room):
    """The others are told when somebody is back, and that one is not: what was heard of oneself on the way back does not stay."""
    seats.enter("Ben")
    viewer.join(room, **ALONE)
    viewer.sees("Ben", "Anna (you)")
    viewer.evaluate("""() => {
      const { room } = window.roost;
      for (const person of room.participants.values()) person.state = "reconnecting";
      room.dispatchEvent(new CustomEvent("refreshed", { detail: {} }));
    }""")
    eventually("Ben's tile says so, and one's own does not", lambda: said(viewer)["away"] == ["Ben"])


def test_words_that_do_not_hold_any_more_go_away(viewer, seats, room):
    """After the server had forgotten us there are new connections, of which nothing is heard while nobody sends anything."""
    viewer.join(room, **ALONE)
    viewer.evaluate("""() => {
      const { room } = window.roost;
      Object.defineProperty(room, "mediaStates", { value: { publish: "new", subscribe: "disconnected" }, configurable: true });
      room.dispatchEvent(new CustomEvent("media", { detail: {} }));
    }""")
    eventually("it is said", lambda: "interrupted" in said(viewer)["banner"])
    said_then = viewer.evaluate("""async () => {
      const { room } = window.roost;
      Object.defineProperty(room, "mediaStates", { value: { publish: "new", subscribe: "new" }, configurable: true });
      room.dispatchEvent(new CustomEvent("refreshed", { detail: {} }));
      await new Promise((resolve) => requestAnimationFrame(resolve));
      return document.getElementById("banner-text").textContent;
    }""")
    assert said_then == "", "at once"


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_the_bar_has_room_for_name_and_buttons(viewer, seats, room, width):
    """Whatever the connection is called, and however long the room's name is; what unfolds stays within the screen."""
    seats.room = f"{room}-with-a-name-that-goes-on-and-on"
    seats.enter("Ben", "Cleo")
    viewer.join(seats.room, **ALONE)
    viewer.resize(width, 760)
    if width < 760:
        viewer.click("#chat-close")
    for level, why in (("good", ""), ("poor", "The pictures stall, and stall, and stall again and again.")):
        viewer.evaluate(MEASURED, {"level": level, "why": why})
        eventually(level, lambda: viewer.evaluate("() => document.getElementById('quality').dataset.level") == level)
        title = viewer.box("#room-title")
        assert title["width"] >= (90 if width >= 390 else 70), "a name that can be read"
        boxes = sorted((box for box in map(viewer.box, ("#room-title", "#room-count", "#quality", "#view", "#invite")) if box), key=lambda box: box["x"])
        assert len(boxes) >= 4
        for left, right in zip(boxes, boxes[1:]):
            assert left["x"] + left["width"] <= right["x"] + 0.5
        assert boxes[-1]["x"] + boxes[-1]["width"] <= width
        invite = viewer.box("#invite")
        assert invite["width"] >= 44 and invite["height"] >= 44
        viewer.click("#quality summary")
        unfolded = eventually("it unfolds", lambda: viewer.box("#quality > div"))
        assert unfolded["x"] >= 0 and unfolded["x"] + unfolded["width"] <= width and unfolded["width"] >= 200
        assert unfolded["y"] >= boxes[0]["y"] and unfolded["y"] + unfolded["height"] <= 760
        assert viewer.evaluate("() => document.scrollingElement.scrollWidth <= innerWidth")
        viewer.click("#quality summary")


def test_entries_of_two_lines_in_recent_calls_keep_apart(viewer):
    viewer.go_online()
    people = ["bartholomew-from-the-third-floor", "clementine-of-the-other-building", "someone-else-entirely"]
    viewer.evaluate(
        """async (people) => {
          for (let round = 0; round < 5; round++) {
            await (await window.roost.client.startCall(people.slice(0, 1 + (round % 3)), { media: "audio" }).catch(() => null))?.call.cancel();
          }
          return true;
        }""",
        people,
    )
    for size in (DESKTOP, PHONE):
        viewer.resize(*size)
        rows = eventually("calls are listed", lambda: len(rows := viewer.evaluate("""() => [...document.querySelectorAll("#records li")].map((row) => {
          const bounds = [...row.querySelectorAll("strong, .state, time, button")].map((part) => part.getBoundingClientRect());
          return { top: Math.min(...bounds.map(({ top }) => top)), bottom: Math.max(...bounds.map(({ bottom }) => bottom)),
            lines: row.querySelector("div").clientHeight };
        })""")) >= 5 and rows)
        assert max(row["lines"] for row in rows) > 48, "some have more than one line"
        for above, below in zip(rows, rows[1:]):
            assert above["bottom"] <= below["top"], (size, above, below)
