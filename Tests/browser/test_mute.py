"""Mute: silence at once, no noise that stays, and no old sound or pictures when it ends."""

import pytest
from people import eventually
from server import Server

pytestmark = pytest.mark.alone


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with Server(tmp_path_factory.mktemp("roost")) as server:
        yield server


# Sound of the last second and packets: totals of what comes from Ben.
NOW = """async (kind) => {
  const { room } = window.roost;
  const ben = [...room.participants.values()].find(({ displayName }) => displayName === "Ben");
  const track = [...ben.tracks.values()].find((one) => one.kind === kind);
  const stat = [...(await room.stats()).subscribe.values()].find((one) => one.type === "inbound-rtp" && one.trackIdentifier === track.mediaStreamTrack.id);
  return [stat.totalAudioEnergy ?? 0, stat.packetsReceived, stat.framesDecoded ?? 0];
}"""

# The server mutes, and the device goes on sending: as an operator's mute does, or a program that forgets to.
AT_THE_SERVER = """(method) => {
  const { room } = window.roost;
  const track = [...room.localTracks].find(({ kind }) => kind === "audio");
  return room._request(method, { trackId: track.trackId });
}"""
BY_THE_SDK = "(method) => [...window.roost.room.localTracks].find(({ kind }) => kind === 'audio')[method.slice(6)]()"


def grown(anna, kind: str, seconds: float) -> list[float]:
    before = anna.page.evaluate(NOW, kind)
    anna.page.wait_for_timeout(seconds * 1000)
    return [after - start for after, start in zip(anna.page.evaluate(NOW, kind), before)]


@pytest.mark.parametrize("how", [BY_THE_SDK, AT_THE_SERVER], ids=["sdk", "server"])
def test_sound_ends_and_goes_on_as_if_nothing_had_been(person, room, how):
    anna, ben = person("Anna").join(room), person("Ben").join(room)
    anna.hears("Ben")
    loud = grown(anna, "audio", 1)
    assert loud[0] > 1e-4 and loud[1] > 30, loud
    ben.page.evaluate(how, "track.mute")
    anna.page.wait_for_timeout(1500)
    silent = grown(anna, "audio", 3)
    assert silent[0] < loud[0] / 100 and silent[1] < 5, (loud, silent)
    ben.page.evaluate(how, "track.unmute")
    back = grown(anna, "audio", 1)
    assert 20 < back[1] < 65, f"{back}: fifty packets a second, and none of before"
    anna.hears("Ben")
    lost = anna.received()["Ben"]["audio"]["packetsLost"]
    assert lost < 10, f"{lost}: the numbers go on"


def test_pictures_begin_anew_without_a_burst(person, room):
    anna, ben = person("Anna").join(room), person("Ben").join(room)
    anna.sees("Ben")
    ben.page.locator("#cam").click()
    eventually("no picture", lambda: grown(anna, "video", 0.5)[2] == 0, 20)
    anna.page.wait_for_timeout(3000)
    ben.page.locator("#cam").click()
    frames = grown(anna, "video", 1)[2]
    assert frames < 40, f"{frames} frames in a second: thirty a second, and none of before"
    anna.sees("Ben")
