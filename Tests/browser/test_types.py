"""The SDK's types: programs compile with them, mistakes do not, and they name what there is."""

import json
import pathlib
import re
import subprocess

from people import eventually

ROOT = pathlib.Path(__file__).resolve().parents[2]
ASSETS = ROOT / "Sources" / "clients" / "WebClient" / "Assets"
PROGRAM = pathlib.Path(__file__).parent / "types" / "program.ts"

# What stands in the modules: names of exports, and of each class the public names of its prototype.
NAMES = """async () => {
  const sdk = { ...(await import("/roost.js")), ...(await import("/sound.js")) };
  const isClass = (value) => typeof value === "function" && /^class/.test(String(value));
  const isPublic = (name) => name !== "constructor" && !name.startsWith("_");
  const members = (value) => Object.getOwnPropertyNames(value.prototype).filter(isPublic);
  return Object.fromEntries(Object.entries(sdk).map(([name, value]) => [name, isClass(value) ? members(value) : null]));
}"""

# What an object of each class has of its own and by its class, by the names of classes.
OBJECTS = """async () => {
  const { RoostError } = await import("/roost.js");
  const { RoomSound } = await import("/sound.js");
  const { client, room } = window.roost;
  const [view] = await room.openViews(1);
  const [track] = room.localTracks;
  const objects = { RoostClient: client, Session: client.session, Room: room, View: view, LocalTrack: track, Call: client.call("none"), RoostError: new RoostError(-1), RoomSound: new RoomSound(room) };
  const names = (value) => [...Object.getOwnPropertyNames(value), ...Object.getOwnPropertyNames(Object.getPrototypeOf(value))];
  return Object.fromEntries(Object.entries(objects).map(([name, value]) => [name, names(value)]));
}"""


def compile(folder: pathlib.Path, program: str) -> subprocess.CompletedProcess:
    """Checks a program against the types as they are served, as strictly as the compiler can."""
    for types in ASSETS.glob("*.d.ts"):
        (folder / types.name).write_text(types.read_text())
    (folder / "program.ts").write_text(program)
    options = "--noEmit --strict --noUncheckedIndexedAccess false --target es2022 --module es2022 --lib es2022,dom,dom.iterable".split()
    return subprocess.run(["tsc", *options, "program.ts"], cwd=folder, capture_output=True, text=True)


def declared() -> dict[str, dict[str, set[str]] | None]:
    """Values that the types export; of each class its methods and properties."""
    text = "".join((ASSETS / types).read_text() for types in ("roost.d.ts", "sound.d.ts"))
    result: dict[str, dict[str, set[str]] | None] = {name: None for name in re.findall(r"^export function (\w+)", text, re.M)}
    for name, body in re.findall(r"^export class (\w+)[^{]*\{\n(.*?)^\}", text, re.M | re.S):
        methods = set(re.findall(r"^  (\w+)(?=[(<])", body, re.M)) - {"constructor"}
        # Those with a question mark are there at times.
        properties = set(re.findall(r"^  (?:readonly )?(\w+):", body, re.M))
        result[name] = {"methods": methods, "properties": properties}
    return result


def test_programs_compile_and_mistakes_do_not(tmp_path):
    program = PROGRAM.read_text()
    whole = compile(tmp_path, program)
    assert whole.returncode == 0, whole.stdout
    # The control: without the expectations the same mistakes are errors, one each.
    mistakes = program.count("@ts-expect-error") - 1  # the comment at the top names it
    bare = compile(tmp_path, re.sub(r"^\s*// @ts-expect-error.*\n", "", program, flags=re.M))
    assert bare.returncode != 0
    assert len(re.findall(r"^program\.ts\(", bare.stdout, re.M)) == mistakes >= 8, bare.stdout


def test_the_types_name_what_there_is(person, server):
    page = person("Anna").page
    page.goto(server.url)
    found, types = page.evaluate(NAMES), declared()
    assert set(found) == set(types)
    for name, members in found.items():
        if members is None:
            continue
        kinds = types[name]
        assert set(members) <= kinds["methods"] | kinds["properties"], f"{name} has more than its types say"
        assert kinds["methods"] <= set(members), f"{name}'s types say more than it has"


def test_each_property_of_the_types_is_there(person, room, server):
    anna = person("Anna").join(room)
    eventually("she publishes", lambda: anna.page.evaluate("window.roost.room.localTracks.size") == 2)
    found, types = anna.page.evaluate(OBJECTS), declared()
    assert set(found) == {name for name, kinds in types.items() if kinds}
    for name, kinds in types.items():
        assert not kinds or kinds["properties"] <= set(found[name]), f"{name}: {kinds['properties'] - set(found[name])}"


def test_the_package_has_the_servers_version(server):
    package = json.loads((ASSETS / "package.json").read_text())
    log = (ROOT / "CHANGELOG.md").read_text()
    newest = re.search(r"^## \[(\d+\.\d+\.\d+)\]", log, re.M)
    assert package["version"] == newest[1]
    for file in package["files"]:
        imports = re.findall(r'(?:from |import\()"\./([a-z.]+)"', (ASSETS / file).read_text())
        assert set(imports) <= set(package["files"]), f"{file} imports what is not in the package"
    for entry in (package["types"], *(file for export in package["exports"].values() for file in export.values())):
        assert (ASSETS / entry).is_file() and pathlib.Path(entry).name in package["files"], entry
