"""Chromiums behind lines, with their own pictures and sounds, and the statistics that each page keeps of itself."""

import pathlib
import typing

import numpy
from fixtures import write_tone
from lines import Line
from people import CHROMIUM, FLAGS
from playwright.sync_api import Browser, Page, Playwright

RATE, SECONDS = 15, 4

# Notes every 250 ms what `window.reports()` tells of both directions: {at, in: {"Anna video": {…}}, out: {"video h": {…}}, rtt}. `at` is
# Unix time in seconds. `reports` answers {publish, subscribe, names}: names are those of participants by the track's identifier.
SAMPLER = """() => {
  const received = ["framesDecoded", "frameWidth", "frameHeight", "freezeCount", "totalFreezesDuration", "totalPausesDuration", "concealedSamples", "silentConcealedSamples",
    "totalSamplesReceived", "packetsReceived", "packetsLost", "packetsDiscarded", "bytesReceived", "keyFramesDecoded", "framesDropped", "pliCount",
    "nackCount", "jitterBufferDelay", "jitterBufferEmittedCount", "estimatedPlayoutTimestamp", "retransmittedPacketsReceived", "totalAudioEnergy"];
  const sent = ["bytesSent", "headerBytesSent", "packetsSent", "framesEncoded", "frameHeight", "framesPerSecond", "keyFramesEncoded", "pliCount", "firCount",
    "nackCount", "targetBitrate", "active", "qualityLimitationReason", "retransmittedBytesSent"];
  const pick = (stat, keys) => Object.fromEntries(keys.filter((key) => stat[key] !== undefined).map((key) => [key, stat[key]]));
  window.samples = [];
  const look = async () => {
    const found = await window.reports().catch(() => null);
    if (!found) return;
    const sample = { at: Date.now() / 1000, in: {}, out: {}, rtt: null, estimate: null };
    for (const report of [found.publish, found.subscribe]) {
      for (const stat of report?.values() ?? []) {
        if (stat.type === "inbound-rtp") {
          const codec = report.get(stat.codecId)?.mimeType;
          sample.in[`${found.names[stat.trackIdentifier] ?? stat.mid} ${stat.kind}`] = { codec, ...pick(stat, received) };
        } else if (stat.type === "outbound-rtp") {
          sample.out[`${stat.kind}${stat.rid ? " " + stat.rid : ""}`] = pick(stat, sent);
        } else if (stat.type === "candidate-pair" && stat.nominated && stat.state === "succeeded") {
          sample.rtt = stat.currentRoundTripTime ?? null;
          sample.estimate = stat.availableOutgoingBitrate ?? null;
        }
      }
    }
    sample.own = window.roost?.room?.own ?? null;
    window.samples.push(sample);
  };
  window.sampler = setInterval(look, 250);
}"""


