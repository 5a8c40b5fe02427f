// What can go wrong for who asks the API.
import Basics
import RoostProtocol

/// Why an operation has no result.
public enum AdminError: Error, Hashable, Sendable {
  /// The server refused.
  case refused(Refusal)
  /// No answer came. The server may have done it.
  case unreachable(String)
  /// The task that waited was cancelled. The server may have done it.
  case cancelled
  /// The answer is longer than the transport takes, in bytes. The server has done it.
  case tooLong(most: Int)
  /// What came is not of the API: another server answered, or a later version did.
  case unreadable(status: Int)
  /// It cannot be asked so, and was not sent: the sentence says why.
  case invalid(String)

  /// The problem, where the server refused.
  public var problem: Problem? { if case .refused(let refusal) = self { refusal.problem } else { nil } }
}

extension AdminError: CustomStringConvertible {
  /// A sentence for people.
  public var description: String {
    switch self {
    case .refused(let refusal): refusal.description
    case .unreachable(let reason): "The server cannot be reached: \(reason)"
    case .cancelled: "The request was given up."
    case .tooLong(let most): "The answer has more than \(most) bytes."
    case .unreadable(let status): "The answer, with status \(status), is not one of the API."
    case .invalid(let reason): reason
    }
  }
}

/// What the server says where it refuses.
public struct Refusal: Hashable, Sendable, CustomStringConvertible {
  /// Why.
  public let problem: Problem
  /// After how many seconds to come again; nil: nothing was said.
  public let retryAfter: Int?
  /// The version that is there, where it is not the one that was to be changed (412).
  public let version: String?

  /// - Parameter headers: by lower-case name.
  init(_ problem: Problem, _ headers: [String: String]) {
    self.problem = problem
    retryAfter = headers["retry-after"].flatMap { Int($0) }
    version = headers["etag"].map(Self.version)
  }

  /// What is between the quotation marks. A proxy that compresses may have made a weak tag of it (`W/`), of the same settings.
  private static func version(_ tag: String) -> String {
    (tag.begins(with: "W/") ? tag.dropFirst(2) : tag[...]).filter { $0 != "\"" }
  }

  /// A sentence for people.
  public var description: String {
    "\(problem.detail ?? problem.title) (\(problem.name.map { "\($0), " } ?? "")\(problem.status))"
  }
}
