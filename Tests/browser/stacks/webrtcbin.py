"""What both programs with GStreamer's webrtcbin need: the picture and tone that are sent, pictures and sound that are decoded and
counted, and descriptions. For Debian's Python, which has the bindings."""

import asyncio
import os
import typing

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstWebRTC", "1.0")
gi.require_version("GstSdp", "1.0")
from gi.repository import Gst, GstSdp, GstWebRTC  # noqa: E402

Gst.init(None)

# A second.
PICTURES = os.environ.get("STACK_PICTURES", "15")
# A test picture (VP8) and a tone (Opus).
SEND = f"""webrtcbin name=rtc bundle-policy=max-bundle
  videotestsrc is-live=true pattern=ball ! video/x-raw,width=320,height=180,framerate={PICTURES}/1 !
    vp8enc deadline=1 keyframe-max-dist=60 target-bitrate=300000 ! rtpvp8pay picture-id-mode=15-bit !
    application/x-rtp,media=video,encoding-name=VP8,payload=96 ! rtc.
  audiotestsrc is-live=true wave=sine freq=500 ! audioconvert ! opusenc ! rtpopuspay !
    application/x-rtp,media=audio,encoding-name=OPUS,payload=111 ! rtc."""
# The same picture in H264: its parameter sets stand in the description alone, and are left out of the stream.
SETS_ONCE = SEND.replace(
    "vp8enc deadline=1 keyframe-max-dist=60 target-bitrate=300000 ! rtpvp8pay picture-id-mode=15-bit !\n    application/x-rtp,media=video,encoding-name=VP8,payload=96",
    "openh264enc gop-size=30 bitrate=300000 ! h264parse ! video/x-h264,stream-format=avc,alignment=au !\n"
    "    rtph264pay config-interval=0 ! application/x-rtp,media=video,encoding-name=H264,payload=96",
)
DECODE = {
    "VP8": "rtpvp8depay request-keyframe=true ! vp8dec ! fakesink name=end sync=false async=false",
    "OPUS": "rtpopusdepay ! opusdec ! fakesink name=end sync=false async=false",
}


def settle(future: asyncio.Future, value: typing.Any) -> None:
    if not future.done():
        future.set_result(value)


def fail(future: asyncio.Future, why: str) -> None:
    if not future.done():
        future.set_exception(RuntimeError(why))


async def sending(loop: asyncio.AbstractEventLoop, what: str = SEND) -> tuple[Gst.Pipeline, Gst.Element, str]:
    """A pipeline that sends, its webrtcbin, and the offer that is set there."""
    pipeline = Gst.parse_launch(what)
    rtc = pipeline.get_by_name("rtc")
    needed = negotiation(loop, rtc)
    for index in range(2):
        transceiver = rtc.emit("get-transceiver", index)
        transceiver.set_property("direction", GstWebRTC.WebRTCRTPTransceiverDirection.SENDONLY)
    return pipeline, rtc, await offer(loop, pipeline, rtc, needed)


def negotiation(loop: asyncio.AbstractEventLoop, rtc: Gst.Element) -> asyncio.Future:
    """Done when a webrtcbin wants to make an offer. It says so once, so it is asked before it has any lines."""
    needed = loop.create_future()
    rtc.connect("on-negotiation-needed", lambda _: loop.call_soon_threadsafe(settle, needed, None))
    return needed


async def offer(loop: asyncio.AbstractEventLoop, pipeline: Gst.Pipeline, rtc: Gst.Element, needed: asyncio.Future) -> str:
    """Starts a pipeline, and makes the offer that its webrtcbin wants to make."""
    pipeline.set_state(Gst.State.PLAYING)
    await asyncio.wait_for(needed, 30)
    text = await promise(loop, rtc, "create-offer", None, field="offer")
    await promise(loop, rtc, "set-local-description", description("offer", text))
    return text


async def promise(
    loop: asyncio.AbstractEventLoop, element: Gst.Element, signal: str, argument: typing.Any, field: str | None = None
) -> str | None:
    """Emits a signal that answers with a promise; returns the description in it."""
    future = loop.create_future()

    def changed(promise, *_):
        reply = promise.get_reply()
        if reply and reply.has_field("error"):
            loop.call_soon_threadsafe(fail, future, f"{signal}: {reply.get_value('error').message}")
            return
        # The description is freed with the promise: its text is taken out.
        text = reply.get_value(field).sdp.as_text() if field else None
        loop.call_soon_threadsafe(settle, future, text)

    element.emit(signal, argument, Gst.Promise.new_with_change_func(changed))
    return await asyncio.wait_for(future, 30)


def description(kind: str, text: str) -> GstWebRTC.WebRTCSessionDescription:
    _, sdp = GstSdp.SDPMessage.new_from_text(text)
    types = {"offer": GstWebRTC.WebRTCSDPType.OFFER, "answer": GstWebRTC.WebRTCSDPType.ANSWER}
    return GstWebRTC.WebRTCSessionDescription.new(types[kind], sdp)


def decode(pipeline: Gst.Pipeline, pad: Gst.Pad, count: typing.Callable[[], None]) -> None:
    """Decodes what comes out of a webrtcbin's pad, and counts each picture or piece of sound."""
    caps = pad.get_current_caps() or pad.query_caps(None)
    chain = DECODE.get(caps.get_structure(0).get_string("encoding-name"), "fakesink sync=false async=false")
    decoder = Gst.parse_bin_from_description(chain, True)
    pipeline.add(decoder)
    decoder.sync_state_with_parent()
    pad.link(decoder.get_static_pad("sink"))
    if end := decoder.get_by_name("end"):

        def counted(*_):
            count()
            return Gst.PadProbeReturn.OK

        end.get_static_pad("sink").add_probe(Gst.PadProbeType.BUFFER, counted)
