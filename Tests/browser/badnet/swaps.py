"""C8: what a view shows is exchanged five hundred times, and each time the new picture and its name are there at once."""

import statistics

from bench import Outcome, Part, Stage
from halls import ROOST_REPORTS

# Two people who publish a plain colour each, with a square that moves, all in one page.
PUBLISH = """async ({ room }) => {
  const { RoostClient, rtcUrl } = await import("/roost.js");
  window.people = [];
  for (const [name, colour] of [["Red", "rgb(200 40 40)"], ["Blue", "rgb(40 60 200)"]]) {
    const canvas = Object.assign(document.createElement("canvas"), { width: 320, height: 180 });
    const context = canvas.getContext("2d");
    let frame = 0;
    setInterval(() => {
      context.fillStyle = colour;
      context.fillRect(0, 0, 320, 180);
      context.fillStyle = "white";
      context.fillRect((frame++ * 9) % 280, 20, 30, 30);
    }, 66);
    const client = new RoostClient(rtcUrl(), { user: name.toLowerCase(), displayName: name });
    await client.connect();
    const joined = await client.join(room, { autoSubscribe: false });
    await joined.publish(canvas.captureStream(15).getVideoTracks()[0], { label: "camera", simulcast: false });
    window.people.push({ client, joined });
  }
}"""

# A viewer with two places. `swapOnce()` exchanges what they show and tells, for the first place, in milliseconds after the request: when
# its picture was the other one, and when its name was.
VIEW = """async ({ room }) => {
  const { RoostClient, rtcUrl } = await import("/roost.js");
  const client = new RoostClient(rtcUrl(), { user: "ben", displayName: "Ben" });
  await client.connect();
  const joined = await client.join(room, { autoSubscribe: false });
  window.roost = { client, room: joined };
  const tracks = [...joined.participants.values()].filter(({ isSelf }) => !isSelf)
    .map((person) => ({ name: person.displayName, track: [...person.tracks.values()].find(({ kind }) => kind === "video") }));
  const elements = [];
  const first = { name: null, element: null, changed: () => {} };
  const received = new Promise((resolve) => {
    joined.addEventListener("trackStarted", ({ detail: { participant, track } }) => {
      const place = elements.findIndex(({ stream }) => stream === track.mediaStreamTrack);
      if (place === 0) { first.name = participant.displayName; first.changed(); }
      if (place >= 0) return;
      const element = Object.assign(document.createElement("video"), { muted: true, autoplay: true, playsInline: true });
      element.srcObject = new MediaStream([track.mediaStreamTrack]);
      document.body.append(element);
      elements.push({ stream: track.mediaStreamTrack, element });
      if (elements.length === 1) first.name = participant.displayName;
      if (elements.length === 2) resolve();
    });
  });
  for (const [view, { track }] of tracks.entries()) await joined.subscribe(track.trackId, { view });
  await received;
  const canvas = new OffscreenCanvas(4, 4);
  const context = canvas.getContext("2d", { willReadFrequently: true });
  const shown = () => {
    context.drawImage(elements[0].element, 0, 90, 320, 80, 0, 0, 4, 4);
    const [red, , blue] = context.getImageData(2, 2, 1, 1).data;
    return red > blue + 60 ? "Red" : blue > red + 60 ? "Blue" : null;
  };
  window.shown = shown;
  window.swapOnce = async () => {
    const wanted = first.name === "Red" ? "Blue" : "Red";
    const started = performance.now();
    const picture = new Promise((resolve) => {
      const look = () => {
        if (shown() === wanted) resolve(performance.now() - started);
        else if (performance.now() - started > 5000) resolve(null);
        else elements[0].element.requestVideoFrameCallback(look);
      };
      elements[0].element.requestVideoFrameCallback(look);
      setTimeout(() => resolve(null), 6000);
    });
    const named = new Promise((resolve) => {
      first.changed = () => first.name === wanted && resolve(performance.now() - started);
      setTimeout(() => resolve(null), 6000);
    });
    const ids = tracks.map(({ track }) => track.subscriptionId);
    await joined.swap(...ids);
    const [at, name] = await Promise.all([picture, named]);
    return { picture: at, name };
  };
}"""

# Descriptions that the page was given since `counted` was made.
COUNT_DESCRIPTIONS = """(() => {
  window.descriptions = 0;
  const original = RTCPeerConnection.prototype.setRemoteDescription;
  RTCPeerConnection.prototype.setRemoteDescription = function (description) {
    window.descriptions += 1;
    return original.call(this, description);
  };
})()"""
# A name and its first picture are at most a frame apart, milliseconds.
FRAME = 67


def swaps(stage: Stage, is_control: bool) -> Outcome:
    """The control has 200 ms more each way, so that nothing can be there in 250 ms."""
    crowd = stage.page("crowd", stage.browser("crowd"))
    crowd.goto(stage.hall.origin)
    crowd.evaluate(PUBLISH, {"room": stage.room})
    ben = stage.page("Ben", stage.browser("Ben", delay_ms=200 if is_control else 0))
    ben.add_init_script(COUNT_DESCRIPTIONS)
    ben.goto(stage.hall.origin)
    ben.evaluate(VIEW, {"room": stage.room})
    ben.evaluate(ROOST_REPORTS)
    stage.until("two pictures", lambda: ben.evaluate("() => window.shown()"), 60)
    before = ben.evaluate("() => window.descriptions")
    found = [ben.evaluate("() => window.swapOnce()") for _ in range(10 if is_control else stage.tools.times(500, 40))]
    again = ben.evaluate("() => window.descriptions") - before
    stage.notes["swaps"] = found
    stage.keep()
    pictures = [one["picture"] for one in found if one["picture"] is not None]
    never, late = len(found) - len(pictures), sum(time > 250 for time in pictures)
    apart = sum(one["name"] is None or one["picture"] is None or abs(one["picture"] - one["name"]) > FRAME for one in found)
    median = f"median {statistics.median(pictures):.0f} ms, worst {max(pictures):.0f} ms, " if pictures else ""
    return Outcome([
        Part("negotiations", str(again), again == 0),
        Part("new picture", f"{median}{late} of {len(found)} later than 250 ms, {never} never", late + never == 0),
        Part("name and picture apart", f"{apart} of {len(found)}", apart == 0),
    ])
