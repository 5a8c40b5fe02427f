"""How long somebody who comes late waits for the first picture: from the SDK's `join` to the first frame that the page shows.

    first_frame.py [--joins 30] [--janus .build/janus] [--json FILE]

Two people in Chromiums of their own publish camera and microphone. A third joins again and again, each time in a new page. With
`--janus` the same is done in a room of Debian's Janus, in turn. It has to run where there is an address that is not the loopback's
(scripts/private-network), since Janus leaves that out.
"""

import argparse
import contextlib
import json
import pathlib
import statistics
import sys
import tempfile
import typing

from gateway import Janus
from people import Crowd
from playwright.sync_api import Browser, Page, sync_playwright
from server import Server

# When each picture is first shown, in milliseconds since `started`.
WATCH = """const watch = (stream, started) => new Promise((resolve) => {
  const video = document.createElement("video");
  Object.assign(video, { muted: true, autoplay: true, playsInline: true, srcObject: stream });
  document.body.append(video);
  video.requestVideoFrameCallback((now) => resolve(now - started));
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

ROOST_JOIN = """async ({ user, room }) => {
  %s
  const { RoostClient, rtcUrl } = await import("/roost.js");
  const client = new RoostClient(rtcUrl(), { user });
  await client.connect();
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
  client.close();
  return times;
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
        page.goto(self.server.url)
        return page.evaluate(ROOST_JOIN, {"user": user, "room": "first"})


def measure(server: typing.Any, browser: Browser, user: str) -> list[float]:
    context = browser.new_context()
    try:
        return server.join(context.new_page(), user)
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
        times: dict[str, list[list[float]]] = {server.name: [] for server in servers}
        for index in range(given.joins):
            for server in servers:
                times[server.name].append(measure(server, late, f"late{index}"))
    found = {name: summary(joins) for name, joins in times.items()}
    for name, figures in found.items():
        print(f"first frame: {name}: " + ", ".join(f"{key} {value:.0f}" for key, value in figures.items()))
    if given.json:
        given.json.parent.mkdir(parents=True, exist_ok=True)
        given.json.write_text(json.dumps({"figures": found, "times": times}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
