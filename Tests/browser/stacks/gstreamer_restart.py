"""Whether GStreamer's webrtcbin restarts ICE when it is asked to: `gstreamer_restart.py`. Prints the names that its checks go by, as its
offers have them: `first`, `again` (asked without a restart), `restarted`, and of another connection `other`. For Debian's Python."""

import asyncio
import re

from program import say
from webrtcbin import Gst, description, promise, sending


def name(sdp: str) -> str:
    return re.search(r"^a=ice-ufrag:(\S+)", sdp, re.M)[1]


async def main() -> None:
    loop = asyncio.get_running_loop()
    pipeline, rtc, first = await sending(loop)
    # It is answered, so that the next offer is one of a connection that stands.
    answering = Gst.Pipeline.new("answering")
    peer = Gst.ElementFactory.make("webrtcbin", "peer")
    peer.set_property("bundle-policy", "max-bundle")
    answering.add(peer)
    answering.set_state(Gst.State.PLAYING)
    await promise(loop, peer, "set-remote-description", description("offer", first))
    answer = await promise(loop, peer, "create-answer", None, field="answer")
    await promise(loop, peer, "set-local-description", description("answer", answer))
    await promise(loop, rtc, "set-remote-description", description("answer", answer))
    again = await promise(loop, rtc, "create-offer", None, field="offer")
    options = Gst.Structure.new_from_string("offer-options,ice-restart=(boolean)true,iceRestart=(boolean)true")
    restarted = await promise(loop, rtc, "create-offer", options, field="offer")
    other_pipeline, _, other = await sending(loop)
    say(first=name(first), again=name(again), restarted=name(restarted), other=name(other))
    for one in (pipeline, answering, other_pipeline):
        one.set_state(Gst.State.NULL)


if __name__ == "__main__":
    asyncio.run(main())
