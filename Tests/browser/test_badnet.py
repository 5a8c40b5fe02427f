"""What `make badnet` concludes from what pages and queues told, and whether its lines do what they are told."""

import math
import pathlib
import subprocess
import sys
import types

import pytest

BADNET = pathlib.Path(__file__).parent / "badnet"
sys.path.append(str(BADNET))
from clients import Samples  # noqa: E402
from late import most_asked  # noqa: E402
from lines import NetworkNotApplied  # noqa: E402
from probes import Watch  # noqa: E402
from thin import bits, bits_while_sent, top_again  # noqa: E402

pytestmark = pytest.mark.alone


def seen(*looks: tuple[float, int, int, float]) -> Samples:
    """Looks as (time, frames decoded, lines, seconds frozen as the browser counts them)."""
    return Samples([{"at": at, "out": {}, "in": {"Pia video": {"framesDecoded": frames, "frameHeight": height, "totalFreezesDuration": frozen}}}
                    for at, frames, height, frozen in looks])


def queue(*looks: tuple[float, int], rate: int = 600_000) -> Watch:
    """Looks as (time, packets dropped until then)."""
    watch = types.SimpleNamespace(found=[(at, {"dropped": dropped, "bytes": round(at * 50_000), "rate": rate}) for at, dropped in looks])
    watch.between = lambda start, end: Watch.between(watch, start, end)
    return watch


def test_a_freeze_that_goes_on_counts_until_the_last_look():
    going = seen((0, 10, 360, 0), (0.25, 14, 360, 0), (0.5, 14, 360, 0), (3.25, 14, 360, 0))
    assert going.frozen("Pia video") == 3.0
    assert going.frozen_share("Pia video") == 3.0 / 3.25
    # The browser counts it when it is over: that is not a second time.
    over = seen((0, 10, 360, 0), (0.25, 14, 360, 0), (3.25, 14, 360, 0), (3.5, 15, 360, 3.1))
    assert math.isclose(over.frozen("Pia video"), 3.1)


def test_a_freeze_that_the_browser_calls_a_pause_counts_too():
    paused = seen((0, 10, 360, 0), (0.25, 14, 360, 0), (10.25, 14, 360, 0), (10.5, 18, 360, 0), (10.75, 22, 360, 0))
    assert paused.frozen("Pia video") == 10
    paused.found[-1]["in"]["Pia video"]["totalPausesDuration"] = 10.2
    assert paused.frozen("Pia video") == 10.2


def test_where_nothing_came_all_of_the_time_is_frozen():
    assert seen((0, 10, 360, 0), (5, 10, 360, 0)).frozen_share("Pia video") == 1
    assert Samples([]).frozen_share("Pia video") == 1
    assert Samples([]).concealed("Pia audio") == 1


def test_a_count_that_begins_anew_is_not_negative():
    assert seen((0, 10, 360, 0), (1, 25, 360, 0), (2, 5, 360, 0)).grown("Pia video", "framesDecoded") == 20


def test_the_top_layer_is_back_when_it_stays_and_moves():
    steps = [(at / 4, at * 4, 540 if at >= 12 else 270, 0) for at in range(40)]
    assert top_again(seen(*steps), 0, 10, 540) == 2.75
    low = [(at / 4, at * 4, 270, 0) for at in range(40)]
    assert top_again(seen(*low), 0, 10, 540) == math.inf
    still = [(at / 4, min(at, 14) * 4, 540, 0) for at in range(40)]
    assert top_again(seen(*still), 0, 10, 540) == math.inf


def test_what_is_sent_fits_when_the_queue_drops_nothing_for_two_seconds():
    drops = [(at / 10, min(at, 15)) for at in range(100)]
    assert Watch.fits_after(queue(*drops), 0, 10) == 1.5
    assert Watch.fits_after(queue(*[(at / 10, at) for at in range(100)]), 0, 10) == math.inf


def test_a_line_that_was_not_set_proves_nothing():
    looks = [(at / 10, 0) for at in range(100)]
    assert math.isclose(Watch.applied(queue(*looks), 0, 10, 600_000), 400_000)
    for watch, rate in ((queue(*looks, rate=3_000_000), 600_000), (queue(*looks, rate=300_000), 300_000), (queue(), 600_000)):
        try:
            Watch.applied(watch, 0, 10, rate)
        except NetworkNotApplied:
            continue
        raise AssertionError("this was taken for a line that was set, and carried no more")


def test_keyframe_requests_are_counted_within_half_a_second_over_all_layers():
    counts = [(0, 0), (1, 0), (1, 1), (1, 1), (3, 1), (3, 1)]
    samples = Samples([{"at": place / 4, "in": {}, "out": {"video l": {"pliCount": low}, "video h": {"pliCount": high}}}
                       for place, (low, high) in enumerate(counts)])
    assert most_asked(samples) == 2


def test_lines_have_the_rate_the_loss_and_the_delay_that_they_are_told():
    """The program compares them with what arrives, and fails where they are something else."""
    done = subprocess.run([sys.executable, BADNET / "badnet.py", "--check"], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "the network: 600 kbit/s carry" in done.stdout


def test_what_a_paused_layer_takes_is_known_from_before():
    def sample(at: float, sent: int, active: bool) -> dict:
        return {"at": at, "in": {}, "out": {"video h": {"bytesSent": sent, "headerBytesSent": 0, "packetsSent": 0, "active": active}}}

    sent = Samples([sample(0, 0, True), sample(1, 1_000, True), sample(2, 2_000, True), sample(3, 2_000, False), sample(9, 2_000, False),
                    sample(10, 2_000, True), sample(11, 3_000, True)])
    assert bits_while_sent(sent, "video h") == 8_000
    assert bits(sent, "video h") < 2_500
