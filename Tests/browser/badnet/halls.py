"""Where people meet: a Roost, or Debian's Janus, with the same publishers and viewers in it."""

import pathlib
import re
import typing

from clients import SAMPLER
from gateway import SPEAK, Janus
from lines import SERVER
from playwright.sync_api import Page, expect
from server import ROOT, Server

VIEWPORT = {"width": 1280, "height": 800}
# Larger ones, of which one holds a large tile and six small ones beside it.
LARGER = [(1280, 860), (1280, 880), (1280, 900), (1440, 900), (1600, 900), (1600, 1000)]

ROOST_PUBLISH = """async ({ user, room, height, simulcast, audio }) => {
  const { RoostClient, rtcUrl, openMedia } = await import("/roost.js");
  const client = new RoostClient(rtcUrl(), { user: user.toLowerCase(), displayName: user });
  await client.connect();
  const joined = await client.join(room, { autoSubscribe: false });
  const media = await openMedia({ audio: true, video: height > 0, height });
  const microphone = joined.publish(media.audio, { label: "microphone", muted: !audio });
  await Promise.all([microphone, media.video && joined.publish(media.video, { label: "camera", simulcast })]);
  window.roost = { client, room: joined };
}"""

# What the browser knows of both connections, and whose track is whose.
ROOST_REPORTS = """() => {
  window.reports = async () => {
    const { room } = window.roost ?? {};
    if (!room) return null;
    const names = {};
    for (const person of room.participants.values())
      for (const track of person.tracks.values()) if (track.mediaStreamTrack) names[track.mediaStreamTrack.id] = person.displayName;
    return { ...(await room.stats()), names };
  };
}"""

JANUS_PUBLISH = """async ({ url, user, room, height, simulcast, audio }) => {
  %s
  const { attach } = await speak(url);
  const send = await attach();
  await send({ request: "create", room, publishers: 16, audiocodec: "opus", videocodec: "vp8" });
  await send({ request: "join", ptype: "publisher", room, display: user });
  const width = Math.round((height * 16) / 9);
  const media = await navigator.mediaDevices.getUserMedia({ audio: true, video: { height, width } });
  for (const track of media.getAudioTracks()) track.enabled = audio;
  const pc = new RTCPeerConnection({ bundlePolicy: "max-bundle" });
  const { encodings } = await window.layers;
  for (const track of media.getTracks()) {
    const sendEncodings = encodings({ kind: track.kind, _simulcast: simulcast, _wish: {}, mediaStreamTrack: track });
    pc.addTransceiver(track, { direction: "sendonly", sendEncodings });
  }
  await pc.setLocalDescription();
  await new Promise((resolve) => { pc.onicegatheringstatechange = () => pc.iceGatheringState === "complete" && resolve(); });
  // It takes the first for the highest, if nobody says otherwise.
  const answer = await send({ request: "publish" }, { ...pc.localDescription.toJSON(), rid_order: "lmh" });
  await pc.setRemoteDescription(answer.jsep);
  window.reports = async () => ({ publish: await pc.getStats(), subscribe: null, names: {} });
}""" % SPEAK

JANUS_VIEW = """async ({ url, room }) => {
  %s
  const { attach } = await speak(url);
  const [member, subscriber] = await Promise.all([attach(), attach()]);
  const joined = await member({ request: "join", ptype: "publisher", room, display: "viewer" });
  const { publishers } = joined.plugindata.data;
  const offered = await subscriber({ request: "join", ptype: "subscriber", room, streams: publishers.map(({ id }) => ({ feed: id })) });
  const display = Object.fromEntries(offered.plugindata.data.streams.map(({ mid, feed_display }) => [mid, feed_display]));
  const pc = new RTCPeerConnection({ bundlePolicy: "max-bundle" });
  const names = {};
  pc.ontrack = ({ track, transceiver }) => {
    names[track.id] = display[transceiver.mid];
    const element = Object.assign(document.createElement(track.kind), { autoplay: true, playsInline: true, width: 400 });
    element.srcObject = new MediaStream([track]);
    document.body.append(element);
  };
  await pc.setRemoteDescription(offered.jsep);
  await pc.setLocalDescription();
  await subscriber({ request: "start" }, pc.localDescription.toJSON());
  window.reports = async () => ({ publish: null, subscribe: await pc.getStats(), names });
}""" % SPEAK


