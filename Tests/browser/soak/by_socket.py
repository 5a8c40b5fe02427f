"""Strangers who come by WebSocket: each does something that is wrong, and says how it ended."""

import asyncio
import base64
import contextlib
import itertools
import json
import os
import random
import socket
import struct
import typing

import websockets
from packets import Ends, check, client_hello, noise, send
from town import OFFER, Town
from websockets.asyncio.client import connect

TRACKS = [{"mid": "0", "kind": "audio"}, {"mid": "1", "kind": "video"}]


class Client:
    """Asks and is answered; events go by."""

    def __init__(self, town: Town, socket_: typing.Any) -> None:
        self.town, self.socket, self.ids, self.events = town, socket_, itertools.count(1), []

    async def ask(self, method: str, **params: typing.Any) -> dict:
        """The whole answer."""
        number = next(self.ids)
        await self.say({"id": number, "method": method, "params": params})
        while True:
            message = await self.hear()
            if message.get("id") == number:
                return message
            self.events.append(message)

    async def say(self, message: dict) -> None:
        await self.socket.send(json.dumps(message))

    async def hear(self) -> dict:
        return json.loads(await asyncio.wait_for(self.socket.recv(), self.town.patience))

    async def hear_of(self, method: str) -> dict:
        while True:
            for event in self.events:
                if event.get("method") == method:
                    return event["params"]
            self.events.append(await self.hear())

    async def hello(self, user: str | None = None) -> dict:
        """Each comes with a device of its own; what the server says of the session."""
        answer = await self.ask("session.hello", user=user or self.town.name(), deviceId=os.urandom(4).hex())
        return answer["result"]

    def cut(self) -> None:
        """The connection breaks: a reset, and no close frame."""
        self.socket.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.transport.abort()


@contextlib.asynccontextmanager
async def client(town: Town) -> typing.AsyncIterator[Client]:
    async with connect(town.rtc, local_addr=(town.address(), 0), max_size=1 << 24, compression=None, close_timeout=5) as socket_:
        yield Client(town, socket_)


def code(answer: dict) -> str:
    return str(answer["error"]["code"]) if "error" in answer else "granted"


async def closed(socket_: typing.Any, patience: float) -> str:
    """The code that the server closes with."""
    try:
        async with asyncio.timeout(patience):
            while True:
                await socket_.recv()
    except websockets.ConnectionClosed as end:
        return told(end)
    except TimeoutError:
        return "kept"


def told(end: websockets.ConnectionClosed) -> str:
    return f"closed {end.rcvd.code if end.rcvd else 1006}"


async def silent(town: Town) -> str:
    """A WebSocket that says nothing."""
    async with client(town) as one:
        return await closed(one.socket, town.patience)


async def nonsense(town: Town) -> str:
    """Twelve messages that are none."""
    async with client(town) as one:
        with contextlib.suppress(websockets.ConnectionClosed):
            for _ in range(12):
                await one.socket.send(town.turn("nonsense frames", ["{", "[1,2]", "\"\\ud800\"", '{"id":1,"method":"no"}', "[" * 500, '{"id":1e999,"method":"ping"}', b"\0\1"]))
        return await closed(one.socket, town.patience)


async def bad_frame(town: Town) -> str:
    """Frames that RFC 6455 forbids: unmasked, of an unknown kind, one that goes on where none has begun."""
    return await answer_to(town.turn("bad frames", [b"\x81\x02{}", b"\x83\x80abcd", b"\x80\x80abcd"]), town)


async def endless_frame(town: Town) -> str:
    """A frame of more bytes than ever come."""
    return await answer_to(b"\x81\xff" + b"\x3f" * 8 + b"abcd" + os.urandom(300), town)


async def answer_to(frame: bytes, town: Town) -> str:
    """How the server ends a connection on which this frame comes first."""
    reader, writer = await town.connect()
    key = base64.b64encode(os.urandom(16)).decode()
    writer.write(f"GET /rtc HTTP/1.1\r\nHost: {town.host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n".encode())
    await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), town.patience)
    writer.write(frame)
    try:
        rest = await asyncio.wait_for(reader.read(-1), town.patience)
    except ConnectionError:
        rest = b""
    except TimeoutError:
        return "kept"
    finally:
        writer.close()
    return f"closed {struct.unpack('!H', rest[2:4])[0]}" if rest[:1] == b"\x88" and len(rest) >= 4 else "let go"


async def wrong_token(town: Town) -> str:
    """Guesses at somebody's session."""
    async with client(town) as one:
        answers = [await one.ask("session.resume", resumeToken=os.urandom(32).hex(), lastSeq=random.randint(0, 99)) for _ in range(5)]
        return ", ".join(sorted({code(answer) for answer in answers}))


