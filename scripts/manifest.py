"""Package.swift as Swift Package Manager reads it; for scripts/storeys and scripts/check."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def targets(file=None):
    """All targets, as `swift package dump-package` describes them; `file` has its output already."""
    if file:
        return json.loads(pathlib.Path(file).read_text())["targets"]
    # A folder of its own: `swift test` may have the package's.
    with tempfile.TemporaryDirectory() as scratch:
        command = ["swift", "package", "--scratch-path", scratch, "dump-package"]
        environment = {name: value for name, value in os.environ.items() if name not in ("ROOST_PART", "ROOST_FUZZ")}
        made = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    if made.returncode != 0:
        sys.exit(f"{sys.argv[0]}: {' '.join(command)} failed:\n{made.stderr}")
    return json.loads(made.stdout)["targets"]


def imports(target):
    """The targets that it names, in its order."""
    return [(entry.get("byName") or entry["target"])[0] for entry in target["dependencies"]]


def folder(target):
    return target.get("path") or f"Tests/{target['name']}"
