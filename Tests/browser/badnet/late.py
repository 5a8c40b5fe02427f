"""C7: somebody who comes late. How soon the first picture is there, whether lips and voice fit, and what publishers are asked for."""

import statistics
import typing

from bench import Outcome, Part, Stage
from clients import Samples
from first_frame import WATCH
from gateway import JOIN, SPEAK
from halls import JanusHall
from playwright.sync_api import Browser, Page

NAMES = ("Pia", "Quinn")
# A join on a session that is open already, or from a closed socket. {times, sync}: milliseconds until the first frame of each picture
# is presented; and, two seconds later or as soon as the browser knows, between the voice and the picture that are played out together.
ROOST_LATE = """async ({ user, room, isClosed }) => {
  %s
  const { RoostClient, rtcUrl } = await import("/roost.js");
  const client = new RoostClient(rtcUrl(), { user });
  let started = performance.now();
  await client.connect();
  if (!isClosed) started = performance.now();
  const joined = await client.join(room);
  const pictures = [];
  const all = new Promise((resolve) => {
    const look = ({ track }) => {
      const stream = new MediaStream([track.mediaStreamTrack]);
      if (track.kind === "audio") return Object.assign(document.createElement("audio"), { srcObject: stream }).play();
      pictures.push(watch(stream, started));
      if (pictures.length === 2) resolve();
    };
    joined.addEventListener("trackStarted", ({ detail }) => look(detail));
    for (const person of joined.participants.values())
      for (const track of person.tracks.values()) if (track.mediaStreamTrack) look({ track });
  });
  const times = await soon(all.then(() => Promise.all(pictures)));
  await new Promise((resolve) => setTimeout(resolve, 2000));
  // Known once a few sender reports came, which may take longer than two seconds.
  let sync = [];
  for (let look = 0; look < 20 && sync.length < 2; look++) {
    const stats = [...(await joined.stats()).subscribe.values()].filter(({ type }) => type === "inbound-rtp");
    const playsOut = (person, kind) => {
      const track = [...person.tracks.values()].find((track) => track.kind === kind)?.mediaStreamTrack;
      return stats.find(({ trackIdentifier }) => trackIdentifier === track?.id)?.estimatedPlayoutTimestamp;
    };
    sync = [...joined.participants.values()].filter(({ isSelf }) => !isSelf)
      .map((person) => playsOut(person, "video") - playsOut(person, "audio")).filter(Number.isFinite);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  await joined.leave();
  client.close();
  return { times, sync };
}""" % WATCH


def late_joins(stage: Stage, is_control: bool) -> Outcome:
    """On a line without delay, then on one with 100 ms there and back. The control's lines are slower than what is said of them."""
    browser = stage.browser("Pia")
    for name in NAMES:
        stage.publisher(name, browser)
    stage.until("both are sent", lambda: all(stage.latest(name, "video h", "framesEncoded", "out") > 30 for name in NAMES), 90)
    count = 5 if is_control else stage.tools.times(30, 6)
    near = joins(stage, stage.browser("near", delay_ms=75 if is_control else 0), count)
    parts = [Part("median", f"{middle(near):.0f} ms", middle(near) <= 120), Part("p90", f"{ninth(near):.0f} ms", ninth(near) <= 200)]
    if isinstance(stage.hall, JanusHall):
        return Outcome(parts)
    sync = [abs(apart) for join in near for apart in join["sync"]]
    parts.append(Part("lip sync", f"{max(sync):.0f} ms" if sync else "unknown", bool(sync) and max(sync) <= 80))
    far = stage.browser("far", delay_ms=250 if is_control else 50)
    on_open, on_closed = joins(stage, far, count), joins(stage, far, count, is_closed=True)
    parts.append(Part("RTT 100 ms: median", f"{middle(on_open):.0f} ms", middle(on_open) <= 600))
    parts.append(Part("from a closed socket", f"{middle(on_closed):.0f} ms", middle(on_closed) <= 900))
    stage.keep(near=near, on_open=on_open, on_closed=on_closed)
    asked = max(most_asked(stage.samples(name)) for name in NAMES)
    parts.append(Part("keyframe requests in 500 ms", str(asked), asked <= 1))
    return Outcome(parts)


def joins(stage: Stage, browser: Browser, count: int, is_closed: bool = False) -> list[dict[str, list[float]]]:
    found = []
    for index in range(count):
        context = browser.new_context()
        page = context.new_page()
        page.goto(stage.hall.origin)
        found.append(join(stage, page, f"late{index}", is_closed))
        context.close()
    return found


def join(stage: Stage, page: Page, user: str, is_closed: bool) -> dict[str, list[float]]:
    given = {"user": user, "room": stage.room, "isClosed": is_closed}
    if isinstance(stage.hall, JanusHall):
        return {"times": page.evaluate(JOIN % (SPEAK, WATCH), {**given, "url": stage.hall.gateway.url}), "sync": []}
    return page.evaluate(ROOST_LATE, given)


def every(found: list[dict[str, list[float]]]) -> list[float]:
    return sorted(time for join in found for time in join["times"])


def middle(found: list[dict[str, list[float]]]) -> float:
    return statistics.median(every(found))


def ninth(found: list[dict[str, list[float]]]) -> float:
    return every(found)[int(len(every(found)) * 0.9)]


def most_asked(pia: Samples) -> int:
    """The most keyframe requests that came to a publisher, all layers together, within half a second: two looks."""
    counts: list[typing.Any] = []
    for sample in pia.found:
        video = [stat for stream, stat in sample["out"].items() if stream.startswith("video")]
        counts.append(sum(stat.get("pliCount", 0) + stat.get("firCount", 0) for stat in video))
    return max((later - before for before, later in zip(counts, counts[2:])), default=0)
