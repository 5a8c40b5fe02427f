"""Somebody in front of a Chromium: one process each, with his own picture and tone."""

import pathlib
import re
import time
import typing

from fixtures import LOOKS, RATE, write_picture, write_tone
from playwright.sync_api import Browser, Error, Locator, Page, Playwright, expect

CHROMIUM = "/usr/bin/chromium"
FLAGS = [
    "--use-fake-ui-for-media-stream",
    "--use-fake-device-for-media-stream=fps=15",
    "--allow-loopback-in-peer-connection",
    "--autoplay-policy=no-user-gesture-required",
    "--disable-gpu",
]

# What arrives, by the sender's name: {Ben: {video: {...}, audio: {...}}}.
RECEIVED = """async () => {
  const { room } = window.roost ?? {};
  if (!room) return {};
  const report = (await room.stats()).subscribe;
  const inbound = report ? [...report.values()].filter(({ type }) => type === "inbound-rtp") : [];
  const result = {};
  for (const person of room.participants.values()) {
    if (person.isSelf) continue;
    const entry = (result[person.displayName] = {});
    for (const track of person.tracks.values()) {
      const stat = inbound.find(({ trackIdentifier }) => trackIdentifier === track.mediaStreamTrack?.id);
      if (stat) entry[track.kind] = stat;
    }
  }
  return result;
}"""

# The colour shown in the lower half of somebody's tile, where nothing moves.
COLOUR = """(tile) => {
  const video = tile.querySelector("video");
  if (!video.videoWidth || video.hidden) return null;
  const canvas = new OffscreenCanvas(8, 8);
  const context = canvas.getContext("2d");
  context.drawImage(video, 0, video.videoHeight * 0.5, video.videoWidth, video.videoHeight * 0.4, 0, 0, 8, 8);
  const data = context.getImageData(0, 0, 8, 8).data;
  const sum = [0, 0, 0];
  for (let i = 0; i < data.length; i += 4) for (let c = 0; c < 3; c++) sum[c] += data[i + c];
  return sum.map((value) => Math.round(value / 64));
}"""

# The loudest frequency of somebody's sound over a second, or null in silence.
TONE = """async (tile) => {
  const stream = tile.querySelector("audio")?.srcObject;
  if (!stream) return null;
  const context = new AudioContext({ sampleRate: 48000 });
  const analyser = new AnalyserNode(context, { fftSize: 8192, smoothingTimeConstant: 0 });
  context.createMediaStreamSource(stream).connect(analyser);
  const bins = new Float32Array(analyser.frequencyBinCount);
  let best = { level: -70, frequency: null };
  for (let i = 0; i < 10; i++) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    analyser.getFloatFrequencyData(bins);
    bins.forEach((level, bin) => {
      if (level > best.level) best = { level, frequency: (bin * 48000) / analyser.fftSize };
    });
  }
  await context.close();
  return best.frequency;
}"""


def eventually(what: str, look: typing.Callable[[], typing.Any], timeout: float = 60, every: float = 0.25) -> typing.Any:
    """Waits until `look` returns something true, and returns it; the last sight is in the failure."""
    deadline = time.monotonic() + timeout
    while True:
        seen = look()
        if seen:
            return seen
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {timeout} s: {what} (last seen: {seen!r})")
        time.sleep(every)


