"""What scenarios are made of: a hall with people behind lines, what a run found, and what is said about it."""

import contextlib
import dataclasses
import json
import math
import os
import pathlib
import time
import typing

from clients import Clients, Samples, collect
from halls import VIEWPORT, Hall
from lines import Line, NetworkNotApplied
from playwright.sync_api import Browser, Page
from probes import Echo


@dataclasses.dataclass
class Part:
    """One condition of a bar."""

    what: str
    figure: str
    held: bool


@dataclasses.dataclass
class Outcome:
    """What one run of a scenario found."""

    parts: list[Part]
    # The share of processor time that nobody used meanwhile.
    idle: float = 0

    @property
    def held(self) -> bool:
        return bool(self.parts) and all(part.held for part in self.parts)

    @property
    def figure(self) -> str:
        return "; ".join(f"{part.what} {part.figure}{'' if part.held else ' (missed)'}" for part in self.parts)


@dataclasses.dataclass
class Tools:
    """What every scenario needs."""

    clients: Clients
    echo: Echo
    out: pathlib.Path
    # To try it; the bars are for the full durations.
    is_short: bool = False

    def seconds(self, full: float, short: float) -> float:
        return short if self.is_short else full

    def times(self, full: int, short: int) -> int:
        return short if self.is_short else full


class Stage(contextlib.ExitStack):
    """The people of one run. Chromiums and lines go with it."""

    def __init__(self, tools: Tools, hall: Hall, name: str) -> None:
        """`name` of the run, for its file and its room."""
        super().__init__()
        self.tools, self.hall, self.name, self.room = tools, hall, name, name.lower()
        self.lines: dict[str, Line] = {}
        self.pages: dict[str, Page] = {}
        self.notes: dict[str, typing.Any] = {"load": os.getloadavg(), "troubles": []}
        # What is done to a publisher's page before it opens the server's.
        self.before_publishing: typing.Callable[[Page], typing.Any] = lambda page: None
        self.callback(tools.clients.close)

    def line(self, name: str, delay_ms: float = 0) -> Line:
        self.lines[name] = line = Line(name, delay_ms)
        self.callback(line.close)
        return line

    def browser(self, name: str, delay_ms: float = 0, **camera: typing.Any) -> Browser:
        line = self.lines.get(name) or self.line(name, delay_ms)
        secure = f"--unsafely-treat-insecure-origin-as-secure={self.hall.origin}"
        return self.tools.clients.browser(line, flags=[secure], **camera)

    def page(self, name: str, browser: Browser, viewport: dict[str, int] = VIEWPORT) -> Page:
        page = browser.new_context(viewport=viewport).new_page()
        page.set_default_timeout(60_000)
        self.pages[name] = page
        troubles: list[str] = self.notes["troubles"]
        page.on("pageerror", lambda error: troubles.append(f"{name}: {error}"))
        page.on("console", lambda message: message.type == "error" and troubles.append(f"{name}: {message.text}"))
        page.on("requestfailed", lambda request: troubles.append(f"{name}: {request.url}: {request.failure}"))
        return page

    def publisher(self, name: str, browser: Browser, **options: typing.Any) -> Page:
        page = self.page(name, browser, {"width": 400, "height": 300})
        self.before_publishing(page)
        self.hall.publish(page, name, self.room, **options)
        return page

    def viewer(self, name: str, browser: Browser) -> Page:
        page = self.page(name, browser)
        self.hall.view(page, name, self.room)
        return page

    def wait(self, seconds: float) -> float:
        """Lets time pass, and returns when that is: Unix time."""
        next(iter(self.pages.values())).wait_for_timeout(seconds * 1000)
        return time.time()

    def until(self, what: str, look: typing.Callable[[], typing.Any], timeout: float = 60) -> None:
        deadline = time.monotonic() + timeout
        while not look():
            if time.monotonic() > deadline:
                raise NetworkNotApplied(f"not within {timeout} s, on a line without limits: {what}")
            self.wait(0.25)

    def samples(self, name: str) -> Samples:
        return collect(self.pages[name])

    def latest(self, name: str, stream: str, key: str, way: str = "in") -> typing.Any:
        """The newest value of one statistic; 0 where there is none yet."""
        look = "([way, stream, key]) => window.samples.at(-1)?.[way][stream]?.[key] ?? 0"
        return self.pages[name].evaluate(look, [way, stream, key])

    def keep(self, **more: typing.Any) -> None:
        """Writes what was noted into a file of the run's."""
        self.notes["load at the end"] = os.getloadavg()
        series = {who: collect(page).found for who, page in self.pages.items()}
        self.tools.out.mkdir(parents=True, exist_ok=True)
        (self.tools.out / f"{self.name}.json").write_text(json.dumps({"notes": self.notes, "samples": series, **more}))


class Processor:
    """How busy this machine's processors are, others' work included: a busy machine freezes pictures by itself."""

    def __init__(self) -> None:
        self.begun = self.read()

    @staticmethod
    def read() -> list[int]:
        return [int(value) for value in pathlib.Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]

    @property
    def idle(self) -> float:
        """The share of the time since the beginning in which a processor had nothing to do, but for what gives way to all else (`nice`)."""
        spent = [now - before for now, before in zip(self.read(), self.begun)]
        return (spent[1] + spent[3] + spent[4]) / max(1, sum(spent))


def duration(seconds: float) -> str:
    return "never" if math.isinf(seconds) else f"{seconds:.1f} s"


def percent(share: float) -> str:
    return f"{share * 100:.1f} %"
