"""Somebody in a room by GStreamer's webrtcbin, with the signalling of docs/protocol.md written out by hand.

    /usr/bin/python3 gstreamer.py [listen] URL ROOM NAME SECONDS

Publishes a test picture (VP8) and a tone (Opus), unless it only listens; receives everybody, and prints a JSON object a line: `{"event", …}` as the server
sends them, `{"received": {NAME: {"audio": FRAMES, "video": FRAMES}}}`, decoded, each second. Does what stands on a line of its input:
`mute`, `unmute`, `leave`. Debian's Python, which has the bindings.
"""

import asyncio
import collections
import itertools
import json
import re
import sys

from program import say, told
from webrtcbin import Gst, decode, description, promise, sending
from websockets import connect


class Person:
    def __init__(self, room: str, name: str, listens: bool) -> None:
        self.room, self.name, self.listens = room, name, listens
        self.ids = itertools.count(1)
        self.waiting: dict[int, asyncio.Future] = {}
        self.people: dict[str, str] = {}
        self.owners: dict[str, tuple[str, str]] = {}
        self.received: dict[str, dict[str, int]] = {}
        self.offers: asyncio.Queue = asyncio.Queue()
        self.tracks: list[str] = []

    async def run(self, url: str, seconds: float) -> None:
        self.loop = asyncio.get_running_loop()
        async with connect(url, max_size=1 << 23) as self.socket:
            tasks = [asyncio.create_task(job()) for job in (self.read, self.answer_offers, self.tell)]
            who = {"user": f"{self.name.lower()}-{self.room}", "deviceId": "gstreamer", "displayName": self.name}
            await self.request("session.hello", **who, capabilities={"freshLines": True})
            snapshot = await self.request("room.join", room=self.room)
            for participant in snapshot["participants"]:
                self.people[participant["participantId"]] = participant["displayName"]
            if not self.listens:
                await self.publish()
            tasks.append(asyncio.create_task(self.obey()))
            done, _ = await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
            for task in tasks:
                task.cancel()
            await self.request_without_reader("session.bye")

    async def request(self, method: str, **params):
        number = next(self.ids)
        self.waiting[number] = self.loop.create_future()
        await self.socket.send(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}))
        return await asyncio.wait_for(self.waiting[number], 30)

    async def request_without_reader(self, method: str) -> None:
        await self.socket.send(json.dumps({"jsonrpc": "2.0", "id": next(self.ids), "method": method}))

    async def read(self) -> None:
        async for text in self.socket:
            message = json.loads(text)
            if "method" in message:
                self.event(message["method"], message["params"])
            elif future := self.waiting.pop(message["id"], None):
                if "error" in message:
                    future.set_exception(RuntimeError(message["error"]))
                else:
                    future.set_result(message["result"])

    def event(self, method: str, params: dict) -> None:
        if method == "room.participantJoined":
            self.people[params["participant"]["participantId"]] = params["participant"]["displayName"]
        if method == "pc.offer":
            self.offers.put_nowait(params)
        else:
            say(event=method, **{key: value for key, value in params.items() if isinstance(value, (str, int))})

    async def tell(self) -> None:
        while True:
            await asyncio.sleep(1)
            # Whoever comes back has another participantId.
            named: dict[str, collections.Counter] = collections.defaultdict(collections.Counter)
            for owner, kinds in self.received.copy().items():
                named[self.people.get(owner, owner)].update(kinds)
            say(received=named)

    async def obey(self) -> None:
        """Until it is to leave."""
        lines = await told(self.loop)
        while line := (await lines.readline()).decode().strip():
            if line == "leave":
                return
            for track in self.tracks:
                await self.request(f"track.{line}", trackId=track)
            say(done=line)
        await asyncio.Event().wait()

    # Publishing: the client offers.

    async def publish(self) -> None:
        self.sender, rtc, offer = await sending(self.loop)
        mids, kinds = re.findall(r"^a=mid:(\S+)", offer, re.M), re.findall(r"^m=(\w+)", offer, re.M)
        tracks = [{"mid": mid, "kind": kind} for mid, kind in zip(mids, kinds)]
        answer = await self.request("pc.offer", pc="publish", sdp=offer, tracks=tracks)
        self.tracks = [track["trackId"] for track in answer["tracks"]]
        say(published=len(answer["tracks"]))
        await promise(self.loop, rtc, "set-remote-description", description("answer", answer["sdp"]))

    # Receiving: the server offers, again whenever something changes.

    async def answer_offers(self) -> None:
        self.receiver = Gst.Pipeline.new("receiver")
        rtc = Gst.ElementFactory.make("webrtcbin", "rtc")
        rtc.set_property("bundle-policy", "max-bundle")
        rtc.connect("pad-added", self.pad_added)
        rtc.connect("notify::connection-state", lambda *_: say(subscribe=rtc.get_property("connection-state").value_nick))
        self.receiver.add(rtc)
        self.receiver.set_state(Gst.State.PLAYING)
        while True:
            offer = await self.offers.get()
            for track in offer["tracks"]:
                self.owners[track["mid"]] = (track["participantId"], track["kind"])
            await promise(self.loop, rtc, "set-remote-description", description("offer", offer["sdp"]))
            answer = await promise(self.loop, rtc, "create-answer", None, field="answer")
            await promise(self.loop, rtc, "set-local-description", description("answer", answer))
            await self.request("pc.answer", offerId=offer["offerId"], sdp=answer)

    def pad_added(self, _, pad) -> None:
        if pad.get_direction() == Gst.PadDirection.SRC:
            mid = pad.get_property("transceiver").get_property("mid")
            decode(self.receiver, pad, lambda: self.count(mid))

    def count(self, mid: str) -> None:
        owner, kind = self.owners.get(mid, ("?", "?"))
        kinds = self.received.setdefault(owner, {})
        kinds[kind] = kinds.get(kind, 0) + 1


if __name__ == "__main__":
    url, room, name, seconds = sys.argv[-4:]
    asyncio.run(Person(room, name, sys.argv[1] == "listen").run(url, float(seconds)))
