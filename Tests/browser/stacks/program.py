"""How the programs here speak to their tests, a JSON object a line on the output and a word a line on the input; WHIP and WHEP by HTTP."""

import asyncio
import json
import os
import sys
import typing
import urllib.error
import urllib.parse
import urllib.request


def say(**words: typing.Any) -> None:
    """In one piece, as GStreamer's threads speak too."""
    os.write(1, json.dumps(words).encode() + b"\n")


async def told(loop: asyncio.AbstractEventLoop) -> asyncio.StreamReader:
    """What the program is told, by lines."""
    lines = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    return lines


def ask(method: str, url: str, sdp: str | None = None) -> tuple[int, str | None, str]:
    """Status, the session's URL, the answer."""
    headers = {"Content-Type": "application/sdp"} if sdp else {}
    request = urllib.request.Request(url, sdp and sdp.encode(), headers, method=method)
    try:
        with urllib.request.urlopen(request) as answer:
            location = answer.headers["Location"]
            return answer.status, location and urllib.parse.urljoin(url, location), answer.read().decode()
    except urllib.error.HTTPError as refusal:
        return refusal.status, None, refusal.read().decode()


async def created(url: str, sdp: str) -> tuple[str, str]:
    """The session's URL and the answer; comes again while nothing is published, and says so."""
    while True:
        status, session, answer = await asyncio.to_thread(ask, "POST", url, sdp)
        say(status=status)
        if status == 201 and session:
            return session, answer
        if status != 409:
            sys.exit(answer)
        await asyncio.sleep(1)


async def stay(session: str, counts: dict[str, int], seconds: float) -> None:
    """Tells what has come once a second, and ends the session when it is told `leave`, or when its time is over."""
    loop = asyncio.get_running_loop()
    word = asyncio.create_task((await told(loop)).readline())
    end = loop.time() + seconds
    while loop.time() < end and not word.done():
        await asyncio.wait([word], timeout=1)
        say(received=dict(counts))
    status, _, _ = await asyncio.to_thread(ask, "DELETE", session)
    say(ended=status)
