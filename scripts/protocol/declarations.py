"""What the Swift files under Sources/wire/RoostProtocol/messages declare: objects, words, requests and events of the protocol."""
from __future__ import annotations

import pathlib
import re
from dataclasses import dataclass, field

SCALARS = ("String", "Bool", "Int", "Int64", "UInt32", "Double")
OPAQUE = ("JSONValue", "RawJSON")


class Mistake(Exception):
    """What is not as it must be, with file and line."""


@dataclass(frozen=True)
class Place:
    file: str
    line: int

    def expects(self, what: str) -> Mistake:
        return Mistake(f"{self.file}:{self.line}: expected {what}")


@dataclass(frozen=True)
class Type:
    """The type of a field: a name, perhaps in a list, perhaps absent."""

    name: str
    is_list: bool = False
    is_optional: bool = False

    @staticmethod
    def read(text: str, place: Place) -> Type:
        found = re.fullmatch(r"(?:(\w+)|\[(\w+)\])(\?)?", text)
        if not found:
            raise place.expects(f"a name, a list of one, or either with a question mark, and not `{text}`")
        return Type(found[1] or found[2], found[2] is not None, found[3] is not None)


@dataclass(frozen=True)
class Bound:
    """What a field of a request must be, as it stands behind its declaration."""

    kind: str  # name, shown name, names, id, text, opaque, shown opaque, range or rule
    limit: str = ""
    least: str = ""

    @staticmethod
    def read(text: str, place: Place) -> Bound:
        if text in ("name", "shown name", "id", "opaque", "shown opaque", "rule"):
            return Bound(text)
        found = re.fullmatch(r"(text|names|shown name|shown opaque), (?:at most|(none) to) (\w+)", text)
        if found:
            return Bound(found[1], limit(found[3]), "0" if found[2] else "1")
        found = re.fullmatch(r"(\d+)\.\.\.(\w+)", text)
        if found:
            return Bound("range", limit(found[2]), found[1])
        raise place.expects("`name`, `shown name`, `id`, `opaque`, `shown opaque`, `text, at most limit` (what is shown may have that, too), `names, at most limit`, `0...limit` or `rule`, and not `" + text + "`")


def limit(word: str) -> str:
    """A number, or a name of ProtocolLimits."""
    return word if word.isdigit() or word == "max" else "ProtocolLimits." + word


@dataclass(frozen=True)
class Field:
    name: str
    key: str
    type: Type
    doc: str
    place: Place
    bound: Bound | None = None


@dataclass(frozen=True)
class Object:
    name: str
    doc: str
    fields: list[Field]


@dataclass(frozen=True)
class Word:
    text: str
    doc: str


@dataclass(frozen=True)
class Words:
    """A set of words; to an open one later servers add some."""

    name: str
    doc: str
    words: list[Word]
    is_open: bool


@dataclass(frozen=True)
class Numbers:
    name: str
    doc: str
    numbers: list[int]


@dataclass(frozen=True)
class Choice:
    """An object with one field of several."""

    name: str
    doc: str
    fields: list[Field]


@dataclass(frozen=True)
class Request:
    """A case of `Request`, or of one of its groups."""

    group: str
    case: str
    params: str | None
    method: str
    result: str | None
    weight: int
    reads: bool
    ends: bool
    place: Place

    @property
    def name(self) -> str:
        """The case of `Method`."""
        return camel(self.method)

    def pattern(self, binding: str = "") -> str:
        """The case as Swift writes it."""
        inner = f"(let {binding})" if binding and self.params else ""
        return f".{self.group}(.{self.case}{inner})" if self.group else f".{self.case}{inner}"


@dataclass(frozen=True)
class Event:
    case: str
    params: str | None
    name: str
    place: Place


@dataclass
class Protocol:
    objects: dict[str, Object] = field(default_factory=dict)
    words: dict[str, Words] = field(default_factory=dict)
    numbers: dict[str, Numbers] = field(default_factory=dict)
    choices: dict[str, Choice] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    replies: dict[str, str] = field(default_factory=dict)  # the result's type and its case of `Reply`
    events: list[Event] = field(default_factory=list)
    rules: set[str] = field(default_factory=set)  # params that have a rule beside the bounds of their fields

    def knows(self, name: str) -> bool:
        return name in SCALARS + OPAQUE or any(name in known for known in (self.objects, self.words, self.numbers, self.choices))

    def is_object(self, name: str) -> bool:
        return name in self.objects or name in self.choices


