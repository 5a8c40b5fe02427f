"""People of the load test who talk while strangers come: they must notice nothing."""

import contextlib
import json
import os
import pathlib
import subprocess
import typing

from server import ROOT

SCENARIO = """\
about: two who stay and one who comes and goes, while strangers do what they like
room_kind: demo
seats: 3
ramp: 1s
duration: {seconds}s
people:
  - name: steady
    count: 2
    audio: 32kbps
    video: 300kbps
  - name: guest
    count: 1
    audio: 32kbps
    stay: 5s
    away: 1s
expect:
  loss: 0
"""


class Beside:
    """What they said in the end."""

    def __init__(self) -> None:
        self.said = "nobody talked"
        self.failures: list[str] = []


class Talk:
    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.program = pathlib.Path(os.environ.get("LOADTEST_BINARY", ROOT / ".build/release/loadtest"))

    @contextlib.contextmanager
    def beside(self, url: str, seconds: float) -> typing.Iterator[Beside]:
        """Around the time in which the strangers come."""
        scenario, report, found = self.folder / "people.yaml", self.folder / "people.json", Beside()
        scenario.write_text(SCENARIO.format(seconds=max(3, round(seconds - 4))))
        report.unlink(missing_ok=True)
        command = [self.program, "--scenario", scenario, "--server", url, "--no-limit", "--json", report]
        log = self.folder / "people.log"
        with log.open("w") as output:
            people = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        try:
            yield found
            people.wait(120)
        except subprocess.TimeoutExpired:
            found.failures.append("the people beside did not come to their end")
        finally:
            people.kill()
            people.wait()
        if people.returncode != 0 or not report.exists():
            found.failures.append(f"the people beside noticed something:\n{log.read_text()[-2000:]}")
            found.said = "people noticed something"
            return
        result = json.loads(report.read_text())
        found.said = f"people had {result['packetsReceived']} of {result['packetsExpected']} packets"
