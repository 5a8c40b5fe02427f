"""What `make soak` concludes, and whether its strangers do what they say."""

import asyncio
import collections
import concurrent.futures
import dataclasses
import pathlib
import subprocess
import sys

import pytest

SOAK = pathlib.Path(__file__).parent / "soak"
sys.path.append(str(SOAK))

import by_http  # noqa: E402
import crowd  # noqa: E402
from figures import ALLOWANCE, GAUGES, Look, judge, settled  # noqa: E402
from soak import begin  # noqa: E402
from town import Town  # noqa: E402

pytestmark = [pytest.mark.alone, pytest.mark.waits]

EMPTY = Look({"socket": 7, "/tmp/roost.db": 1}, 6, 20 << 20, dict.fromkeys(GAUGES, 0.0))


@pytest.mark.parametrize(
    "after, found",
    [
        (EMPTY, None),
        (dataclasses.replace(EMPTY, memory=EMPTY.memory + ALLOWANCE), None),
        (dataclasses.replace(EMPTY, memory=EMPTY.memory + ALLOWANCE + 1), "memory"),
        (dataclasses.replace(EMPTY, threads=7), "threads: 6 before, 7 after"),
        (dataclasses.replace(EMPTY, descriptors={"socket": 8, "/tmp/roost.db": 1}), "descriptors, socket: 7 before, 8 after"),
        (dataclasses.replace(EMPTY, descriptors={"socket": 7}), "descriptors, /tmp/roost.db: 1 before, 0 after"),
        *[(dataclasses.replace(EMPTY, held=EMPTY.held | {name: 1.0}), f"{name}: 0 before, 1 after") for name in GAUGES],
    ],
)
def test_whatever_is_left_is_found(after, found):
    told = judge(EMPTY, after)
    assert (told == []) if found is None else (len(told) == 1 and told[0].startswith(found)), told


def right() -> dict[str, collections.Counter[str]]:
    return {name: collections.Counter(dict.fromkeys(kind.wanted, 20)) for name, kind in crowd.KINDS.items()}


def test_strangers_who_did_not_get_to_what_they_came_for_prove_nothing():
    assert crowd.misses(right()) == []
    for name, kind in crowd.KINDS.items():
        never = right()
        del never[name][kind.wanted[0]]
        assert len(crowd.misses(never)) == 1, name
        other = right()
        other[name]["TimeoutError: "] = 20
        assert len(crowd.misses(other)) == 1, name


def test_a_connection_that_stays_is_no_end():
    async def waits(patience: float) -> bool:
        server = await asyncio.start_server(lambda reader, writer: asyncio.sleep(2), "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        over = await by_http.ended(reader, patience)
        writer.close()
        server.close()
        return over

    with concurrent.futures.ThreadPoolExecutor() as pool:
        assert pool.submit(asyncio.run, waits(0.2)).result() is False


def test_a_process_that_keeps_something_is_found():
    done = subprocess.run([sys.executable, SOAK / "soak.py", "--check"], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("a process that keeps") == 5


def test_each_kind_of_stranger_does_what_it_says_and_nothing_is_left(tmp_path):
    with begin(tmp_path) as server:
        empty = settled(server.process.pid, server.url, None, 30)
        # Playwright has a loop in this thread.
        with concurrent.futures.ThreadPoolExecutor() as pool:
            outcomes = pool.submit(asyncio.run, each(Town(server.url), 12)).result()
        after = settled(server.process.pid, server.url, empty, 60)
    print(crowd.table(outcomes))
    assert crowd.misses(outcomes) == []
    # What a program takes up for its first clients is memory, and nothing else.
    assert judge(empty, after, allowance=64 << 20) == []


async def each(town: Town, times: int) -> dict[str, collections.Counter[str]]:
    """Strangers of all kinds at once, so many of each."""
    outcomes: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    await asyncio.gather(*(crowd.one(town, name, outcomes) for name in crowd.KINDS for _ in range(times)))
    return outcomes
