"""What `make stacks` does with FFmpeg 8: it publishes H264 and Opus by WHIP, and three Chromiums in the room decode nearly every picture.

The control is an encoder that sends fewer: the same look must miss them.
"""

import contextlib
import itertools
import pathlib
import time

from encoders import publish
from people import Crowd, Person, eventually
from server import Server

NAME = "FFmpeg"
WATCHERS = ("Anna", "Ben", "Cleo")
# Pictures a second: what is sent, what each must decode of them, and what the control sends.
SENT, LEAST, CONTROL = 30, 29.0, 25
# Packets of sound a second that must come, of fifty.
LEAST_SOUND = 49.0
CODECS = ["audio/opus", "video/H264"]
# Seconds: between two looks, and of the control. FFmpeg is behind its clock when it begins, and catches up for a while before the first.
STEP, SHORT, SETTLING = 10.0, 15.0, 10.0

# What is decoded so far of somebody's sound and picture, in which codec, and when that was counted (milliseconds).
LOOK = """async (name) => {
  const { room } = window.roost;
  const report = [...((await room.stats()).subscribe ?? new Map()).values()];
  const person = [...room.participants.values()].find(({ displayName }) => displayName === name);
  const found = {};
  for (const { kind, mediaStreamTrack } of person?.tracks.values() ?? []) {
    const stat = report.find(({ type, trackIdentifier }) => type === "inbound-rtp" && trackIdentifier === mediaStreamTrack?.id);
    if (!stat) continue;
    const codec = report.find(({ id }) => id === stat.codecId)?.mimeType;
    found[kind] = { codec, count: (kind === "video" ? stat.framesDecoded : stat.packetsReceived) ?? 0, when: stat.timestamp };
  }
  return found;
}"""

Look = dict[str, dict]


def rate(looks: list[Look], kind: str) -> float:
    """A second, from the first look to the last."""
    first, last = looks[0][kind], looks[-1][kind]
    return round((last["count"] - first["count"]) * 1000 / (last["when"] - first["when"]), 2)


def figures(looks: list[Look]) -> dict:
    """Of one who watches: pictures and packets of sound a second, and pictures in the worst step."""
    return {
        "pictures": rate(looks, "video"),
        "worst": min(rate(list(pair), "video") for pair in itertools.pairwise(looks)),
        "sound": rate(looks, "audio"),
        "codecs": sorted(seen["codec"] for seen in looks[-1].values()),
    }


def missed(watchers: dict[str, dict]) -> dict[str, dict]:
    """Those who decode too little, or something else."""
    return {
        name: seen
        for name, seen in watchers.items()
        if seen["pictures"] < LEAST or seen["sound"] < LEAST_SOUND or seen["codecs"] != CODECS
    }


def faults(result: dict) -> list[str]:
    if "error" in result:
        return [f"{NAME}: {result['error']}"]
    found = [f"{NAME}: {name} decodes too little: {seen}" for name, seen in missed(result["watchers"]).items()]
    if set(missed(result["control"])) != set(WATCHERS):
        found.append(f"{NAME}: with {CONTROL} pictures a second all must miss, and do not: {result['control']}")
    return found


def run(server: Server, crowd: Crowd, folder: pathlib.Path, room: str, seconds: float) -> dict:
    """What came of it; whatever breaks off is among it, and the cells go on."""
    try:
        return measure(server, crowd, folder, room, seconds)
    except Exception as error:
        return {"stack": NAME, "error": f"{type(error).__name__}: {error}"[:1000]}


def measure(server: Server, crowd: Crowd, folder: pathlib.Path, room: str, seconds: float) -> dict:
    """People in the room with their own pictures and sounds, and an encoder that comes to them."""
    with contextlib.ExitStack() as closing:
        people = []
        for name in WATCHERS:
            people.append(Person(name, crowd.browser(name), server.url))
            closing.callback(people[-1].close)
            people[-1].join(room)
        result = {"stack": NAME, "sent": SENT, "least": LEAST, "seconds": seconds}
        result["watchers"] = watch(server, people, room, SENT, seconds, folder)
        result["control"] = watch(server, people, room, CONTROL, min(seconds, SHORT), folder)
    return result


def watch(
    server: Server, people: list[Person], room: str, pictures: int, seconds: float, folder: pathlib.Path
) -> dict[str, dict]:
    name, log = f"Studio{pictures}", folder / f"ffmpeg{pictures}.log"
    process = publish(server.url, room, name, log, pictures)
    try:
        for one in people:
            eventually(f"{one.name} sees and hears it", lambda one=one: len(look(one, name)) == 2)
        time.sleep(SETTLING)
        looks = [[look(one, name) for one in people]]
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            time.sleep(min(STEP, left))
            looks.append([look(one, name) for one in people])
    finally:
        process.terminate()
        status = process.wait(30)
    assert status in (0, 255), log.read_text(errors="replace")[-2000:]
    return {one.name: figures(list(own)) for one, own in zip(people, zip(*looks))}


def look(one: Person, name: str) -> Look:
    """Empty while nothing is decoded."""
    return {kind: seen for kind, seen in one.page.evaluate(LOOK, name).items() if seen["count"] > 0}


def table(result: dict) -> str:
    if "error" in result:
        return f"{NAME}: {result['error']}"
    head = f"{NAME}: {result['seconds']:g} s of H264, {result['sent']} pictures a second, and Opus; {result['least']:g} must be decoded"
    rows = [
        f"  {name}: {seen['pictures']} a second ({seen['worst']} in the worst {STEP:g} s), {seen['sound']} packets of sound"
        for name, seen in result["watchers"].items()
    ]
    control = ", ".join(str(seen["pictures"]) for seen in result["control"].values())
    return "\n".join([head, *rows, f"  the control, {CONTROL} a second sent: {control}; all must miss"])
