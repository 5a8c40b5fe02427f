"""An hour of bad clients, and people who talk meanwhile: `make soak`.

    soak.py [--minutes 60] [--json FILE] [--check]

ROOST_BINARY and LOADTEST_BINARY say which programs. The server warms up, comes to rest, and is looked at. Then come rounds: strangers
of all kinds together, people of the load test beside them, and rest again. Memory, descriptors, threads and seats must be back where they
began, each kind of stranger must have met what it came for, and the people must have lost nothing. --check only shows that a process
that keeps something is found.
"""

import argparse
import asyncio
import collections
import concurrent.futures
import dataclasses
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import typing

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import crowd  # noqa: E402
from figures import Look, judge, settled  # noqa: E402
from beside import Talk  # noqa: E402
from server import Server  # noqa: E402
from town import Town  # noqa: E402

# A round of strangers: a growth is seen in its course, not at its end alone.
ROUND = 300.0
WARM_UP = 45.0
# Until everybody is gone: what a seat is kept for, what a connection may be silent for, and a busy machine.
REST = 90.0


def begin(folder: pathlib.Path) -> Server:
    """A server that forgets soon: seats of the lost after 5 s, ended calls after 10. Its bound for a slow reader is the lowest."""
    more = "limits:\n  outbox_bytes: 64KiB\nadmin:\n  token: a-token-that-nobody-guesses\n"
    return Server(folder, grace="5s", ring="10s", calls="tombstone: 10s", more=more)


@dataclasses.dataclass
class Round:
    """What came of one round."""

    strangers: int
    memory: int
    open: int
    threads: int
    failures: list[str]


class Soak:
    def __init__(self, server: Server) -> None:
        self.server, self.town = server, Town(server.url)
        self.outcomes: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
        self.rounds: list[Round] = []
        self.empty = self.rest(None)
        print(f"at the start: {told(self.empty)}", flush=True)

    def rest(self, like: Look | None) -> Look:
        return settled(self.server.process.pid, self.server.url, like, REST)

    def warm_up(self, seconds: float) -> list[str]:
        """From here on memory, and what a program opens once, are compared. Seats and connections are so with the empty server."""
        asyncio.run(crowd.come(self.town, seconds, collections.defaultdict(collections.Counter)))
        self.base = self.rest(self.empty)
        print(f"warm: {told(self.base)}", flush=True)
        return [f"after the first strangers, {what}" for what in judge(self.empty, self.base, allowance=1 << 40)]

    def round(self, seconds: float, talk: Talk) -> Round:
        before = total(self.outcomes)
        with talk.beside(self.server.url, seconds) as people:
            asyncio.run(crowd.come(self.town, seconds, self.outcomes))
        failures = list(people.failures)
        now = self.rest(self.base)
        failures += judge(self.base, now)
        one = Round(total(self.outcomes) - before, now.memory, now.open, now.threads, failures)
        self.rounds.append(one)
        print(f"round {len(self.rounds)}: {one.strangers} strangers, then {told(now)}; {people.said}", *failures, sep="\n  ", flush=True)
        return one

    def failures(self) -> list[str]:
        return [what for one in self.rounds for what in one.failures] + crowd.misses(self.outcomes)


def total(outcomes: dict[str, collections.Counter[str]]) -> int:
    return sum(sum(counts.values()) for counts in outcomes.values())


def told(look: Look) -> str:
    held = {name.removeprefix("roost_"): value for name, value in look.held.items() if value}
    return f"{look.memory / 1048576:.1f} MiB, {look.open} descriptors, {look.threads} threads, {held}"


# What a process may keep, and the word by which it is found.
KEPT = {"nothing": None, "descriptor": "descriptors", "memory": "memory", "thread": "threads", "seat": "roost_participants"}


def check() -> int:
    """The controls: of each thing that a process may keep, a process that keeps it, and one that keeps nothing."""
    status = 0
    with concurrent.futures.ThreadPoolExecutor() as pool:
        for (what, word), found in zip(KEPT.items(), pool.map(leftovers, KEPT)):
            right = not found if word is None else len(found) == 1 and word in found[0]
            print(f"a process that keeps {what}: {'; '.join(found) or 'nothing is found'}{'' if right else ' (WRONG)'}", flush=True)
            status |= not right
    return status


def leftovers(what: str) -> list[str]:
    """What is found of a process that keeps something of each request."""
    command = [sys.executable, pathlib.Path(__file__).with_name("leaker.py"), what]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        try:
            url = f"http://127.0.0.1:{program.stdout.readline().strip()}"
            asyncio.run(crowd.knock(url, 40))
            before = settled(program.pid, url, None, 20)
            asyncio.run(crowd.knock(url, 400))
            return judge(before, settled(program.pid, url, None, 20))
        finally:
            program.kill()


def main() -> int:
    parser = argparse.ArgumentParser(description="Bad clients for an hour.")
    parser.add_argument("--minutes", type=float, default=60, help="of strangers; the server rests besides")
    parser.add_argument("--warm-up", type=float, default=WARM_UP, help="seconds")
    parser.add_argument("--check", action="store_true", help="only whether a process that keeps something is found")
    parser.add_argument("--without", choices=list(crowd.KINDS), nargs="*", default=[], help="kinds that do not come")
    parser.add_argument("--json", type=pathlib.Path, default=pathlib.Path("out/soak/soak.json"))
    given = parser.parse_args()
    for kind in given.without:
        del crowd.KINDS[kind]
    if check():
        print("soak: a control was not found: nothing is proven")
        return 1
    if given.check:
        return 0
    rounds = max(2, round(given.minutes * 60 / ROUND))
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="roost-soak-") as name:
        folder = pathlib.Path(name)
        with begin(folder) as server:
            soak = Soak(server)
            failures = soak.warm_up(given.warm_up)
            try:
                for _ in range(rounds):
                    soak.round(given.minutes * 60 / rounds, Talk(folder))
            except Exception as failure:
                # What was found until then is written all the same.
                failures.append(f"broke off: {failure!r}")
            failures += soak.failures()
    write(given.json, soak, failures, time.monotonic() - begun)
    print(crowd.table(soak.outcomes))
    print("\n".join(failures + [f"soak: {'FAILED' if failures else 'everything is back where it began'}"]))
    return 1 if failures else 0


def write(path: pathlib.Path, soak: Soak, failures: list[str], seconds: float) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    page: dict[str, typing.Any] = {
        "seconds": round(seconds), "failures": failures, "empty": dataclasses.asdict(soak.empty), "base": dataclasses.asdict(soak.base),
        "rounds": [dataclasses.asdict(one) for one in soak.rounds], "strangers": {kind: dict(counts) for kind, counts in soak.outcomes.items()},
    }
    path.write_text(json.dumps(page, indent=1))


if __name__ == "__main__":
    sys.exit(main())
