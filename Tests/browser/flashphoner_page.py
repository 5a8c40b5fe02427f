"""Somebody with an app for Flashphoner's SDKs in a page: Chromium, and what their web SDK does."""

import typing

from people import COLOUR, Person
from server import Server

# An app of a page: what their web SDK does, in forty lines. Resolves when its stream is published.
APP = """async ([url, room, login]) => {
  const socket = new WebSocket(url);
  const app = (window.app = { socket, peers: {}, played: {}, status: {}, heard: [] });
  const send = (message, data) => socket.send(JSON.stringify({ message, data: [data] }));
  const command = (command, options) => send("sendData", { operationId: command, payload: { command, options } });
  const offer = async (word, name, pc, more) => {
    const mediaSessionId = crypto.randomUUID();
    app.peers[mediaSessionId] = pc;
    await pc.setLocalDescription(await pc.createOffer());
    send(word, { mediaSessionId, name, sdp: pc.localDescription.sdp, mediaProvider: "WebRTC", ...more });
    return mediaSessionId;
  };
  const peer = () => new RTCPeerConnection({ bundlePolicy: "max-compat" });
  app.play = async (name) => {
    const pc = peer();
    for (const kind of ["audio", "video"]) pc.addTransceiver(kind, { direction: "recvonly" });
    const video = Object.assign(document.createElement("video"), { autoplay: true, muted: true, playsInline: true });
    const tile = document.createElement("div");
    tile.append(video);
    document.body.append(tile);
    const stream = (video.srcObject = new MediaStream());
    pc.ontrack = ({ track }) => stream.addTrack(track);
    tile.dataset.stream = name;
    const media = await offer("playStream", name, pc, {});
    app.played[media] = name;
    return media;
  };
  const wait = (what) => new Promise((resolve) => (app[what] = resolve));
  socket.onmessage = ({ data: text }) => {
    const { message, data } = JSON.parse(text);
    app.heard.push([message, data[0]]);
    if (message === "ping") socket.send('{"message":"pong","data":[null]}');
    if (message === "getUserData") app.established();
    if (message === "OnDataEvent") app.joined?.();
    if (message === "setRemoteSDP") app.peers[data[0]].setRemoteDescription({ type: "answer", sdp: data[1] });
    if (message === "notifyStreamStatusEvent") app.status[data[0].mediaSessionId] = data[0].status;
  };
  const established = wait("established");
  await new Promise((resolve, reject) => Object.assign(socket, { onopen: resolve, onerror: reject }));
  send("connection", { appKey: "roomApp", mediaProviders: ["WebRTC"], custom: { login } });
  await established;
  const joined = wait("joined");
  command("join", { name: room });
  await joined;
  const pc = peer();
  const camera = await navigator.mediaDevices.getUserMedia({ audio: true, video: true });
  for (const track of camera.getTracks()) pc.addTransceiver(track, { direction: "sendonly", streams: [camera] });
  app.own = await offer("publishStream", `${room}-${login}-1a2b`, pc, { custom: { name: room } });
}"""

# Pictures decoded and packets of sound, by the name of the stream.
COUNTS = """async () => {
  const counts = {};
  for (const [media, name] of Object.entries(window.app.played)) {
    const stats = [...(await window.app.peers[media].getStats()).values()].filter(({ type }) => type === "inbound-rtp");
    const stat = (wanted) => stats.find(({ kind }) => kind === wanted);
    counts[name] = { audio: stat("audio")?.packetsReceived ?? 0, video: stat("video")?.framesDecoded ?? 0 };
  }
  return counts;
}"""


# What it has sent so far, as stays.SENT reads it.
OWN = "async () => [...(await window.app.peers[window.app.own].getStats()).values()]"


class FlashphonerPage:
    """A tab of somebody's browser."""

    def __init__(self, person: Person, server: Server) -> None:
        self.name, self.server = person.name, server
        # Another port than the listener's, as pages of theirs have; and one without scripts of its own, whose console is not looked at.
        self.page = person.context.new_page()
        self.page.goto(f"{server.url}/style.css")

    def join(self, room: str) -> "FlashphonerPage":
        """Joins and publishes."""
        self.stream = f"{room}-{self.name}-1a2b"
        self.page.evaluate(APP, [self.server.flashphoner, room, self.name])
        return self

    def play(self, name: str) -> str:
        """The mediaSessionId."""
        return self.page.evaluate("(name) => window.app.play(name)", name)

    def leave(self) -> None:
        self.page.evaluate("window.app.socket.close()")

    @property
    def publishes(self) -> bool:
        return self.page.evaluate("window.app.status[window.app.own]") == "PUBLISHING"

    def status(self, media: str) -> str | None:
        return self.page.evaluate("(media) => window.app.status[media]", media)

    def colour(self, name: str) -> list[int] | None:
        return self.page.locator(f'[data-stream="{name}"]').evaluate(COLOUR)

    def counts(self) -> dict[str, dict[str, int]]:
        return self.page.evaluate(COUNTS)

    def streams(self) -> list[dict]:
        """Those that were there when it came: {login, name}."""
        return [one for info in self.events("STATE") for one in info if isinstance(one, dict)]

    def events(self, name: str) -> list[typing.Any]:
        """`info` of the room's events of this name."""
        heard = self.page.evaluate("window.app.heard")
        return [one["payload"]["info"] for word, one in heard if word == "OnDataEvent" and one["payload"]["name"] == name]
