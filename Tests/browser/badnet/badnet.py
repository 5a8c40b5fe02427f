"""Holds Roost against the bars of bad networks, with real Chromiums on lines of their own: `make badnet`.

    badnet.py [--only C1,C2] [--short] [--by-hand] [--janus .build/janus] [--json FILE]

ROOST_BINARY says which program. Each scenario has a control, a run that must miss the bar: otherwise the scenario proves nothing.
What pages and queues told over time stays beside FILE.
"""

import argparse
import contextlib
import dataclasses
import json
import pathlib
import sys
import tempfile
import time
import traceback
import typing

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import late  # noqa: E402
import lossy  # noqa: E402
import outages  # noqa: E402
import swaps  # noqa: E402
import thin  # noqa: E402
from bench import Outcome, Part, Processor, Stage, Tools, percent  # noqa: E402
from clients import Clients  # noqa: E402
from halls import JanusHall, Roost  # noqa: E402
from lines import enter_private_network  # noqa: E402
from playwright.sync_api import sync_playwright  # noqa: E402
from probes import Echo, check  # noqa: E402


@dataclasses.dataclass
class Scenario:
    """One bar: how it is measured, and how its control is, which must miss it."""

    id: str
    bar: str
    run: typing.Callable[[Stage], Outcome]
    control: typing.Callable[[Stage], Outcome]
    has_janus: bool = False


SCENARIOS = [
    Scenario("C1", "3 Mbit/s to 600 kbit/s and back: fits within 3 s, frozen for at most 1.5 s in the fall and 0 s afterwards, top layer back "
             "within 10 s", lambda stage: thin.fall_and_rise(stage, True), lambda stage: thin.fall_and_rise(stage, False), True),
    Scenario("C2", "600 kbit/s and 2 % loss for 60 s: frozen < 2 % of the time, RTT p95 at most 100 ms over base",
             lambda stage: thin.thin_and_lossy(stage, True), lambda stage: thin.thin_and_lossy(stage, False), True),
    Scenario("C3", "six tiles on 1.5 Mbit/s: the pinned one has the highest layer that fits, < 1 % of the sound made up, every thumbnail "
             ">= 7 fps", lambda stage: thin.six_tiles(stage, True), lambda stage: thin.six_tiles(stage, False), True),
    Scenario("C4", "a weak neighbour for 5 min: the strong one's layer never changes, and it is frozen < 2 % of the time",
             lambda stage: thin.weak_neighbour(stage, False), lambda stage: thin.weak_neighbour(stage, True)),
    Scenario("C5", "3 % and 10 % loss for 5 min, each codec: frozen <= 1.2 x what a direct call under the same loss is + 0.5 % of the time",
             lossy.all_codecs, lossy.without_repeats),
    Scenario("C6", "Opus RED, 20 % loss: <= 6 % of the samples made up", lambda stage: lossy.red(stage, False),
             lambda stage: lossy.red(stage, True)),
    Scenario("C7", "late joins: median <= 120 ms, p90 <= 200 ms; RTT 100 ms: median <= 600 ms, from a closed socket <= 900 ms; lip sync <= 80 ms "
             "after 2 s; <= 1 keyframe request per 500 ms and publisher", lambda stage: late.late_joins(stage, False),
             lambda stage: late.late_joins(stage, True), True),
    Scenario("C8", "500 swaps of what a view shows: no negotiation, the new picture <= 250 ms, the name with its first frame",
             lambda stage: swaps.swaps(stage, False), lambda stage: swaps.swaps(stage, True)),
    Scenario("C9", "publisher's uplink 500 kbit/s: fits within 3 s; a subscriber in the dark for 4 s: a picture <= 0.5 s after the light; a new "
             "address: picture and sound <= 4 s; nothing for a person to do", lambda stage: outages.outages(stage, False),
             lambda stage: outages.outages(stage, True)),
    Scenario("C10", "ten tiles on 1.5 Mbit/s: >= 85 % of the line used, no tile below 2 fps, < 1 % of the sound made up",
             lambda stage: thin.ten_tiles(stage, True), lambda stage: thin.ten_tiles(stage, False)),
]
# With the layer chosen by the viewer, as soon as the line changes: what can be reached.
BY_HAND = {
    "C1": lambda stage: thin.fall_and_rise(stage, True, by_hand=True),
    "C2": lambda stage: thin.thin_and_lossy(stage, True, by_hand=True),
}


