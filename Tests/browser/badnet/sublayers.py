"""A picture in one encoding, with temporal and spatial layers in it, on a line that becomes too thin for all of them, and wide again.

    sublayers.py CODEC MODE…      as VP8 L1T3 L1T1

For each mode it prints a line of JSON: {mode, codec, lines, rate, before, thin, frozen, still, whole, idle}. Bits a second before the fall, frames a
second then and on the thin line, the longest time without a new frame from the fall on, with what happened in it on both sides, and how long after
the rise the picture was whole again (null: not).
"""

import contextlib
import json
import pathlib
import sys
import tempfile
import typing

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from bench import Processor, Stage, Tools  # noqa: E402
from clients import SAMPLER, Clients, Samples  # noqa: E402
from halls import ROOST_REPORTS, Roost  # noqa: E402
from lines import NetworkNotApplied, enter_private_network  # noqa: E402
from playwright.sync_api import sync_playwright  # noqa: E402
from probes import Echo, Watch  # noqa: E402

THIN, WIDE = 380_000, 3_000_000
PIA = "Pia video"

# The browser is told which layers to make, in 500 kbit/s; publishing does not know of it.
MODE = """(() => {
  const original = RTCPeerConnection.prototype.addTransceiver;
  RTCPeerConnection.prototype.addTransceiver = function (track, init = {}) {
    const isVideo = track.kind === "video";
    const encodings = init.sendEncodings?.map((one) => (isVideo ? { ...one, scalabilityMode: "%s", maxBitrate: 500000 } : one));
    const transceiver = original.call(this, track, { ...init, ...(encodings && { sendEncodings: encodings }) });
    // Chromium makes pictures of several spatial layers smaller where it finds them coarse; then they have one layer.
    const parameters = transceiver.sender.getParameters();
    void transceiver.sender.setParameters({ ...parameters, degradationPreference: "maintain-resolution" });
    return transceiver;
  };
})()"""

# Thirty pictures a second of something that moves, in 640 × 360: one of `calm` fields changes with each.
PUBLISH = """async ({ room, calm }) => {
  const { RoostClient, rtcUrl } = await import("/roost.js");
  const client = new RoostClient(rtcUrl(), { user: "pia", displayName: "Pia" });
  await client.connect();
  const joined = await client.join(room, { autoSubscribe: false });
  const canvas = Object.assign(document.createElement("canvas"), { width: 640, height: 360 });
  const context = canvas.getContext("2d");
  let frame = 0;
  setInterval(() => {
    frame += 1;
    for (let place = frame % calm; place < 64; place += calm) {
      context.fillStyle = `hsl(${(place * 37 + frame * 3) % 360} 60% 50%)`;
      context.fillRect((place % 8) * 80, Math.floor(place / 8) * 45, 80, 45);
      context.fillStyle = "#fff";
      context.fillRect(((place * 91 + frame * 7) % 600), (place * 53 + frame * 5) % 340, 24, 12);
    }
  }, 33);
  await joined.publish(canvas.captureStream(30).getVideoTracks()[0], { label: "camera", simulcast: false });
  window.roost = { client, room: joined };
}"""


