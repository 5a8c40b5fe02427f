"""One encoding with layers in it, on a line that carries less than all of them: fewer pictures or lines, and no pause."""

import concurrent.futures
import json
import pathlib
import subprocess
import sys
import typing

import pytest

pytestmark = pytest.mark.alone

PROGRAM = pathlib.Path(__file__).with_name("badnet") / "sublayers.py"


# `badnet/sublayers.py` does it for others too: H264 L1T2, AV1 L1T3.
LAYERED = [("VP8", "L1T3"), ("VP9", "L1T3"), ("AV1", "L2T1")]
# The control, of the same rate on the same line.
WHOLE = ("VP8", "L1T1")


def measure(codec: str, mode: str) -> dict[str, typing.Any]:
    # A run that says of itself that nothing follows from it is made once more.
    for _ in range(2):
        done = subprocess.run([sys.executable, PROGRAM, codec, mode], capture_output=True, text=True, timeout=300, check=False)
        if "NetworkNotApplied" not in done.stderr:
            break
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    print(found)
    assert found["codec"] == f"video/{codec}"
    assert found["rate"] > 420_000, "the thin line would carry all of it"
    return found


@pytest.fixture(scope="module")
def measured():
    """What was found, by codec and mode. Two are measured at once, each in a network of its own: one leaves three quarters of two cores idle."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        yield {case: pool.submit(measure, *case) for case in [*LAYERED, WHOLE]}


def misses(found: dict[str, typing.Any]) -> list[str]:
    """What of the bar is missed."""
    bars = {"frames on the thin line": found["thin"] >= 7, "a freeze": found["frozen"] <= 1.5,
            "not whole again": found["whole"] is not None and found["whole"] <= 15}
    return [what for what, held in bars.items() if not held]


@pytest.mark.parametrize("case", LAYERED, ids="-".join)
def test_a_thin_line_is_sent_less_of_the_picture(case, measured):
    found = measured[case].result()
    # Once in some thirty runs there is a freeze, and nobody knows yet why: what both sides did meanwhile is printed. Twice in a row it counts.
    again = measure(*case) if misses(found) else found
    assert not misses(again), (found, again)


def test_a_picture_with_nothing_to_leave_out_misses_the_bar(measured):
    found = measured[WHOLE].result()
    assert misses(found)
    assert found["idle"] > 0.1, "the processor may have been the limit, and not the line"
