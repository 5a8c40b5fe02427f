"""Strangers who come by TCP and HTTP: each does one thing that is wrong, and says how it ended."""

import asyncio
import os
import random
import socket
import struct
import urllib.parse

from packets import Ends, check, send
from town import OFFER, Town

SDP = "Content-Type: application/sdp"


async def request(town: Town, method: str, path: str, headers: tuple[str, ...] = (), body: bytes = b"") -> tuple[int, dict[str, str], bytes]:
    """One request on a connection of its own."""
    reader, writer = await town.connect()
    try:
        lines = [f"{method} {path} HTTP/1.1", f"Host: {town.host}", "Connection: close", *headers]
        if body:
            lines.append(f"Content-Length: {len(body)}")
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        return parse(await asyncio.wait_for(reader.read(-1), town.patience))
    finally:
        writer.close()


def parse(answer: bytes) -> tuple[int, dict[str, str], bytes]:
    """Status, headers, content; 0 where there is none."""
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    words = first.split(" ")
    status = int(words[1]) if len(words) > 1 and words[1].isdigit() else 0
    return status, {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}, body


async def ended(reader: asyncio.StreamReader, patience: float) -> bool:
    """Whether the server ends the connection in time."""
    try:
        await asyncio.wait_for(reader.read(-1), patience)
    except TimeoutError:
        # Before OSError, which it is a kind of.
        return False
    except OSError:
        pass
    return True


async def half_open(town: Town) -> str:
    """Half a head, and then nothing."""
    reader, writer = await town.connect()
    writer.write(town.turn("half a head", [b"", b"G", b"GET /rtc HTTP/1.1\r\nHos", b"POST /whip/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nv"]))
    over = await ended(reader, town.patience)
    writer.close()
    return "let go" if over else "kept"


async def reset(town: Town) -> str:
    """Cut in the middle of a head, without a word."""
    _, writer = await town.connect()
    writer.write(b"GET / HTTP/1.1\r\nHost:")
    await writer.drain()
    await asyncio.sleep(random.random())
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
    return "gone"


async def no_http(town: Town) -> str:
    """Bytes that are no request: noise, a TLS ClientHello, a line without an end."""
    reader, writer = await town.connect()
    writer.write(town.turn("no HTTP", [os.urandom(600), b"\x16\x03\x01\x02\0\1\0\1\xfc\3\3" + os.urandom(500), b"GET /" + b"a" * 20_000, b"\r\n" * 50]))
    over = await ended(reader, town.patience)
    writer.close()
    return "let go" if over else "kept"


async def long_head(town: Town) -> str:
    """A head that is longer than may be."""
    status, _, _ = await request(town, "GET", "/", (f"X-Long: {'x' * 9_000}",))
    return str(status)


async def guess_operator(town: Town) -> str:
    """Tries a token of the operator."""
    status, _, _ = await request(town, town.turn("operator", ["GET", "DELETE"]), "/admin/rooms", (f"Authorization: Bearer {os.urandom(8).hex()}",))
    return str(status)


async def whip_nonsense(town: Town) -> str:
    """Offers that are none."""
    nonsense = [(os.urandom(300), SDP), (b"v=0\r\nm=audio\r\n" * 40, SDP), (OFFER.encode()[:500], SDP), (b"{}", "Content-Type: application/json")]
    body, kind = town.turn("nonsense", nonsense)
    status, _, _ = await request(town, "POST", f"{random.choice(['/whip', '/whep'])}/{town.room()}", (kind,), body)
    return str(status)


async def whip_without_media(town: Town) -> str:
    """A good offer, and no media; half of them end their session, the others forget it. Some throw nonsense at its address."""
    status, headers, body = await request(town, "POST", f"/whip/{town.room()}?name={town.name()}", (SDP,), OFFER.encode())
    if status != 201:
        return str(status)
    session = urllib.parse.urlsplit(headers["location"]).path
    if town.turn("WHIP", [True, False]):
        ends = Ends(body.decode())
        await send(ends, [check(f"{ends.ufrag}:anna", "wrong")] * 3 + [os.urandom(90)] * 5, town.address())
        await request(town, "PATCH", session, ("Content-Type: application/trickle-ice-sdpfrag", "If-Match: *"), os.urandom(80))
        return "forgotten"
    status, _, _ = await request(town, "DELETE", session)
    return f"ended {status}"


async def session_guess(town: Town) -> str:
    """The address of somebody's WHIP session, guessed."""
    status, _, _ = await request(town, "DELETE", f"/whip/{town.room()}/{os.urandom(16).hex()}")
    return str(status)
