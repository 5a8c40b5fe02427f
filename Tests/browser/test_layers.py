"""How many layers a picture is sent in: as many as its size carries, so that the best of them arrives where it can be seen."""

import time

import pytest
from firefox import FirefoxPerson
from people import Person, eventually
from playwright.sync_api import expect
from server import Server

pytestmark = pytest.mark.alone

# Publishes a drawn picture of some size in layers, all of it in motion.
PUBLISH = """async ([name, width, height, options]) => {
  const { RoostClient, rtcUrl } = await import("/roost.js");
  const client = new RoostClient(rtcUrl(), { user: `${name}-sender`, displayName: "Sender" });
  await client.connect();
  window.picture = (width, height) => {
    const canvas = Object.assign(document.createElement("canvas"), { width, height });
    const context = canvas.getContext("2d");
    let frame = 0;
    setInterval(() => {
      frame += 1;
      for (let place = 0; place < 64; place++) {
        context.fillStyle = `hsl(${(place * 37 + frame * 5) % 360} 60% 50%)`;
        context.fillRect(((place % 8) * width) / 8, (Math.floor(place / 8) * height) / 8, width / 8, height / 8);
      }
    }, 66);
    return canvas.captureStream(15).getVideoTracks()[0];
  };
  const room = await client.join(name);
  window.sent = await room.publish(window.picture(width, height), { label: "camera", ...options });
  window.roost = { client, room };
}"""

# What the viewer knows of the sender's picture: what it may choose, and the lines that are decoded.
SEEN = """async () => {
  const { room } = window.roost;
  const track = [...room.participants.values()].find(({ isSelf }) => !isSelf)?.tracks.values().next().value;
  const stats = [...(await room.stats()).subscribe.values()].filter(({ type }) => type === "inbound-rtp");
  const stat = stats.find(({ trackIdentifier }) => trackIdentifier === track?.mediaStreamTrack?.id);
  return { definitions: track?.definitions, lines: stat?.frameHeight };
}"""

CHOOSE = """async (definition) => {
  const { room } = window.roost;
  const [track] = [...room.participants.values()].find(({ isSelf }) => !isSelf).tracks.values();
  await room.update(track.subscriptionId, { definition });
}"""

# The layers of the line that are on, the lowest first: by what each divides the picture, and its bits per second.
SENT = """() => window.sent._transceiver.sender.getParameters().encodings
  .filter(({ active }) => active).map(({ scaleResolutionDownBy = 1, maxBitrate }) => [scaleResolutionDownBy, maxBitrate])"""

# Bytes of pictures that have arrived so far.
ARRIVED = """async () => [...(await window.roost.room.stats()).subscribe.values()]
  .reduce((sum, { type, kind, bytesReceived }) => sum + (type === "inbound-rtp" && kind === "video" ? bytesReceived : 0), 0)"""

# Two people have tiles of more than 432 lines there, so that the best of 540 is worth sending.
LARGE = {"width": 1920, "height": 1080}


def lines(viewer: Person, wanted: int, of: str) -> None:
    eventually(f"{of}: {wanted} lines", lambda: viewer.page.evaluate(SEEN)["lines"] == wanted, 90)


@pytest.fixture
def sender(request, person, server, tmp_path):
    """Calls a function in a page of the browser that is asked for."""
    if request.param == "Chromium":
        anna = person("Anna")
        anna.page.goto(anna.url)
        yield anna.page.evaluate
        return
    fox = FirefoxPerson("Fox", server.url, tmp_path)
    fox.open()
    yield fox.evaluate
    fox.close()


@pytest.mark.parametrize("sender", ["Chromium", "Firefox"], indirect=True)
def test_the_best_layer_of_a_picture_of_360_lines_arrives(sender, person, room):
    sender(PUBLISH, [room, 640, 360, {}])
    ben = person("Ben").join(room, audio=0, video=0)
    lines(ben, 360, "whoever wishes for nothing")
    assert ben.page.evaluate(SEEN)["definitions"] == ["low", "high"]
    for definition, wanted in (("low", 180), ("high", 360)):
        ben.page.evaluate(CHOOSE, definition)
        lines(ben, wanted, definition)


