"""The client of docs/clients.md, as it stands there, in a room with people."""

import re
import subprocess
import sys

from people import eventually
from server import ROOT


def program() -> str:
    """The one block of Python in the document."""
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs" / "clients.md").read_text(), re.M | re.S)
    assert len(blocks) == 1
    return blocks[0]


def test_it_has_forty_lines_or_so():
    lines = [line for line in program().splitlines() if line.strip()]
    assert len(lines) <= 50, len(lines)


def test_it_sees_people_and_is_seen(person, room, server, tmp_path):
    path, log = tmp_path / "client.py", tmp_path / "client.log"
    path.write_text(program())
    anna = person("Anna").join(room)
    with log.open("wb") as output:
        process = subprocess.Popen([sys.executable, path, server.rtc, room, "Robot"], stdout=output, stderr=output)
    try:
        # As the second one, and then as one who is there already when somebody comes.
        for who in ("Anna", "Ben"):
            if who == "Ben":
                person("Ben").join(room)
            for kind in ("audio", "video"):
                eventually(f"it has {kind} of {who}", lambda: f"{kind} of {who}\n" in log.read_text())
        anna.sees_anything("Robot")
        assert process.poll() is None, log.read_text()
    finally:
        process.terminate()
        process.wait(30)
