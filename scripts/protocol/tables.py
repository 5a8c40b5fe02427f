"""Texts between marks in files that people write otherwise: tables of docs/protocol.md, types in roost.d.ts.
A table of an object: `<!-- wire: HelloParams -->` and `<!-- /wire -->` around it. With fields behind the name it has those alone, in their
order: `<!-- wire: HelloParams user token -->`. `<!-- wire: weights -->` is the table of weights, and `<!-- wire: objects Track Message -->`
one with a row for each object."""
from __future__ import annotations

import pathlib
import re
from collections.abc import Callable

from .declarations import Field, Object, Place, Protocol

Filling = Callable[[str, Place], str]


def fill(root: pathlib.Path, file: str, begin: str, end: str, filling: Filling) -> str:
    """The file with what belongs between its marks; `begin` is a pattern whose group says what that is."""
    lines = (root / file).read_text().splitlines()
    result: list[str] = []
    opened: Place | None = None
    for number, line in enumerate(lines, 1):
        mark = re.fullmatch(begin, line)
        if mark and opened:
            raise Place(file, number).expects(f"`{end}` first, for line {opened.line}")
        if mark:
            opened = Place(file, number)
            result += [line, filling(mark[1], opened)]
        elif line == end:
            if not opened:
                raise Place(file, number).expects("a mark that this one ends")
            opened = None
            result.append(line)
        elif not opened:
            result.append(line)
    if opened:
        raise opened.expects(f"`{end}` behind it")
    return "\n".join(result) + "\n"


def weights(protocol: Protocol) -> str:
    rows = ["| weight | requests |", "|---|---|"]
    for weight in sorted({one.weight for one in protocol.requests}, reverse=True):
        rows.append(f"| {weight} | " + ", ".join(f"`{one.method}`" for one in protocol.requests if one.weight == weight) + " |")
    return "\n".join(rows)


def said(doc: str) -> str:
    """A sentence as a cell has it."""
    text = doc.removesuffix(".") if doc.count(". ") == 0 else doc
    first = text.split(" ", 1)[0]
    return text if first.isupper() and len(first) > 1 else text[:1].lower() + text[1:]


def table(made: Object, chosen: list[str], place: Place) -> str:
    known = {one.key: one for one in made.fields}
    for key in chosen:
        if key not in known:
            raise place.expects(f"fields of `{made.name}`, and not `{key}`")
    fields = [known[key] for key in chosen] if chosen else made.fields
    if made.name.endswith("Params") or made.name == "AnnouncedTrack":
        rows = ["| param | | meaning |", "|---|---|---|"]
        return "\n".join(rows + [f"| `{one.key}` | {'optional' if one.type.is_optional else 'required'} | {said(one.doc)} |" for one in fields])
    rows = ["| field | meaning |", "|---|---|"]
    return "\n".join(rows + [f"| `{one.key}`{' (optional)' if one.type.is_optional else ''} | {said(one.doc)} |" for one in fields])


def named(one: Field, protocol: Protocol) -> str:
    """A field with what it is made of: `tracks[Track]?`."""
    inner = one.type.name if protocol.is_object(one.type.name) else ""
    brackets = f"[{inner}]" if one.type.is_list else f" ({inner})" if inner else ""
    mark = "?" if one.type.is_optional else ""
    return f"`{one.key}{brackets}{mark}`" if one.type.is_list else f"`{one.key}{mark}`{brackets}"


def objects(names: list[str], protocol: Protocol, place: Place) -> str:
    rows = ["| object | fields |", "|---|---|"]
    for name in names:
        if name not in protocol.objects:
            raise place.expects(f"objects of the protocol, and not `{name}`")
        rows.append(f"| {name} | " + ", ".join(named(one, protocol) for one in protocol.objects[name].fields) + " |")
    return "\n".join(rows)


def tables(root: pathlib.Path, protocol: Protocol) -> dict[str, str]:
    def filling(words: str, place: Place) -> str:
        name, *chosen = words.split()
        if name == "weights":
            return weights(protocol)
        if name == "objects":
            return objects(chosen, protocol, place)
        if name not in protocol.objects:
            raise place.expects(f"a type of the protocol or `weights`, and not `{name}`")
        return table(protocol.objects[name], chosen, place)

    file = "docs/protocol.md"
    return {file: fill(root, file, r"<!-- wire: ([\w ]+) -->", "<!-- /wire -->", filling)}


def types(root: pathlib.Path, namespace: str) -> dict[str, str]:
    file = "Sources/clients/WebClient/Assets/roost.d.ts"
    return {file: fill(root, file, r"// (wire): begin", "// wire: end", lambda _, __: namespace)}