@pytest.mark.parametrize("sender", ["Chromium", "Firefox"], indirect=True)
def test_a_picture_of_540_lines_has_three_layers(sender, person, room):
    sender(PUBLISH, [room, 960, 540, {"simulcast": True}])
    ben = person("Ben", viewport=LARGE).join(room, audio=0, video=0)
    assert [scale for scale, _ in sender(SENT, None)] == [4, 2, 1]
    for definition, wanted in (("low", 135), ("standard", 270), ("high", 540)):
        ben.page.evaluate(CHOOSE, definition) if definition != "low" else eventually(
            "a subscription", lambda: ben.page.evaluate(SEEN)["lines"] and ben.page.evaluate(CHOOSE, "low") is None)
        lines(ben, wanted, definition)
    assert ben.page.evaluate(SEEN)["definitions"] == ["low", "standard", "high"]


def test_a_picture_of_another_size_in_its_place_is_seen_whole(person, room):
    """A smaller one uses fewer of the layers that there are; a larger one goes on those there are."""
    anna = person("Anna")
    anna.page.goto(anna.url)
    anna.page.evaluate(PUBLISH, [room, 960, 540, {}])
    ben = person("Ben", viewport=LARGE).join(room, audio=0, video=0)
    lines(ben, 540, "the first picture")
    for width, height, scales in ((320, 180, [1]), (640, 360, [2, 1]), (1280, 720, [4, 2, 1])):
        anna.page.evaluate("([width, height]) => window.sent.replace(window.picture(width, height))", [width, height])
        assert [scale for scale, _ in anna.page.evaluate(SENT)] == scales
        lines(ben, height, "the picture in its place")


def test_how_many_layers_a_picture_carries(person):
    anna = person("Anna")
    anna.page.goto(anna.url)
    count = """async (sizes) => {
      const { encodings } = await import("/tracks.js");
      const track = (width, height) => ({ kind: "video", _simulcast: true, _wish: {}, mediaStreamTrack: { getSettings: () => ({ width, height }) } });
      return sizes.map(([width, height]) => encodings(track(width, height)).length);
    }"""
    sizes = [(320, 180), (480, 270), (480, 360), (640, 360), (360, 640), (640, 480), (720, 540), (960, 540), (540, 960), (1280, 720)]
    assert anna.page.evaluate(count, sizes) == [1, 1, 2, 2, 2, 2, 2, 3, 3, 3]


def test_a_tile_is_sent_the_layer_that_is_enough_for_it(person, room):
    anna = person("Anna")
    anna.page.goto(anna.url)
    anna.page.evaluate(PUBLISH, [room, 960, 540, {}])
    ben = person("Ben", viewport=LARGE).join(room, audio=0, video=0)
    lines(ben, 540, "a large tile")
    ben.page.set_viewport_size({"width": 800, "height": 400})
    eventually("a small tile: fewer lines", lambda: 0 < (ben.page.evaluate(SEEN)["lines"] or 0) <= 270, 90)
    ben.page.set_viewport_size(LARGE)
    lines(ben, 540, "a large tile again")


@pytest.mark.parametrize("sender", ["Chromium", "Firefox"], indirect=True)
def test_layers_that_nobody_needs_are_paused_and_back_in_time(sender, person, room):
    sender(PUBLISH, [room, 960, 540, {"simulcast": True}])
    ben = person("Ben", viewport=LARGE).join(room, audio=0, video=0)
    lines(ben, 540, "a large tile")
    ben.page.evaluate(CHOOSE, "low")
    lines(ben, 135, "low")

    def scales() -> list[int]:
        return [scale for scale, _ in sender(SENT, None)]

    eventually("the lowest alone is sent", lambda: scales() == [4], 60)
    asked = time.monotonic()
    ben.page.evaluate(CHOOSE, "high")
    lines(ben, 540, "high again")
    assert time.monotonic() - asked < 10
    assert scales() == [4, 1], "what is between is not needed"


