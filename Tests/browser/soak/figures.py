"""What a server holds: memory, descriptors, threads and seats; and whether they are back where they began."""

import collections
import dataclasses
import os
import pathlib
import time
import urllib.request

# What nobody holds any more when everybody is gone. Of these there are as many afterwards as before.
GAUGES = (
    "roost_sessions", "roost_rooms", "roost_participants", "roost_tracks", "roost_subscriptions", "roost_calls", "roost_websockets",
    "roost_connections", "roost_worker_transports", "roost_worker_producers", "roost_worker_consumers", "roost_storage_waiting",
)

# Anonymous memory that a server may have more of at the end. Its own tables have bounds and fill up, and the C library keeps what it
# was given back in pieces.
ALLOWANCE = 8 << 20


@dataclasses.dataclass(frozen=True)
class Look:
    """What a process held at one moment."""

    # By what they are: socket, anon_inode:[eventpoll], a file's path.
    descriptors: dict[str, int]
    threads: int
    # Bytes, those of files left out: pages of the program come and go as it runs.
    memory: int
    held: dict[str, float]

    @property
    def open(self) -> int:
        return sum(self.descriptors.values())


def look(pid: int, url: str) -> Look:
    """Of a process that serves metrics at URL/metrics. The request is one of its connections in the metrics, and closed when descriptors are
    counted."""
    held = gauges(url)
    time.sleep(0.2)
    status = dict(line.split(":", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines())
    descriptors: collections.Counter[str] = collections.Counter()
    for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        try:
            name = os.readlink(entry)
        except FileNotFoundError:
            continue
        descriptors["socket" if name.startswith("socket:") else name] += 1
    return Look(dict(descriptors), int(status["Threads"]), int(status["RssAnon"].split()[0]) << 10, held)


def gauges(url: str) -> dict[str, float]:
    """Sums over labels."""
    with urllib.request.urlopen(f"{url}/metrics", timeout=10) as answer:
        page = answer.read().decode()
    sums = {name: 0.0 for name in GAUGES}
    for line in page.splitlines():
        name, _, value = line.rpartition(" ")
        name = name.split("{")[0]
        if name in sums:
            sums[name] += float(value)
    return sums


def settled(pid: int, url: str, like: Look | None, patience: float) -> Look:
    """A look at a process that has come to rest: five times in a row, a second apart, what it holds was the same, and as in `like`,
    memory within its allowance: a server gives back what it does not need within half a minute. After so many seconds of `patience` the
    last look, whatever it is."""
    end, same, last = time.monotonic() + patience, 0, look(pid, url)
    while same < 5 and time.monotonic() < end:
        time.sleep(1)
        now = look(pid, url)
        is_back = like is None or not judge(like, now)
        same = same + 1 if is_back and (now.held, now.descriptors) == (last.held, last.descriptors) else 0
        last = now
    return last


def differences(before: Look, after: Look) -> list[str]:
    """What is not as it was, memory left out."""
    found = [f"{name}: {before.held[name]:g} before, {after.held[name]:g} after" for name in GAUGES if before.held[name] != after.held[name]]
    for name in sorted(before.descriptors.keys() | after.descriptors.keys()):
        one, other = before.descriptors.get(name, 0), after.descriptors.get(name, 0)
        if one != other:
            found.append(f"descriptors, {name}: {one} before, {other} after")
    if before.threads != after.threads:
        found.append(f"threads: {before.threads} before, {after.threads} after")
    return found


def judge(before: Look, after: Look, allowance: int = ALLOWANCE) -> list[str]:
    """All that is not back where it began; nothing where all is."""
    found = differences(before, after)
    grown = after.memory - before.memory
    if grown > allowance:
        found.append(f"memory: {grown >> 10} KiB more than before, of {allowance >> 10} KiB at most")
    return found
