"""Firefox as it comes, on the machine of a server without a rooms.yaml: it pairs no address with one of the loopback."""

import contextlib
import pathlib
import subprocess
import sys

import firefox
import pytest
from people import eventually
from server import ROOT, binary

# What our other tests change so that Firefox takes the loopback.
CHANGED = ("media.peerconnection.ice.loopback", "media.peerconnection.ice.obfuscate_host_addresses")

WATCH = """() => {
  const Own = window.RTCPeerConnection;
  window.connections = [];
  window.RTCPeerConnection = class extends Own {
    constructor(...words) { super(...words); window.connections.push(this); }
  };
}"""
STATES = "() => window.connections.map((connection) => connection.connectionState)"


def media(folder: pathlib.Path, config: str | None) -> str:
    """What becomes of the media of an ordinary Firefox: connected or failed."""
    words = [binary(), "serve"]
    if config is not None:
        (folder / "local.yaml").write_text(config)
        words += ["--config", "local.yaml"]
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=folder))
        stack.callback(server.terminate)
        url = server.stdout.readline().split()[-1]
        fox = firefox.FirefoxPerson("Fox", url, folder)
        stack.callback(fox.end)
        fox.command("script.addPreloadScript", {"functionDeclaration": WATCH})
        fox.join("demo")
        ends = eventually(
            "its media is decided", lambda: set(fox.evaluate(STATES)) in ({"connected"}, {"failed"}), 40
        ) and fox.evaluate(STATES)
    return ends[0]


def main() -> None:
    for name in CHANGED:
        firefox.PREFERENCES.pop(name)
    folder = pathlib.Path(sys.argv[1])
    for name in ("without", "loopback"):
        (folder / name).mkdir()
    print(media(folder / "without", None))
    print(media(folder / "loopback", "media: {addresses: [127.0.0.1]}"))


@pytest.mark.alone
def test_an_ordinary_firefox_gets_media_without_a_rooms_yaml(tmp_path):
    command = [ROOT / "scripts/private-network", sys.executable, __file__, tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=150, check=False)
    assert done.stdout.split() == ["connected", "failed"], f"the second is the control: {done.stderr}"


if __name__ == "__main__":
    main()
