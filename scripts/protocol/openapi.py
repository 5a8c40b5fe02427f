"""The API of the server as an OpenAPI 3.1 document, and its table of routes, of the declarations under Sources/doors/API. Objects of the wire
stand in it as they are."""
from __future__ import annotations

import json
import pathlib
import re
import textwrap
from dataclasses import dataclass, replace
from typing import Any

from . import admin, declarations, schema
from .declarations import Mistake, Object, Place, Protocol

FOLDER = "Sources/doors/API"
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
OPERATION = re.compile(r"  case (\w+)  // ([A-Z]+) (/\S*)((?: \?\w+)*)( If-Match!?)?(?: (\w+))? -> (?:(\d{3}) )?(\w+)")
# What stands behind the query, and whether a request may or must say what it means to change.
CONDITIONS = {None: "none", " If-Match": "allowed", " If-Match!": "required"}
PREFIX = "#/components/schemas/"
# Objects with a `version`, which is the answer's ETag as well.
TAGGED = ("RoomDefinition",)
TEXT = {"type": "string", "minLength": 1, "maxLength": 256}
# What a query may say, beside names.
QUERY: dict[str, schema.Schema] = {
    "page": {"type": "integer", "minimum": 1, "maximum": 999999, "description": "Which page, from 1 on. An answer has `next` where one follows."},
    "room": {**TEXT, "description": "Name of a room."},
    "after": {"type": "integer", "minimum": 0, "maximum": 2**53 - 1, "description": "The number of the last event that is known; 0 without a word."},
    "before": {**TEXT, "description": "`next` of the page before: only what is older."},
    "realm": {
        "type": "string",
        "pattern": r"^[A-Za-z0-9._-]{1,64}$",
        "description": "The realm that it is about. A key with a realm has no other; without a word it is that one, else `default`.",
    },
}
NOTE = (
    "What an application's own servers, and operators, ask of a Roost server. Made by scripts/wire of the server's own declarations."
    " Names in a path are percent-encoded, a slash too. A POST with an `Idempotency-Key` is done once."
)


@dataclass(frozen=True)
class Operation:
    name: str
    method: str
    path: str
    query: list[str]
    body: str | None
    status: str
    result: str
    doc: str
    place: Place
    condition: str = "none"

    @property
    def segments(self) -> list[str]:
        return re.findall(r"\{(\w+)\}", self.path)


def objects(root: pathlib.Path, protocol: Protocol) -> dict[str, Object]:
    """Objects of the API alone.
    Raises Mistake where one has the name of something on the wire, or a field of a type that nobody knows."""
    made: dict[str, Object] = {}
    name = f"{FOLDER}/Objects.swift"
    for block in declarations.blocks(root / name, name):
        if protocol.knows(block.name) or block.name in made:
            raise block.place.expects(f"another name than `{block.name}`, which something has")
        made[block.name] = declarations.read_object(block)
    for one in made.values():
        for field in one.fields:
            if not protocol.knows(field.type.name) and field.type.name not in made:
                raise field.place.expects(f"a type of the API or of the protocol, and not `{field.type.name}`")
            if field.bound:
                raise field.place.expects(f"no bound behind `{field.name}`: APIPlan looks at it")
    return made


def operations(root: pathlib.Path, known: Protocol) -> list[Operation]:
    name = f"{FOLDER}/Operations.swift"
    block = next((one for one in declarations.blocks(root / name, name) if one.name == "APIOperation"), None)
    if block is None:
        raise Mistake(f"{name}: expected an enum `APIOperation`")
    made: list[Operation] = []
    for place, line, doc in declarations.documented(block):
        if not line.strip():
            continue
        found = OPERATION.fullmatch(line)
        if not found or found[2] not in METHODS:
            raise place.expects("`case name  // METHOD /path ?query If-Match Body -> Result`, with a status before the result where it is not 200")
        query = found[4].replace("?", " ").split()
        one = Operation(found[1], found[2], found[3], query, found[6], found[7] or "200", found[8], doc, place, CONDITIONS[found[5]])
        check(one, known)
        made.append(one)
    declarations.once([(f"{one.method} {one.path}", one.place) for one in made])
    return made