def camel(name: str) -> str:
    """room.raiseHand: roomRaiseHand."""
    first, *rest = name.split(".")
    return first + "".join(part[0].upper() + part[1:] for part in rest)


@dataclass(frozen=True)
class Block:
    """A declaration at the left margin with its lines, comments included."""

    kind: str
    name: str
    conformances: list[str]
    doc: str
    lines: list[tuple[Place, str]]
    place: Place


HEAD = re.compile(r"public (?:indirect )?(struct|enum) (\w+): ([\w, ]+)\{\s*(\}?)$|extension (\w+): ([\w, ]+)\{\s*$")


def blocks(path: pathlib.Path, name: str) -> list[Block]:
    """The structs, enums and conformances of a file."""
    found: list[Block] = []
    doc: list[str] = []
    current: Block | None = None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        place = Place(name, number)
        if current is not None:
            if line == "}":
                found.append(current)
                current = None
            else:
                current.lines.append((place, line))
            continue
        if line.startswith("/// "):
            doc.append(line[4:])
            continue
        head = HEAD.match(line)
        if head:
            kind, title, words = (head[1], head[2], head[3]) if head[1] else ("extension", head[5], head[6])
            current = Block(kind, title, [word.strip() for word in words.split(",")], " ".join(doc), [], place)
            if head[4]:
                current = None
        doc = []
    return found


def coding_keys(block: Block) -> dict[str, str]:
    """Names of properties that are others on the wire, if the block says so; it must name all then."""
    keys: dict[str, str] = {}
    inside = False
    for place, line in block.lines:
        if re.match(r"  (?:private )?enum CodingKeys: String, CodingKey \{$", line):
            inside = True
        elif inside and line == "  }":
            break
        elif inside:
            listed = re.fullmatch(r"    case (.*)", line)
            if not listed:
                raise place.expects("`case name` or `case name = \"key\"`")
            for part in listed[1].split(", "):
                one = re.fullmatch(r'(\w+)(?: = "(\w+)")?', part)
                if not one:
                    raise place.expects("`case name` or `case name = \"key\"`")
                keys[one[1]] = one[2] or one[1]
    return keys


def documented(block: Block) -> list[tuple[Place, str, str]]:
    """The lines of a block that are no comments, each with the comment before it."""
    result: list[tuple[Place, str, str]] = []
    doc: list[str] = []
    for place, line in block.lines:
        if line.startswith("  /// "):
            doc.append(line[6:])
        else:
            result.append((place, line, " ".join(doc)))
            doc = []
    return result


def read_object(block: Block) -> Object:
    keys = coding_keys(block)
    fields: list[Field] = []
    for place, line, doc in documented(block):
        if not re.match(r"  (?:@\w+ )?(?:[\w()]+ )*(?:var|let) \w+", line) or re.match(r"  (?:\w+ )?static ", line) or "{" in line:
            continue
        whole = re.fullmatch(r"  public var (\w+): ([^=]+?)(?:  // (.+))?", line)
        if not whole:
            raise place.expects("`public var name: Type`: a field of the protocol has no default and can be set")
        if not doc:
            raise place.expects(f"a comment `/// …` before `{whole[1]}`: it goes into the schema and the tables")
        if keys and whole[1] not in keys:
            raise place.expects(f"`{whole[1]}` among CodingKeys")
        bound = Bound.read(whole[3], place) if whole[3] else None
        fields.append(Field(whole[1], keys.get(whole[1], whole[1]), Type.read(whole[2], place), doc, place, bound))
    if keys and list(keys) != [one.name for one in fields]:
        raise block.place.expects("CodingKeys in the order of the properties: fields are written in it")
    return Object(block.name, block.doc, fields)


def read_words(block: Block, is_open: bool) -> Words:
    words: list[Word] = []
    for place, line, doc in documented(block):
        if is_open:
            one = re.match(r'  public static let \w+ = Self\(rawValue: "([^"]+)"\)', line)
            if one:
                words.append(Word(one[1], doc))
        elif line.startswith("  case "):
            for part in line[7:].split(", "):
                case = re.fullmatch(r'(\w+)(?: = "([^"]+)")?', part)
                if not case:
                    raise place.expects('`case name` or `case name = "word"`')
                words.append(Word(case[2] or case[1], doc))
    if not words:
        raise block.place.expects("words in a set of words")
    return Words(block.name, block.doc, words, is_open)


