"""C9: a thin way up, four seconds in the dark, and another address."""

import math

from bench import Outcome, Part, Stage, duration
from clients import Samples
from lines import Line
from playwright.sync_api import Page
from probes import Watch
from thin import PIA, SOUND

UP = 500_000

# When a new picture was last presented on any tile, as Unix times in seconds: all that came.
PRESENTED = """() => {
  window.presented = [];
  const seen = new WeakSet();
  const watch = (video) => {
    const next = () => {
      window.presented.push(Date.now() / 1000);
      video.requestVideoFrameCallback(next);
    };
    video.requestVideoFrameCallback(next);
  };
  setInterval(() => {
    for (const video of document.querySelectorAll("article.tile video")) {
      if (seen.has(video)) continue;
      seen.add(video);
      watch(video);
    }
  }, 50);
}"""

# Takes away what a sender learns its rate from: the feedback that is told in the answer.
NO_FEEDBACK = """() => {
  const original = RTCPeerConnection.prototype.setRemoteDescription;
  RTCPeerConnection.prototype.setRemoteDescription = function (description) {
    const lines = description.sdp.split("\\r\\n").filter((line) => !/^a=(rtcp-fb:\\S+ (transport-cc|goog-remb)|extmap:.*transport-wide-cc)/.test(line));
    return original.call(this, { type: description.type, sdp: lines.join("\\r\\n") });
  };
}"""


def outages(stage: Stage, is_control: bool) -> Outcome:
    """All three, one after another, in one room. The control has no feedback on the way up, two seconds more of dark, and a new
    network that carries no UDP."""
    pia_browser = stage.browser("Pia", size=(960, 540))
    if is_control:
        stage.before_publishing = lambda page: page.add_init_script(f"({NO_FEEDBACK})()")
    stage.publisher("Pia", pia_browser, height=540)
    stage.until("the best layer is sent", lambda: stage.latest("Pia", "video h", "frameHeight", "out") == 540, 90)
    ben = stage.viewer("Ben", stage.browser("Ben"))
    ben.evaluate(PRESENTED)
    stage.until("a picture is seen", lambda: len(ben.evaluate("() => window.presented")) > 15, 90)
    began = ben.evaluate("() => performance.timeOrigin")
    stage.wait(3)
    parts = [uplink(stage, stage.lines["Pia"]), dark(stage, ben, 6 if is_control else 4), moved(stage, ben, is_control)]
    stage.keep(presented=ben.evaluate("() => window.presented"))
    same = ben.evaluate("() => performance.timeOrigin") == began and ben.locator("#call").is_visible()
    return Outcome([*parts, Part("without anybody's doing", "yes" if same else "no", same)])


def uplink(stage: Stage, line: Line) -> Part:
    """Pia's line carries 500 kbit/s up for some time."""
    watch = Watch(line, up=True)
    stage.wait(1)
    line.limit_up(UP)
    fell = stage.wait(0)
    rose = stage.wait(stage.tools.seconds(30, 15))
    watch.stop()
    watch.applied(fell + 0.5, rose, UP)
    line.limit_up(None)
    stage.notes["uplink"] = [fell, rose]
    after = watch.fits_after(fell, rose)
    stage.until("the picture is back", lambda: recent(stage.pages["Ben"]), 60)
    stage.wait(10)
    return Part("publisher's uplink: fits after", duration(after), after <= 3)


def recent(ben: Page) -> bool:
    return ben.evaluate("() => Date.now() / 1000 - (window.presented.at(-1) ?? 0) < 0.3")


def dark(stage: Stage, ben: Page, seconds: float) -> Part:
    """Nothing passes in either direction; the bar counts from four seconds on."""
    line = stage.lines["Ben"]
    line.lose(down=1, up=1)
    begun = stage.wait(0)
    stage.wait(seconds)
    light = begun + 4
    line.lose()
    stage.wait(stage.tools.seconds(15, 8))
    after = first_after(ben, begun + min(seconds, 4)) - light
    stage.notes["dark"] = [begun, light]
    return Part("picture after the light:", duration(after), after <= 0.5)


def first_after(ben: Page, moment: float) -> float:
    """The time of the first picture after a moment; infinity where there is none."""
    return next((at for at in ben.evaluate("() => window.presented") if at > moment), math.inf)


def moved(stage: Stage, ben: Page, without_udp: bool) -> Part:
    """Ben is in another network, with another address."""
    line = stage.lines["Ben"]
    stage.until("the picture is back", lambda: recent(ben), 60)
    line.move()
    moment = stage.wait(0)
    if without_udp:
        line.inside("nft", "add rule netdev loss up meta l4proto udp drop")
    stage.wait(stage.tools.seconds(30, 15))
    # Pictures wait in the browser: only what follows packets of the new way is a sign of it.
    seen = stage.samples("Ben")
    picture, sound = (resumed(seen, stream, moment + 0.3) for stream in (PIA, SOUND))
    picture, sound = first_after(ben, picture) - moment, sound - moment
    stage.notes["moved"] = moment
    return Part("new address: picture and sound after", f"{duration(picture)} and {duration(sound)}", max(picture, sound) <= 4)


def resumed(seen: Samples, stream: str, moment: float) -> float:
    """When packets come again after a moment, as closely as the page looks; infinity where none do."""
    counts = seen.series(stream, "packetsReceived")
    before = max((count for at, count in counts if at <= moment), default=0)
    return next((at for at, count in counts if at > moment and count > before), math.inf)
