"""Somebody with an app for Flashphoner's SDKs: aiortc, with their wire written out by hand (docs/flashphoner.md)."""

import asyncio
import collections
import itertools
import json
import secrets
import threading
import typing

from aiortc import RTCBundlePolicy, RTCConfiguration, RTCPeerConnection, RTCSessionDescription
from aiortc.mediastreams import MediaStreamError
from native import Colour, Tone
from people import eventually
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

if typing.TYPE_CHECKING:
    from flashphoner_page import FlashphonerPage


class FlashphonerPerson:
    """Connects in a thread with an event loop; tests read what it has heard and seen."""

    def __init__(self, name: str, url: str, colour: tuple[int, int, int] = (90, 90, 90), tone: int = 800) -> None:
        self.name, self.url, self.colour, self.tone = name, url, colour, tone
        self.heard: list[dict] = []
        self.pings = 0
        self.connections: dict[str, RTCPeerConnection] = {}
        self.answers: dict[str, asyncio.Future] = {}
        self.operations: dict[str, asyncio.Future] = {}
        self.names: dict[str, str] = {}
        # Frames by the name of the stream and the kind of track.
        self.frames: collections.Counter[tuple[str, str]] = collections.Counter()
        self.close_code: int | None = None
        self.tasks: set[asyncio.Task] = set()
        self.numbers = itertools.count(1)
        self.auth_token: str | None = None
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()

    def run(self, coroutine: typing.Coroutine) -> typing.Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(60)

    # What the app does.

    def connect(self, app_key: str = "roomApp", auth_token: str | None = None, **custom: str) -> "FlashphonerPerson":
        """`custom`: what the app says besides its login, such as a token."""
        self.run(self._connect(app_key, auth_token, custom))
        return self

    def open(self) -> "FlashphonerPerson":
        """A socket on which nothing is said yet."""
        self.run(self._open())
        return self

    def join(self, room: str, **more: typing.Any) -> dict:
        """What became of it: {status, info}."""
        self.room = room
        return self.command("join", name=room, **more)

    def leave(self) -> dict:
        return self.command("leave", name=self.room)

    def write(self, text: str, to: str | None = None) -> dict:
        return self.command("sendMessage", roomConfig={"name": self.room}, to=to, text=text)

    def write_at_once(self, texts: list[str]) -> list[str]:
        """Sends all of them before it waits for an answer. - Returns: the status of each."""

        async def write() -> list[dict]:
            options = [dict(roomConfig={"name": self.room}, to=None, text=text) for text in texts]
            return await asyncio.gather(*(self._command("sendMessage", one) for one in options))

        return [answer["status"] for answer in self.run(write())]

    def command(self, command: str, **options: typing.Any) -> dict:
        return self.run(self._command(command, options))

    def publish(self, label: str = "", name: str | None = None, room: bool = True, audio: bool = True, **more: typing.Any) -> str:
        """The mediaSessionId."""
        stream = name or f"{self.room}-{self.name}-{secrets.token_hex(2)}" + (f"-{label}" if label else "")
        return self.run(self._publish(stream, room, audio, more))

    def play(self, name: str) -> str:
        return self.run(self._play(name))

    def stop(self, media: str) -> None:
        word = "unPublishStream" if self.published(media) else "stopStream"
        self.send(word, mediaSessionId=media, name=self.names[media])
        self.run(self.connections.pop(media).close())

    def mute(self, media: str, event: str) -> None:
        self.send("sendStreamEvent", mediaSessionId=media, type=event)

    def send(self, word: str, **fields: typing.Any) -> None:
        self.run(self.socket.send(json.dumps({"message": word, "data": [fields]})))

    def send_text(self, text: str) -> None:
        self.run(self.socket.send(text))

    def cut(self) -> None:
        """The network breaks."""
        self.run(self._cut())

    def close(self) -> None:
        if self.loop.is_closed() or not self.thread.is_alive():
            return
        self.run(self._close())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(5)

    # What it has heard.

    def events(self, name: str) -> list:
        """`info` of the room's events of this name."""
        return [one["payload"]["info"] for one in self.all("OnDataEvent") if one["payload"]["name"] == name]

    def streams(self) -> list[dict]:
        """Those that were there when it came: {login, name}."""
        return [one for info in self.events("STATE") for one in info if isinstance(one, dict)]

    def statuses(self, media: str) -> list[str]:
        return [one["status"] for one in self.all("notifyStreamStatusEvent", "fail") if one.get("mediaSessionId") == media]

    def failures(self) -> list[str]:
        return [one["info"] for one in self.all("fail")]

    def all(self, *words: str) -> list[dict]:
        return [one["data"][0] for one in self.heard if one["message"] in words]

    def counts(self) -> dict[str, dict[str, int]]:
        """Frames decoded, by the name of the stream."""
        counts: dict[str, dict[str, int]] = collections.defaultdict(lambda: {"audio": 0, "video": 0})
        for (stream, kind), count in self.frames.items():
            counts[stream][kind] = count
        return counts

    def published(self, media: str) -> bool:
        return media in self.connections and any(line.direction == "sendonly" for line in self.connections[media].getTransceivers())

    def sound_sent(self) -> int:
        """Packets of sound of all that it publishes. It keeps no pace where it has much to decode."""
        return self.run(self._sound_sent())

    async def _sound_sent(self) -> int:
        senders = [one for connection in self.connections.values() for one in connection.getSenders() if one.track and one.kind == "audio"]
        stats = [stat for sender in senders for stat in (await sender.getStats()).values()]
        return sum(stat.packetsSent for stat in stats if stat.type == "outbound-rtp")

    def sees(self, stream: str, frames: int = 10) -> bool:
        return self.frames[stream, "video"] > frames

    def hears(self, stream: str, frames: int = 20) -> bool:
        return self.frames[stream, "audio"] > frames

    # On its thread.

    async def _open(self) -> None:
        self.close_code = None
        self.socket = await connect(self.url, max_size=1 << 20)
        self.established = asyncio.get_running_loop().create_future()
        self._start(self._read())

    async def _connect(self, app_key: str, auth_token: str | None, custom: dict[str, str]) -> None:
        await self._open()
        hello = {
            "appKey": app_key,
            "mediaProviders": ["WebRTC"],
            "keepAlive": False,
            "authToken": auth_token,
            "clientVersion": "0.5.28",
            "clientOSVersion": "test",
            "clientBrowserVersion": "test",
            "msePacketizationVersion": 2,
            "custom": {"login": self.name} | custom,
        }
        await self.socket.send(json.dumps({"message": "connection", "data": [hello]}))
        user = await asyncio.wait_for(self.established, 10)
        assert user["custom"] == hello["custom"] and user["authToken"]
        self.auth_token = user["authToken"]

    async def _command(self, command: str, options: dict) -> dict:
        operation = f"{self.name}-{next(self.numbers)}"
        self.operations[operation] = asyncio.get_running_loop().create_future()
        frame = {"operationId": operation, "payload": {"command": command, "options": options}}
        await self.socket.send(json.dumps({"message": "sendData", "data": [frame]}))
        return await asyncio.wait_for(self.operations[operation], 10)

    async def _publish(self, stream: str, room: bool, audio: bool, more: dict) -> str:
        connection = self._peer()
        if audio:
            connection.addTransceiver(Tone(self.tone), direction="sendonly")
        connection.addTransceiver(Colour(self.colour), direction="sendonly")
        custom = {"name": self.room} if room else {}
        fields = dict(published=False, record=False, constraints={"audio": {}, "video": {}}, custom=custom) | more
        return await self._offer("publishStream", stream, connection, fields)

    async def _play(self, stream: str) -> str:
        connection = self._peer()
        for kind in ("audio", "video"):
            connection.addTransceiver(kind, direction="recvonly")
        connection.on("track", lambda track: self._start(self._count(stream, track)))
        return await self._offer("playStream", stream, connection, {"published": False})

    def _peer(self) -> RTCPeerConnection:
        # As their SDKs set it.
        return RTCPeerConnection(RTCConfiguration(bundlePolicy=RTCBundlePolicy.MAX_COMPAT))

    async def _offer(self, word: str, stream: str, connection: RTCPeerConnection, fields: dict) -> str:
        media = secrets.token_hex(8)
        self.connections[media], self.names[media] = connection, stream
        self.answers[media] = asyncio.get_running_loop().create_future()
        await connection.setLocalDescription(await connection.createOffer())
        sdp = "".join(
            line + "\r\n"
            for line in connection.localDescription.sdp.splitlines()
            if not line.startswith(("a=candidate", "a=end-of-candidates"))
        )
        description = {"mediaSessionId": media, "name": stream, "mediaProvider": "WebRTC", "sdp": sdp, "status": "PENDING"}
        description |= {"hasVideo": True, "hasAudio": True} | fields
        await self.socket.send(json.dumps({"message": word, "data": [description]}))
        answer = await asyncio.wait_for(self.answers[media], 20)
        if answer:
            await connection.setRemoteDescription(RTCSessionDescription(answer, "answer"))
        return media

    async def _count(self, stream: str, track) -> None:
        while True:
            try:
                await track.recv()
            except MediaStreamError:
                return
            self.frames[stream, track.kind] += 1

    async def _read(self) -> None:
        try:
            async for text in self.socket:
                await self._take(json.loads(text))
        except ConnectionClosed:
            pass
        self.close_code = self.socket.close_code
        if not self.established.done():
            self.established.set_exception(ConnectionError("DISCONNECTED"))
            self.established.exception()

    async def _take(self, frame: dict) -> None:
        word, data = frame["message"], frame["data"]
        assert isinstance(data, list)
        if word == "ping":
            self.pings += 1
            await self.socket.send('{"message":"pong","data":[null]}')
            return
        self.heard.append(frame)
        if word == "getUserData":
            self.established.set_result(data[0])
        elif word == "DataStatusEvent":
            self.operations[data[0]["operationId"]].set_result(data[0])
        elif word == "setRemoteSDP":
            self.answers[data[0]].set_result(data[1])
        elif word == "fail" and (future := self.answers.get(data[0].get("id"))) and not future.done():
            future.set_result(None)

    async def _cut(self) -> None:
        self.socket.transport.abort()
        for connection in self.connections.values():
            await connection.close()
        self.connections.clear()

    async def _close(self) -> None:
        for connection in self.connections.values():
            await connection.close()
        self.connections.clear()
        await self.socket.close()
        for task in list(self.tasks):
            task.cancel()

    def _start(self, coroutine: typing.Coroutine) -> None:
        task = asyncio.get_running_loop().create_task(coroutine)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)


def stream_of(viewer: "FlashphonerPerson | FlashphonerPage", login: str) -> str:
    """The name of somebody's stream, as the viewer was told."""

    def named() -> str | None:
        return next((one["name"] for one in viewer.streams() + viewer.events("PUBLISHED") if one["login"] == login), None)

    return eventually(f"{viewer.name} is told of a stream of {login}", named)
