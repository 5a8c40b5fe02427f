"""The protocol as JSON Schema 2020-12: a definition for each object and set of words. `Definitions` may stand under another address, as
under `components/schemas` of an OpenAPI document."""
from __future__ import annotations

import json
from typing import Any

from .declarations import OPAQUE, Choice, Event, Field, Object, Protocol, Request, Type, Words

Schema = dict[str, Any]
# What every event has beside its own fields.
ENVELOPE: dict[str, Schema] = {
    "seq": {"type": "integer", "minimum": 1, "description": "Counts the session's events from 1, without gaps."},
    "serverTime": {"type": "integer", "description": "The server's clock, milliseconds since 1970."},
}
SCALAR: dict[str, Schema] = {
    "String": {"type": "string"},
    "Bool": {"type": "boolean"},
    "Int": {"type": "integer"},
    "Int64": {"type": "integer"},
    "UInt32": {"type": "integer", "minimum": 0, "maximum": 2**32 - 1},
    "Double": {"type": "number"},
}


class Definitions:
    """Schemas of all types, which name each other by `prefix`."""

    def __init__(self, protocol: Protocol, prefix: str) -> None:
        self.protocol = protocol
        self.prefix = prefix

    def reference(self, name: str) -> Schema:
        return {"$ref": self.prefix + name}

    def value(self, type: Type) -> Schema:
        one = {} if type.name in OPAQUE else SCALAR.get(type.name) or self.reference(type.name)
        return {"type": "array", "items": one} if type.is_list else dict(one)

    def field(self, one: Field) -> Schema:
        return {**self.value(one.type), "description": one.doc} if one.doc else self.value(one.type)

    def object(self, made: Object) -> Schema:
        required = [one.key for one in made.fields if not one.type.is_optional]
        schema: Schema = {"description": made.doc, "type": "object", "properties": {one.key: self.field(one) for one in made.fields}}
        return {**schema, "required": required} if required else schema

    def choice(self, made: Choice) -> Schema:
        kinds = [{"type": "object", "properties": {one.key: self.field(one)}, "required": [one.key]} for one in made.fields]
        return {"description": made.doc, "oneOf": kinds}

    def words(self, made: Words) -> Schema:
        """A closed set is an enum; of an open one the words that are known are examples."""
        said = [f"`{word.text}`: {word.doc}" for word in made.words if word.doc]
        description = made.doc + (" Later servers may know more words." if made.is_open else "")
        texts = [word.text for word in made.words]
        return {"description": "\n".join([description, *said]), "type": "string", "examples" if made.is_open else "enum": texts}

    def all(self) -> dict[str, Schema]:
        made: dict[str, Schema] = {}
        for name, one in self.protocol.objects.items():
            made[name] = self.object(one)
        for name, kind in self.protocol.choices.items():
            made[name] = self.choice(kind)
        for name, words in self.protocol.words.items():
            made[name] = self.words(words)
        for name, numbers in self.protocol.numbers.items():
            made[name] = {"description": numbers.doc, "type": "integer", "examples": numbers.numbers}
        return {name: made[name] for name in sorted(made)}

    def request(self, one: Request) -> Schema:
        """A frame with this request."""
        properties: Schema = {"jsonrpc": {"const": "2.0"}, "id": {"type": ["integer", "string"]}, "method": {"const": one.method}}
        required = ["id", "method"]
        if one.params:
            properties["params"] = self.reference(one.params)
            if any(not field.type.is_optional for field in self.protocol.objects[one.params].fields):
                required.append("params")
        return {"type": "object", "properties": properties, "required": required}

    def event(self, one: Event) -> Schema:
        """A frame with this event."""
        envelope: Schema = {"type": "object", "properties": ENVELOPE, "required": list(ENVELOPE)}
        params = {"allOf": [envelope, self.reference(one.params)]} if one.params else envelope
        properties: Schema = {"jsonrpc": {"const": "2.0"}, "method": {"const": one.name}, "params": params}
        return {"type": "object", "properties": properties, "required": ["jsonrpc", "method", "params"]}

    def replies(self) -> Schema:
        """A frame with a result, which its method says more of, or with an error; `id` is null where that of the request could not be read."""
        version: Schema = {"jsonrpc": {"const": "2.0"}}
        result = {**version, "id": {"type": ["integer", "string"]}, "result": {"type": "object"}}
        error = {**version, "id": {"type": ["integer", "string", "null"]}, "error": self.reference("ErrorObject")}
        return {"oneOf": [{"type": "object", "properties": one, "required": list(one)} for one in (result, error)]}

    def result(self, one: Request) -> Schema:
        return self.reference(one.result) if one.result else {"type": "object"}


def text(value: Any, indent: str = "") -> str:
    """JSON in which each value that fits stands on one line."""
    whole = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, (dict, list)) or len(indent) + len(whole) <= 130:
        return whole
    inner = indent + "  "
    if isinstance(value, dict):
        lines = [f"{inner}{json.dumps(key, ensure_ascii=False)}: {text(one, inner)}" for key, one in value.items()]
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
    return "[\n" + ",\n".join(inner + text(one, inner) for one in value) + f"\n{indent}]"


def document(protocol: Protocol) -> str:
    made = Definitions(protocol, "#/$defs/")
    schema: Schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The signalling protocol of Roost",
        "description": "A text frame of a client or of a server. What a result has is said by its method (x-methods). Made by"
        " scripts/wire of the server's own declarations. protocol.md says what it means.",
        "oneOf": [{"$ref": "#/$defs/requests"}, {"$ref": "#/$defs/replies"}, {"$ref": "#/$defs/events"}],
        "x-methods": {
            one.method: {"result": made.result(one), "weight": one.weight, **({"params": made.reference(one.params)} if one.params else {})}
            for one in protocol.requests
        },
        "x-events": {one.name: made.reference(one.params) if one.params else {"type": "object"} for one in protocol.events},
        "$defs": {
            "requests": {"oneOf": [made.request(one) for one in protocol.requests]},
            "replies": made.replies(),
            "events": {"oneOf": [made.event(one) for one in protocol.events]},
            **made.all(),
        },
    }
    return text(schema) + "\n"
