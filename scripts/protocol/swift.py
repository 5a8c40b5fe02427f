"""The Swift files that follow from the declarations: tables of requests, replies and events, and how each object writes its fields."""
from __future__ import annotations

from collections.abc import Iterable

from .declarations import OPAQUE, Choice, Field, Object, Protocol, Request, reads_alone

HEAD = "// swift-format-ignore-file\n// Made by scripts/wire of Sources/wire/RoostProtocol/messages; `make wire` makes it again. Do not edit.\n"
WIDTH = 118


def cases(patterns: Iterable[str], value: str, indent: str = "    ") -> list[str]:
    """A case of several patterns, in as many lines as it takes."""
    lines: list[str] = []
    line = indent + "case "
    every = list(patterns)
    for index, pattern in enumerate(every):
        end = "," if index < len(every) - 1 else ":"
        if len(line) + len(pattern) + 1 > WIDTH and line.strip() != "case":
            lines.append(line.rstrip())
            line = indent + "  "
        line += pattern + end + " "
    return [*lines, line + value]


def methods(protocol: Protocol) -> str:
    lines = [HEAD, "/// `method` of a request.", "public enum Method: String, CaseIterable, Hashable, Sendable {"]
    lines += [f"  case {one.name}" + (f' = "{one.method}"' if one.name != one.method else "") for one in protocol.requests]
    lines += ["}", "", "extension Request {", "  /// Decodes the params of a method. Says nothing of bounds: see `validate()`."]
    lines += ["  public init(method: Method, params: Params) throws {", "    switch method {"]
    lines += [f"    case .{one.name}: self = {made(one)}" for one in protocol.requests]
    lines += ["    }", "  }", "", "  /// The method's name on the wire.", "  public var method: Method {", "    switch self {"]
    lines += [f"    case {one.pattern()}: .{one.name}" for one in protocol.requests]
    lines += ["    }", "  }", "", "  /// The params, to be written; nil for a method that has none."]
    lines += ["  public var params: (any JSONWritable & Sendable)? {", "    switch self {"]
    lines += [f"    case {one.pattern('params')}: params" for one in protocol.requests if one.params]
    lines += cases([one.pattern() for one in protocol.requests if not one.params], "nil")
    return "\n".join([*lines, "    }", "  }", "}", ""])


def made(request: Request) -> str:
    """A request of its params."""
    inner = f".{request.case}" + (f"(try params.decode({request.params}.self))" if request.params else "")
    return f".{request.group}({inner})" if request.group else inner


def weights(protocol: Protocol) -> str:
    lines = [HEAD, "extension Request {", "  /// The most that a request weighs."]
    lines += [f"  public static let mostWeight = {max(one.weight for one in protocol.requests)}", ""]
    lines += ["  /// What it takes from the budgets of its connection and its user, 1 to `mostWeight`. A heavier one makes or reads SDP,"]
    lines += ["  /// looks through many rooms or users, reads the disk, or is told to many.", "  public var weight: Int {", "    switch self {"]
    for weight in sorted({one.weight for one in protocol.requests}):
        lines += cases([one.pattern() for one in protocol.requests if one.weight == weight], str(weight))
    lines += ["    }", "  }", "", "  /// Whether it only ends something: then no budget of a user's refuses it, so that nobody stays where they do not"]
    lines += ["  /// want to be.", "  public var endsSomething: Bool {", "    switch self {"]
    for ends in (True, False):
        lines += cases([one.pattern() for one in protocol.requests if one.ends == ends], str(ends).lower())
    return "\n".join([*lines, "    }", "  }", "}", ""])


def replies(protocol: Protocol) -> str:
    lines = [HEAD, "extension Reply {", "  /// Writes the result object.", "  func write(to json: inout JSONWriter) throws {", "    switch self {"]
    lines += ['    case .empty: json.raw("{}")']
    lines += [f"    case .{case}(let result): try json.value(result)" for case in protocol.replies.values()]
    lines += ["    }", "  }", "", "  /// Decodes the result of a method.", "  public init(method: Method, from decoder: any Decoder) throws {"]
    lines += ["    switch method {"]
    lines += cases([f".{one.name}" for one in protocol.requests if not one.result], "self = .empty")
    for result, case in protocol.replies.items():
        answered = [f".{one.name}" for one in protocol.requests if one.result == result]
        if answered:
            lines += cases(answered, f"self = .{case}(try {result}(from: decoder))")
    lines += ["    }", "  }", "", *reading(protocol), "", *stamping(protocol), "}", ""]
    return "\n".join(lines)


def reading(protocol: Protocol) -> list[str]:
    """What replies are of requests that only read."""
    reads = [f".{case}" for result, case in protocol.replies.items() if reads_alone(result, protocol)]
    others = [f".{case}" for case in ("empty", *protocol.replies.values()) if f".{case}" not in reads]
    lines = ["  /// Whether its request only reads: where that comes again it is served anew.", "  public var isOfReading: Bool {", "    switch self {"]
    return [*lines, *cases(reads, "true"), *cases(others, "false"), "    }", "  }"]


