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

# A viewer with two views, each of which plays in an element. `swapOnce()` lets them exchange what they show and tells, for the first, in
# milliseconds after the request: when its picture was the other one, and when its name was.
VIEW = """async ({ room }) => {
  const { RoostClient, rtcUrl } = await import("/roost.js");
  const client = new RoostClient(rtcUrl(), { user: "ben", displayName: "Ben" });
  await client.connect();
  const joined = await client.join(room, { views: 2 });
  window.roost = { client, room: joined };
  const tracks = Object.fromEntries([...joined.participants.values()].filter(({ isSelf }) => !isSelf)
    .map((person) => [person.displayName, [...person.tracks.values()].find(({ kind }) => kind === "video")]));
  const views = joined.openedViews;
  const elements = views.map((view) => {
    const element = Object.assign(document.createElement("video"), { muted: true, autoplay: true, playsInline: true });
    document.body.append(element);
    view.attach(element);
    return element;
  });
  let changed = () => {};
  joined.addEventListener("viewChanged", ({ detail: { view } }) => view === views[0] && changed());
  await joined.show([[views[0], tracks.Red], [views[1], tracks.Blue]]);
  const canvas = new OffscreenCanvas(4, 4);
  const context = canvas.getContext("2d", { willReadFrequently: true });
  const shown = () => {
    if (!elements[0].videoWidth) return null;
    context.drawImage(elements[0], 0, 90, 320, 80, 0, 0, 4, 4);
    const [red, , blue] = context.getImageData(2, 2, 1, 1).data;
    return red > blue + 60 ? "Red" : blue > red + 60 ? "Blue" : null;
  };
  const named = () => views[0].participant?.displayName;
  window.shown = () => shown() && shown() === named();
  window.swapOnce = async () => {
    const [other, wanted] = named() === "Red" ? ["Red", "Blue"] : ["Blue", "Red"];
    const started = performance.now();
    const picture = new Promise((resolve) => {
      const look = () => {
        if (shown() === wanted) resolve(performance.now() - started);
        else if (performance.now() - started > 5000) resolve(null);
        else elements[0].requestVideoFrameCallback(look);
      };
      elements[0].requestVideoFrameCallback(look);
      setTimeout(() => resolve(null), 6000);
    });
    const name = new Promise((resolve) => {
      changed = () => named() === wanted && resolve(performance.now() - started);
      setTimeout(() => resolve(null), 6000);
    });
    await joined.show([[views[0], tracks[wanted]], [views[1], tracks[other]]]);
    const [at, nameAt] = await Promise.all([picture, name]);
    return { picture: at, name: nameAt };
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
