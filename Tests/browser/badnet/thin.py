"""C1 to C4: lines that are too thin for what is sent."""

import math
import typing

from bench import Outcome, Part, Stage, percent
from clients import Samples
from lines import Line, NetworkNotApplied
from probes import Pings, Watch, p95

THIN, WIDE = 600_000, 3_000_000
# A picture of 540 lines has three layers: about 150, 480 and 1,450 kbit/s.
CAMERA = {"size": (960, 540), "noise": 6}
STREAM = "Pia video"


def one_to_one(stage: Stage, simulcast: bool) -> Line:
    """Pia publishes, Ben watches over a line of his own; all of it runs before the line is made thin."""
    pia = stage.publisher("Pia", stage.browser("Pia", **CAMERA), height=540, simulcast=simulcast)
    line = stage.line("Ben")
    line.limit(WIDE)
    stage.viewer("Ben", stage.browser("Ben"))
    stage.until("the best layer is seen", lambda: stage.latest("Ben", STREAM, "frameHeight") == 540, 90)
    del pia
    return line


def fall_and_rise(stage: Stage, simulcast: bool) -> Outcome:
    """C1: 3 Mbit/s, then 600 kbit/s, then 3 Mbit/s."""
    line = one_to_one(stage, simulcast)
    watch = Watch(line)
    begun = stage.wait(1)
    fell = stage.wait(stage.tools.seconds(20, 10))
    line.limit(THIN)
    rose = stage.wait(stage.tools.seconds(30, 15))
    line.limit(WIDE)
    ended = stage.wait(stage.tools.seconds(30, 15))
    watch.stop()
    seen = stage.samples("Ben")
    stage.keep("C1" if simulcast else "C1-control", queue=watch.found, moments=[begun, fell, rose, ended])
    before = seen.between(begun, fell)
    if before.frozen(STREAM) > 0.05 * (fell - begun):
        raise NetworkNotApplied(f"frozen for {before.frozen(STREAM):.1f} s before the line was thin: this machine is too busy")
    applied(watch, fell, rose)
    fits = fits_after(watch, fell, rose)
    at_fall, later = seen.between(fell - 0.5, fell + 5), seen.between(fell + 5, ended)
    back = top_again(seen, rose, ended, 540)
    return Outcome([
        Part("fits after", seconds(fits), fits <= 3),
        Part("frozen in the fall", f"{at_fall.frozen(STREAM):.1f} s", at_fall.frozen(STREAM) <= 1.5),
        Part("afterwards", f"{later.frozen(STREAM):.1f} s", later.frozen(STREAM) == 0),
        Part("top layer back after", seconds(back), back <= 10),
    ])


def applied(watch: Watch, start: float, end: float) -> None:
    """@raises NetworkNotApplied where the thin line never held anything back"""
    states = watch.between(start, end)
    if len(states) < 10 or states[-1][1]["delayed"] == states[0][1]["delayed"]:
        raise NetworkNotApplied("the thin line held nothing back")
    carried = (states[-1][1]["bytes"] - states[0][1]["bytes"]) * 8 / (states[-1][0] - states[0][0])
    if carried > THIN * 1.05:
        raise NetworkNotApplied(f"the thin line carried {carried / 1000:.0f} kbit/s")


def fits_after(watch: Watch, fell: float, rose: float) -> float:
    """Seconds until two seconds follow in which the queue drops nothing; infinity where there are none."""
    states = watch.between(fell, rose)
    for at, state in states:
        later = next((other for then, other in states if then >= at + 2), None)
        if later and later["dropped"] == state["dropped"]:
            return at - fell
    return math.inf


def top_again(seen: Samples, rose: float, ended: float, lines: int) -> float:
    """Seconds until the best layer is shown, to stay; infinity where it does not."""
    last = [at for at, height in seen.between(rose, ended).series(STREAM, "frameHeight") if height != lines]
    frames = seen.between(max([rose, *last]), ended).grown(STREAM, "framesDecoded")
    if not frames or (last and last[-1] > ended - 1.5):
        return math.inf
    return last[-1] - rose if last else 0.0


def seconds(value: float) -> str:
    return "never" if math.isinf(value) else f"{value:.1f} s"
