"""Starts the `roost` command with a configuration of its own, and ends it."""

import contextlib
import os
import pathlib
import re
import signal
import socket
import subprocess
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]

CONFIGURATION = """\
access: {access}
listen:
  address: {host}
  port: {port}
  allowed_origins: [{origins}]
{flashphoner}media:
  port: {media}
  workers: {workers}
  addresses: [{address}]
  advertise: [{advertise}]
  {more}
kinds:
  audio_only:
    limits: 3
    media: audio
    audio_bitrate: 256kbps
rooms:
  demo:
    kind: demo
  radio:
    kind: audio_only
unknown_rooms:
  create: {unknown}
sessions:
  resume_grace: {grace}
calls:
  ring_timeout: {ring}
  rings_per_caller: 0
  rings_per_callee: 0
  rings_per_pair: 0
  {calls}
storage:
  path: roost.db
{rest}"""


def binary() -> pathlib.Path:
    """The command under test: ROOST_BINARY, else what `make build` makes."""
    path = pathlib.Path(os.environ.get("ROOST_BINARY", ROOT / ".build/release/roost"))
    if not path.exists():
        raise RuntimeError(f"{path} is missing: make build, or set ROOST_BINARY")
    return path


def free_port(kind: socket.SocketKind, address: str = "127.0.0.1") -> int:
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind((address, 0))
        return probe.getsockname()[1]


class Server:
    """One running server; `stop` and `start` again keep its ports and its configuration."""

    def __init__(
        self,
        folder: pathlib.Path,
        grace: str = "15s",
        advertise: str = "127.0.0.1",
        ring: str = "30s",
        calls: str = "",
        media: str = "",
        origins: str = "",
        address: str = "127.0.0.1",
        unknown: str = "demo",
        host: str = "127.0.0.1",
        access: str = "open",
        flashphoner: bool = False,
        more: str = "",
        workers: int = 1,
    ) -> None:
        """`media`, `calls`: one more line of that section; `address`: where media comes in; `unknown`: the kind of rooms made by a name;
        `host`: where it listens for clients; `access`: who may come in; `flashphoner`: whether there is a listener for Flashphoner's apps;
        `more`: further sections."""
        self.port = free_port(socket.SOCK_STREAM, host)
        self.url = f"http://{host}:{self.port}"
        self.rtc = f"ws://{host}:{self.port}/rtc"
        flashphoner_port = free_port(socket.SOCK_STREAM, host)
        self.flashphoner = f"ws://{host}:{flashphoner_port}/"
        self.configuration = folder / "rooms.yaml"
        self.log = folder / "roost.log"
        self.media = free_port(socket.SOCK_DGRAM, address)
        self.configuration.write_text(
            CONFIGURATION.format(
                host=host,
                access=access,
                port=self.port,
                workers=workers,
                media=self.media,
                address=address,
                unknown=unknown,
                grace=grace,
                advertise=advertise,
                ring=ring,
                calls=calls,
                more=media,
                rest=more,
                origins=origins,
                flashphoner=f"flashphoner:\n  port: {flashphoner_port}\n" if flashphoner else "",
            )
        )
        self.process: subprocess.Popen | None = None

    def __enter__(self) -> "Server":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [binary(), "serve", "--config", self.configuration], stdout=log, stderr=subprocess.STDOUT
            )
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                urllib.request.urlopen(self.url, timeout=1).close()
                return
            if self.process.poll() is not None:
                break
            time.sleep(0.1)
        self.stop()
        raise RuntimeError(f"roost did not come up:\n{self.log.read_text(errors='replace')}")

    def metrics(self) -> str:
        """What `/metrics` says now."""
        with urllib.request.urlopen(f"{self.url}/metrics", timeout=10) as answer:
            return answer.read().decode()

    def packets(self) -> float:
        """How many packets of media its worker has received so far."""
        return float(re.search(r"^roost_packets_received_total\S* (\S+)$", self.metrics(), re.MULTILINE)[1])

    def drops(self) -> list[str]:
        """The lines of its metrics that say which packets it has dropped, and why."""
        return [line for line in self.metrics().splitlines() if line.startswith("roost_packets_dropped_total{") and not line.endswith(" 0")]

    def stop(self, with_signal: signal.Signals = signal.SIGTERM) -> None:
        if self.process is None:
            return
        process, self.process = self.process, None
        process.send_signal(with_signal)
        try:
            status = process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise
        wanted = 0 if with_signal == signal.SIGTERM else -with_signal
        assert status == wanted, f"the server ended with {status}:\n{self.log.read_text(errors='replace')[-2000:]}"
