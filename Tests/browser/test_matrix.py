"""What `make stacks` concludes of members that do what they should, and of some that do not."""

import pathlib
import sys
import time

import pytest

sys.path.append(str(pathlib.Path(__file__).parent / "matrix"))

import encoder  # noqa: E402
from cells import CAPABILITIES, Cell  # noqa: E402
from matrix import failed, table, wanted, wants_encoder  # noqa: E402


class World:
    """A room as its server knows it, and what is wrong with it."""

    def __init__(self, fault: str = "") -> None:
        self.fault = fault
        self.people: dict[str, "Made"] = {}
        self.start = time.monotonic()

    def now(self) -> int:
        return int((time.monotonic() - self.start) * 1000)


class Made:
    """Somebody who is made up: what comes of them grows with time while they are there and not muted."""

    def __init__(self, world: World, name: str) -> None:
        self.world, self.name, self.muted, self.sent, self.since, self.joins = world, name, False, 0, 0, 0

    def join(self, _: str) -> None:
        self.joins += 1
        self.world.people[self.name] = self
        self.since = self.world.now()

    def leave(self) -> None:
        if self.world.fault != "stays":
            del self.world.people[self.name]

    def mute(self, how: str) -> None:
        self.sent, self.since = self.total(), self.world.now()
        self.muted = how == "mute"

    def total(self) -> int:
        going = not self.muted or self.world.fault == "heard though muted"
        return self.sent + (self.world.now() - self.since if going else 0)

    def is_up(self) -> bool:
        return not (self.world.fault == "deaf" and self.name == "Anna")

    def counts(self) -> dict:
        if self.world.fault == "deaf" and self.name == "Anna":
            return {}
        if self.world.fault == "late to hear" and (anna := self.world.people.get("Anna")) and anna.joins > 1:
            # For a moment pages count on for the one who has left.
            if self.world.now() - anna.since < 60 and self is not anna:
                return {"Anna": {"audio": 10_000, "video": 10_000}}
        gone = self.world.fault == "unseen after coming back" and self.world.people["Anna"].joins > 1
        frozen = self.world.fault == "freezes" and self.world.now() > 150
        return {
            one.name: {"audio": one.total(), "video": 7 if frozen else one.total()}
            for one in self.world.people.values()
            if one is not self and not (gone and one.name == "Anna") and not (self.world.fault == "unseen" and one.name == "Anna")
        }

    def excuse(self) -> str:
        return f"{self.name}'s loop was late" if self.world.fault == "freezes" else ""

    def failures(self) -> list[str]:
        return ["media.failed"] if self.world.fault == "told of a failure" and self.world.now() > 150 else []


class MadeCell(Cell):
    patience, every, look, gap = 0.2, 0.02, 0.05, 0.1

    def listed(self) -> dict | None:
        world = self.anna.world
        anna = world.people.get("Anna")
        return anna and {"displayName": "Anna", "tracks": [{"muted": anna.muted and world.fault != "not muted"}] * 2}

    def packets(self) -> float:
        return 0 if self.anna.world.fault == "unseen" else self.anna.total()


def cell(fault: str, others: int) -> dict[str, str]:
    world = World(fault)
    anna = Made(world, "Anna")
    rest = [Made(world, f"P{number}") for number in range(others)]

    def arrive() -> None:
        for one in (*rest, anna):
            one.join("r")

    return MadeCell(None, "r", anna, rest, "").run(0.3, arrive)


@pytest.mark.parametrize("others", [0, 1, 5])
def test_who_does_what_they_should_has_yes_everywhere(others):
    assert cell("", others) == dict.fromkeys(CAPABILITIES, "yes")


def test_who_hears_late_that_somebody_has_left_counts_anew():
    assert cell("late to hear", 1) == dict.fromkeys(CAPABILITIES, "yes")


@pytest.mark.parametrize("fault, others, capability", [
    ("unseen", 0, "publish"), ("unseen", 5, "publish"), ("deaf", 0, "subscribe"), ("deaf", 1, "subscribe"), ("freezes", 1, "subscribe"),
    ("told of a failure", 1, "subscribe"), ("not muted", 0, "mute"), ("heard though muted", 5, "mute"), ("stays", 1, "leave"),
    ("unseen after coming back", 1, "come back"),
])
def test_whatever_goes_wrong_fails_its_cell(fault, others, capability):
    results = cell(fault, others)
    place = CAPABILITIES.index(capability)
    assert all(results[name] == "yes" for name in CAPABILITIES[:place]), results
    assert results[capability].startswith("no: "), results
    assert ("; Anna's loop was late; P0's loop was late" in results[capability]) == (fault == "freezes"), results
    assert all(results[name] == "not reached" for name in CAPABILITIES[place + 1 :]), results
    row = {"stack": "Pion", "situation": "five", **results}
    assert failed([row]) == [row] and "no" in table([row]).splitlines()[1].split()


def test_some_cells_are_chosen():
    assert len(wanted("")) == 20
    assert wanted("Pion/first,alone")[-1] == ("aiortc", "alone") and ("Pion", "first") in wanted("Pion/first,alone")
    with pytest.raises(SystemExit, match="expected some of"):
        wanted("Safari")
    assert wanted("FFmpeg") == [] and wants_encoder("FFmpeg") and wants_encoder("") and not wants_encoder("Pion")


def looks(pictures: float, sound: float = 50, video: str = "video/H264") -> list[dict]:
    """Three, ten seconds apart."""
    return [
        {"audio": {"codec": "audio/opus", "count": sound * at, "when": at * 1000}, "video": {"codec": video, "count": pictures * at, "when": at * 1000}}
        for at in (5, 15, 25)
    ]


@pytest.mark.parametrize("seen, wrong", [
    (looks(30), []), (looks(29), []), (looks(28.9), ["Ben"]), (looks(30, sound=48), ["Ben"]), (looks(30, video="video/VP8"), ["Ben"]),
])
def test_an_encoder_of_whom_too_little_is_decoded_fails(seen, wrong):
    watchers = {"Anna": encoder.figures(looks(30)), "Ben": encoder.figures(seen)}
    assert list(encoder.missed(watchers)) == wrong
    slow = dict.fromkeys(encoder.WATCHERS, encoder.figures(looks(25)))
    assert len(encoder.faults({"watchers": watchers, "control": slow})) == len(wrong)
    assert len(encoder.faults({"watchers": watchers, "control": {**slow, "Cleo": encoder.figures(looks(30))}})) == len(wrong) + 1
