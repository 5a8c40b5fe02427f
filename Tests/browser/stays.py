"""Whether all in a room go on decoding all of each other, at the pace of what is sent."""

import time
import typing

KINDS = ("audio", "video")
# Of what is sent so much comes to each within a window, or more.
SHARE = 0.5
# Seconds. Processes tell their counts once a second, so that a window may have one second more or less than its own.
WINDOW = 10.0
# Whoever sends less a second has stopped, more or less: half of which would be no bar.
LEAST = {"audio": 10, "video": 5}
# What programs send a second, by their own clocks: pieces of sound of 20 ms, and pictures.
PACE = {"audio": 50, "video": 15}

# What a page has sent so far: pictures, and packets of sound.
SENT = """(stats) => {
  const sent = stats.filter(({ type }) => type === "outbound-rtp");
  const of = (wanted, key) => sent.filter(({ kind }) => kind === wanted).reduce((sum, stat) => sum + (stat[key] ?? 0), 0);
  return { audio: of("audio", "packetsSent"), video: of("video", "framesEncoded") };
}"""

Counts = dict[str, dict[str, int]]


class Look(typing.NamedTuple):
    """What has been sent so far by each and decoded by each of each other, by names and kinds."""

    sent: Counts
    decoded: dict[str, Counts]
    when: float


def nominal(now: float) -> dict[str, int]:
    """What a program has sent since some time or other."""
    return {kind: int(pace * now) for kind, pace in PACE.items()}


def faults(before: Look, after: Look) -> dict[tuple[str, ...], str]:
    """What went wrong between two looks: by publisher and kind who sends too little, by watcher, publisher and kind who decodes too little."""
    seconds = after.when - before.when
    found: dict[tuple[str, ...], str] = {}
    for name in after.sent:
        for kind in KINDS:
            sent = after.sent[name][kind] - before.sent[name][kind]
            if sent < LEAST[kind] * seconds:
                found[name, kind] = f"{sent} sent in {seconds:.1f} s"
            for watcher, seen in after.decoded.items():
                if watcher == name:
                    continue
                got = seen.get(name, {}).get(kind, 0) - before.decoded[watcher].get(name, {}).get(kind, 0)
                if got < SHARE * sent:
                    found[watcher, name, kind] = f"{got} of {sent} in {seconds:.1f} s"
    return found


def stay(seconds: float, look: typing.Callable[[], Look], window: float = WINDOW) -> dict[tuple[str, ...], str]:
    """The faults of the first window that has any; empty where all goes well for so long."""
    end = time.monotonic() + seconds
    last = look()
    while time.monotonic() < end:
        time.sleep(window)
        now = look()
        if found := faults(last, now):
            return found
        last = now
    return {}
