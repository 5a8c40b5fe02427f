"""aiortc by WHIP and WHEP: `aiortc_http.py publish|play URL SECONDS`. Prints what stacks/gstreamer_http.py prints, and does what it is
told as that does."""

import asyncio
import collections
import pathlib
import sys

from aiortc import RTCPeerConnection, RTCSessionDescription
from aiortc.mediastreams import MediaStreamError
from program import created, stay

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from native import Colour, Tone  # noqa: E402


async def main(what: str, url: str, seconds: float) -> None:
    counts: collections.Counter[str] = collections.Counter()
    connection = RTCPeerConnection()
    tasks = []

    async def count(track) -> None:
        try:
            while await track.recv():
                counts[track.kind] += 1
        except MediaStreamError:
            pass

    connection.on("track", lambda track: tasks.append(asyncio.create_task(count(track))))
    for kind, source in (("audio", Tone(900)), ("video", Colour((60, 200, 200)))):
        if what == "publish":
            connection.addTransceiver(source, direction="sendonly")
        else:
            connection.addTransceiver(kind, direction="recvonly")
    await connection.setLocalDescription(await connection.createOffer())
    session, answer = await created(url, connection.localDescription.sdp)
    await connection.setRemoteDescription(RTCSessionDescription(sdp=answer, type="answer"))
    await stay(session, counts, seconds)
    await connection.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], float(sys.argv[3])))
