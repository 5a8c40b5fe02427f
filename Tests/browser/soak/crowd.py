"""All strangers together: how often each kind comes, and what must come of it."""

import asyncio
import collections
import dataclasses
import random
import typing

import by_http
import by_socket
from town import Town

Outcomes = dict[str, collections.Counter[str]]


@dataclasses.dataclass(frozen=True)
class Kind:
    """One of strangers. Each outcome in `wanted` must have come, and of all of them a tenth at most may be others: a name that is taken, a
    room that is full, a time that is over on a busy machine."""

    act: typing.Callable[[Town], typing.Awaitable[str]]
    per_second: float
    wanted: tuple[str, ...]
    # Outcomes that are right as well, and need not come.
    allowed: tuple[str, ...] = ()


# Of docs/protocol.md: the room is full, the name is taken, another device of that user is there.
BUSY = ("2002", "2003", "2004")
KINDS = {
    "half a head": Kind(by_http.half_open, 5, ("let go",)),
    "reset": Kind(by_http.reset, 8, ("gone",)),
    "no HTTP": Kind(by_http.no_http, 5, ("let go",)),
    "a long head": Kind(by_http.long_head, 3, ("431",)),
    "the operator's token": Kind(by_http.guess_operator, 3, ("403",), ("429",)),
    "offers that are none": Kind(by_http.whip_nonsense, 6, ("400", "415"), ("404", "422", "429")),
    "WHIP without media": Kind(by_http.whip_without_media, 3, ("forgotten", "ended 200"), ("403", "409", "503")),
    "a guessed session": Kind(by_http.session_guess, 3, ("404",)),
    "silence": Kind(by_socket.silent, 2, ("closed 1008",)),
    "nonsense": Kind(by_socket.nonsense, 4, ("closed 1008",)),
    "forbidden frames": Kind(by_socket.bad_frame, 4, ("closed 1002",)),
    "a frame that does not end": Kind(by_socket.endless_frame, 1, ("let go",)),
    "wrong tokens": Kind(by_socket.wrong_token, 4, ("1007",)),
    "a device that is there": Kind(by_socket.stolen_place, 3, ("1005",)),
    "gone without a word": Kind(by_socket.vanish, 5, ("granted", "came back: granted"), BUSY),
    "a seat without media": Kind(by_socket.no_media, 3, ("refused, then proven",), BUSY),
    "deaf": Kind(by_socket.deaf, 0.5, ("closed 4002",), (*BUSY, "closed 1006")),
    "much data": Kind(by_socket.messages, 0.5, ("1006",), (*BUSY, "closed 4002")),
    "calls that break": Kind(by_socket.ring_and_vanish, 0.5, ("rung", "accepted: granted"), ("3008", "3010", "3011")),
}
OTHERS = 0.1


async def one(town: Town, name: str, outcomes: Outcomes) -> None:
    """A stranger of that kind; what came of it is counted."""
    try:
        outcome = await KINDS[name].act(town)
    except Exception as failure:
        outcome = f"{type(failure).__name__}: {str(failure)[:80]}"
    outcomes[name][outcome] += 1


async def come(town: Town, seconds: float, outcomes: Outcomes) -> None:
    """Strangers come for so long, each kind in its own time, and what came of them is counted. Returns when the last has gone."""
    loop = asyncio.get_running_loop()
    end, going = loop.time() + seconds, set()

    async def keep_coming(name: str, kind: Kind) -> None:
        while (wait := random.expovariate(kind.per_second)) < end - loop.time():
            await asyncio.sleep(wait)
            task = loop.create_task(one(town, name, outcomes))
            going.add(task)
            task.add_done_callback(going.discard)

    await asyncio.gather(*(keep_coming(name, kind) for name, kind in KINDS.items()))
    await asyncio.gather(*going)


def misses(outcomes: Outcomes) -> list[str]:
    """Kinds that did not meet what they came for: a soak in which they do nothing proves nothing."""
    found = []
    for name, kind in KINDS.items():
        counts = outcomes[name]
        found += [f"{name}: never \"{wanted}\", but {dict(counts)}" for wanted in kind.wanted if not counts[wanted]]
        others = {outcome: count for outcome, count in counts.items() if outcome not in kind.wanted + kind.allowed}
        if sum(others.values()) > OTHERS * sum(counts.values()):
            found.append(f"{name}: too often something else: {others} of {sum(counts.values())}")
    return found


def table(outcomes: Outcomes) -> str:
    return "\n".join(f"  {name:24} {', '.join(f'{count} {outcome}' for outcome, count in outcomes[name].most_common(6))}" for name in KINDS)


async def knock(url: str, count: int) -> None:
    """So many requests, one after another."""
    town = Town(url)
    for _ in range(count):
        await by_http.request(town, "GET", "/")