def stamping(protocol: Protocol) -> list[str]:
    """How snapshots of rooms in replies are told where they stand."""
    lines = ["  /// The same, where each room stands at this event of the session that it is for.", "  public func stamped(seq: Int) -> Reply {", "    switch self {"]
    others = [".empty"]
    for result, case in protocol.replies.items():
        fields = protocol.objects[result].fields if result in protocol.objects else []
        rooms = ["value"] if result == "RoomSnapshot" else [f"value.{one.name}" for one in fields if one.type.name == "RoomSnapshot"]
        if not rooms:
            others.append(f".{case}")
            continue
        lines += [f"    case .{case}(var value):", *(f"      {one}.seq = seq" for one in rooms), f"      return .{case}(value)"]
    return [*lines, *cases(others, "return self"), "    }", "  }"]


def events(protocol: Protocol) -> str:
    lines = [HEAD, "/// Names of events on the wire.", "public enum EventName: String, CaseIterable, Hashable, Sendable {"]
    lines += [f'  case {one.case} = "{one.name}"' for one in protocol.events]
    lines += ["}", "", "extension Event {", "  /// The name on the wire.", "  public var name: EventName {", "    switch self {"]
    lines += [f"    case .{one.case}: .{one.case}" for one in protocol.events]
    lines += ["    }", "  }", "", "  /// Decodes the params of an event.", "  public init(name: EventName, from decoder: any Decoder) throws {"]
    lines += ["    switch name {"]
    for one in protocol.events:
        payload = f"(try {one.params}(from: decoder))" if one.params else ""
        lines += [f"    case .{one.case}: self = .{one.case}{payload}"]
    lines += ["    }", "  }", "", "  /// Writes the params' own fields behind the envelope's, which are in the object already."]
    lines += ["  func writeFields(to json: inout JSONWriter) throws {", "    switch self {"]
    for params in dict.fromkeys(one.params for one in protocol.events):
        same = [one for one in protocol.events if one.params == params]
        binding = "(let params)" if params else ""
        lines += cases([f".{one.case}{binding}" for one in same], "try params.writeFields(to: &json)" if params else "break")
    return "\n".join([*lines, "    }", "  }", "}", ""])


def statement(one: Field, protocol: Protocol, value: str | None = None) -> str:
    """How a field is written."""
    name = one.type.name
    value = value or one.name
    if name == "JSONValue":
        return f'try json.field("{one.key}", encoding: {value})'
    if name in protocol.numbers:
        return f'json.field("{one.key}", {value}.rawValue)'
    fails = protocol.is_object(name) or name == "Double"
    return f'{"try " if fails else ""}json.field("{one.key}", {value})'


def writer(made: Object | Choice, protocol: Protocol) -> list[str]:
    lines = [f"extension {made.name}: JSONWritable {{"]
    if isinstance(made, Object):
        body = ["    " + statement(one, protocol) for one in made.fields]
    else:
        body = ["    switch self {"]
        body += [f"    case .{one.name}(let value): {statement(one, protocol, 'value')}" for one in made.fields] + ["    }"]
    return [*lines, "  /// The fields, in the order of the protocol.", f"  public func writeFields(to json: inout JSONWriter) throws {{", *body, "  }", "}", ""]


def writers(protocol: Protocol) -> str:
    lines = [HEAD]
    for made in [*protocol.objects.values(), *protocol.choices.values()]:
        for one in made.fields:
            if one.type.is_list and one.type.name in ("Bool", "Int64", "UInt32", "Double", *OPAQUE[1:], *protocol.numbers):
                raise one.place.expects(f"a list that JSONWriter has a function for, and not one of `{one.type.name}`")
            if one.type.is_optional and (one.type.name == "Double" or one.type.name in protocol.numbers):
                raise one.place.expects(f"a type that JSONWriter has a function for, and not `{one.type.name}?`")
        lines += writer(made, protocol)
    return "\n".join(lines)


def check(one: Field) -> str:
    """How a field is held to its bound; the path of the field is its key."""
    bound = one.bound
    if bound is None:
        return ""
    name = {"id": "identifier", "names": "users", "shown name": "name", "shown opaque": "shownOpaque"}.get(bound.kind, bound.kind)
    if bound.kind.startswith("shown ") and bound.limit:
        return f'try Check.{name}({one.name}, "{one.key}", max: {bound.limit})'
    more = {"text": f", max: {bound.limit}", "names": f", max: {bound.limit}, min: {bound.least}"}.get(bound.kind, "")
    if bound.kind == "range":
        top = one.type.name + ".max" if bound.limit == "max" else bound.limit
        return f'try Check.range({one.name}, {bound.least}...{top}, "{one.key}")'
    return f'try Check.{name}({one.name}, "{one.key}"{more})'


