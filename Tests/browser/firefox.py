"""Somebody in front of Firefox, driven by WebDriver BiDi over its WebSocket; there is no other driver in Debian."""

import contextlib
import json
import pathlib
import re
import subprocess
import time
import typing

import numpy
from fixtures import LOOKS, RATE
from people import COLOUR, RECEIVED, close, eventually, near
from websockets.sync.client import connect

# What its fake microphone sounds like, Hz. Its fake camera shows one colour after the other.
TONE = 1_230

# The permissions are needed besides the fakes: without them Firefox offers no loopback candidate.
PREFERENCES = {
    "media.navigator.streams.fake": True,
    "media.navigator.audio.fake_frequency": TONE,
    "media.navigator.permission.disabled": True,
    "media.peerconnection.ice.loopback": True,
    "media.peerconnection.ice.obfuscate_host_addresses": False,
    "permissions.default.microphone": 1,
    "permissions.default.camera": 1,
    "media.autoplay.default": 0,
    "datareporting.policy.dataSubmissionEnabled": False,
    "browser.shell.checkDefaultBrowser": False,
}

# A second of somebody's sound as numbers. Without a sound card Firefox leaves an AudioContext suspended, so the sound is
# recorded, and decoded offline.
RECORD = """async (name) => {
  const stream = document.querySelector(`[data-name=${name}] audio`)?.srcObject;
  if (!stream) return [];
  const recorder = new MediaRecorder(new MediaStream(stream.getAudioTracks()));
  const data = await new Promise((resolve) => {
    recorder.ondataavailable = ({ data }) => resolve(data);
    recorder.start();
    setTimeout(() => recorder.stop(), 1000);
  });
  const context = new OfflineAudioContext(1, 48000, 48000);
  const sound = await context.decodeAudioData(await data.arrayBuffer());
  return [...sound.getChannelData(0)].map((value) => Math.round(value * 10000));
}"""


class FirefoxPerson:
    """The part of `Person` that tests of other stacks need."""

    def __init__(self, name: str, url: str, folder: pathlib.Path, pictures: int = RATE) -> None:
        """`pictures`: of its camera, a second."""
        self.name = name
        self.url = url
        self.next_id = 0
        self.resources = contextlib.ExitStack()
        profile = folder / f"firefox-{name}"
        profile.mkdir()
        preferences = {**PREFERENCES, "media.navigator.video.default_fps": pictures}
        lines = (f"user_pref({json.dumps(key)}, {json.dumps(value)});" for key, value in preferences.items())
        (profile / "user.js").write_text("\n".join(lines))
        self.log = folder / f"firefox-{name}.log"
        with self.log.open("wb") as log:
            command = ["firefox-esr", "--headless", "--no-remote", "--remote-debugging-port=0", "--profile", profile]
            self.process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        try:
            found = eventually("Firefox listens", self.address, 40)
            self.socket = self.resources.enter_context(
                connect(f"{found.group(1)}/session", max_size=None, open_timeout=20)
            )
            self.command("session.new", {"capabilities": {}})
            self.tab = self.command("browsingContext.getTree", {})["contexts"][0]["context"]
        except BaseException:
            self.end()
            raise

    def address(self) -> re.Match | None:
        return re.search(r"WebDriver BiDi listening on (ws://\S+)", self.log.read_text(errors="replace"))

    def command(self, method: str, params: dict, timeout: float = 40) -> dict:
        self.next_id += 1
        self.socket.send(json.dumps({"id": self.next_id, "method": method, "params": params}))
        deadline = time.monotonic() + timeout
        while True:
            message = json.loads(self.socket.recv(max(0.1, deadline - time.monotonic())))
            if message.get("id") != self.next_id:
                continue
            if message["type"] == "error":
                raise RuntimeError(f"{method}: {message}")
            return message["result"]

    def evaluate(self, function: str, argument: typing.Any = None) -> typing.Any:
        """Calls a function in the page; argument and result travel as JSON."""
        expression = f"(async () => JSON.stringify((await ({function})({json.dumps(argument)})) ?? null))()"
        target = {"context": self.tab}
        params = {"expression": expression, "target": target, "awaitPromise": True}
        result = self.command("script.evaluate", params)
        if result["type"] != "success":
            raise RuntimeError(f"{function}: {result['exceptionDetails']['text']}")
        return json.loads(result["result"]["value"])

    def open(self, **wishes: typing.Any) -> None:
        query = {"name": self.name, **wishes}
        self.visit("/?" + "&".join(f"{key}={value}" for key, value in query.items()))

    def join(self, room: str, **wishes: typing.Any) -> "FirefoxPerson":
        self.open(room=room, autojoin=1, **wishes)
        eventually("Firefox is in the room", lambda: self.evaluate("() => Boolean(window.roost?.room)"))
        return self

    def visit(self, path: str) -> None:
        """Some page of the server."""
        self.command("browsingContext.navigate", {"context": self.tab, "url": f"{self.url}{path}", "wait": "complete"})

    def go_online(self) -> "FirefoxPerson":
        self.open(online=1)
        eventually("Firefox can be called", lambda: self.shows("phone"))
        return self

    def shows(self, element: str) -> bool:
        return self.evaluate("(id) => Boolean(document.getElementById(id)?.checkVisibility())", element)

    def click(self, element: str) -> None:
        eventually(f"Firefox shows #{element}", lambda: self.shows(element))
        self.evaluate("(id) => document.getElementById(id).click()", element)

    def received(self) -> dict:
        return self.evaluate(RECEIVED)

    def colour(self, name: str) -> list[int] | None:
        return self.evaluate(f"(name) => ({COLOUR})(document.querySelector(`[data-name=${{name}}]`))", name)

    def tone(self, name: str) -> float | None:
        samples = numpy.array(self.evaluate(RECORD, name))
        if len(samples) == 0 or samples.max() < 100:
            return None
        return float(numpy.abs(numpy.fft.rfft(samples)).argmax() * 48_000 / len(samples))

    def sees_and_hears(self, name: str) -> None:
        """That new frames and sound of `name` arrive and are his."""

        def stat(kind: str, key: str):
            return self.received().get(name, {}).get(kind, {}).get(key, 0)

        first = eventually(f"Firefox decodes {name}", lambda: stat("video", "framesDecoded"), 30)
        eventually(f"Firefox goes on decoding {name}", lambda: stat("video", "framesDecoded") > first + 5)
        assert stat("video", "frameWidth") > 0
        eventually(f"Firefox sees {name}'s colour", lambda: close(self.colour(name), LOOKS[name].colour), 10)
        eventually(f"Firefox hears {name}'s tone", lambda: near(self.tone(name), LOOKS[name].tone), 15)

    def end(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def close(self) -> None:
        try:
            self.evaluate("() => window.roost?.client?.close()")
            self.resources.close()
        finally:
            self.end()
