"""How long somebody who comes late waits for the first picture: from the SDK's `join` to the first frame that the page shows.

    first_frame.py [--joins 30] [--open 20] [--trace] [--janus .build/janus] [--json FILE]

Two people in Chromiums of their own publish camera and microphone. A third joins again and again, each time in a new page; then, with
`--open`, so many times in one page that stays open. With `--janus` new pages join a room of Debian's Janus too, in turn. With `--trace`
the steps of each join are shown, from the moment at which the page was asked for (steps.py). It has to run where there is an address that is not the loopback's
(scripts/private-network), since Janus leaves that out.
"""

import argparse
import contextlib
import json
import pathlib
import statistics
import sys
import tempfile
import time
import typing

from gateway import Janus
from people import Crowd
from playwright.sync_api import Browser, Page, sync_playwright
from server import Server
from steps import FOUND, STEPS, Wire, table, trace

# When each picture is first shown, in milliseconds since `started`.
WATCH = """const watch = (stream, started) => new Promise((resolve) => {
  const video = document.createElement("video");
  Object.assign(video, { muted: true, autoplay: true, playsInline: true, srcObject: stream });
  document.body.append(video);
  video.requestVideoFrameCallback((now, frame) => {
    window.marks?.pictures.push({ ...frame, now });
    resolve(now - started);
  });
});
const soon = (promise) => Promise.race([promise, new Promise((_, fail) => setTimeout(() => fail(new Error("no picture in 20 s")), 20000))]);
"""

ROOST_PUBLISH = """async ({ user, room }) => {
  const { RoostClient, rtcUrl, openMedia } = await import("/roost.js");
  const client = new RoostClient(rtcUrl(), { user });
  await client.connect();
  const joined = await client.join(room);
  const { audio, video } = await openMedia({ audio: true, video: true, height: 360 });
  await Promise.all([joined.publish(audio, { label: "microphone" }), joined.publish(video, { label: "camera" })]);
}"""

# Joins so many times in this page; the pauses leave cameras and keyframe requests no common beat.
ROOST_JOIN = """async ({ user, room, joins }) => {
  %s
  const { RoostClient, rtcUrl } = await import("/roost.js");
  const client = new RoostClient(rtcUrl(), { user });
  await client.connect();
  const once = async () => {
    const started = performance.now();
    const joined = await client.join(room);
    const pictures = [];
    const all = new Promise((resolve) => {
      const look = ({ track }) => {
        if (track.kind !== "video") return;
        pictures.push(watch(new MediaStream([track.mediaStreamTrack]), started));
        if (pictures.length === 2) resolve();
      };
      joined.addEventListener("trackStarted", ({ detail }) => look(detail));
      for (const person of joined.participants.values())
        for (const track of person.tracks.values()) if (track.mediaStreamTrack) look({ track });
    });
    const times = await soon(all.then(() => Promise.all(pictures)));
    await joined.leave();
    return times;
  };
  const found = [await once()];
  while (found.length < joins) {
    await new Promise((resolve) => setTimeout(resolve, 400 + Math.random() * 400));
    document.body.replaceChildren();
    found.push(await once());
  }
  client.close();
  return found;
}""" % WATCH


class Roost:
    """Our own server."""

    name = "Roost"

    def __init__(self, folder: pathlib.Path, address: str) -> None:
        self.server = Server(folder, address=address, advertise=address)

    def __enter__(self) -> "Roost":
        self.server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.stop()

    def publish(self, page: Page, user: str) -> None:
        page.goto(self.server.url)
        page.evaluate(ROOST_PUBLISH, {"user": user, "room": "first"})

    def join(self, page: Page, user: str) -> list[float]:
        return self.join_again(page, user, 1)[0]

    def join_again(self, page: Page, user: str, joins: int) -> list[list[float]]:
        """So many joins in one page that stays open."""
        page.goto(self.server.url)
        return page.evaluate(ROOST_JOIN, {"user": user, "room": "first", "joins": joins})


def measure(server: typing.Any, browser: Browser, user: str, wire: Wire | None) -> tuple[list[float], list[dict[str, float]]]:
    """How long each picture took, in milliseconds since the join; with `wire` the steps of each besides."""
    context = browser.new_context()
    try:
        page = context.new_page()
        if not wire:
            return server.join(page, user), []
        page.add_init_script(STEPS)
        wire.since(time.time())
        times = server.join(page, user)
        return times, trace(page.evaluate(FOUND), times, wire.since(0))
    finally:
        context.close()


def summary(times: list[list[float]]) -> dict[str, float]:
    """Milliseconds: of the first picture of each join, of the last, and of each by itself."""
    every = sorted(time for join in times for time in join)
    return {
        "joins": len(times),
        "median": statistics.median(every),
        "p90": every[int(len(every) * 0.9)],
        "best": every[0],
        "worst": every[-1],
        "medianOfFirst": statistics.median(min(join) for join in times),
        "medianOfLast": statistics.median(max(join) for join in times),
    }


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--joins", type=int, default=30)
    parser.add_argument("--janus", type=pathlib.Path)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--address", default="127.0.0.1", help="where Roost's media comes in")
    parser.add_argument("--open", type=int, default=0, help="joins in a page that stays open")
    parser.add_argument("--trace", action="store_true", help="by step where each join waits (steps.py), and where the slowest did")
    given = parser.parse_args()
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        crowd = Crowd(stack.enter_context(sync_playwright()), folder)
        stack.callback(crowd.close)
        servers: list[typing.Any] = [stack.enter_context(Roost(folder, given.address))]
        if given.janus:
            servers.append(stack.enter_context(Janus(given.janus, folder, WATCH)))
        for server in servers:
            for name in ("Anna", "Ben"):
                server.publish(crowd.browser(name).new_page(), name.lower())
        late = crowd.browser("Cleo")
        wire = stack.enter_context(Wire()) if given.trace else None
        times: dict[str, list[list[float]]] = {server.name: [] for server in servers}
        steps: dict[str, list[dict[str, float]]] = {server.name: [] for server in servers}
        for index in range(given.joins):
            for server in servers:
                found, traced = measure(server, late, f"late{index}", wire)
                times[server.name].append(found)
                steps[server.name] += traced
        if given.open:
            times["Roost, open page"] = servers[0].join_again(late.new_context().new_page(), "again", given.open)[1:]
    figures_of = {name: summary(joins) for name, joins in times.items()}
    for name, figures in figures_of.items():
        print(f"first frame: {name}: " + ", ".join(f"{key} {value:.0f}" for key, value in figures.items()))
    for name, traced in steps.items():
        if traced:
            print(*table(name, traced), sep="\n")
    if given.json:
        given.json.parent.mkdir(parents=True, exist_ok=True)
        given.json.write_text(json.dumps({"figures": figures_of, "times": times, "steps": steps}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