# What the browser believes first that its line carries, and which layers have sent something when the first of them has.
BEGINNING = """async () => {
  let line;
  while (true) {
    const { publish } = await window.roost.room.stats();
    const stats = [...(publish?.values() ?? [])];
    const layers = stats.filter(({ type, kind, framesEncoded }) => type === "outbound-rtp" && kind === "video" && framesEncoded);
    line ??= stats.find(({ type, nominated }) => type === "candidate-pair" && nominated)?.availableOutgoingBitrate;
    if (layers.length && line) return { line, layers: layers.map(({ rid }) => rid) };
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}"""

# Takes the rate to begin with out of the answer: the control.
SLOW = """(() => {
  const original = RTCPeerConnection.prototype.setRemoteDescription;
  RTCPeerConnection.prototype.setRemoteDescription = function ({ type, sdp }) {
    return original.call(this, { type, sdp: sdp.replace(/^a=fmtp:\\d+ x-google-start-bitrate=\\d+\\r\\n/gm, "") });
  };
})()"""


@pytest.mark.parametrize("is_control", [False, True])
def test_a_picture_is_sharp_at_once(person, room, is_control):
    anna = person("Anna")
    if is_control:
        anna.page.add_init_script(SLOW)
    anna.page.goto(anna.url)
    anna.page.evaluate(PUBLISH, [room, 640, 360, {}])
    begun = anna.page.evaluate(BEGINNING)
    assert ("h" in begun["layers"]) is not is_control, begun
    assert is_control or begun["line"] >= 900_000, begun


def test_one_can_ask_for_small_pictures(person, room):
    anna = person("Anna")
    anna.page.goto(anna.url)
    anna.page.evaluate(PUBLISH, [room, 960, 540, {}])
    ben = person("Ben", viewport=LARGE).join(room, audio=0, video=0)
    for what, wanted in (("all", 540), ("low", 135), ("all", 540)):
        ben.page.locator("#receive").select_option(what, force=True)
        lines(ben, wanted, what)


def test_a_tile_that_is_not_seen_costs_nothing(person, room):
    """As on another page of tiles: it has no place there."""
    anna = person("Anna")
    anna.page.goto(anna.url)
    anna.page.evaluate(PUBLISH, [room, 960, 540, {}])
    ben = person("Ben", viewport=LARGE).join(room, audio=0, video=0)
    lines(ben, 540, "a large tile")
    show = "(display) => document.querySelectorAll('#grid .tile').forEach((tile) => (tile.style.display = display))"
    ben.page.evaluate(show, "none")

    def is_quiet() -> bool:
        before = ben.page.evaluate(ARRIVED)
        ben.page.wait_for_timeout(1000)
        return ben.page.evaluate(ARRIVED) == before

    eventually("nothing arrives any more", is_quiet, 90)
    ben.page.evaluate(show, "")
    before = ben.page.evaluate(ARRIVED)
    eventually("it goes on", lambda: ben.page.evaluate(ARRIVED) > before + 20_000, 90)


def test_a_tile_that_the_line_does_not_carry_says_so(person, room):
    """What the server says of it, said by the test in its place."""
    anna = person("Anna")
    anna.page.goto(anna.url)
    anna.page.evaluate(PUBLISH, [room, 640, 360, {}])
    ben = person("Ben").join(room, audio=0, video=0)
    eventually("a picture", lambda: ben.page.evaluate(SEEN)["lines"])
    tell = """([method, reason, step]) => {
      const { room } = window.roost;
      const [{ subscriptionId }] = [...room.participants.values()].find(({ isSelf }) => !isSelf).tracks.values();
      room._handle(method, { subscriptionId, reason, step });
    }"""
    words = ben.tile("Sender").get_by_text("paused: your connection is too slow")
    expect(words).to_have_count(0)
    ben.page.evaluate(tell, ["subscription.paused", "bandwidth"])
    expect(words).to_be_visible()
    ben.page.evaluate(tell, ["subscription.resumed", None])
    expect(words).to_have_count(0)
    for step, said in [("nothing", "no picture of theirs arrives"), ("no_keyframe", "their picture cannot be shown yet")]:
        ben.page.evaluate(tell, ["subscription.paused", "no_media", step])
        expect(ben.tile("Sender").get_by_text(said)).to_be_visible()
        ben.page.evaluate(tell, ["subscription.resumed", None])
        expect(ben.tile("Sender").get_by_text(said)).to_have_count(0)