def read_numbers(block: Block) -> Numbers:
    numbers = [int(one[1]) for _, line, _ in documented(block) if (one := re.match(r"  case \w+ = (-?\d[\d_]*)", line))]
    return Numbers(block.name, block.doc, numbers)


def read_choice(block: Block) -> Choice:
    fields: list[Field] = []
    for place, line, doc in documented(block):
        if not line.startswith("  case "):
            continue
        one = re.fullmatch(r"  case (\w+)\(([^()]+)\)", line)
        if not one:
            raise place.expects("`case name(Type)` in an object that has one field of several")
        fields.append(Field(one[1], one[1], Type.read(one[2], place), doc, place))
    return Choice(block.name, block.doc, fields)


CASE = re.compile(r"  case (\w+)(?:\((\w+)(?: = \w+\(\))?\))?(?:  // (.*))?$")
SERVED = re.compile(r"(\w+(?:\.\w+)?) -> (\{\}|\w+), weight (\d+)(, reads)?(, ends something)?")


def read_group(block: Block, group: str, groups: dict[str, str], protocol: Protocol) -> None:
    """Requests of `Request` (group is empty) or of one of its groups."""
    for place, line, _ in documented(block):
        if not line.strip():
            continue
        case = CASE.match(line)
        if not case:
            raise place.expects("`case name(Params)  // method -> Result, weight 1`")
        if not group and case[3] is None and case[2] is not None:
            groups[case[2]] = case[1]
            protocol.requests.append(Request(case[1], "", case[2], "", None, 0, False, False, place))
            continue
        said = SERVED.fullmatch(case[3] or "")
        if not said:
            raise place.expects(f"`// method -> Result, weight 1` behind `case {case[1]}`, with `{{}}` for no result")
        result = None if said[2] == "{}" else said[2]
        protocol.requests.append(Request(group, case[1], case[2], said[1], result, int(said[3]), said[4] is not None, said[5] is not None, place))


def read_requests(known: dict[str, Block], protocol: Protocol) -> None:
    """All requests, in the order of `Request`: a group stands for its requests."""
    outer = Protocol()
    groups: dict[str, str] = {}
    read_group(need(known, "Request"), "", groups, outer)
    for request in outer.requests:
        if request.method:
            protocol.requests.append(request)
        else:
            read_group(need(known, request.params or ""), request.group, {}, protocol)


def need(known: dict[str, Block], name: str) -> Block:
    if name not in known:
        raise Mistake(f"Sources/wire/RoostProtocol/messages: expected an enum `{name}`")
    return known[name]


def read_replies(block: Block, protocol: Protocol) -> None:
    for place, line, _ in documented(block):
        if line == "  case empty" or not line.strip():
            continue
        case = CASE.match(line)
        if not case or not case[2] or case[3]:
            raise place.expects("`case name(Result)`")
        if case[2] in protocol.replies:
            raise place.expects(f"one case for `{case[2]}`: results are told apart by their types")
        protocol.replies[case[2]] = case[1]


def read_events(block: Block, protocol: Protocol) -> None:
    for place, line, _ in documented(block):
        if not line.strip():
            continue
        case = CASE.match(line)
        if not case or not re.fullmatch(r"\w+\.\w+", case[3] or ""):
            raise place.expects("`case name(Params)  // name.onTheWire`")
        protocol.events.append(Event(case[1], case[2], case[3], place))


def once(names: list[tuple[str, Place]]) -> None:
    seen: set[str] = set()
    for name, place in names:
        if name in seen:
            raise place.expects(f"`{name}` once")
        seen.add(name)


