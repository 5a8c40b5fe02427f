"""Several views of one device, through the SDK and on the page: separate tracks, parts of one picture, and a swap on the viewer's page."""

import re

import pytest
from people import COLOUR, Person, close, eventually
from playwright.sync_api import expect

# A device whose cameras are drawn: plain colours side by side, with a square that wanders. It has two, and a third one in
# halves; or a wide one in three layers. It joins the room, or waits to be called.
DEVICE = """async ([name, isCalled, isLayered]) => {
  const { RoostClient, rtcUrl } = await import("/roost.js");
  const client = new RoostClient(rtcUrl(), { user: `${name}-device`, displayName: "Device" });
  const metadata = { model: "G2" };
  const answered = new Promise((resolve) => {
    client.addEventListener("incomingCall", ({ detail: { call } }) => resolve(call.accept({ metadata })));
  });
  await client.connect();
  const camera = (colours, height = 180) => {
    const width = (height * 16) / 9;
    const canvas = Object.assign(document.createElement("canvas"), { width, height });
    const context = canvas.getContext("2d");
    let frame = 0;
    setInterval(() => {
      colours.forEach((colour, index) => {
        context.fillStyle = colour;
        context.fillRect((width / colours.length) * index, 0, width, height);
      });
      context.fillStyle = "white";
      context.fillRect((frame++ * 5) % (width - 20), 5, 20, 20);
    }, 66);
    return canvas.captureStream(15).getVideoTracks()[0];
  };
  const halves = { views: [{ index: 2, x: 0, y: 0, w: 0.5, h: 1 }, { index: 3, x: 0.5, y: 0, w: 0.5, h: 1 }] };
  const layered = (room) => room.publish(camera(["rgb(200,40,40)"], 540), { label: "wide", viewIndex: 0, simulcast: true });
  const several = (room) => Promise.all([
    room.publish(camera(["rgb(200,40,40)"]), { label: "front", viewIndex: 0 }),
    room.publish(camera(["rgb(50,70,200)"]), { label: "back", viewIndex: 1 }),
    room.publish(camera(["rgb(40,160,60)", "rgb(190,170,40)"]), { label: "sides", split: halves }),
  ]);
  const show = async (room) => {
    await (isLayered ? layered : several)(room);
    window.roost = { client, room };
  };
  if (isCalled) answered.then(show);
  else await show(await client.join(name, { metadata }));
}"""

