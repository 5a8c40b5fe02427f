"""One who looks at the page, in Chromium or in Firefox: the same tests in both, judged by boxes and by what is seen."""

import base64
import io
import pathlib
import typing

import av
import numpy
from firefox import FirefoxPerson
from people import Person, eventually

DESKTOP = (1280, 760)
PHONE = (390, 844)
SIZES = {"desktop": DESKTOP, "phone": PHONE}

# Each tile that is seen, by what it is called: where it is, its picture, and its name; null for what is not seen.
TILES = """() => {
  const box = (element) => {
    if (!element?.checkVisibility({ visibilityProperty: true })) return null;
    const { x, y, width, height } = element.getBoundingClientRect();
    return { x, y, width, height };
  };
  const seen = [...document.querySelectorAll("#grid > *")].filter((tile) => box(tile));
  return Object.fromEntries(seen.map((tile) => [tile.querySelector(".name").textContent,
    { ...box(tile), video: box(tile.querySelector("video")), name: box(tile.querySelector(".name")) }]));
}"""

BOX = """(selector) => {
  const element = [...document.querySelectorAll(selector)].find((one) => one.checkVisibility());
  if (!element) return null;
  const { x, y, width, height } = element.getBoundingClientRect();
  return { x, y, width, height };
}"""

# What has the focus; nothing while the browser's own bars have it.
FOCUSED = """() => {
  const { activeElement: element } = document;
  if (!document.hasFocus()) return { name: null };
  const { outlineStyle, outlineWidth } = getComputedStyle(element);
  return { name: element.ariaLabel ?? element.textContent.trim(), pressed: element.ariaPressed, outline: outlineStyle !== "none" && parseFloat(outlineWidth) };
}"""

Box = dict[str, typing.Any]


class Viewer:
    """What both browsers can do for a test."""

    evaluate: typing.Callable[..., typing.Any]

    def join(self, room: str, **wishes: typing.Any) -> "Viewer":
        raise NotImplementedError

    def go_online(self) -> None:
        raise NotImplementedError

    def resize(self, width: int, height: int) -> None:
        raise NotImplementedError

    def press(self, key: str) -> None:
        raise NotImplementedError

    def type(self, text: str) -> None:
        raise NotImplementedError

    def click_at(self, x: float, y: float, times: int = 1) -> None:
        raise NotImplementedError

    def screenshot(self) -> bytes:
        raise NotImplementedError

    # What is the same in both.

    def fit(self, size: tuple[int, int]) -> None:
        """Another size of the window; on a phone the chat, which covers it all, is closed."""
        self.resize(*size)
        if size == PHONE and self.box("#chat-close"):
            self.click("#chat-close")

    def tiles(self) -> dict[str, Box]:
        return self.evaluate(TILES)

    def box(self, selector: str) -> Box | None:
        return self.evaluate(BOX, selector)

    def sees(self, *names: str) -> dict[str, Box]:
        """Those tiles and no other, in that order from top left to bottom right or as they stand in the page."""
        return eventually(f"tiles {names}", lambda: list(self.tiles()) == list(names) and self.tiles())

    def click(self, selector: str) -> None:
        box = eventually(f"{selector} is there", lambda: self.box(selector))
        self.click_at(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)

    def click_tile(self, name: str, times: int = 1) -> None:
        box = eventually(f"{name} is there", lambda: self.tiles().get(name))
        self.click_at(box["x"] + box["width"] / 2, box["y"] + box["height"] / 3, times)

    def large(self) -> str | None:
        """Whose tile is far larger than each of the others."""
        areas = sorted((box["width"] * box["height"], name) for name, box in self.tiles().items() if name != SHARING)
        if len(areas) < 2 or areas[-1][0] < 2 * areas[-2][0]:
            return None
        return areas[-1][1]

    def becomes_large(self, name: str | None, timeout: float = 30) -> dict[str, Box]:
        eventually(f"{name} is large", lambda: (self.large() == name) and (True if name else len(self.tiles()) > 1), timeout, 0.1)
        return self.tiles()

    def focused(self) -> dict[str, typing.Any]:
        return self.evaluate(FOCUSED)

    def tab_to(self, name: str) -> dict[str, typing.Any]:
        """By the tab key alone, from the top; behind the last button the browser's own bars would come."""
        self.evaluate("() => document.getElementById('room-title').focus()")
        for _ in range(60):
            self.press("Tab")
            focused = self.focused()
            if focused["name"] == name:
                return focused
        raise AssertionError(f"the tab key does not reach {name}")

    def speak(self, *names: str) -> None:
        """What the server says of who speaks."""
        self.evaluate(
            """(names) => {
              const { room } = window.roost;
              const people = [...room.participants.values()];
              const speakers = names.map((name) => ({ participant: people.find(({ displayName }) => displayName === name), level: 20 }));
              room.dispatchEvent(new CustomEvent("activeSpeakers", { detail: { speakers } }));
            }""",
            list(names),
        )

    def colour_at(self, x: float, y: float) -> list[int]:
        frame = next(av.open(io.BytesIO(self.screenshot())).decode(video=0)).to_ndarray(format="rgb24")
        return [int(value) for value in numpy.median(frame[int(y) - 2 : int(y) + 3, int(x) - 2 : int(x) + 3], axis=(0, 1))]


