"""Every video codec that the server takes, from one Chromium to another, and whether senders learn what the network carries."""

import pytest
from people import eventually
from server import Server

# What a peer connection sends or receives as video: the codec, and whether its retransmissions have a stream of their own.
VIDEO = """async (end) => {
  const report = await window.roost.room.stats();
  const stats = [...report[end].values()];
  const type = end === "publish" ? "outbound-rtp" : "inbound-rtp";
  const stream = stats.find((stat) => stat.type === type && stat.kind === "video" && stat.codecId);
  return stream && { codec: report[end].get(stream.codecId).mimeType, rtx: stream.rtxSsrc ?? null };
}"""

# Publishes noise, which no encoder makes small, beside the camera.
NOISE = """async () => {
  const canvas = Object.assign(document.createElement("canvas"), { width: 640, height: 480 });
  const context = canvas.getContext("2d");
  setInterval(() => {
    for (let i = 0; i < 800; i++) {
      context.fillStyle = `hsl(${Math.random() * 360} 80% 50%)`;
      context.fillRect(Math.random() * 640, Math.random() * 480, 24, 24);
    }
  }, 66);
  await window.roost.room.publish(canvas.captureStream(15).getVideoTracks()[0]);
}"""

# Bits a second of video that Chromium sends, and believes it can send: 300,000 before anybody has told it anything.
RATES = """async () => {
  const stats = [...(await window.roost.room.stats()).publish.values()];
  return {
    bytes: stats.filter(({ type, kind }) => type === "outbound-rtp" && kind === "video").reduce((sum, { bytesSent }) => sum + bytesSent, 0),
    estimate: Math.max(0, ...stats.filter(({ type, nominated }) => type === "candidate-pair" && nominated)
      .map((pair) => pair.availableOutgoingBitrate ?? 0)),
  };
}"""


@pytest.mark.parametrize("codec", ["VP8", "VP9", "H264", "AV1"])
def test_each_codec_is_forwarded_and_decoded(person, room, tmp_path, codec):
    with Server(tmp_path, media=f"video_codecs: [{codec}]") as server:
        anna, ben = person("Anna", on=server).join(room), person("Ben", on=server).join(room)
        ben.sees("Anna")
        anna.sees("Ben")
        for end in ("publish", "subscribe"):
            video = eventually(f"the {end} connection has a codec", lambda: ben.page.evaluate(VIDEO, end))
            assert video["codec"] == f"video/{codec}" and video["rtx"], video
        # Who comes later gets a keyframe of it, and pictures of the right person.
        cleo = person("Cleo", on=server).join(room)
        cleo.sees("Anna")
        cleo.sees("Ben")


def test_a_sender_learns_that_the_network_carries_more(person, room):
    anna, ben = person("Anna").join(room), person("Ben").join(room)
    ben.sees_anything("Anna")
    anna.page.evaluate(NOISE)
    eventually("feedback lets Chromium send more", lambda: anna.page.evaluate(RATES)["estimate"] > 1_000_000)

    def rate():
        before = anna.page.evaluate(RATES)["bytes"]
        anna.page.wait_for_timeout(2_000)
        return (anna.page.evaluate(RATES)["bytes"] - before) * 4

    eventually("and it does", lambda: rate() > 600_000)
    ben.sees_anything("Anna")