def bounds(protocol: Protocol) -> str:
    lines = [HEAD, "extension Request {", "  /// Whether every parameter keeps its bounds (`ProtocolLimits`).", "  /// - Throws: 1010 for what is too large, −32602 for what has the wrong characters or an impossible value."]
    lines += ["  public func validate() throws(ErrorObject) {", "    switch self {"]
    held = {name for name, made in protocol.objects.items() if any(one.bound and one.bound.kind != "rule" for one in made.fields)}
    for one in protocol.requests:
        calls = ["try params.checkFields()"] * (one.params in held) + ["try params.checkRule()"] * (one.params in protocol.rules)
        if calls:
            lines += [f"    case {one.pattern('params')}:", *("      " + call for call in calls)]
    lines += cases([one.pattern() for one in protocol.requests if one.params not in held and one.params not in protocol.rules], "break")
    lines += ["    }", "  }", "", "  /// Hands on each name of somebody or something, with its field and its place in a list.", "  /// - Throws: what `look` throws."]
    lines += ["  public func forEachName(_ look: (_ name: String, _ field: String, _ index: Int?) throws(ErrorObject) -> Void) throws(ErrorObject) {", "    switch self {"]
    without = []
    for one in protocol.requests:
        named = [field for field in (protocol.objects[one.params].fields if one.params else []) if field.bound and field.bound.kind in ("name", "names")]
        if named:
            lines += [f"    case {one.pattern('params')}:", *("      " + look(field) for field in named)]
        else:
            without.append(one.pattern())
    lines += [*cases(without, "break"), "    }", "  }", "", *room(protocol), "}", ""]
    for name in sorted(held):
        body = ["    " + check(one) for one in protocol.objects[name].fields if one.bound and one.bound.kind != "rule"]
        lines += [f"extension {name} {{", "  fileprivate func checkFields() throws(ErrorObject) {", *body, "  }", "}", ""]
    return "\n".join(lines)


def look(one: Field) -> str:
    value = f"params.{one.name}"
    if one.type.is_list:
        return f'for (index, name) in {f"({value} ?? [])" if one.type.is_optional else value}.enumerated() {{ try look(name, "{one.key}", index) }}'
    return f'if let name = {value} {{ try look(name, "{one.key}", nil) }}' if one.type.is_optional else f'try look({value}, "{one.key}", nil)'


def room(protocol: Protocol) -> list[str]:
    def names(one: Request) -> bool:
        return one.params is not None and any(field.key == "room" for field in protocol.objects[one.params].fields)

    lines = ["  /// The room that it names, where it names one.", "  public var roomName: String? {", "    switch self {"]
    lines += cases([one.pattern() for one in protocol.requests if not names(one)], "nil")
    return lines + [f"    case {one.pattern('params')}: params.room" for one in protocol.requests if names(one)] + ["    }", "  }"]


# What the fuzzer takes a field's value from: by its name, or else by its type (`CoreWords.values` in CoreGrammar.swift).
WORDS = {
    "user": "u", "users": "U", "to": "U", "deviceId": "d", "room": "r", "displayName": "n", "resumeToken": "t", "token": "t",
    "trackId": "T", "requestId": "Q", "subscriptionId": "S", "callId": "C", "sdp": "o", "tracks": "A", "until": "l",
}  # fmt: skip
TYPES = {
    "Bool": "b", "Int": "i", "Int64": "i", "UInt32": "i", "MediaClass": "m", "TrackKind": "m", "CallKind": "K", "PeerConnection": "p",
    "ModerationAction": "a", "RoomRole": "R", "Reason": "g", "JSONValue": "j", "RawJSON": "j", "String": "x", "ViewWish": "V",
}  # fmt: skip


def word(one: Field) -> str | None:
    found = WORDS.get(one.key)
    return "u" if found == "U" and not one.type.is_list else found


def grammar(protocol: Protocol) -> str:
    """Fields of each method for the fuzzer, where CoreGrammar.swift says nothing of its own."""
    lines = [HEAD, "import RoostProtocol", "", "extension Method {", "  /// Its fields with what they take their values from, in the order of the protocol; those with `?` may be left out."]
    lines += ["  var declaredFields: String {", "    switch self {"]
    for one in protocol.requests:
        fields = protocol.objects[one.params].fields if one.params else []
        said = [f"{field.key}:{word(field) or TYPES.get(field.type.name, 'q')}{'?' if field.type.is_optional else ''}" for field in fields]
        lines.append(f'    case .{one.name}: "{" ".join(said)}"')
    return "\n".join([*lines, "    }", "  }", "}", ""])


def files(protocol: Protocol) -> dict[str, str]:
    folder = "Sources/wire/RoostProtocol/generated"
    return {
        f"{folder}/Methods.swift": methods(protocol),
        f"{folder}/RequestWeights.swift": weights(protocol),
        f"{folder}/Replies.swift": replies(protocol),
        f"{folder}/EventNames.swift": events(protocol),
        f"{folder}/FieldWriters.swift": writers(protocol),
        f"{folder}/FieldBounds.swift": bounds(protocol),
        "Fuzz/Targets/MethodFields.swift": grammar(protocol),
    }
