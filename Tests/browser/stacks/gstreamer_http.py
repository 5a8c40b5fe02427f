"""GStreamer's webrtcbin by WHIP and WHEP: `gstreamer_http.py publish|publish-h264|play URL SECONDS`. The forty lines that any such program needs.

Prints a JSON object a line: `{"status": 409}` while nothing is published, `{"status": 201}`, then `{"received": {"audio": FRAMES,
"video": FRAMES}}`, decoded, each second. Ends its session when it is told `leave`, or when its time is over.
"""

import asyncio
import collections
import sys

from program import created, stay
from webrtcbin import SEND, SETS_ONCE, Gst, GstWebRTC, decode, description, negotiation, offer, promise, sending

LINES = (
    "application/x-rtp,media=audio,encoding-name=OPUS,payload=111,clock-rate=48000,encoding-params=(string)2",
    "application/x-rtp,media=video,encoding-name=VP8,payload=96,clock-rate=90000",
)


async def receiving(loop, counts: collections.Counter) -> tuple[Gst.Pipeline, Gst.Element, str]:
    pipeline = Gst.Pipeline.new("player")
    rtc = Gst.ElementFactory.make("webrtcbin", "rtc")
    rtc.set_property("bundle-policy", "max-bundle")
    pipeline.add(rtc)
    needed = negotiation(loop, rtc)

    def added(_, pad) -> None:
        if pad.get_direction() == Gst.PadDirection.SRC:
            kind = (pad.get_current_caps() or pad.query_caps(None)).get_structure(0).get_string("media")
            decode(pipeline, pad, lambda: counts.update([kind]))

    rtc.connect("pad-added", added)
    pipeline.set_state(Gst.State.READY)
    for caps in LINES:
        rtc.emit("add-transceiver", GstWebRTC.WebRTCRTPTransceiverDirection.RECVONLY, Gst.Caps.from_string(caps))
    return pipeline, rtc, await offer(loop, pipeline, rtc, needed)


async def main(what: str, url: str, seconds: float) -> None:
    loop, counts = asyncio.get_running_loop(), collections.Counter()
    pipeline, rtc, sdp = await (
        receiving(loop, counts) if what == "play" else sending(loop, SETS_ONCE if what == "publish-h264" else SEND)
    )
    session, answer = await created(url, sdp)
    await promise(loop, rtc, "set-remote-description", description("answer", answer))
    await stay(session, counts, seconds)
    pipeline.set_state(Gst.State.NULL)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], float(sys.argv[3])))