class Roost:
    """Our own server, and its page."""

    name = "Roost"

    def __init__(self, folder: pathlib.Path, media: str = "") -> None:
        """`media`: one more line of that section of its configuration."""
        self.server = Server(folder, address=SERVER, advertise=SERVER, host=SERVER, media=media, unknown="group")
        self.origin = self.server.url

    def __enter__(self) -> "Roost":
        self.server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.stop()

    def publish(self, page: Page, user: str, room: str, height: int = 360, simulcast: bool = True, audio: bool = True) -> None:
        """`height` 0: sound alone."""
        page.goto(self.origin)
        page.evaluate(ROOST_PUBLISH, {"user": user, "room": room, "height": height, "simulcast": simulcast, "audio": audio})
        page.evaluate(ROOST_REPORTS)
        page.evaluate(SAMPLER)

    def view(self, page: Page, user: str, room: str) -> None:
        page.goto(f"{self.origin}/?room={room}&name={user}&autojoin=1&audio=0&video=0")
        expect(page.locator("#call")).to_be_visible(timeout=60_000)
        page.evaluate(ROOST_REPORTS)
        page.evaluate(SAMPLER)

    def pin(self, page: Page, name: str) -> None:
        """Keeps somebody's tile large."""
        tile = page.locator(f'article.tile[data-name="{name}"]')
        tile.locator(".pin").press("Enter")
        expect(tile).to_have_class(re.compile("pinned"))

    def show(self, page: Page, names: list[str]) -> bool:
        """Makes the page large enough for all of these: a tile on another page is sent nothing. @returns whether that was possible"""
        for width, height in LARGER:
            page.set_viewport_size({"width": width, "height": height})
            page.wait_for_timeout(500)
            if all(page.locator(f'article.tile[data-name="{name}"]').is_visible() for name in names):
                return True
        return False


class JanusHall:
    """Debian's Janus with the same layers. Its viewers are sent the highest; it leaves one when nothing of it comes."""

    name = "Janus"

    def __init__(self, janus: pathlib.Path, folder: pathlib.Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.gateway = Janus(janus, folder, "", SERVER)

    def __enter__(self) -> "JanusHall":
        self.gateway.__enter__()
        self.origin = self.gateway.page_url.rstrip("/")
        return self

    def __exit__(self, *_: object) -> None:
        self.gateway.__exit__()

    def publish(self, page: Page, user: str, room: str, height: int = 360, simulcast: bool = True, audio: bool = True) -> None:
        page.goto(self.origin)
        page.evaluate("(text) => { window.layers = import(URL.createObjectURL(new Blob([text], { type: 'text/javascript' }))); }", layers())
        given = {"url": self.gateway.url, "user": user, "room": room, "height": height, "simulcast": simulcast, "audio": audio}
        page.evaluate(JANUS_PUBLISH, given)
        page.evaluate(SAMPLER)

    def view(self, page: Page, user: str, room: str) -> None:
        page.goto(self.origin)
        page.evaluate(JANUS_VIEW, {"url": self.gateway.url, "room": room})
        page.evaluate(SAMPLER)

    def pin(self, page: Page, name: str) -> None:
        """A viewer of Janus asks for layers by itself; by default for the highest of all."""

    def show(self, page: Page, names: list[str]) -> bool:
        return True


def layers() -> str:
    """A script whose `encodings` are the SDK's, so that publishers send to Janus what they send to Roost."""
    assets = ROOT / "Sources" / "clients" / "WebClient" / "Assets"
    text = "".join((assets / name).read_text() for name in ("basics.js", "tracks.js"))
    return "\n".join(line for line in text.splitlines() if not line.startswith("import "))


Hall = typing.Union[Roost, JanusHall]

