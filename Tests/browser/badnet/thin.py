"""C1 to C4, C10: lines that are too thin for what is sent."""

import math
import typing

from bench import Outcome, Part, Stage, duration, percent
from clients import Samples
from lines import Line, NetworkNotApplied
from playwright.sync_api import Page
from probes import Pings, Watch, p95

THIN, WIDE = 600_000, 3_000_000
PIA, SOUND = "Pia video", "Pia audio"

# The layer of somebody's picture that a viewer wishes for.
WISH = """async ([name, definition]) => {
  const { room } = window.roost;
  const person = [...room.participants.values()].find(({ displayName }) => displayName === name);
  const track = [...person.tracks.values()].find(({ kind }) => kind === "video");
  await room.update(track.subscriptionId, { definition });
}"""


def publish(stage: Stage, simulcast: bool, height: int = 540) -> None:
    """Pia's picture, until its best layer is sent. One of 540 lines has three: about 145, 360 and 1,450 kbit/s."""
    size = {"size": (height * 16 // 9, height), "noise": 6}
    stage.publisher("Pia", stage.browser("Pia", **size), height=height, simulcast=simulcast)
    best = "video h" if simulcast else "video"
    stage.until("the best layer is sent", lambda: stage.latest("Pia", best, "frameHeight", "out") == height, 90)


def watch_pia(stage: Stage, name: str) -> Page:
    """Somebody who watches Pia, as large as the page can show her, since no more lines are sent than are shown."""
    page = stage.viewer(name, stage.browser(name))
    stage.hall.pin(page, "Pia")
    return page


def fall_and_rise(stage: Stage, simulcast: bool, by_hand: bool = False) -> Outcome:
    """C1: 3 Mbit/s, then 600 kbit/s, then 3 Mbit/s. `by_hand`: the viewer wishes for the layer that fits, at once."""
    publish(stage, simulcast)
    line = stage.line("Ben")
    line.limit(WIDE)
    ben = watch_pia(stage, "Ben")
    stage.until("the best layer is seen", lambda: stage.latest("Ben", PIA, "frameHeight") == 540, 90)
    watch = Watch(line)
    begun = stage.wait(1)
    fell = stage.wait(stage.tools.seconds(20, 10))
    line.limit(THIN)
    wish(ben, "low", by_hand)
    rose = stage.wait(stage.tools.seconds(30, 15))
    line.limit(WIDE)
    wish(ben, "high", by_hand)
    ended = stage.wait(stage.tools.seconds(30, 15))
    watch.stop()
    seen = stage.samples("Ben")
    stage.keep(queue=watch.found, moments=[begun, fell, rose, ended])
    calm(seen.between(begun, fell))
    watch.applied(fell + 1, rose, THIN)
    fits = watch.fits_after(fell, rose)
    at_fall, later = seen.between(fell - 0.5, fell + 5).frozen(PIA), seen.between(fell + 5, ended).frozen(PIA)
    back = top_again(seen, rose, ended, 540)
    return Outcome([
        Part("fits after", duration(fits), fits <= 3),
        Part("frozen in the fall", f"{at_fall:.1f} s", at_fall <= 1.5),
        Part("afterwards", f"{later:.1f} s", later == 0),
        Part("top layer back after", duration(back), back <= 10),
    ])


def wish(page: Page, definition: str, by_hand: bool) -> None:
    if by_hand:
        page.evaluate(WISH, ["Pia", definition])


def calm(seen: Samples) -> None:
    """@raises NetworkNotApplied where the picture froze before anything was done to the line"""
    if seen.frozen_share(PIA) > 0.05:
        raise NetworkNotApplied(f"frozen for {percent(seen.frozen_share(PIA))} of the time on a good line: this machine is too busy")


def top_again(seen: Samples, rose: float, ended: float, lines: int) -> float:
    """Seconds until the best layer is shown, and moves, to stay; infinity where it does not."""
    later = seen.between(rose, ended)
    bad = [rose] + [at for at, height in later.series(PIA, "frameHeight") if height != lines]
    frames = later.series(PIA, "framesDecoded")
    since = rose
    for (_, before), (at, now) in zip(frames, frames[1:]):
        if now > before:
            since = at
        elif at - since > 1:
            bad.append(at)
    return max(bad) - rose if frames and max(bad) < ended - 1.5 else math.inf


def thin_and_lossy(stage: Stage, simulcast: bool, by_hand: bool = False) -> Outcome:
    """C2: 600 kbit/s and 2 % loss from the start."""
    publish(stage, simulcast)
    line = stage.line("Ben")
    line.limit(THIN)
    pings = Pings(line, stage.tools.echo)
    base_from = stage.wait(0.5)
    base = pings.between(base_from, stage.wait(3))
    line.lose(down=0.02)
    ben = watch_pia(stage, "Ben")
    stage.wait(1)
    wish(ben, "low", by_hand)
    begun = stage.wait(10)
    watch = Watch(line)
    ended = stage.wait(stage.tools.seconds(60, 20))
    watch.stop()
    pings.stop()
    seen, trips, lost = stage.samples("Ben").between(begun, ended), pings.between(begun, ended), line.lost()
    stage.keep(queue=watch.found, pings=pings.found, moments=[begun, ended], lost=lost)
    watch.applied(begun, ended, THIN)
    if not 0.01 < lost["lost"] / max(1, lost["all"]) < 0.03:
        raise NetworkNotApplied(f"of 2 % loss: {lost}")
    frozen, added = seen.frozen_share(PIA), (p95(trips) - p95(base)) * 1000 if trips else math.inf
    return Outcome([
        Part("frozen", percent(frozen), frozen < 0.02),
        Part("RTT p95 over base", f"{added:.0f} ms", added <= 100),
    ])


def six_tiles(stage: Stage, simulcast: bool) -> Outcome:
    """C3: six pictures of 360 lines on 1.5 Mbit/s, the first one pinned. Two of six speak."""
    rate, names = 1_500_000, [f"P{number}" for number in range(1, 7)]
    crowd = stage.browser("crowd", size=(640, 360), noise=1)
    for place, name in enumerate(names):
        stage.publisher(name, crowd, height=360, simulcast=simulcast, audio=place < 2)
    best = "video h" if simulcast else "video"
    stage.until("all are sent", lambda: all(stage.latest(name, best, "framesEncoded", "out") > 30 for name in names), 120)
    line = stage.line("Ben")
    line.limit(rate)
    ben = stage.viewer("Ben", stage.browser("Ben"))
    stage.wait(3)
    stage.hall.pin(ben, names[0])
    if not stage.hall.show(ben, names):
        raise NetworkNotApplied("the page shows six tiles in no size that was tried")
    seen, begun, ended, _ = minute(stage, line, rate, after=15)
    sent = {name: stage.samples(name).between(begun, ended) for name in names}
    sound = max(seen.concealed(f"{name} audio") for name in names[:2])
    speeds = [seen.frames_per_second(f"{name} video") for name in names[1:]]
    return Outcome([
        pinned(seen, sent, names, stage.samples(names[0]), rate if simulcast else 0),
        Part("sound made up", percent(sound), sound < 0.01),
        Part("thumbnails", f"{' '.join(f'{speed:.1f}' for speed in speeds)} fps", min(speeds) >= 7),
    ])


def ten_tiles(stage: Stage, simulcast: bool) -> Outcome:
    """C10: ten pictures of 360 lines on 1.5 Mbit/s, shown equally large. All ten speak."""
    rate, names = 1_500_000, [f"P{number}" for number in range(1, 11)]
    crowd = stage.browser("crowd", size=(640, 360), noise=1)
    for name in names:
        stage.publisher(name, crowd, height=360, simulcast=simulcast)
    least = "video l" if simulcast else "video"
    stage.until("all are sent", lambda: all(stage.latest(name, least, "framesEncoded", "out") > 30 for name in names), 120)
    line = stage.line("Ben")
    line.limit(rate)
    ben = stage.viewer("Ben", stage.browser("Ben"))
    if not stage.hall.show(ben, names):
        raise NetworkNotApplied("the page shows ten tiles in no size that was tried")
    seen, begun, ended, used = minute(stage, line, rate, after=20)
    sound = max(seen.concealed(f"{name} audio") for name in names)
    speeds = [seen.frames_per_second(f"{name} video") for name in names]
    made = [stage.samples(name).between(begun, ended).grown(least, "framesEncoded", "out") / (ended - begun) for name in names]
    frozen = sum(seen.frozen_share(f"{name} video") for name in names) / len(names)
    return Outcome([
        Part("line used", percent(used), used >= 0.85),
        Part("sound made up", percent(sound), sound < 0.01),
        Part("pictures", f"{' '.join(f'{speed:.1f}' for speed in speeds)} of {min(made):.1f} fps", min(speeds) >= 2),
        Part("frozen in the mean", percent(frozen), True),
    ])


def minute(stage: Stage, line: Line, rate: int, after: float) -> tuple[Samples, float, float, float]:
    """What Ben sees within a minute on his line, once `after` seconds are over; when it began and ended, and the share of the line used."""
    begun = stage.wait(after)
    watch = Watch(line)
    ended = stage.wait(stage.tools.seconds(60, 20))
    watch.stop()
    stage.keep(queue=watch.found, moments=[begun, ended])
    return stage.samples("Ben").between(begun, ended), begun, ended, watch.applied(begun, ended, rate) / rate


def pinned(seen: Samples, sent: dict[str, Samples], names: list[str], ever: Samples, rate: int) -> Part:
    """Whether the pinned picture has the layer that fits beside the others' lowest. `ever`: what its publisher sent from its beginning on.
    `rate` 0: there is one layer only."""
    low = "video l" if rate else "video"
    others = sum(bits(sent[name], low) for name in names[1:]) + sum(bits(sent[name], "audio") for name in names[:2])
    top = bits_while_sent(ever, "video h" if rate else "video")
    expected = 360 if not rate or others + top < rate * 0.95 else 180
    heights = [height for _, height in seen.series(f"{names[0]} video", "frameHeight")]
    share = sum(height >= expected for height in heights) / len(heights) if heights else 0.0
    speed = seen.frames_per_second(f"{names[0]} video")
    figure = f"{percent(share)} of the time at {expected} lines or more, {speed:.1f} fps (the others' lowest {others / 1000:.0f}, its best {top / 1000:.0f} kbit/s)"
    return Part("the pinned is", figure, share >= 0.9 and speed >= 7)


def bits(sent: Samples, stream: str) -> float:
    """Bits per second of a stream on the line: with the headers of Ethernet, IP, UDP and SRTP."""
    seconds = sent.found[-1]["at"] - sent.found[0]["at"]
    size = sent.grown(stream, "bytesSent", "out") + sent.grown(stream, "headerBytesSent", "out") + 58 * sent.grown(stream, "packetsSent", "out")
    return size * 8 / seconds


def bits_while_sent(sent: Samples, stream: str) -> float:
    """The same for a layer that its publisher pauses when it does not fit: what it takes is only known from before."""
    runs: list[list[dict[str, typing.Any]]] = [[]]
    for sample in sent.found:
        if sample["out"].get(stream, {}).get("active"):
            runs[-1].append(sample)
        elif runs[-1]:
            runs.append([])
    spans = [(Samples(run), run[-1]["at"] - run[0]["at"]) for run in runs if len(run) > 1]
    return sum(bits(run, stream) * span for run, span in spans) / sum(span for _, span in spans)


def weak_neighbour(stage: Stage, strong_is_weak: bool) -> Outcome:
    """C4: Ada has a good line, Ben one of 600 kbit/s. `strong_is_weak`: Ada's is like Ben's, and this must be seen."""
    publish(stage, True, 360)
    ada_line, ben_line = stage.line("Ada"), stage.line("Ben")
    watch_pia(stage, "Ada")
    stage.until("the best layer is seen", lambda: stage.latest("Ada", PIA, "frameHeight") == 360, 90)
    begun = stage.wait(3)
    ben_line.limit(THIN * 2 // 3)
    if strong_is_weak:
        ada_line.limit(THIN * 2 // 3)
    watch_pia(stage, "Ben")
    watch = Watch(ben_line)
    watched = stage.wait(1)
    ended = stage.wait(stage.tools.seconds(300, 30) if not strong_is_weak else 30)
    watch.stop()
    ada, pia = stage.samples("Ada").between(begun, ended), stage.samples("Pia").between(begun, ended)
    stage.keep(queue=watch.found, moments=[begun, ended])
    watch.applied(watched, ended, THIN * 2 // 3)
    changes, frozen = len(ada.heights(PIA)) - 1, ada.frozen_share(PIA)
    asked = max(pia.grown(f"video {layer}", "pliCount", "out") + pia.grown(f"video {layer}", "firCount", "out") for layer in ("l", "h"))
    return Outcome([
        Part("layer changes", str(changes), changes == 0),
        Part("frozen", percent(frozen), frozen < 0.02),
        Part("keyframes asked for a minute", f"{asked / (ended - begun) * 60:.1f}", True),
    ])