def fall_and_rise(stage: Stage, mode: str) -> dict[str, typing.Any]:
    pia = stage.page("Pia", stage.browser("Pia"), {"width": 400, "height": 300})
    pia.add_init_script(MODE % mode)
    pia.goto(stage.hall.origin)
    # An encoder of two layers shares its bits out among them, and leaves pictures out where they do not do.
    pia.evaluate(PUBLISH, {"room": stage.room, "calm": 1 if mode.startswith("L1") else 5})
    pia.evaluate(ROOST_REPORTS)
    pia.evaluate(SAMPLER)
    line = stage.line("Ben")
    line.limit(WIDE)
    stage.viewer("Ben", stage.browser("Ben"))
    stage.hall.pin(stage.pages["Ben"], "Pia")
    stage.until("the picture is seen", lambda: stage.latest("Ben", PIA, "framesDecoded") > 60, 90)
    watch = Watch(line)
    begun = stage.wait(5)
    fell = stage.wait(4)
    line.limit(THIN)
    rose = stage.wait(14)
    line.limit(WIDE)
    ended = stage.wait(18)
    watch.stop()
    watch.applied(fell + 1, rose, THIN)
    seen = stage.samples("Ben")
    stage.keep(moments=[begun, fell, rose, ended], queue=watch.found)
    before = seen.between(begun, fell).frames_per_second(PIA)
    if before < 15:
        raise NetworkNotApplied(f"{before:.1f} frames a second on a good line: this machine is too busy")
    codec: typing.Any = stage.latest("Ben", PIA, "codec")
    lines = seen.between(begun, fell).series(PIA, "frameHeight")[-1][1]
    rate = 8 * seen.between(begun, fell).grown(PIA, "bytesReceived") / (fell - begun)
    frozen, since = longest_still(seen.between(fell - 1, ended))
    still = meanwhile(stage.samples("Pia"), seen, since, frozen)
    if frozen > 1 and still["out framesEncoded"] < frozen * before / 3:
        raise NetworkNotApplied(f"in {frozen:.1f} s without a new frame the publisher made few itself: {still}")
    return {"mode": mode, "codec": codec, "lines": lines, "rate": rate, "before": before,
            "thin": seen.between(fell + 2, rose).frames_per_second(PIA), "frozen": frozen,
            "still": still | {"after": since - fell} if frozen else None,
            "whole": whole_after(seen.between(rose, ended), rose, before, lines)}


def longest_still(seen: Samples) -> tuple[float, float]:
    """Seconds without a new frame, at most, and since when; looks are a quarter of a second apart."""
    frames = seen.series(PIA, "framesDecoded")
    longest, begun, since = 0.0, 0.0, frames[0][0]
    for (_, before), (at, now) in zip(frames, frames[1:]):
        if now > before:
            since = at
        if at - since > longest:
            longest, begun = at - since, since
    return longest, begun


def meanwhile(made: Samples, seen: Samples, since: float, seconds: float) -> dict[str, float]:
    """What both sides counted in so many seconds without a new frame: whose fault it is."""
    (made, seen) = (made.between(since, since + seconds + 0.1), seen.between(since, since + seconds + 0.1))
    return {f"out {key}": made.grown("video", key, "out") for key in ("framesEncoded", "packetsSent", "pliCount", "nackCount", "keyFramesEncoded")} | {
        f"in {key}": seen.grown(PIA, key) for key in ("packetsReceived", "bytesReceived", "packetsLost", "nackCount", "pliCount", "framesDropped")}


def whole_after(seen: Samples, rose: float, wanted: float, lines: int) -> float | None:
    """Seconds until about as many lines are seen, and as many frames as before, for two seconds. A busy encoder leaves some out."""
    for at, _ in seen.series(PIA, "frameHeight"):
        later = seen.between(at, at + 2)
        full = all(height >= lines * 0.7 for _, height in later.series(PIA, "frameHeight"))
        if full and later.found[-1]["at"] > at + 1.5 and later.frames_per_second(PIA) > wanted * 0.85:
            return at - rose
    return None


def main() -> int:
    codec, modes = sys.argv[1], sys.argv[2:]
    enter_private_network()
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="roost-sublayers-")))
        clients = Clients(stack.enter_context(sync_playwright()), folder)
        tools = Tools(clients, Echo(), pathlib.Path("out/badnet"))
        for mode in modes:
            name, processor = f"layers-{codec}-{mode}", Processor()
            (folder / mode).mkdir()
            with Roost(folder / mode, f"video_codecs: [{codec}]") as hall, Stage(tools, hall, name) as stage:
                found = fall_and_rise(stage, mode)
            print(json.dumps({**found, "idle": round(processor.idle, 3)}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
