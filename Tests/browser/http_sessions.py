"""What pages and programs do with sessions that they have by HTTP: WHIP and WHEP alike."""

import email.message
import typing
import urllib.error
import urllib.request

SDP = {"Content-Type": "application/sdp"}


class Answer(typing.NamedTuple):
    status: int
    headers: email.message.Message
    body: str


def ask(method: str, url: str, headers: dict[str, str] | None = None, body: str | None = None) -> Answer:
    """What a server says to a request, whatever that is."""
    request = urllib.request.Request(url, body and body.encode(), headers or {}, method=method)
    try:
        with urllib.request.urlopen(request) as answer:
            return Answer(answer.status, answer.headers, answer.read().decode())
    except urllib.error.HTTPError as refusal:
        with refusal:
            return Answer(refusal.status, refusal.headers, refusal.read().decode())


# A page that publishes its camera by WHIP: the forty lines that any page needs. Of the endpoint's URL, or of { url, token }.
PUBLISH = """async (given) => {
  const { url, token } = typeof given === "string" ? { url: given } : given;
  const pc = new RTCPeerConnection();
  const stream = await navigator.mediaDevices.getUserMedia({ video: { width: 640, height: 360 }, audio: true });
  for (const track of stream.getTracks()) pc.addTransceiver(track, { direction: "sendonly", streams: [stream] });
  await pc.setLocalDescription();
  const headers = { "Content-Type": "application/sdp" };
  if (token) headers.Authorization = `Bearer ${token}`;
  const answer = await fetch(url, { method: "POST", headers, body: pc.localDescription.sdp });
  if (answer.status !== 201) throw new Error(`${answer.status}: ${await answer.text()}`);
  await pc.setRemoteDescription({ type: "answer", sdp: await answer.text() });
  window.whip = { pc, url: answer.headers.get("location"), tag: answer.headers.get("etag") };
}"""

# A page that plays by WHEP: the forty lines that any page needs. What it plays is in `#player`.
PLAY = """async (url) => {
  document.body.innerHTML = '<div id="player"><video autoplay muted playsinline></video><audio autoplay></audio></div>';
  const pc = new RTCPeerConnection();
  const stream = new MediaStream();
  const streams = new Set();
  for (const kind of ["audio", "video"]) pc.addTransceiver(kind, { direction: "recvonly" });
  pc.ontrack = ({ track, streams: [own] }) => {
    stream.addTrack(track);
    streams.add(own.id);
    document.querySelector(`#player ${track.kind}`).srcObject = stream;
  };
  await pc.setLocalDescription();
  const headers = { "Content-Type": "application/sdp" };
  const answer = await fetch(url, { method: "POST", headers, body: pc.localDescription.sdp });
  if (answer.status !== 201) {
    pc.close();
    return { status: answer.status, retry: answer.headers.get("retry-after"), ...(await answer.json()) };
  }
  await pc.setRemoteDescription({ type: "answer", sdp: await answer.text() });
  window.whep = { pc, url: answer.headers.get("location"), links: answer.headers.get("link"), streams };
  return { status: 201 };
}"""

# The state of DTLS of the connection in `window.whip`.
DTLS = """async () => [...(await window.whip.pc.getStats()).values()].find(({ type }) => type === "transport")?.dtlsState"""

# Pictures that it has decoded so far.
FRAMES = """async () => [...(await window.whep.pc.getStats()).values()]
  .find(({ type, kind }) => type === "inbound-rtp" && kind === "video")?.framesDecoded ?? 0"""

# Restarts ICE of the session in `window.whip` or `window.whep`: { pc, url }. Returns the new tag.
RESTART = """async (name) => {
  const { pc, url } = window[name];
  await pc.setLocalDescription(await pc.createOffer({ iceRestart: true }));
  const line = (sdp, field) => sdp.match(new RegExp(`a=${field}:(\\\\S+)`))[1];
  const own = ["ice-ufrag", "ice-pwd"].map((name) => `a=${name}:${line(pc.localDescription.sdp, name)}\\r\\n`).join("");
  const headers = { "Content-Type": "application/trickle-ice-sdpfrag", "If-Match": "*" };
  const answer = await fetch(url, { method: "PATCH", headers, body: own });
  const fragment = await answer.text();
  if (answer.status !== 200) throw new Error(`${answer.status}: ${fragment}`);
  let { sdp } = pc.remoteDescription;
  for (const name of ["ice-ufrag", "ice-pwd"])
    sdp = sdp.replace(new RegExp(`a=${name}:\\\\S+`, "g"), `a=${name}:${line(fragment, name)}`);
  await pc.setRemoteDescription({ type: "answer", sdp });
  return answer.headers.get("etag");
}"""

# From now on the longest time between two pictures of an element with a video, in milliseconds, is in `window.longest`.
WATCH = """(element) => {
  const video = element.querySelector("video");
  let last = performance.now();
  window.longest = 0;
  const shown = () => {
    const now = performance.now();
    window.longest = Math.max(window.longest, now - last);
    last = now;
    video.requestVideoFrameCallback(shown);
  };
  video.requestVideoFrameCallback(shown);
}"""