class Bench:
    """Runs scenarios one after another, each in a hall that is opened for it."""

    def __init__(self, tools: Tools, folder: pathlib.Path, janus: pathlib.Path | None, by_hand: bool) -> None:
        self.tools, self.folder, self.janus, self.by_hand, self.runs = tools, folder, janus, by_hand, 0

    def run(self, scenario: Scenario) -> dict[str, typing.Any]:
        print(f"{scenario.id}: {scenario.bar}", flush=True)
        found = self.outcome(f"{scenario.id}-Roost", scenario.run, Roost)
        control = self.outcome(f"{scenario.id}-control", scenario.control, Roost)
        row = {"id": scenario.id, "bar": scenario.bar, **told(found), "parts": [dataclasses.asdict(part) for part in found.parts],
               "control": told(control)}
        if self.janus and scenario.has_janus:
            row["janus"] = told(self.outcome(f"{scenario.id}-Janus", scenario.run, lambda folder: JanusHall(self.janus, folder)))
        if self.by_hand and scenario.id in BY_HAND:
            row["byHand"] = told(self.outcome(f"{scenario.id}-by-hand", BY_HAND[scenario.id], Roost))
        return row

    def outcome(self, name: str, measure: typing.Callable[[Stage], Outcome], hall: typing.Callable[[pathlib.Path], typing.Any]) -> Outcome:
        """A run that breaks off is told as not measured, and holds nothing."""
        self.runs += 1
        folder = self.folder / str(self.runs)
        folder.mkdir()
        begun, processor = time.monotonic(), Processor()
        try:
            with hall(folder) as opened, Stage(self.tools, opened, name) as stage:
                try:
                    found = measure(stage)
                except Exception:
                    print(*stage.notes["troubles"], sep="\n", flush=True)
                    with contextlib.suppress(Exception):
                        stage.keep()
                    raise
        except Exception as failure:
            traceback.print_exc()
            found = Outcome([Part("not measured:", str(failure).splitlines()[0][:200], False)])
        found.idle = processor.idle
        print(f"  {name}: {found.figure} [{time.monotonic() - begun:.0f} s, processors idle {percent(found.idle)}]", flush=True)
        return found


def told(outcome: Outcome) -> dict[str, typing.Any]:
    return {"figure": outcome.figure, "held": outcome.held, "idle": round(outcome.idle, 3)}


def summary(rows: list[dict[str, typing.Any]]) -> int:
    """Says what held. @returns the program's status: 1 where a control reached its bar or broke off, since then nothing is proven"""
    held = [row["id"] for row in rows if row["held"]]
    print(f"badnet: {len(held)} of {len(rows)} held: {' '.join(held) or 'none'}")
    unproven = [row["id"] for row in rows if row["control"]["held"] or "not measured" in row["control"]["figure"]]
    if unproven:
        print(f"badnet: the control did not miss its bar, or was not measured: {' '.join(unproven)}")
    return 1 if unproven else 0


def main() -> int:
    parser = argparse.ArgumentParser(description="Bars of bad networks with real Chromiums.")
    parser.add_argument("--only", default="", help="some scenarios, as C1,C4")
    parser.add_argument("--short", action="store_true", help="shorter, to try it; the bars are meant for full durations")
    parser.add_argument("--check", action="store_true", help="only whether lines do what they are told")
    parser.add_argument("--by-hand", action="store_true", help="C1 and C2 also with the layer chosen by the viewer: what can be reached")
    parser.add_argument("--janus", type=pathlib.Path)
    parser.add_argument("--json", type=pathlib.Path, default=pathlib.Path("out/badnet/badnet.json"))
    given = parser.parse_args()
    wanted = [name for name in given.only.upper().split(",") if name]
    enter_private_network()
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="roost-badnet-")))
        echo = Echo()
        print(f"the network: {check(echo)}", flush=True)
        if given.check:
            return 0
        clients = Clients(stack.enter_context(sync_playwright()), folder)
        tools = Tools(clients, echo, given.json.parent, given.short)
        bench = Bench(tools, folder, given.janus, given.by_hand)
        rows = []
        for scenario in SCENARIOS:
            if not wanted or scenario.id in wanted:
                rows.append(bench.run(scenario))
                given.json.parent.mkdir(parents=True, exist_ok=True)
                given.json.write_text(json.dumps(rows, indent=1))
    return summary(rows)


if __name__ == "__main__":
    sys.exit(main())