def check(one: Operation, known: Protocol) -> None:
    if not one.doc:
        raise one.place.expects(f"a comment `/// …` before `{one.name}`: it goes into the document")
    for type in filter(None, (one.body, one.result)):
        if type not in known.objects:
            raise one.place.expects(f"an object of the API or of the protocol, and not `{type}`")
    for query in one.query:
        if query not in QUERY or query == "realm":
            raise one.place.expects(f"`?{query}` among those of scripts/protocol/openapi.py; all have `realm`")


def parameter(name: str, where: str) -> schema.Schema:
    if where == "path":
        return {"name": name, "in": where, "required": True, "schema": TEXT}
    said = dict(QUERY[name])
    return {"name": name, "in": where, "description": said.pop("description"), "schema": said}


def problem(description: str) -> schema.Schema:
    return {"description": description, "content": {"application/problem+json": {"schema": {"$ref": PREFIX + "APIProblem"}}}}


def unread(description: str) -> schema.Schema:
    """A refusal of a head that cannot be read: whoever reads heads knows no routes, and says a line of text."""
    return {"description": description, "content": {"text/plain": {"schema": {"type": "string"}}}}


# What any request may be refused with that is not read to its end.
HEADS = {"414": "The query has too many parts.", "431": "The head is too long, or has too many lines."}
# What each operation may be refused with, and what it means.
REFUSALS = {
    "400": "Something of it is wrong, or not understood.",
    "401": "It shows no key that there is.",
    "403": "The key is another realm's, or may not.",
    "404": "What it is about is not there.",
    "409": "It cannot be as things are: too many are there, or no more can be kept.",
    "413": "The content is too large.",
    "429": "Too many requests or unknown keys came from there; `Retry-After` says when the next may come.",
    "500": "The server made a mistake.",
    "503": "The server has no room for more at the moment.",
}
# What one may be refused with that says what it means to change.
CONDITIONAL = {"412": "Somebody else was first: `ETag` has the settings that are there.", "428": "There is no `If-Match`."}
TAGS = r'^(\*|(W/)?"[!#-~]*"([ \t]*,[ \t]*(W/)?"[!#-~]*")*)$'
CONTENT = {"411": "There is no Content-Length.", "415": "The content is not JSON by its Content-Type.", "422": "Another request had this `Idempotency-Key`."}


def described(one: Operation) -> schema.Schema:
    parameters = [parameter(name, "path") for name in one.segments] + [parameter(name, "query") for name in [*one.query, "realm"]]
    if one.method == "POST":
        parameters.append({"name": "Idempotency-Key", "in": "header", "description": "With the same one it is not done again: its answer comes again.", "schema": {"type": "string", "pattern": "^[!-~]{1,255}$"}})
    refusals = [*REFUSALS, *HEADS, *(CONTENT if one.method in ("POST", "PUT", "PATCH") else [])]
    if one.condition != "none":
        matched = "The `ETag` of what is to be changed, several, or `*`: another one is not changed."
        parameters.append({"name": "If-Match", "in": "header", "required": one.condition == "required", "description": matched, "schema": {"type": "string", "pattern": TAGS}})
        refusals += ["412"] + ["428"] * (one.condition == "required")
    said: schema.Schema = {"operationId": one.name, "summary": one.doc, "parameters": parameters}
    if one.body:
        said["requestBody"] = {"required": True, "content": {"application/json": {"schema": {"$ref": PREFIX + one.body}}}}
    result: schema.Schema = {"description": "Done."}
    if one.result in TAGGED:
        result["headers"] = {"ETag": {"description": "Its `version`, in quotation marks.", "schema": {"type": "string"}}}
    result["content"] = {"application/json": {"schema": {"$ref": PREFIX + one.result}}}
    return {**said, "responses": {one.status: result, **{status: {"$ref": f"#/components/responses/{status}"} for status in sorted(refusals)}}}


