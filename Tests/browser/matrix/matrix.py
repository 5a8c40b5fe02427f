"""`make stacks`: each stack alone in a room, first, second, and with five others, and whether what it does comes to what it should; and
FFmpeg, which publishes by WHIP, before three Chromiums (encoder.py).

    scripts/private-network .venv/bin/python Tests/browser/matrix/matrix.py --json out/stacks/stacks.json

Prints a table, and fails where a cell does. FFmpeg's figures are written beside the cells, in ffmpeg.json.
"""

import argparse
import itertools
import json
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import encoder  # noqa: E402
from cells import CAPABILITIES, SITUATIONS, Cell  # noqa: E402
from members import STACKS, Cast, Member  # noqa: E402
from others import ADDRESS, Programs  # noqa: E402
from people import Crowd  # noqa: E402
from playwright.sync_api import sync_playwright  # noqa: E402
from server import Server  # noqa: E402

TOKEN = "token-of-the-matrix"
# Five who are there already. Chromium's have faces by their names.
FIVE = {"Chromium": "Cleo", "Firefox": "Fox", "GStreamer": "Gus", "Pion": "Pia", "aiortc": "Ari"}
# Of each camera, a second: a room of six decodes those of five in each of six programs.
PICTURES = 5
rooms = itertools.count(1)


class Matrix:
    def __init__(self, server: Server, cast: Cast, seconds: float) -> None:
        self.server, self.cast, self.seconds = server, cast, seconds
        self.five: list[Member] = []
        self.hall = f"five{next(rooms)}"

    def cell(self, stack: str, situation: str) -> dict:
        anna = self.cast.make(stack, "Anna")
        if situation == "five":
            results = self.with_five(anna)
        else:
            results = self.with_one(anna, stack, situation)
        self.cast.end(anna)
        return {"stack": stack, "situation": situation, "seconds": self.seconds, **results}

    def with_one(self, anna: Member, stack: str, situation: str) -> dict[str, str]:
        room = f"{situation}{next(rooms)}"
        ben = [] if situation == "alone" else [self.cast.make("Firefox" if stack == "Chromium" else "Chromium", "Ben")]
        order = [*ben, anna] if situation == "second" else [anna, *ben]
        cell = Cell(self.server, room, anna, ben, TOKEN)

        def arrive() -> None:
            for one in order:
                one.join(room)
                if one is anna:
                    cell.is_listed()

        results = cell.run(self.seconds, arrive)
        for one in (anna, *ben):
            quietly(one.leave)
        for one in ben:
            self.cast.end(one)
        return results

    def with_five(self, anna: Member) -> dict[str, str]:
        """The five stay in their room from cell to cell."""

        def arrive() -> None:
            if not self.five:
                self.five = [self.cast.make(stack, name) for stack, name in FIVE.items()]
                for one in self.five:
                    one.join(self.hall)
            anna.join(self.hall)

        results = Cell(self.server, self.hall, anna, self.five, TOKEN).run(self.seconds, arrive)
        quietly(anna.leave)
        return results

    def close(self) -> None:
        for one in self.five:
            self.cast.end(one)


def quietly(act) -> None:
    """What is done to clean up after a cell, which may have failed anywhere."""
    try:
        act()
    except Exception as error:
        print(f"  (afterwards: {error})", file=sys.stderr)


def table(cells: list[dict]) -> str:
    head = ["stack", "situation", *CAPABILITIES]
    rows = [[cell["stack"], cell["situation"], *(cell[name].split(":")[0] for name in CAPABILITIES)] for cell in cells]
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
    return "\n".join("  ".join(word.ljust(width) for word, width in zip(row, widths)).rstrip() for row in [head, *rows])


def failed(cells: list[dict]) -> list[dict]:
    return [cell for cell in cells if any(cell[name] != "yes" for name in CAPABILITIES)]


def words_of(only: str) -> list[str]:
    return [word for word in only.split(",") if word]


def wants_encoder(only: str) -> bool:
    return not words_of(only) or encoder.NAME in words_of(only)


def wanted(only: str) -> list[tuple[str, str]]:
    """Those cells: `Pion`, `five` and `Pion/five`, with commas between them; `FFmpeg` is no cell."""
    words = words_of(only)
    every = list(itertools.product(STACKS, SITUATIONS))
    unknown = [word for word in words if word != encoder.NAME and not any(word in (a, b, f"{a}/{b}") for a, b in every)]
    if unknown:
        names = ", ".join((*STACKS, encoder.NAME, *SITUATIONS))
        sys.exit(f"--only: {', '.join(unknown)}: expected some of {names}, or STACK/SITUATION")
    return [cell for cell in every if not words or any(word in (*cell, "/".join(cell)) for word in words)]


def run(seconds: float, only: str, folder: pathlib.Path) -> tuple[list[dict], dict | None]:
    """The cells, and what came of the encoder where it is wanted."""
    more = f"admin:\n  token: {TOKEN}\n"
    server = Server(folder, address=ADDRESS, advertise=ADDRESS, unknown="group", more=more)
    with server, sync_playwright() as playwright:
        crowd, cells, encoded = Crowd(playwright, folder, PICTURES), [], None
        cast = Cast(server, crowd, Programs(folder, PICTURES), folder, PICTURES)
        matrix = Matrix(server, cast, seconds)
        try:
            # First, while there is no other browser.
            if wants_encoder(only):
                encoded = encoder.run(server, crowd, folder, f"encoder{next(rooms)}", seconds)
                print(encoder.table(encoded), flush=True)
            for stack, situation in wanted(only):
                cells.append(matrix.cell(stack, situation))
                print(table(cells[-1:]).splitlines()[-1], flush=True)
                for name in CAPABILITIES:
                    if cells[-1][name] not in ("yes", "not reached"):
                        print(f"  {name}: {cells[-1][name]}", flush=True)
        finally:
            for close in (matrix.close, cast.close, crowd.close):
                quietly(close)
    return cells, encoded


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60, help="how long everybody stays in each cell")
    parser.add_argument("--only", default="", help="some cells: Pion,five or Pion/five")
    parser.add_argument("--json", type=pathlib.Path, help="where the cells are written")
    parser.add_argument("--add", action="store_true", help="keep the cells that are in that file and were not run now")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        cells, encoded = run(arguments.seconds, arguments.only, pathlib.Path(folder))
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        if encoded is not None:
            arguments.json.with_name("ffmpeg.json").write_text(json.dumps(encoded, indent=1) + "\n")
    if arguments.json and cells:
        kept = json.loads(arguments.json.read_text()) if arguments.add and arguments.json.exists() else []
        now = {(cell["stack"], cell["situation"]) for cell in cells}
        cells += [cell for cell in kept if (cell["stack"], cell["situation"]) not in now]
        cells.sort(key=lambda cell: (STACKS.index(cell["stack"]), SITUATIONS.index(cell["situation"])))
        arguments.json.write_text(json.dumps(cells, indent=1) + "\n")
    print("\n" + table(cells))
    faults = encoder.faults(encoded) if encoded else []
    if failed(cells):
        faults.append(f"{len(failed(cells))} of {len(cells)} cells failed")
    if faults:
        sys.exit("\n".join(faults))


if __name__ == "__main__":
    main()
