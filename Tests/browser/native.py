"""Somebody without a browser: aiortc, with the signalling of docs/protocol.md written out by hand."""

import asyncio
import collections
import fractions
import itertools
import json
import threading
import typing

import aioice.turn
import numpy
from aiortc import AudioStreamTrack, RTCPeerConnection, RTCSessionDescription, VideoStreamTrack
from aiortc.mediastreams import MediaStreamError
from av import AudioFrame, VideoFrame
from websockets.asyncio.client import connect

RATE = 48_000
SAMPLES = RATE // 50
# A second; aiortc's own tracks have thirty, which costs a room of several a processor.
PICTURES = 15
# What waits for a process that gets no processor for some hundred milliseconds must fit: aiortc (1.16) cannot repair what is lost. Of
# several pictures it finds none for a packet of an RTX stream, throws it away, and stands still until 512 more have come.
aioice.turn.UDP_SOCKET_BUFFER_SIZE = 4 << 20


class Colour(VideoStreamTrack):
    """A plain picture whose brightness trembles."""

    def __init__(self, colour: tuple[int, int, int]) -> None:
        super().__init__()
        self.colour = numpy.array(colour)
        self.count = 0
        self.start: float | None = None

    async def recv(self) -> VideoFrame:
        loop = asyncio.get_running_loop()
        self.start = self.start or loop.time()
        self.count += 1
        await asyncio.sleep(max(0, self.start + self.count / PICTURES - loop.time()))
        shade = self.colour + (self.count % 2) * 4
        frame = VideoFrame.from_ndarray(numpy.full((180, 320, 3), shade, numpy.uint8), format="rgb24")
        frame.pts, frame.time_base = self.count * 90_000 // PICTURES, fractions.Fraction(1, 90_000)
        return frame


class Tone(AudioStreamTrack):
    """A sine, in frames of 20 ms."""

    def __init__(self, frequency: int) -> None:
        super().__init__()
        self.frequency = frequency
        self.position = 0
        self.start: float | None = None

    async def recv(self) -> AudioFrame:
        loop = asyncio.get_running_loop()
        self.start = self.start or loop.time()
        await asyncio.sleep(max(0, self.start + self.position / RATE - loop.time()))
        time = (self.position + numpy.arange(SAMPLES)) / RATE
        samples = (numpy.sin(2 * numpy.pi * self.frequency * time) * 12_000).astype(numpy.int16)
        frame = AudioFrame.from_ndarray(samples.reshape(1, -1), format="s16", layout="mono")
        frame.sample_rate, frame.pts, frame.time_base = RATE, self.position, fractions.Fraction(1, RATE)
        self.position += SAMPLES
        return frame


