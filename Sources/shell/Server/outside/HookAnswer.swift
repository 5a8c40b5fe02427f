// What an application has answered, read with nothing taken on trust: it may be broken, or somebody else.

import Members
import Names
import RoostProtocol
import Webhooks

/// Why an answer cannot be used. In words, for the log.
struct HookProblem: Error, Hashable {
  let words: String
  /// Whether the same question may find a better answer.
  var mayPass = false
}

/// Reads answers.
enum HookAnswer {
  /// Bytes that an answer may have. Raising it lets an application make the server read so much more for each question.
  static let mostBytes = 16 << 10
  /// Bytes of the reason that people are shown.
  static let reasonBytes = 256
  /// Bytes of the application's own word for it.
  static let codeBytes = 64

  /// How many people a cap may be.
  static let caps: ClosedRange<Int64> = 1...1_000_000
  /// How many layers of a video may be left.
  static let layers: ClosedRange<Int64> = 1...16
  /// What a video may be asked to stay below, bits per second: 10 kbit/s is less than any, 1 Gbit/s more.
  static let bitrates: ClosedRange<Int64> = 10_000...1_000_000_000

  /// What came of a request: 204 is a yes; 200 says it in JSON, and 403 may say a no. All else is none. `kind`: what was asked about.
  static func read(_ answer: HTTPAnswer, to kind: Question.Kind) throws(HookProblem) -> QuestionAnswer {
    switch answer.outcome {
    case .answered(204, _): return .yes
    case .answered(200, _): return try read(answer.body, kind)
    case .answered(403, _):
      guard case .no(let reason, let code) = try read(answer.body, kind) else {
        throw HookProblem(words: "HTTP 403 that allows it")
      }
      return .no(reason: reason, code: code)
    case .answered, .failed:
      throw HookProblem(words: answer.outcome.words, mayPass: answer.outcome.mayPass && !answer.isTooLong)
    }
  }

  private static func read(_ body: [UInt8], _ kind: Question.Kind) throws(HookProblem) -> QuestionAnswer {
    guard let json = try? JSONValue.reading(body), case .object(let object) = json else {
      throw HookProblem(words: "the answer is no JSON object")
    }
    // One of the two would count, and the other may be the one that takes something away.
    guard fieldCount(of: body) == object.count else { throw HookProblem(words: "the answer has a field twice") }
    let fields = object.filter { $0.value != .null }
    guard case .bool(let isAllowed)? = fields["allow"] else { throw .field("allow", "true or false") }
    // What is not known may be meant to take something away: it must not pass for a plain yes.
    let known = ["allow", "reason", "code"] + (isAllowed ? kind.changes : [])
    if let field = object.keys.filter({ !known.contains($0) }).min() {
      throw HookProblem(words: "the answer has a field that is not known here: \(field.prefix(64))")
    }
    let reason = try line(fields, "reason", reasonBytes)
    let code = try line(fields, "code", codeBytes)
    guard isAllowed else { return .no(reason: reason, code: code) }
    let changes = try changes(fields)
    return changes == QuestionChanges() ? .yes : .changed(changes)
  }

  /// How many fields an object has that is known to be good JSON: its colons, without those in texts and in what it contains.
  private static func fieldCount(of body: [UInt8]) -> Int {
    var (count, depth, isInText, isEscaped) = (0, 0, false, false)
    for byte in body {
      if isInText {
        if !isEscaped, byte == UInt8(ascii: "\"") { isInText = false }
        isEscaped = !isEscaped && byte == UInt8(ascii: "\\")
        continue
      }
      switch byte {
      case UInt8(ascii: "\""): isInText = true
      case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
      case UInt8(ascii: ":") where depth == 1: count += 1
      default: break
      }
    }
    return count
  }

  private static func changes(_ fields: [String: JSONValue]) throws(HookProblem) -> QuestionChanges {
    var changes = QuestionChanges()
    if let name = fields["displayName"] {
      guard case .string(let text) = name, ProtocolLimits.isName(text), NameForm.accepts(text) else {
        throw .field("displayName", "a name")
      }
      changes.displayName = text
    }
    if let value = fields["metadata"] {
      let metadata = RawJSON(value)
      guard metadata.encodedSize <= ProtocolLimits.opaqueBytes, metadata.isReadable else {
        throw .field("metadata", "JSON of at most \(ProtocolLimits.opaqueBytes) bytes")
      }
      changes.metadata = metadata
    }
    changes.cap = try number(fields, "cap", caps)
    if let value = fields["grants"] { changes.grants = try grants(value) }
    var limits = PublishLimits()
    if let value = fields["codecs"] { limits.codecs = try codecs(value) }
    limits.layers = try number(fields, "layers", layers)
    limits.maxBitrate = try number(fields, "maxBitrate", bitrates)
    if limits != PublishLimits() { changes.published = limits }
    return changes
  }

  private static func number(
    _ fields: [String: JSONValue], _ name: String, _ range: ClosedRange<Int64>
  ) throws(HookProblem) -> Int? {
    guard let value = fields[name] else { return nil }
    guard case .integer(let number) = value, range.contains(number) else {
      throw .field(name, "a number from \(range.lowerBound) to \(range.upperBound)")
    }
    return Int(number)
  }

  /// None at all is no list: it would be a no.
  private static func codecs(_ value: JSONValue) throws(HookProblem) -> Set<PublishLimits.Codec> {
    guard case .array(let values) = value, !values.isEmpty else { throw .field("codecs", "a list of codecs") }
    var codecs: Set<PublishLimits.Codec> = []
    for value in values {
      guard case .string(let word) = value, let codec = PublishLimits.Codec(rawValue: word) else {
        throw .field("codecs", "a list of codecs")
      }
      codecs.insert(codec)
    }
    return codecs
  }

  private static func grants(_ value: JSONValue) throws(HookProblem) -> Rights {
    guard case .array(let values) = value else { throw .field("grants", "a list of grants") }
    var rights = Rights()
    for value in values {
      guard case .string(let word) = value, let grant = Grant.known.first(where: { $0.rawValue == word }) else {
        throw .field("grants", "a list of grants")
      }
      rights.insert(grant)
    }
    return rights
  }

  private static func line(
    _ fields: [String: JSONValue], _ name: String, _ most: Int
  ) throws(HookProblem) -> String? {
    switch fields[name] {
    case nil: return nil
    case .string(let text)? where ProtocolLimits.isLine(text, most: most): return text
    case .some: throw .field(name, "a line of at most \(most) bytes")
    }
  }
}

extension Question.Kind {
  /// What an answer may change.
  fileprivate var changes: [String] {
    switch self {
    case .hello: ["displayName", "cap", "grants"]
    case .join: ["displayName", "metadata", "cap", "grants"]
    case .callStart, .callAccept: ["metadata"]
    case .publish: ["codecs", "layers", "maxBitrate"]
    case .callInvite: []
    }
  }
}

extension HookProblem {
  static func field(_ name: String, _ expected: String) -> HookProblem {
    HookProblem(words: "\(name) of the answer is not \(expected)")
  }
}