# Counts how often the viewer negotiates: his one connection that does is the one he receives on.
VIEWER = """async ([name, isCalled, isLayered]) => {
  window.negotiations = 0;
  const { setRemoteDescription } = RTCPeerConnection.prototype;
  RTCPeerConnection.prototype.setRemoteDescription = function (...all) {
    window.negotiations += 1;
    return setRemoteDescription.apply(this, all);
  };
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
  } while (!(device?.tracks.size >= (isLayered ? 1 : 3)));
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

# Bytes received so far, by the line of the subscribe connection.
BYTES = """async () => Object.fromEntries([...(await window.roost.room.stats()).subscribe.values()]
  .filter(({ type, kind }) => type === "inbound-rtp" && kind === "video")
  .map(({ trackIdentifier, bytesReceived }) => [trackIdentifier, bytesReceived]))"""

# The lines of the picture that is decoded of a view.
HEIGHT = """async (index) => {
  const { mediaStreamTrack } = window.views()[index].track;
  const stats = [...(await window.roost.room.stats()).subscribe.values()];
  return stats.find(({ type, trackIdentifier }) => type === "inbound-rtp" && trackIdentifier === mediaStreamTrack.id)?.frameHeight;
}"""

RED, BLUE = (200, 40, 40), (50, 70, 200)


def views(person, *situation) -> tuple[Person, list]:
    """One who looks at a device and is bound to nothing yet, and what there is to see."""
    device, viewer = (person(name) for name in ("Anna", "Ben"))
    for one in (device, viewer):
        one.page.goto(one.url)
    device.page.evaluate(DEVICE, situation)
    return viewer, viewer.page.evaluate(VIEWER, situation)


def shows(viewer: Person, place: str, colour: tuple[int, int, int]) -> None:
    box = viewer.page.locator(f"#{place}")
    eventually(f"the {place} place shows {colour}", lambda: close(box.evaluate(COLOUR), colour))


def running_lines(viewer: Person) -> int:
    """Lines on which something comes."""
    before = viewer.page.evaluate(BYTES)
    viewer.page.wait_for_timeout(500)
    after = viewer.page.evaluate(BYTES)
    return sum(after[line] > before.get(line, 0) for line in after)


@pytest.mark.parametrize("is_called", [False, True], ids=["in a room", "in a call"])
def test_views_are_bound_swapped_and_let_go(person, room, is_called):
    viewer, seen = views(person, room, is_called, False)
    assert seen == [
        {"index": 0, "label": "front", "part": None},
        {"index": 1, "label": "back", "part": None},
        {"index": 2, "label": "sides", "part": {"x": 0, "y": 0, "w": 0.5, "h": 1}},
        {"index": 3, "label": "sides", "part": {"x": 0.5, "y": 0, "w": 0.5, "h": 1}},
    ]
    viewer.page.evaluate(SUBSCRIBE, ["big", 0, "auto"])
    viewer.page.evaluate(SUBSCRIBE, ["small", 1, "auto"])
    shows(viewer, "big", RED)
    shows(viewer, "small", BLUE)
    assert running_lines(viewer) == 2
    unbound = "[2, 3].map((index) => window.views()[index].track).map(({ subscriptionId, mediaStreamTrack }) => subscriptionId ?? mediaStreamTrack)"
    assert viewer.page.evaluate(unbound) == [None, None], "the view that is bound to no place has no line"
    bound = viewer.page.evaluate("window.views().slice(0, 2).map(({ track }) => track.mediaStreamTrack.id)")
    received = viewer.page.evaluate(BYTES)
    assert [line for line in received if received[line] and line not in bound] == [], "and costs no bandwidth"

    lines = "[...document.querySelectorAll('#big video, #small video')].map(({ srcObject }) => srcObject.getTracks()[0].id)"
    before, negotiations = viewer.page.evaluate(lines), viewer.page.evaluate("window.negotiations")
    assert negotiations > 0
    viewer.page.evaluate("""async () => {
      const [{ track: a }, { track: b }] = window.views();
      await window.roost.room.swap(a.subscriptionId, b.subscriptionId);
    }""")
    shows(viewer, "big", BLUE)
    shows(viewer, "small", RED)
    assert viewer.page.evaluate(lines) == before, "the same lines"
    assert viewer.page.evaluate("window.negotiations") == negotiations, "and nothing was negotiated"
    # The room knows it too: each track is now on the other's line.
    assert viewer.page.evaluate("window.views().slice(0, 2).map(({ track }) => track.mediaStreamTrack.id)") == before[::-1]

    viewer.page.evaluate("""async () => {
      const [{ track }] = window.views();
      await window.roost.room.unsubscribe(track.subscriptionId);
    }""")
    eventually("the view that was let go costs nothing more", lambda: running_lines(viewer) == 1)


def test_the_definition_chooses_the_layer_that_arrives(person, room, capsys):
    viewer, _ = views(person, room, False, True)
    viewer.page.evaluate(SUBSCRIBE, ["big", 0, "low"])
    # A busy machine may shrink all three; one is a quarter of the other whatever it does.
    low = eventually("a low picture", lambda: viewer.page.evaluate(HEIGHT, 0))
    assert low <= 135
    viewer.page.wait_for_timeout(500)
    assert viewer.page.evaluate(HEIGHT, 0) <= 135, "and it stays so"
    negotiations = viewer.page.evaluate("window.negotiations")
    choose = """async (definition) => {
      const [{ track }] = window.views();
      await window.roost.room.update(track.subscriptionId, { definition });
    }"""
    viewer.page.evaluate(choose, "high")
    high = eventually("a high picture", lambda: (height := viewer.page.evaluate(HEIGHT, 0)) >= 3 * low and height)
    shows(viewer, "big", RED)
    viewer.page.evaluate(choose, "low")
    eventually("a low picture again", lambda: viewer.page.evaluate(HEIGHT, 0) <= high / 3)
    assert viewer.page.evaluate("window.negotiations") == negotiations, "without negotiation"
    with capsys.disabled():
        print(f"\nlines of the picture: low {low}, high {high}", end="")


def test_the_page_shows_every_view_of_a_device(person, room):
    device, viewer = person("Anna"), person("Ben")
    device.page.goto(device.url)
    device.page.evaluate(DEVICE, [room, False, False])
    viewer.join(room)
    for title, colour in (("Device", RED), ("Device: back", BLUE)):
        tile = viewer.page.get_by_role("listitem", name=re.compile(f"^{title}(,|$)"))
        eventually(f"{title} is {colour}", lambda: close(tile.evaluate(COLOUR), colour))
    expect(viewer.page.get_by_role("listitem", name="Device: sides")).to_be_visible()
    assert viewer.tiles.count() == 4


# As many views as there may be, and the device's first picture on the last of them.
MANY = """async (count) => {
  const { room } = window.roost;
  const views = await room.openViews(count);
  await room.show([[views.at(-1), window.views()[0].track]]);
  return views.length;
}"""

# Notes how long each answer is.
MEASURE = """() => {
  window.sizes = [];
  const { setLocalDescription } = RTCPeerConnection.prototype;
  RTCPeerConnection.prototype.setLocalDescription = async function (...all) {
    await setLocalDescription.apply(this, all);
    window.sizes.push(this.localDescription.sdp.length);
  };
}"""

DECODED = """async () => [...(await window.roost.room.stats()).subscribe.values()]
  .filter(({ type, kind, framesDecoded }) => type === "inbound-rtp" && kind === "video" && framesDecoded > 5).length"""


def test_as_many_views_as_there_may_be_are_answered(person, room):
    """The answer of the browser to all of their lines is larger than an offer may be."""
    viewer, _ = views(person, room, False)
    viewer.page.evaluate(MEASURE)
    assert viewer.page.evaluate(MANY, 49) == 49
    eventually("the last view decodes pictures", lambda: viewer.page.evaluate(DECODED) == 1)
    assert viewer.page.evaluate("() => Math.max(...window.sizes)") > 128 << 10
