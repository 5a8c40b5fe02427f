"""The Swift package for the API (Sources/clients/RoostAdmin), of the declarations that its document is made of: its objects, and a method for each
operation. What never changes, as how a request gets to the server, is written by hand."""
from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .declarations import Field, Object, Type

if TYPE_CHECKING:
    from .openapi import Operation

FOLDER = "Sources/clients/RoostAdmin/generated"
HEAD = "// swift-format-ignore-file\n// Made by scripts/wire of Operations.swift and Objects.swift under Sources/doors/API; `make wire` makes it again. Do not edit.\n"
# Whole numbers of a query; all else in it is text.
NUMBERS = ("page", "after")
# Objects that have another name here: the server's own has functions, too.
NAMES = {"APIProblem": "Problem"}
ONCE = "Its `Idempotency-Key`, 1 to 255 visible characters of ASCII: with the same one it is not done again, and its answer comes again."
MATCH = "What has to hold of what is changed: 412 where somebody else was first."


def written(type: Type) -> str:
    name = NAMES.get(type.name, type.name)
    return (f"[{name}]" if type.is_list else name) + ("?" if type.is_optional else "")


def fit(head: str, parts: list[str], tail: str, indent: str) -> list[str]:
    """One line, or one with a line for each part where that is too long."""
    whole = f"{indent}{head}({', '.join(parts)}){tail}"
    if len(whole) <= 120:
        return [whole]
    return [f"{indent}{head}(", *(f"{indent}  {part}{',' if part is not parts[-1] else ''}" for part in parts), f"{indent}){tail}"]


def property(one: Field) -> list[str]:
    return [f"  /// {one.doc}", f"  public var {one.name}: {written(one.type)}"]


def object(one: Object) -> list[str]:
    name = NAMES.get(one.name, one.name)
    given = [f"{field.name}: {written(field.type)}{' = nil' if field.type.is_optional else ''}" for field in one.fields]
    return [
        f"/// {one.doc}",
        f"public struct {name}: Codable, Hashable, Sendable {{",
        *(line for field in one.fields for line in property(field)),
        "",
        "  /// All fields, in this order.",
        *fit("public init", given, " {", "  "),
        *(f"    self.{field.name} = {field.name}" for field in one.fields),
        "  }",
        "}",
        "",
    ]


def path(one: Operation) -> str:
    """The segments, as a list of Swift."""
    parts = [part[1:-1] if part.startswith("{") else f'"{part}"' for part in one.path.split("/")[1:]]
    return "[" + ", ".join(parts) + "]"


def parameters(one: Operation, said: dict[str, str]) -> list[tuple[str, str]]:
    """As they are declared, each with what its documentation says."""
    made = [(f"{name}: String", "") for name in one.segments]
    made += [(f"{name}: {'Int' if name in NUMBERS else 'String'}? = nil", said[name]) for name in one.query]
    made += [(f"_ body: {one.body}", "")] if one.body else []
    made += {"none": [], "allowed": [("ifMatch: IfMatch? = nil", MATCH)], "required": [("ifMatch: IfMatch", MATCH)]}[one.condition]
    return made + ([("once: String? = nil", ONCE)] if one.method == "POST" else [])


def method(one: Operation, objects: dict[str, Object], said: dict[str, str]) -> list[str]:
    given = parameters(one, said)
    asked = [f'"{one.method}"', path(one)]
    asked += ["query: [" + ", ".join(f'("{name}", {name})' for name in one.query) + "]"] if one.query else []
    asked += ["body: body"] if one.body else []
    asked += ["ifMatch: ifMatch"] if one.condition != "none" else []
    asked += ["once: once"] if one.method == "POST" else []
    # Values of any JSON that stand in a list of their own are kept as they came.
    kept = [field.key for field in (objects[one.result].fields if one.result in objects else []) if field.type.is_list and field.type.name == "RawJSON"]
    asked += [f'itemsOf: "{kept[0]}"'] if kept else []
    documented = [(re.match(r"(?:_ )?(\w+)", text)[1], doc) for text, doc in given if doc]
    return [
        f"  /// {one.doc}",
        *(f"  /// - Parameter {name}: {doc}" for name, doc in documented),
        *(["  @discardableResult"] if one.method != "GET" else []),
        *fit(f"public func {one.name}", [text for text, _ in given], f" async throws(AdminError) -> {one.result} {{", "  "),
        *fit("try await ask", asked, "", "    "),
        "  }",
        "",
    ]


def files(objects: list[Object], operations: list[Operation], said: dict[str, str]) -> dict[str, str]:
    """What is made, by its path. `said`: what may stand in a query, as the document says it."""
    known = {one.name: one for one in objects}
    lines = [line for one in operations for line in method(one, known, said)]
    return {
        f"{FOLDER}/Objects.swift": "\n".join([HEAD + "import RoostProtocol", "", *(line for one in objects for line in object(one))]),
        f"{FOLDER}/Operations.swift": "\n".join([HEAD + "import RoostProtocol", "", "extension AdminClient {", *lines[:-1], "}", ""]),
    }