class NativePerson:
    """Joins, publishes and receives in a thread with an event loop; tests read what it has seen."""

    def __init__(
        self, name: str, rtc: str, colour: tuple[int, int, int], tone: int, pictures: int = 1, token: str | None = None
    ) -> None:
        """`token`: of the user `native-NAME`, where the server asks for one."""
        self.name, self.rtc, self.colour, self.tone, self.pictures = name, rtc, colour, tone, pictures
        self.proof = {"token": token} if token else {}
        self.ids = itertools.count(1)
        self.waiting: dict[int, asyncio.Future] = {}
        self.people: dict[str, str] = {}
        self.frames: collections.Counter[str] = collections.Counter()
        # Frames of each of somebody's pictures, by trackId.
        self.shown: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
        self.sounds: collections.Counter[str] = collections.Counter()
        self.colours: dict[str, list[int]] = {}
        self.tones: dict[str, float] = {}
        self.consumed: set[str] = set()
        # Its own.
        self.tracks: list[str] = []
        self.failures: list[dict] = []
        self.failure: BaseException | None = None
        self.closing = False
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()

    def changed(self, state: str) -> None:
        """Told the state of the connection that receives, whenever it changes."""

    def run(self, coroutine: typing.Coroutine) -> typing.Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(30)

    def join(self, room: str) -> "NativePerson":
        self.run(self._join(room))
        return self

    def close(self) -> None:
        self.run(self._close())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(5)
        if self.failure:
            raise self.failure

    async def _join(self, room: str) -> None:
        self.subscribe = RTCPeerConnection()
        self.subscribe.on("connectionstatechange", lambda: self.changed(self.subscribe.connectionState))
        self.publish = RTCPeerConnection()
        self.socket = await connect(self.rtc, max_size=1 << 20)
        self.reader = asyncio.create_task(self._read())
        who = {"user": f"native-{self.name}", "deviceId": "aiortc", "displayName": self.name}
        await self.request("session.hello", **who, **self.proof, capabilities={"freshLines": True})
        snapshot = await self.request("room.join", room=room)
        for participant in snapshot["participants"]:
            self.people[participant["participantId"]] = participant["displayName"]
        await self._publish()

    async def _publish(self) -> None:
        self.publish.addTrack(Tone(self.tone))
        self.publish.addTrack(Colour(self.colour))
        await self._offer()
        # Of two pictures in one first offer aiortc (1.16) never connects the second: it must come in a later one.
        for _ in range(self.pictures - 1):
            self.publish.addTrack(Colour(self.colour))
            await self._offer()

    async def _offer(self) -> None:
        await self.publish.setLocalDescription(await self.publish.createOffer())
        tracks = [{"mid": line.mid, "kind": line.kind} for line in self.publish.getTransceivers()]
        answer = await self.request("pc.offer", pc="publish", sdp=self.publish.localDescription.sdp, tracks=tracks)
        assert [track["mid"] for track in answer["tracks"]] == [track["mid"] for track in tracks]
        self.tracks = [track["trackId"] for track in answer["tracks"]]
        await self.publish.setRemoteDescription(RTCSessionDescription(answer["sdp"], "answer"))

    async def request(self, method: str, **params: typing.Any) -> dict:
        number = next(self.ids)
        self.waiting[number] = asyncio.get_running_loop().create_future()
        await self.socket.send(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}))
        return await asyncio.wait_for(self.waiting[number], 10)

    async def _read(self) -> None:
        try:
            async for text in self.socket:
                message = json.loads(text)
                if "method" in message:
                    # In a task, because answering an offer waits for a response that this loop reads.
                    task = asyncio.create_task(self._event(message["method"], message["params"]))
                    task.add_done_callback(self._check)
                elif (future := self.waiting.pop(message["id"], None)) and not future.done():
                    if "error" in message:
                        future.set_exception(RuntimeError(message["error"]))
                    else:
                        future.set_result(message["result"])
        except Exception as error:
            self.failure = self.failure or error

    def _check(self, task: asyncio.Task) -> None:
        if not task.cancelled() and task.exception() and not self.closing:
            self.failure = self.failure or task.exception()

    async def _event(self, method: str, params: dict) -> None:
        if method == "room.participantJoined":
            participant = params["participant"]
            self.people[participant["participantId"]] = participant["displayName"]
        elif method in ("media.failed", "subscription.ended", "room.participantReconnecting"):
            self.failures.append({"method": method, **params})
        elif method == "pc.offer":
            await self._answer(params)

    async def _answer(self, offer: dict) -> None:
        await self.subscribe.setRemoteDescription(RTCSessionDescription(offer["sdp"], "offer"))
        await self.subscribe.setLocalDescription(await self.subscribe.createAnswer())
        await self.request("pc.answer", offerId=offer["offerId"], sdp=self.subscribe.localDescription.sdp)
        lines = {line.mid: line for line in self.subscribe.getTransceivers()}
        for track in offer["tracks"]:
            if track["trackId"] in self.consumed:
                continue
            self.consumed.add(track["trackId"])
            owner = track["participantId"]
            media = lines[track["mid"]].receiver.track
            consume = self._watch(owner, track["trackId"], media) if track["kind"] == "video" else self._listen(owner, media)
            asyncio.create_task(consume).add_done_callback(self._check)

    async def _watch(self, owner: str, number: str, track) -> None:
        while (frame := await received(track)) is not None:
            name = self.people.get(owner, owner)
            self.frames[name] += 1
            self.shown[name][number] += 1
            picture = frame.to_ndarray(format="rgb24")
            self.colours[name] = [round(value) for value in picture[picture.shape[0] // 2 :].mean(axis=(0, 1))]

    async def _listen(self, owner: str, track) -> None:
        window: collections.deque[int] = collections.deque(maxlen=RATE // 4)
        while (frame := await received(track)) is not None:
            self.sounds[self.people.get(owner, owner)] += 1
            samples = frame.to_ndarray().reshape(-1, len(frame.layout.channels))[:, 0]
            window.extend(samples)
            if len(window) == window.maxlen and max(window) > 500:
                spectrum = numpy.abs(numpy.fft.rfft(numpy.array(window) * numpy.hanning(len(window))))
                self.tones[self.people.get(owner, owner)] = float(spectrum.argmax() * 4)

    async def _close(self) -> None:
        self.closing = True
        await self.socket.close()
        await self.publish.close()
        await self.subscribe.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)


async def received(track) -> AudioFrame | VideoFrame | None:
    try:
        return await track.recv()
    except MediaStreamError:
        return None
