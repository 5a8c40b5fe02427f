// What an application has answered, read with nothing taken on trust: it may be broken, or somebody else.

import Members
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

  /// What came of a request: 204 is a yes; 200 says it in JSON, and 403 may say a no. All else is none.
  static func read(_ answer: HTTPAnswer) throws(HookProblem) -> QuestionAnswer {
    switch answer.outcome {
    case .answered(204, _): return .yes
    case .answered(200, _): return try read(answer.body)
    case .answered(403, _):
      guard case .no(let reason, let code) = try read(answer.body) else {
        throw HookProblem(words: "HTTP 403 that allows it")
      }
      return .no(reason: reason, code: code)
    case .answered, .failed: throw HookProblem(words: answer.outcome.words, mayPass: answer.outcome.mayPass)
    }
  }

  private static func read(_ body: [UInt8]) throws(HookProblem) -> QuestionAnswer {
    guard let json = try? JSONValue.reading(body), case .object(let fields) = json else {
      throw HookProblem(words: "the answer is no JSON object")
    }
    // What is not known may be meant to take something away: it must not pass for a plain yes.
    let known = ["allow", "reason", "code"]
    if let field = fields.keys.filter({ !known.contains($0) }).min() {
      throw HookProblem(words: "the answer has a field that is not known: \(field)")
    }
    guard case .bool(let isAllowed)? = fields["allow"] else { throw .field("allow", "true or false") }
    let reason = try line(fields, "reason", reasonBytes)
    let code = try line(fields, "code", codeBytes)
    return isAllowed ? .yes : .no(reason: reason, code: code)
  }

  private static func line(
    _ fields: [String: JSONValue], _ name: String, _ most: Int
  ) throws(HookProblem) -> String? {
    switch fields[name] {
    case nil, .null?: return nil
    case .string(let text)? where ProtocolLimits.isLine(text, most: most): return text
    case .some: throw .field(name, "a line of at most \(most) bytes")
    }
  }
}

extension HookProblem {
  static func field(_ name: String, _ expected: String) -> HookProblem {
    HookProblem(words: "\(name) of the answer is not \(expected)")
  }
}
