"""Stacks that do not say which track their packets are of: no MID, no a=ssrc."""

from aiortc import RTCSessionDescription
from native import NativePerson
from people import eventually


class Bare(NativePerson):
    """aiortc, whose offers name neither MIDs in packets nor SSRCs."""

    def strip(self, sdp: str) -> str:
        return "".join(
            line for line in sdp.splitlines(True) if not line.startswith("a=ssrc") and "sdes:mid" not in line)

    async def _offer(self) -> None:
        await self.publish.setLocalDescription(await self.publish.createOffer())
        tracks = [{"mid": line.mid, "kind": line.kind} for line in self.publish.getTransceivers()]
        sdp = self.strip(self.publish.localDescription.sdp)
        answer = await self.request("pc.offer", pc="publish", sdp=sdp, tracks=tracks)
        await self.publish.setRemoteDescription(RTCSessionDescription(answer["sdp"], "answer"))


def test_packets_without_mid_and_ssrc_find_their_tracks(person, room, server):
    ben = person("Ben").join(room)
    bare = Bare("Anna", server.rtc, (200, 40, 40), 700).join(room)
    try:
        ben.sees_anything("Anna")
        eventually("Anna hears Ben", lambda: bare.sounds["Ben"] > 50)
        assert bare.failures == []
    finally:
        bare.close()