def write_scene(path: pathlib.Path, width: int, height: int, noise: int) -> None:
    """A head that sways before a room, as Y4M. `noise` is the grain of each frame, in steps of 255: the more, the more bits it takes."""
    random = numpy.random.default_rng(7)
    rows, columns = numpy.mgrid[0:height, 0:width]
    # A room with edges and textures that stand still.
    room = 110 + 40 * numpy.sin(columns / width * 19) * numpy.cos(rows / height * 11) + 25 * ((columns * 24 // width + rows * 13 // height) % 2)
    grain = numpy.repeat(numpy.repeat(random.integers(-12, 13, (height // 4, width // 4)), 4, 0), 4, 1)
    room = room + grain[:height, :width]
    chroma = bytes([118]) * (width * height // 4) + bytes([138]) * (width * height // 4)
    with path.open("wb") as file:
        file.write(f"YUV4MPEG2 W{width} H{height} F{RATE}:1 Ip A1:1 C420mpeg2\n".encode())
        for index in range(RATE * SECONDS):
            turn = 2 * numpy.pi * index / (RATE * SECONDS)
            across = (columns - width * (0.5 + 0.08 * numpy.sin(turn))) / (height * 0.28)
            down = (rows - height * (0.5 + 0.03 * numpy.sin(2 * turn))) / (height * 0.4)
            head = across**2 + down**2 < 1
            face = 165 + 30 * numpy.cos(across * 3) - 35 * (numpy.hypot(across, down - 0.4 - 0.1 * numpy.sin(6 * turn)) < 0.2)
            frame = numpy.where(head, face, room) + random.integers(-noise, noise + 1, (height, width))
            file.write(b"FRAME\n" + numpy.clip(frame, 16, 235).astype(numpy.uint8).tobytes() + chroma)


class Clients:
    """Starts Chromiums, one behind each line, and closes them."""

    def __init__(self, playwright: Playwright, folder: pathlib.Path) -> None:
        self.playwright, self.folder = playwright, folder
        self.browsers: list[Browser] = []

    def browser(self, line: Line, size: tuple[int, int] = (640, 360), noise: int = 6, flags: typing.Sequence[str] = ()) -> Browser:
        """`size` and `noise` of its camera's picture."""
        scene, tone = self.folder / f"{size[0]}x{size[1]}-{noise}.y4m", self.folder / "tone.wav"
        if not scene.exists():
            write_scene(scene, *size, noise)
        if not tone.exists():
            write_tone(tone, 440)
        start = self.folder / f"chromium-{line.index}"
        start.write_text(f'#!/bin/sh\nexec nsenter --net={line.namespace} {CHROMIUM} "$@"\n')
        start.chmod(0o755)
        made = self.playwright.chromium.launch(executable_path=start, args=[
            *FLAGS, f"--use-file-for-fake-video-capture={scene}", f"--use-file-for-fake-audio-capture={tone}", *flags])
        self.browsers.append(made)
        return made

    def close(self) -> None:
        for browser in self.browsers:
            browser.close()
        self.browsers.clear()


def long(still: float) -> float:
    """Of two looks that show the same frame nothing follows; of more, for longer than half a second, a freeze."""
    return still if still > 0.5 else 0.0


class Samples:
    """What a page has noted, between two moments of Unix time."""

    def __init__(self, found: list[dict[str, typing.Any]]) -> None:
        self.found = found

    def between(self, start: float, end: float) -> "Samples":
        return Samples([sample for sample in self.found if start <= sample["at"] < end])

    def series(self, stream: str, key: str, way: str = "in") -> list[tuple[float, typing.Any]]:
        """Of one stream, as "Anna video": the values of one statistic over time."""
        return [(sample["at"], sample[way][stream][key]) for sample in self.found if key in sample[way].get(stream, {})]

    def grown(self, stream: str, key: str, way: str = "in") -> float:
        """By how much a sum of the browser's grew; 0 where there is none. A stream that begins anew begins at 0."""
        values = [value for _, value in self.series(stream, key, way)]
        return sum(max(0, after - before) if after >= before else after for before, after in zip(values, values[1:]))

    def frozen(self, stream: str) -> float:
        """Seconds frozen."""
        points = self.freezing(stream)
        return max(0.0, points[-1][1] - points[0][1]) if len(points) > 1 else 0.0

    def freezing(self, stream: str) -> list[tuple[float, float]]:
        """Seconds frozen until each moment since the first: by the browser's sums, or by looks without a new frame, whichever is more. The
        browser tells of a freeze when it is over, and calls one of more than five seconds a pause."""
        result, since, frames, by_looks, first = [], 0.0, None, 0.0, None
        for sample in self.found:
            stat = sample["in"].get(stream)
            if stat is None:
                continue
            at, told = sample["at"], stat.get("totalFreezesDuration", 0) + stat.get("totalPausesDuration", 0)
            first = told if first is None else first
            if stat.get("framesDecoded") != frames:
                by_looks += long(result[-1][0] - since) if result else 0
                since, frames = at, stat.get("framesDecoded")
            result.append((at, max(told - first, by_looks) + long(at - since)))
        return result

    def frozen_share(self, stream: str) -> float:
        """The same, as a share of the time; all of it where nothing new was decoded."""
        if len(self.found) < 2 or not self.grown(stream, "framesDecoded"):
            return 1.0
        return self.frozen(stream) / (self.found[-1]["at"] - self.found[0]["at"])

    def concealed(self, stream: str) -> float:
        """The share of samples that were made up, silence included; all of it where nothing was played."""
        if not self.grown(stream, "totalSamplesReceived"):
            return 1.0
        return self.grown(stream, "concealedSamples") / max(1, self.grown(stream, "totalSamplesReceived"))

    def frames_per_second(self, stream: str) -> float:
        seconds = self.found[-1]["at"] - self.found[0]["at"] if len(self.found) > 1 else 0
        return self.grown(stream, "framesDecoded") / seconds if seconds else 0.0

    def heights(self, stream: str) -> list[tuple[float, int]]:
        """When the number of lines changed, and to what; the first is how it began."""
        changes: list[tuple[float, int]] = []
        for at, height in self.series(stream, "frameHeight"):
            if not changes or changes[-1][1] != height:
                changes.append((at, height))
        return changes


def collect(page: Page) -> Samples:
    return Samples(page.evaluate("() => window.samples"))