# A camera of which no picture comes until the page says so.
STILL = """async (name) => {
  const { RoostClient, rtcUrl } = await import("/roost.js");
  const client = new RoostClient(rtcUrl(), { user: `${name}-sender`, displayName: "Sender" });
  await client.connect();
  const canvas = Object.assign(document.createElement("canvas"), { width: 320, height: 180 });
  const context = canvas.getContext("2d");
  context.fillRect(0, 0, 320, 180);
  const [track] = canvas.captureStream(0).getVideoTracks();
  window.begin = () => setInterval(() => {
    context.fillStyle = `hsl(${Math.random() * 360} 60% 50%)`;
    context.fillRect(0, 0, 320, 180);
    track.requestFrame();
  }, 66);
  const room = await client.join(name);
  await room.publish(track, { label: "camera" });
  window.roost = { client, room };
}"""


def test_a_camera_of_which_nothing_comes_is_told_until_it_does(person, room, tmp_path_factory):
    with Server(tmp_path_factory.mktemp("curious"), calls="connect_timeout: 3s") as curious:
        anna = person("Anna", on=curious)
        anna.page.goto(anna.url)
        anna.page.evaluate(STILL, room)
        ben = person("Ben", on=curious).join(room, audio=0, video=0)
        missing = ben.tile("Sender").get_by_text("no picture of theirs arrives")
        expect(missing).to_be_visible(timeout=30_000)
        anna.page.evaluate("window.begin()")
        expect(missing).to_have_count(0, timeout=30_000)
        assert ben.page.evaluate(SEEN)["lines"]


# A room of sixty pictures, and a server that notes when it is told how high one is shown.
CROWD = """async () => {
  const { Room } = await import("/room.js");
  const told = [];
  const room = new Room({ request: async (method, params) => told.push({ at: performance.now(), method, ...params }) }, {}, {});
  const tracks = Array.from({ length: 60 }, (_, place) => ({ trackId: `t${place}`, subscriptionId: `s${place}` }));
  room.participants.set("p1", { tracks: new Map(tracks.map((track) => [track.trackId, track])) });
  for (const height of [90, 180]) for (const track of tracks) room.shown(track, height);
  const deadline = performance.now() + 30_000;
  const until = async (isSo) => {
    while (!isSo() && performance.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 10));
  };
  await until(() => told.length >= 60);
  room.shown(tracks[0], 0);
  room.shown(tracks[1], 180);
  await until(() => told.length >= 61);
  const rate = Math.max(...told.map(({ at }) => told.filter((other) => other.at >= at && other.at < at + 1000).length));
  return { rate, told: told.map(({ method, subscriptionId, maxHeight }) => `${method} ${subscriptionId} ${maxHeight}`) };
}"""


def test_heights_are_told_once_and_no_faster_than_a_server_takes_requests(person):
    anna = person("Anna")
    anna.page.goto(anna.url)
    seen = anna.page.evaluate(CROWD)
    assert seen["told"] == [f"track.update s{place} 192" for place in range(60)] + ["track.update s0 0"]
    assert seen["rate"] <= 42


# What a subscription's state becomes when two of them exchange their tracks.
SWAP = """async () => {
  const { Room } = await import("/room.js");
  const room = new Room({ request: async () => ({}) }, {}, {});
  const tracks = ["1", "2"].map((name) => ({ trackId: `t${name}`, subscriptionId: `s${name}`, paused: false }));
  room.participants.set("p1", { tracks: new Map(tracks.map((track) => [track.trackId, track])) });
  room._handle("subscription.paused", { subscriptionId: "s1", reason: "bandwidth" });
  const before = tracks.map(({ tooSlow }) => Boolean(tooSlow));
  room._bind(new Map([["t1", { subscriptionId: "s2" }], ["t2", { subscriptionId: "s1" }]]));
  return [before, tracks.map(({ tooSlow }) => Boolean(tooSlow))];
}"""


def test_a_pause_stays_with_its_subscription_when_tracks_are_swapped(person):
    anna = person("Anna")
    anna.page.goto(anna.url)
    assert anna.page.evaluate(SWAP) == [[True, False], [False, True]]