class Person:
    """A page with somebody's camera and microphone behind it."""

    def __init__(self, name: str, browser: Browser, url: str, **context: typing.Any) -> None:
        self.name = name
        self.url = url
        self.context = browser.new_context(**context)
        self.page: Page = self.context.new_page()
        self.errors: list[str] = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda message: message.type == "error" and self.errors.append(message.text))

    # What he does.

    def open(self, room: str, **wishes: typing.Any) -> "Person":
        query = "&".join(f"{key}={value}" for key, value in {"room": room, "name": self.name, **wishes}.items())
        self.page.goto(f"{self.url}/?{query}")
        return self

    def join(self, room: str = "demo", **wishes: typing.Any) -> "Person":
        self.open(room, autojoin=1, **wishes)
        expect(self.page.locator("#call")).to_be_visible(timeout=60_000)
        return self

    def go_online(self, **wishes: typing.Any) -> "Person":
        """Can be called from here on, by his name in small letters."""
        query = "&".join(f"{key}={value}" for key, value in {"online": 1, "name": self.name, **wishes}.items())
        self.page.goto(f"{self.url}/?{query}")
        expect(self.page.locator("#phone")).to_be_visible()
        return self

    def call(self, *names: str, voice: bool = False) -> None:
        self.page.locator("#dial-to").fill(", ".join(names))
        self.page.locator("#dial-voice" if voice else "#dial-video").click()
        expect(self.page.locator("#call")).to_be_visible()

    def answer(self, voice: bool = False) -> None:
        expect(self.page.locator("#ring")).to_be_visible()
        self.page.locator("#ring-voice" if voice else "#ring-video").click()
        expect(self.page.locator("#ring")).to_be_hidden()
        expect(self.page.locator("#call")).to_be_visible()

    def press(self, key: str) -> None:
        self.page.keyboard.press(key)

    def leave(self) -> None:
        self.page.locator("#leave").click()
        expect(self.page.locator("#lobby")).to_be_visible()

    def say(self, text: str, to: str | None = None) -> None:
        if not self.page.locator("#chat").is_visible():
            self.page.locator("#chat-toggle").click()
        self.page.locator("#chat-to").select_option(label=to or "everybody")
        self.page.locator("#chat-text").fill(text)
        self.page.locator("#chat-text").press("Enter")

    def close(self) -> None:
        try:
            self.page.evaluate("window.roost?.client?.close()")
        except Error as error:
            # A page that a test has let crash says nothing more.
            if "crashed" not in str(error):
                raise
        finally:
            self.context.close()

    # What he sees and hears.

    def tile(self, name: str) -> Locator:
        return self.page.locator(f'article.tile[data-name="{name}"]')

    @property
    def tiles(self) -> Locator:
        return self.page.locator("article.tile")

    @property
    def messages(self) -> Locator:
        return self.page.locator("#messages li")

    def received(self) -> dict[str, dict[str, dict[str, typing.Any]]]:
        return self.page.evaluate(RECEIVED)

    def frames(self, name: str) -> int:
        """Frames decoded of somebody's video so far."""
        return self.received().get(name, {}).get("video", {}).get("framesDecoded", 0)

    def energy(self, name: str) -> float:
        """Sound received from somebody so far."""
        return self.received().get(name, {}).get("audio", {}).get("totalAudioEnergy", 0.0)

    def colour(self, name: str) -> list[int] | None:
        return self.tile(name).evaluate(COLOUR)

    def tone(self, name: str) -> float | None:
        return self.tile(name).evaluate(TONE)

    def sees(self, name: str, timeout: float = 60) -> None:
        """That new frames of `name` arrive, have a size, and are his."""
        self.sees_anything(name, timeout)
        if name in LOOKS:
            expected = LOOKS[name].colour
            eventually(f"{self.name} sees {name} as {expected}", lambda: close(self.colour(name), expected), 10)

    def sees_anything(self, name: str, timeout: float = 60) -> None:
        """That new frames of `name` arrive and have a size, whatever is on them."""
        before = eventually(f"{self.name} decodes {name}", lambda: self.frames(name), timeout)
        eventually(f"{self.name} goes on decoding {name}", lambda: self.frames(name) > before + 3, timeout)
        video = self.received()[name]["video"]
        assert video["frameWidth"] > 0 and video["frameHeight"] > 0, video

    def hears(self, name: str, timeout: float = 60) -> None:
        """That sound of `name` arrives, and has his tone."""
        before = eventually(f"{self.name} hears {name}", lambda: self.energy(name), timeout)
        eventually(f"{self.name} goes on hearing {name}", lambda: self.energy(name) > before + 1e-4, timeout)
        if name in LOOKS:
            expected = LOOKS[name].tone
            eventually(f"{self.name} hears {expected} Hz of {name}", lambda: near(self.tone(name), expected), 10)

    def frames_in(self, name: str, seconds: float) -> int:
        before = self.frames(name)
        self.page.wait_for_timeout(seconds * 1000)
        return self.frames(name) - before


def close(colour: list[int] | None, expected: tuple[int, int, int]) -> bool:
    return colour is not None and all(abs(seen - wanted) < 40 for seen, wanted in zip(colour, expected))


def near(tone: float | None, expected: int) -> bool:
    return tone is not None and abs(tone - expected) < 25


def counts_of(received: dict[str, dict[str, dict[str, typing.Any]]]) -> dict[str, dict[str, int]]:
    """Pictures decoded and packets of sound, of what RECEIVED gives."""
    keys = {"audio": "packetsReceived", "video": "framesDecoded"}
    return {name: {kind: stat.get(keys[kind], 0) for kind, stat in kinds.items()} for name, kinds in received.items()}


class Crowd:
    """Keeps one Chromium for each name, because starting one is what costs."""

    def __init__(self, playwright: Playwright, folder: pathlib.Path, pictures: int = RATE) -> None:
        """`pictures`: of each camera, a second."""
        self.playwright = playwright
        self.pictures = pictures
        self.folder = folder
        self.browsers: dict[str, Browser] = {}

    def browser(self, name: str) -> Browser:
        if name not in self.browsers:
            look = LOOKS[name]
            picture, sound = self.folder / f"{name}.y4m", self.folder / f"{name}.wav"
            write_picture(picture, look.colour, self.pictures)
            write_tone(sound, look.tone)
            files = [f"--use-file-for-fake-video-capture={picture}", f"--use-file-for-fake-audio-capture={sound}"]
            self.browsers[name] = self.playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS + files)
        return self.browsers[name]

    def close(self) -> None:
        for browser in self.browsers.values():
            browser.close()


def ignorable(error: str) -> bool:
    """A socket that a test cuts is reported by the browser, whatever the page does about it."""
    return bool(re.search(r"WebSocket|ERR_CONNECTION_REFUSED|net::ERR_", error))