SHARING = "You are sharing your screen"


class ChromiumViewer(Viewer):
    def __init__(self, person: Person) -> None:
        self.person = person
        self.evaluate = person.page.evaluate

    def join(self, room: str, **wishes: typing.Any) -> "ChromiumViewer":
        self.person.join(room, **wishes)
        return self

    def go_online(self) -> None:
        self.person.go_online()

    def resize(self, width: int, height: int) -> None:
        self.person.page.set_viewport_size({"width": width, "height": height})

    def press(self, key: str) -> None:
        self.person.press(key)

    def type(self, text: str) -> None:
        self.person.page.keyboard.type(text)

    def click_at(self, x: float, y: float, times: int = 1) -> None:
        self.person.page.mouse.click(x, y, click_count=times)

    def screenshot(self) -> bytes:
        return self.person.page.screenshot()


# WebDriver's names of keys.
KEYS = {"Tab": "\ue004", "Enter": "\ue007", "Shift": "\ue008", "Escape": "\ue00c", "ArrowLeft": "\ue012", "ArrowRight": "\ue014"}


class FirefoxViewer(Viewer):
    def __init__(self, fox: FirefoxPerson) -> None:
        # A tab of its own, made in front: the one that Firefox begins with has no focus, and may not fill the screen.
        before, fox.tab = fox.tab, fox.command("browsingContext.create", {"type": "tab", "background": False})["context"]
        fox.command("browsingContext.close", {"context": before})
        self.fox = fox
        self.evaluate = fox.evaluate

    def join(self, room: str, **wishes: typing.Any) -> "FirefoxViewer":
        self.fox.join(room, **wishes)
        return self

    def go_online(self) -> None:
        self.fox.go_online()

    def resize(self, width: int, height: int) -> None:
        params = {"context": self.fox.tab, "viewport": {"width": width, "height": height}}
        self.fox.command("browsingContext.setViewport", params)
        eventually("the size", lambda: self.evaluate("() => [innerWidth, innerHeight]") == [width, height])

    def press(self, key: str) -> None:
        *held, last = [KEYS.get(one, one) for one in key.split("+")]
        downs = [{"type": "keyDown", "value": one} for one in [*held, last]]
        ups = [{"type": "keyUp", "value": one} for one in [last, *reversed(held)]]
        self._perform({"type": "key", "id": "keyboard", "actions": downs + ups})

    def type(self, text: str) -> None:
        actions = [{"type": type, "value": letter} for letter in text for type in ("keyDown", "keyUp")]
        self._perform({"type": "key", "id": "keyboard", "actions": actions})

    def click_at(self, x: float, y: float, times: int = 1) -> None:
        move = {"type": "pointerMove", "x": round(x), "y": round(y)}
        press = [{"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]
        self._perform({"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": [move, *press * times]})

    def screenshot(self) -> bytes:
        return base64.b64decode(self.fox.command("browsingContext.captureScreenshot", {"context": self.fox.tab})["data"])

    def _perform(self, source: dict) -> None:
        self.fox.command("input.performActions", {"context": self.fox.tab, "actions": [source]})


def firefox(url: str, folder: pathlib.Path) -> FirefoxPerson:
    """One for all tests of a file: starting it is what costs."""
    return FirefoxPerson("Anna", url, folder)
