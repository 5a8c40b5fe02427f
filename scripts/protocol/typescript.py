"""The protocol as types of TypeScript, in the namespace `wire` of roost.d.ts."""
from __future__ import annotations

from .declarations import OPAQUE, Field, Protocol, Type, Words
from .schema import ENVELOPE

SCALAR = {"String": "string", "Bool": "boolean", "Int": "number", "Int64": "number", "UInt32": "number", "Double": "number"}


def value(type: Type) -> str:
    one = "unknown" if type.name in OPAQUE else SCALAR.get(type.name, type.name)
    return f"{one}[]" if type.is_list else one


def property(one: Field) -> list[str]:
    comment = [f"    /** {one.doc} */"] if one.doc else []
    return [*comment, f"    {one.key}{'?' if one.type.is_optional else ''}: {value(one.type)};"]


def interface(name: str, doc: str, fields: list[Field]) -> list[str]:
    return [f"  /** {doc} */", f"  interface {name} {{", *(line for one in fields for line in property(one)), "  }"]


def words(made: Words) -> list[str]:
    texts = [f'"{word.text}"' for word in made.words] + (["(string & {})"] if made.is_open else [])
    lines = [f"  type {made.name} ="]
    for text in texts:
        part = f" {text}" if lines[-1].endswith("=") else f" | {text}"
        if len(lines[-1]) + len(part) > 130:
            lines.append("   ")
        lines[-1] += part
    return [f"  /** {made.doc} */", *lines[:-1], lines[-1] + ";"]


def namespace(protocol: Protocol) -> str:
    lines: list[str] = []
    for name in sorted([*protocol.objects, *protocol.choices, *protocol.words, *protocol.numbers]):
        if name in protocol.objects:
            lines += interface(name, protocol.objects[name].doc, protocol.objects[name].fields)
        elif name in protocol.words:
            lines += words(protocol.words[name])
        elif name in protocol.numbers:
            lines += [f"  /** {protocol.numbers[name].doc} */", f"  type {name} = number;"]
        else:
            kinds = [f"{{ {one.key}: {value(one.type)} }}" for one in protocol.choices[name].fields]
            lines += [f"  /** {protocol.choices[name].doc} */", f"  type {name} = {' | '.join(kinds)};"]
    lines += ["  /** Params of each method; null for one that has none. */", "  interface Requests {"]
    lines += [f'    "{one.method}": {one.params or "null"};' for one in protocol.requests]
    lines += ["  }", "  /** The result of each method. */", "  interface Results {"]
    lines += [f'    "{one.method}": {one.result or "{}"};' for one in protocol.requests]
    lines += ["  }", "  /** What every event has beside its own fields. */", "  interface Envelope {"]
    lines += [line for key, said in ENVELOPE.items() for line in (f"    /** {said['description']} */", f"    {key}: number;")]
    lines += ["  }", "  /** Params of each event. */", "  interface Events {"]
    lines += [f'    "{one.name}": Envelope{" & " + one.params if one.params else ""};' for one in protocol.events]
    return "\n".join(["/** Objects as they are in messages: docs/protocol.md. Made by scripts/wire. */", "export namespace wire {", *lines, "  }", "}"])