async def stolen_place(town: Town) -> str:
    """Says to be a device that is there, without its token."""
    async with client(town) as one:
        user = town.name()
        device = os.urandom(4).hex()
        await one.ask("session.hello", user=user, deviceId=device)
        async with client(town) as other:
            return code(await other.ask("session.hello", user=user, deviceId=device, resumeToken="no"))


async def vanish(town: Town) -> str:
    """Has a seat, and is gone without a word. Some come back to it, and are gone again."""
    async with client(town) as one:
        token = (await one.hello())["resumeToken"]
        answer = await one.ask("room.join", room=town.room())
        one.cut()
    if town.turn("vanish", [True, False]):
        return code(answer)
    async with client(town) as one:
        answer = await one.ask("session.resume", resumeToken=token, lastSeq=0)
        one.cut()
    return f"came back: {code(answer)}"


async def no_media(town: Town) -> str:
    """Publishes what never comes. Shows the password, begins a handshake, and throws things at the address that it has heard."""
    async with client(town) as one:
        await one.hello()
        joined = await one.ask("room.join", room=town.room())
        if "error" in joined:
            return code(joined)
        answer = await one.ask("pc.offer", pc="publish", sdp=OFFER, tracks=TRACKS)
        ends = Ends(answer["result"]["sdp"])
        username, source = f"{ends.ufrag}:anna", town.address()
        wrong = [check(username, "wrong") for _ in range(10)] + [check(username, ends.password, fingerprint=False)]
        refused = await send(ends, wrong + noise(), source)
        heard = await send(ends, [check(username, ends.password), client_hello(), *noise()], source)
        if town.turn("no media", [True, False]):
            one.cut()
        else:
            await one.ask("session.bye")
        # RFC 8489 §5: the type of a success response to Binding.
        proven = any(datagram[:2] == b"\1\1" for datagram in heard) and not any(datagram[:2] == b"\1\1" for datagram in refused)
        return "refused, then proven" if proven else "not believed"


async def deaf(town: Town) -> str:
    """Asks for much and reads nothing of it."""
    loop = asyncio.get_running_loop()
    raw = socket.socket()
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    raw.setblocking(False)
    raw.bind((town.address(), 0))
    await loop.sock_connect(raw, (town.server, town.port))
    async with connect(town.rtc, sock=raw, max_size=1 << 24, compression=None, close_timeout=1) as socket_:
        one, room = Client(town, socket_), f"deaf{random.randint(1, 4)}"
        try:
            await one.hello()
            if "error" in (joined := await one.ask("room.join", room=room)):
                return code(joined)
            for _ in range(15):
                await one.ask("chat.send", room=room, text="x" * 4000)
        except websockets.ConnectionClosed as end:
            # Others of its kind talk in that room as well, and its buffer is small.
            return told(end)
        socket_.transport.pause_reading()
        # It may be cut off before it has asked for everything.
        with contextlib.suppress(websockets.ConnectionClosed):
            for _ in range(25):
                await one.say({"id": next(one.ids), "method": "chat.history", "params": {"room": room, "limit": 50}})
        # The server waits five seconds for somebody who does not read its close frame.
        await asyncio.sleep(town.turn("deaf", [2, 8]))
        socket_.transport.resume_reading()
        return await closed(socket_, town.patience)


async def ring_and_vanish(town: Town) -> str:
    """Rings somebody, and one of the two is gone: while it rings, or behind the answer, before any media."""
    async with client(town) as caller, client(town) as callee:
        user = f"callee{random.randint(1, 3000)}"
        await callee.hello(user)
        await caller.hello(f"caller{random.randint(1, 3000)}")
        started = await caller.ask("call.start", to=[user], kind="one_to_one", media="audio")
        if "error" in started:
            return code(started)
        rung = await callee.hear_of("call.incoming")
        if (gone := town.turn("ring", [caller, None, callee, None])) is not None:
            gone.cut()
            return "rung"
        accepted = await callee.ask("call.accept", callId=rung["call"]["callId"])
        for one in (caller, callee):
            one.cut()
        return f"accepted: {code(accepted)}"


async def messages(town: Town) -> str:
    """Sends others all that it may of custom messages, and more, without waiting; and hears those of its kind."""
    async with client(town) as one:
        await one.hello()
        room = f"messages{random.randint(1, 4)}"
        if "error" in (joined := await one.ask("room.join", room=room)):
            return code(joined)
        ids = [next(one.ids) for _ in range(300)]

        async def send() -> None:
            for number in ids:
                await one.say({"id": number, "method": "message.send", "params": {"room": room, "topic": "t", "data": "x" * 8000}})

        async def refused() -> str:
            """How the last of them was answered."""
            while (message := await one.hear()).get("id") != ids[-1]:
                pass
            return code(message)

        try:
            _, answer = await asyncio.gather(send(), refused())
        except websockets.ConnectionClosed as end:
            # Others of its kind are as loud, and this one may be slow.
            return told(end)
        return answer