def responses() -> dict[str, schema.Schema]:
    made = {status: problem(text) for status, text in {**REFUSALS, **CONDITIONAL, **CONTENT}.items()}
    made["400"]["content"].update(unread("")["content"])
    made["412"]["headers"] = {"ETag": {"description": "The settings that are there.", "schema": {"type": "string"}}}
    return dict(sorted({**made, **{status: unread(text) for status, text in HEADS.items()}}.items()))


def reached(all: dict[str, schema.Schema], names: set[str]) -> dict[str, schema.Schema]:
    """Definitions that these names lead to."""
    found: set[str] = set()
    waiting = sorted(names)
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        waiting += re.findall(re.escape(PREFIX) + r"(\w+)", str(all[name]))
    return {name: all[name] for name in sorted(found)}


def document(known: Protocol, made: list[Operation]) -> schema.Schema:
    all = schema.Definitions(known, PREFIX).all()
    bodies = {one.body for one in made if one.body}
    names = bodies | {one.result for one in made} | {"APIProblem"}
    parts = reached(all, names)
    for body in bodies:
        # What is not known may mean something: it is refused.
        parts[body] = {**parts[body], "additionalProperties": False}
    paths: dict[str, Any] = {}
    for one in made:
        paths.setdefault(one.path, {})[one.method.lower()] = described(one)
    return {
        "openapi": "3.1.0",
        "info": {"title": "The API of a Roost server", "version": "1", "description": NOTE, "license": {"name": "See LICENSE"}},
        "jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
        "servers": [{"url": "/api/v1"}],
        "security": [{"key": []}],
        "paths": paths,
        "components": {"securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}, "responses": responses(), "schemas": parts},
    }


def listed(words: list[str]) -> str:
    return "[" + ", ".join(f'"{word}"' for word in words) + "]"


def wrapped(words: str) -> list[str]:
    return textwrap.wrap(words, 120, initial_indent=" " * 10, subsequent_indent=" " * 10)


def table(known: Protocol, made: list[Operation]) -> str:
    """The routes, as Swift."""
    lines = [
        "// Made by scripts/wire of Operations.swift and Objects.swift: make wire.",
        "",
        "extension APIOperation {",
        "  /// Where it is, and what it may say.",
        "  var route: APIRoute {",
        "    switch self {",
    ]
    for one in made:
        body = listed([field.key for field in known.objects[one.body].fields]) if one.body else "nil"
        more = ([f"status: {one.status}"] if one.status != "200" else []) + ([f"condition: .{one.condition}"] if one.condition != "none" else [])
        status = "".join(f", {one}" for one in more)
        where = f'method: "{one.method}", path: "{one.path}", query: {listed(one.query)},'
        inside = f"{where} body: {body}{status})"
        lines.append(f"    case .{one.name}:")
        if len(inside) + 15 <= 120:
            lines.append(f"      APIRoute({inside}")
        elif len(inside) + 8 <= 120:
            lines += ["      APIRoute(", f"        {inside}"]
        else:
            listing = [f"        body: {body}"] if len(body) <= 105 else ["        body: [", *wrapped(body[1:-1] + ","), "        ]"]
            lines += ["      APIRoute(", f"        {where}", *listing[:-1], listing[-1] + ("," if status else ")")]
            lines += [f"        {status[2:]})"] if status else []
    return "\n".join([*lines, "    }", "  }", "}", ""])


def files(root: pathlib.Path, protocol: Protocol) -> dict[str, str]:
    own = objects(root, protocol)
    known = replace(protocol, objects={**protocol.objects, **own})
    made = operations(root, known)
    said = document(known, made)
    swift = '// Made by scripts/wire: make wire. docs/openapi.json is the same for people.\n\n/// The OpenAPI document, as it is served.\nlet apiDocument = #"""\n'
    return {
        "docs/openapi.json": schema.text(said) + "\n",
        f"{FOLDER}/generated/OperationTable.swift": table(known, made),
        f"{FOLDER}/generated/Document.swift": swift + f"  {json.dumps(said, ensure_ascii=False)}\n" + '\n  """#\n',
        **admin.files(list(own.values()), made, {name: said.get("description", "") for name, said in QUERY.items()}),
    }
