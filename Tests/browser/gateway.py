"""Debian's Janus gateway with its video room, to compare with: scripts/janus unpacks it, scripts/private-network has an address for it."""

import contextlib
import functools
import http.server
import os
import pathlib
import platform
import socket
import subprocess
import threading
import time
import typing

from server import free_port

# The gateway's API over a WebSocket, as its documentation has it: requests are told apart by their transaction.
SPEAK = """const speak = async (url) => {
  const socket = new WebSocket(url, "janus-protocol");
  await new Promise((resolve, reject) => { socket.onopen = resolve; socket.onerror = reject; });
  const waiting = new Map();
  let next = 0;
  socket.onmessage = ({ data }) => {
    const message = JSON.parse(data);
    if (message.janus === "ack") return;
    waiting.get(message.transaction)?.(message);
  };
  const request = (janus, more = {}) => new Promise((resolve) => {
    const transaction = String(++next);
    waiting.set(transaction, resolve);
    socket.send(JSON.stringify({ janus, transaction, ...more }));
  });
  const session_id = (await request("create")).data.id;
  const attach = async () => {
    const handle_id = (await request("attach", { session_id, plugin: "janus.plugin.videoroom" })).data.id;
    return (body, jsep) => request("message", { session_id, handle_id, body, ...(jsep ? { jsep } : {}) });
  };
  return { attach, close: () => socket.close() };
};
"""

PUBLISH = """async ({ url, user, room }) => {
  %s
  const { attach } = await speak(url);
  const send = await attach();
  await send({ request: "create", room, publishers: 16, audiocodec: "opus", videocodec: "vp8" });
  await send({ request: "join", ptype: "publisher", room, display: user });
  const media = await navigator.mediaDevices.getUserMedia({ audio: true, video: { height: 360, width: 640 } });
  const pc = (window.pc = new RTCPeerConnection({ bundlePolicy: "max-bundle" }));
  for (const track of media.getTracks()) pc.addTransceiver(track, { direction: "sendonly" });
  await pc.setLocalDescription();
  await new Promise((resolve) => { pc.onicegatheringstatechange = () => pc.iceGatheringState === "complete" && resolve(); });
  const answer = await send({ request: "publish" }, pc.localDescription.toJSON());
  await pc.setRemoteDescription(answer.jsep);
}""" % SPEAK

JOIN = """async ({ url, user, room }) => {
  %s %s
  const { attach, close } = await speak(url);
  const started = performance.now();
  const [member, subscriber] = await Promise.all([attach(), attach()]);
  const joined = await member({ request: "join", ptype: "publisher", room, display: user });
  const streams = joined.plugindata.data.publishers.map(({ id }) => ({ feed: id }));
  const offered = await subscriber({ request: "join", ptype: "subscriber", room, streams });
  const pc = new RTCPeerConnection({ bundlePolicy: "max-bundle" });
  const pictures = [];
  pc.ontrack = ({ track }) => track.kind === "video" && pictures.push(watch(new MediaStream([track]), started));
  await pc.setRemoteDescription(offered.jsep);
  await pc.setLocalDescription();
  await subscriber({ request: "start" }, pc.localDescription.toJSON());
  const times = await soon(Promise.all(pictures));
  pc.close();
  close();
  return times;
}"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>blank</title>")

    def log_message(self, *_: object) -> None:
        pass


class Janus:
    """A gateway of our own on free ports, and a blank page from this machine, which may use camera and microphone."""

    name = "Janus"

    def __init__(self, root: pathlib.Path, folder: pathlib.Path, watch: str, host: str = "127.0.0.1") -> None:
        """`host`: the address at which clients find the gateway and the page."""
        self.root, self.folder, self.watch, self.host = root.resolve(), folder / "janus", watch, host
        self.port = free_port(socket.SOCK_STREAM, host)
        self.url = f"ws://{host}:{self.port}/"

    def __enter__(self) -> "Janus":
        libraries = self.root / "usr" / "lib" / f"{platform.machine()}-linux-gnu"
        for part in ("plugins", "transports", "none"):
            (self.folder / part).mkdir(parents=True)
        for library in ("plugins/libjanus_videoroom.so", "transports/libjanus_websockets.so"):
            (self.folder / library).symlink_to(libraries / "janus" / library)
        folders = "".join(f'  {kind}s_folder = "{self.folder / part}"\n' for kind, part in
                          (("plugin", "plugins"), ("transport", "transports"), ("event", "none"), ("logger", "none")))
        (self.folder / "janus.jcfg").write_text(f"general: {{\n{folders}}}\n")
        (self.folder / "janus.transport.websockets.jcfg").write_text(
            f'general: {{ json = "compact", ws = true, ws_port = {self.port}, ws_ip = "{self.host}", wss = false }}\n')
        (self.folder / "janus.plugin.videoroom.jcfg").write_text("general: { string_ids = true }\n")
        self.process = subprocess.Popen(
            [self.root / "usr" / "bin" / "janus", f"--config={self.folder / 'janus.jcfg'}", f"--configs-folder={self.folder}",
             "--disable-colors", "--session-timeout=0", "--ice-lite", f"--interface={self.host}"],
            env={**os.environ, "LD_LIBRARY_PATH": str(libraries)}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                socket.create_connection((self.host, self.port), 1).close()
                break
            time.sleep(0.1)
        self.page = http.server.ThreadingHTTPServer((self.host, 0), functools.partial(Quiet))
        self.page_url = f"http://{self.host}:{self.page.server_address[1]}/"
        threading.Thread(target=self.page.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.page.shutdown()
        self.process.terminate()
        self.process.wait(30)

    def publish(self, page: typing.Any, user: str) -> None:
        self.run(page, PUBLISH, user)

    def join(self, page: typing.Any, user: str) -> list[float]:
        return self.run(page, JOIN % (SPEAK, self.watch), user)

    def run(self, page: typing.Any, script: str, user: str) -> typing.Any:
        page.goto(self.page_url)
        return page.evaluate(script, {"url": self.url, "user": user, "room": "first"})
