"""How many layers a picture is sent in: as many as its size carries, so that the best of them arrives."""

import pytest
from firefox import FirefoxPerson
from people import Person, eventually

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
    ben = person("Ben").join(room, audio=0, video=0)
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
    ben = person("Ben").join(room, audio=0, video=0)
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
      const track = (width, height) => ({ kind: "video", _simulcast: true, mediaStreamTrack: { getSettings: () => ({ width, height }) } });
      return sizes.map(([width, height]) => encodings(track(width, height)).length);
    }"""
    sizes = [(320, 180), (480, 270), (480, 360), (640, 360), (360, 640), (640, 480), (720, 540), (960, 540), (540, 960), (1280, 720)]
    assert anna.page.evaluate(count, sizes) == [1, 1, 2, 2, 2, 2, 2, 3, 3, 3]
