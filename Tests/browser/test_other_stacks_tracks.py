"""Pion and aiortc in a room where more tracks come and go than a description has lines. Under scripts/private-network, as
test_other_stacks.py."""

import pytest
from others import ADDRESS
from people import eventually
from server import Server
from test_other_stacks import come


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    # Tracks come and go faster here than people share.
    often = "limits: {requests_per_second: 500, user_requests_per_second: 500}\n"
    with Server(tmp_path_factory.mktemp("roost"), address=ADDRESS, advertise=ADDRESS, unknown="group", more=often) as server:
        yield server


# Shares one after the other, each for a moment; the last one stays. Each takes two offers, and a session may make four a second.
SHARES = """async (count) => {
  const { room } = window.roost;
  const canvas = document.createElement("canvas");
  const pen = canvas.getContext("2d");
  setInterval(() => {
    pen.fillStyle = pen.fillStyle === "#000000" ? "#ffffff" : "#000000";
    pen.fillRect(0, 0, 40, 40);
  }, 50);
  for (const track of [...room.localTracks]) await room.unpublish(track);
  for (let share = 1; ; share += 1) {
    const track = await room.publish(canvas.captureStream(20).getVideoTracks()[0], { label: `share${share}`, simulcast: false });
    if (share === count) return;
    await new Promise((resolve) => setTimeout(resolve, 700));
    await room.unpublish(track);
  }
}"""


def test_stacks_that_want_fresh_lines_see_the_hundredth_track(server, room, person, programs):
    """More tracks than a description has lines: their places are used again, which Pion and aiortc take for new lines.

    GStreamer (1.22) does not: "transceiver direction changes are not implemented"."""
    anna = person("Anna").join(room)
    stacks = []
    try:
        come(("Pion", "aiortc"), anna, server, room, programs, stacks)
        anna.page.evaluate(SHARES, 100)
        before = [len(one.received) for one in stacks]
        for one, begin in zip(stacks, before):
            eventually(f"{one.name} sees the last share", lambda: len(one.received) > begin + 3 and one.growth("Anna")[1] > 0)
            assert [event for event in one.failures if event["event"] != "subscription.ended"] == [], one.name
            assert one.process.poll() is None, one.name
    except BaseException:
        print(*stacks, sep="\n")
        raise
    finally:
        for one in stacks:
            one.stop()
    eventually("everybody has left", lambda: anna.tiles.count() == 1)
