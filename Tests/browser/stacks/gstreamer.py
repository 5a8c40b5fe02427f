"""Somebody in a room by GStreamer's webrtcbin, with the signalling of docs/protocol.md written out by hand.

    /usr/bin/python3 gstreamer.py URL ROOM NAME SECONDS

Publishes a test picture (VP8) and a tone (Opus), receives everybody, and prints a JSON object a line: `{"event", …}` as the server
sends them, `{"received": {NAME: {"audio": PACKETS, "video": PACKETS}}}` each second. Debian's Python, which has the bindings.
"""

import asyncio
import itertools
import json
import os
import re
import sys

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstWebRTC", "1.0")
gi.require_version("GstSdp", "1.0")
from gi.repository import Gst, GstSdp, GstWebRTC  # noqa: E402
from websockets import connect  # noqa: E402

SEND = """webrtcbin name=rtc bundle-policy=max-bundle
  videotestsrc is-live=true pattern=ball ! video/x-raw,width=320,height=180,framerate=15/1 !
    vp8enc deadline=1 keyframe-max-dist=60 target-bitrate=300000 ! rtpvp8pay picture-id-mode=15-bit !
    application/x-rtp,media=video,encoding-name=VP8,payload=96 ! rtc.
  audiotestsrc is-live=true wave=sine freq=500 ! audioconvert ! opusenc ! rtpopuspay !
    application/x-rtp,media=audio,encoding-name=OPUS,payload=111 ! rtc."""


def say(**words) -> None:
    """In one piece, as GStreamer's threads speak too."""
    os.write(1, json.dumps(words).encode() + b"\n")


class Person:
    def __init__(self, room: str, name: str) -> None:
        self.room, self.name = room, name
        self.ids = itertools.count(1)
        self.waiting: dict[int, asyncio.Future] = {}
        self.people: dict[str, str] = {}
        self.owners: dict[str, tuple[str, str]] = {}
        self.received: dict[str, dict[str, int]] = {}
        self.offers: asyncio.Queue = asyncio.Queue()

    async def run(self, url: str, seconds: float) -> None:
        self.loop = asyncio.get_running_loop()
        async with connect(url, max_size=1 << 23) as self.socket:
            tasks = [asyncio.create_task(job()) for job in (self.read, self.answer_offers, self.tell)]
            who = {"user": f"{self.name.lower()}-{self.room}", "deviceId": "gstreamer", "displayName": self.name}
            await self.request("session.hello", **who, capabilities={"freshLines": True})
            snapshot = await self.request("room.join", room=self.room)
            for participant in snapshot["participants"]:
                self.people[participant["participantId"]] = participant["displayName"]
            await self.publish()
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
            say(received={self.people.get(owner, owner): kinds for owner, kinds in self.received.copy().items()})

    # Publishing: the client offers.

    async def publish(self) -> None:
        self.sender = Gst.parse_launch(SEND)
        rtc = self.sender.get_by_name("rtc")
        for index in range(2):
            transceiver = rtc.emit("get-transceiver", index)
            transceiver.set_property("direction", GstWebRTC.WebRTCRTPTransceiverDirection.SENDONLY)
        negotiate = self.loop.create_future()
        rtc.connect("on-negotiation-needed", lambda _: self.loop.call_soon_threadsafe(self.settle, negotiate, None))
        self.sender.set_state(Gst.State.PLAYING)
        await asyncio.wait_for(negotiate, 30)
        offer = await self.promise(rtc, "create-offer", None, field="offer")
        await self.promise(rtc, "set-local-description", description("offer", offer))
        mids, kinds = re.findall(r"^a=mid:(\S+)", offer, re.M), re.findall(r"^m=(\w+)", offer, re.M)
        tracks = [{"mid": mid, "kind": kind} for mid, kind in zip(mids, kinds)]
        answer = await self.request("pc.offer", pc="publish", sdp=offer, tracks=tracks)
        say(published=len(answer["tracks"]))
        await self.promise(rtc, "set-remote-description", description("answer", answer["sdp"]))

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
            await self.promise(rtc, "set-remote-description", description("offer", offer["sdp"]))
            answer = await self.promise(rtc, "create-answer", None, field="answer")
            await self.promise(rtc, "set-local-description", description("answer", answer))
            await self.request("pc.answer", offerId=offer["offerId"], sdp=answer)

    def pad_added(self, _, pad) -> None:
        if pad.get_direction() != Gst.PadDirection.SRC:
            return
        mid = pad.get_property("transceiver").get_property("mid")
        sink = Gst.ElementFactory.make("fakesink", None)
        sink.set_property("sync", False)
        sink.set_property("async", False)
        self.receiver.add(sink)
        sink.sync_state_with_parent()
        pad.link(sink.get_static_pad("sink"))
        pad.add_probe(Gst.PadProbeType.BUFFER, self.count, mid)

    def count(self, _, __, mid: str):
        owner, kind = self.owners.get(mid, ("?", "?"))
        kinds = self.received.setdefault(owner, {})
        kinds[kind] = kinds.get(kind, 0) + 1
        return Gst.PadProbeReturn.OK

    # GStreamer's threads and ours.

    @staticmethod
    def settle(future: asyncio.Future, value) -> None:
        if not future.done():
            future.set_result(value)

    async def promise(self, element, signal: str, argument, field: str | None = None) -> str | None:
        """Emits a signal that answers with a promise; returns the description in it."""
        future = self.loop.create_future()

        def changed(promise, *_):
            reply = promise.get_reply()
            # The description is freed with the promise: its text is taken out.
            text = reply.get_value(field).sdp.as_text() if field else None
            self.loop.call_soon_threadsafe(self.settle, future, text)

        element.emit(signal, argument, Gst.Promise.new_with_change_func(changed))
        return await asyncio.wait_for(future, 30)


def description(kind: str, text: str):
    _, sdp = GstSdp.SDPMessage.new_from_text(text)
    types = {"offer": GstWebRTC.WebRTCSDPType.OFFER, "answer": GstWebRTC.WebRTCSDPType.ANSWER}
    return GstWebRTC.WebRTCSessionDescription.new(types[kind], sdp)


if __name__ == "__main__":
    Gst.init(None)
    asyncio.run(Person(sys.argv[2], sys.argv[3]).run(sys.argv[1], float(sys.argv[4])))
