"""Several views of one device, through the SDK alone: separate tracks, parts of one picture, and a swap on the viewer's page."""

import pytest
from people import COLOUR, close, eventually

# A device with two cameras: a plain colour each, one of them in halves. It joins the room, or waits to be called.
DEVICE = """async ([name, isCalled]) => {
  const { RoostClient, rtcUrl } = await import("/roost.js");
  const client = new RoostClient(rtcUrl(), { user: `${name}-device`, displayName: "Device" });
  const metadata = { model: "G2" };
  const answered = new Promise((resolve) => {
    client.addEventListener("incomingCall", ({ detail: { call } }) => resolve(call.accept({ metadata })));
  });
  await client.connect();
  const camera = (...colours) => {
    const canvas = Object.assign(document.createElement("canvas"), { width: 320, height: 180 });
    const context = canvas.getContext("2d");
    let frame = 0;
    setInterval(() => {
      colours.forEach((colour, index) => {
        context.fillStyle = colour;
        context.fillRect((320 / colours.length) * index, 0, 320, 180);
      });
      context.fillStyle = "white";
      context.fillRect((frame++ * 5) % 300, 5, 20, 20);
    }, 66);
    return canvas.captureStream(15).getVideoTracks()[0];
  };
  const halves = { views: [{ index: 2, x: 0, y: 0, w: 0.5, h: 1 }, { index: 3, x: 0.5, y: 0, w: 0.5, h: 1 }] };
  const show = async (room) => {
    await Promise.all([
      room.publish(camera("rgb(200,40,40)"), { label: "front", viewIndex: 0 }),
      room.publish(camera("rgb(50,70,200)"), { label: "back", viewIndex: 1 }),
      room.publish(camera("rgb(40,160,60)", "rgb(190,170,40)"), { label: "sides", split: halves }),
    ]);
    window.roost = { client, room };
  };
  if (isCalled) answered.then(show);
  else await show(await client.join(name, { metadata }));
}"""

VIEWER = """async ([name, isCalled]) => {
  const { RoostClient, rtcUrl } = await import("/roost.js");
  const client = new RoostClient(rtcUrl(), { displayName: "Viewer" });
  await client.connect();
  const options = { autoSubscribe: false };
  const room = isCalled ? (await client.startCall([`${name}-device`], options)).room : await client.join(name, options);
  window.roost = { client, room };
  let device;
  do {
    await new Promise((resolve) => setTimeout(resolve, 20));
    device = [...room.participants.values()].find(({ isSelf }) => !isSelf);
  } while (!(device?.tracks.size >= 3));
  if (device.metadata.model !== "G2") throw new Error("the device said what it is");
  window.views = () => room.views(device);
  for (const id of ["big", "small"]) {
    const box = Object.assign(document.createElement("div"), { id });
    box.append(Object.assign(document.createElement("video"), { autoplay: true, muted: true }));
    document.body.append(box);
  }
  window.place = (id, track) => {
    document.querySelector(`#${id} video`).srcObject = new MediaStream([track.mediaStreamTrack]);
  };
  return window.views().map(({ index, track, part }) => ({ index, label: track.label, part }));
}"""

SUBSCRIBE = """async ([id, index, definition]) => {
  const { track } = window.views()[index];
  const { room } = window.roost;
  const started = new Promise((resolve) => {
    room.addEventListener("trackStarted", ({ detail }) => detail.track === track && resolve());
  });
  await room.subscribe(track.trackId, { view: index, definition });
  await started;
  window.place(id, track);
}"""

LINES = """async () => [...(await window.roost.room.stats()).subscribe.values()]
  .filter(({ type, kind, bytesReceived }) => type === "inbound-rtp" && kind === "video" && bytesReceived > 0).length"""

PACKETS = """async () => Object.fromEntries([...(await window.roost.room.stats()).subscribe.values()]
  .filter(({ type }) => type === "inbound-rtp").map(({ trackIdentifier, packetsReceived }) => [trackIdentifier, packetsReceived]))"""

RED, BLUE = (200, 40, 40), (50, 70, 200)


@pytest.mark.parametrize("is_called", [False, True], ids=["in a room", "in a call"])
def test_views_are_bound_swapped_and_let_go(person, room, is_called):
    device, viewer = person("Anna"), person("Ben")
    for one in (device, viewer):
        one.open(room)
    device.page.evaluate(DEVICE, [room, is_called])
    assert viewer.page.evaluate(VIEWER, [room, is_called]) == [
        {"index": 0, "label": "front", "part": None},
        {"index": 1, "label": "back", "part": None},
        {"index": 2, "label": "sides", "part": {"x": 0, "y": 0, "w": 0.5, "h": 1}},
        {"index": 3, "label": "sides", "part": {"x": 0.5, "y": 0, "w": 0.5, "h": 1}},
    ]
    viewer.page.evaluate(SUBSCRIBE, ["big", 0, "auto"])
    viewer.page.evaluate(SUBSCRIBE, ["small", 1, "auto"])

    def shows(place: str, colour: tuple[int, int, int]) -> None:
        box = viewer.page.locator(f"#{place}")
        eventually(f"the {place} place shows {colour}", lambda: close(box.evaluate(COLOUR), colour))

    shows("big", RED)
    shows("small", BLUE)
    assert viewer.page.evaluate(LINES) == 2, "the view that is bound to no place is not received"

    lines = "[...document.querySelectorAll('#big video, #small video')].map(({ srcObject }) => srcObject.getTracks()[0].id)"
    before = viewer.page.evaluate(lines)
    viewer.page.evaluate("""async () => {
      const [{ track: a }, { track: b }] = window.views();
      await window.roost.room.swap(a.subscriptionId, b.subscriptionId);
    }""")
    shows("big", BLUE)
    shows("small", RED)
    assert viewer.page.evaluate(lines) == before, "the same lines"
    # The room knows it too: each track is now on the other's line.
    assert viewer.page.evaluate("window.views().slice(0, 2).map(({ track }) => track.mediaStreamTrack.id)") == before[::-1]

    viewer.page.evaluate("""async () => {
      const [{ track }] = window.views();
      await window.roost.room.unsubscribe(track.subscriptionId);
    }""")
    def only_one_runs() -> bool:
        first = viewer.page.evaluate(PACKETS)
        viewer.page.wait_for_timeout(500)
        second = viewer.page.evaluate(PACKETS)
        running = [line for line in first if second.get(line, 0) > first[line]]
        return len(running) == 1

    eventually("the view that was let go costs nothing more", only_one_runs)