def check(protocol: Protocol) -> None:
    """That every name is of something that is there."""
    for made in [*protocol.objects.values(), *protocol.choices.values()]:
        for one in made.fields:
            if not protocol.knows(one.type.name):
                raise one.place.expects(f"a type of the protocol, and not `{one.type.name}`")
    for request in protocol.requests:
        if request.params and request.params not in protocol.objects:
            raise request.place.expects(f"`{request.params}` as a struct that is Codable")
        if request.params:
            check_bounds(request.params, protocol)
        if request.result and request.result not in protocol.replies:
            raise request.place.expects(f"a case of Reply with `{request.result}`")
        if request.reads and (request.result is None or not reads_alone(request.result, protocol)):
            raise request.place.expects("a result of its own for what only reads: it is served anew where the request comes again, and no other's")
    for event in protocol.events:
        if event.params and event.params not in protocol.objects:
            raise event.place.expects(f"`{event.params}` as a struct that is Codable")
    for made in protocol.objects.values():
        for one in made.fields:
            if one.bound and made.name not in {request.params for request in protocol.requests}:
                raise one.place.expects(f"no bound behind `{one.name}`: nobody asks for it but in the params of a request; a rule of theirs looks inside")
    once([(request.method, request.place) for request in protocol.requests])
    once([(event.name, event.place) for event in protocol.events])


# What names a user, a room or a device is compared as its issuer does: it is held to the form of names.
NAMED = ("user", "users", "to", "room", "deviceId")


def reads_alone(result: str, protocol: Protocol) -> bool:
    """Whether each request with this result only reads."""
    return all(one.reads for one in protocol.requests if one.result == result)


def check_bounds(params: str, protocol: Protocol) -> None:
    """That each field that a client may fill with anything has a bound behind it, or a rule that looks at it."""
    for one in protocol.objects[params].fields:
        words = protocol.words.get(one.type.name)
        is_free = one.type.is_list or one.type.name in ("String", *OPAQUE) or protocol.is_object(one.type.name) or (words is not None and words.is_open)
        if one.bound is None and is_free:
            raise one.place.expects(f"a bound of `{one.name}` behind it, as `// name`, or `// rule` where a rule in frames/Validation.swift looks at it")
        if one.bound and one.bound.kind == "rule" and params not in protocol.rules:
            raise one.place.expects(f"`extension {params}: HasRule` in frames/Validation.swift")
        named = ("names" if one.type.is_list else "name") if one.key in NAMED else None
        if named and (one.bound is None or one.bound.kind != named):
            raise one.place.expects(f"`// {named}` behind `{one.name}`: it names somebody or something")


def rules(root: pathlib.Path, folder: str) -> set[str]:
    """Params with a rule beside the bounds of their fields."""
    texts = [path.read_text() for path in sorted((root / folder).parent.rglob("*.swift"))]
    return {name for text in texts for name in re.findall(r"^extension (\w+): (?:\w+, )*HasRule\b", text, re.M)}


def read(root: pathlib.Path, folder: str = "Sources/wire/RoostProtocol/messages") -> Protocol:
    """Reads all declarations.
    Raises Mistake, which says where something is missing and what is expected there."""
    every = [block for path in sorted((root / folder).glob("*.swift")) for block in blocks(path, f"{folder}/{path.name}")]
    conforming: dict[str, set[str]] = {}
    for block in every:
        conforming.setdefault(block.name, set()).update(block.conformances)
    known = {block.name: block for block in every if block.kind != "extension"}
    protocol = Protocol()
    for name, block in known.items():
        has = conforming[name]
        if block.kind == "struct" and "OpenName" in has:
            protocol.words[name] = read_words(block, is_open=True)
        elif block.kind == "struct" and "Codable" in has:
            protocol.objects[name] = read_object(block)
        elif block.kind == "enum" and "WireName" in has:
            protocol.words[name] = read_words(block, is_open=False)
        elif block.kind == "enum" and "Int" in has:
            protocol.numbers[name] = read_numbers(block)
        elif block.kind == "enum" and "Codable" in has and name != "RequestID":
            protocol.choices[name] = read_choice(block)
    read_replies(need(known, "Reply"), protocol)
    read_requests(known, protocol)
    read_events(need(known, "Event"), protocol)
    protocol.rules = rules(root, folder)
    stranger = min(protocol.rules - {request.params for request in protocol.requests}, default=None)
    if stranger:
        raise Mistake(f"Sources/wire/RoostProtocol: `extension {stranger}: HasRule`: expected params of a request, whose rules alone are asked for")
    check(protocol)
    return protocol
