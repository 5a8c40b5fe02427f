"""Datagrams by hand: connectivity checks (RFC 8489) with a right and a wrong password, and things that are none."""

import asyncio
import hashlib
import hmac
import os
import re
import socket
import struct
import zlib

COOKIE = 0x2112A442
USERNAME, INTEGRITY, PRIORITY, CONTROLLING, FINGERPRINT = 0x0006, 0x0008, 0x0024, 0x802A, 0x8028


def attribute(kind: int, value: bytes) -> bytes:
    return struct.pack("!HH", kind, len(value)) + value + bytes(-len(value) % 4)


def check(username: str, password: str, fingerprint: bool = True) -> bytes:
    """A binding request of a controlling agent."""
    number = os.urandom(12)
    body = attribute(USERNAME, username.encode()) + attribute(PRIORITY, struct.pack("!I", 1)) + attribute(CONTROLLING, os.urandom(8))

    def head(more: int) -> bytes:
        return struct.pack("!HHI", 1, len(body) + more, COOKIE) + number

    body += attribute(INTEGRITY, hmac.new(password.encode(), head(24) + body, hashlib.sha1).digest())
    if fingerprint:
        body += attribute(FINGERPRINT, struct.pack("!I", zlib.crc32(head(8) + body) ^ 0x5354554E))
    return head(0) + body


def client_hello() -> bytes:
    """The beginning of a handshake that goes no further: a DTLS record with a ClientHello cut short."""
    hello = b"\xfe\xfd" + os.urandom(32) + b"\0\0\0\2\xc0\x2b\1\0"
    handshake = b"\1" + len(hello).to_bytes(3, "big") + b"\0\0" + bytes(3) + len(hello).to_bytes(3, "big") + hello
    return b"\x16\xfe\xfd" + bytes(8) + struct.pack("!H", len(handshake)) + handshake


def noise() -> list[bytes]:
    """What passes for STUN, DTLS, SRTP and SRTCP by its first byte (RFC 7983), and for nothing."""
    firsts = [b"\0\1\0\0" + struct.pack("!I", COOKIE), b"\x16\xfe\xfd", b"\x80\x6f", b"\x81\xc9", b"\xff", b""]
    return [first + os.urandom(length) for first in firsts for length in (0, 3, 40, 1200)]


class Ends:
    """What an SDP of the server says of where and how to reach it."""

    def __init__(self, sdp: str) -> None:
        found = {name: re.search(rf"a=ice-{name}:(\S+)", sdp) for name in ("ufrag", "pwd")}
        candidate = re.search(r"a=candidate:\S+ 1 udp \d+ (\S+) (\d+)", sdp, re.IGNORECASE)
        if not candidate or not all(found.values()):
            raise ValueError(f"no address in {sdp!r}")
        self.ufrag, self.password = found["ufrag"][1], found["pwd"][1]
        self.address = (candidate[1], int(candidate[2]))


class Datagrams(asyncio.DatagramProtocol):
    """A socket that remembers what it got."""

    def __init__(self) -> None:
        self.got: list[bytes] = []

    def datagram_received(self, data: bytes, _: tuple) -> None:
        self.got.append(data)


async def send(ends: Ends, datagrams: list[bytes], source: str) -> list[bytes]:
    """Sends them, a few at a time, and returns what has come within half a second."""
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.create_datagram_endpoint(Datagrams, local_addr=(source, 0), family=socket.AF_INET)
    try:
        for place, datagram in enumerate(datagrams):
            transport.sendto(datagram, ends.address)
            if place % 8 == 7:
                await asyncio.sleep(0.005)
        await asyncio.sleep(0.5)
        return protocol.got
    finally:
        transport.close()
