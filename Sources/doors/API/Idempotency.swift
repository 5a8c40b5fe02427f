// A POST that comes again with the same `Idempotency-Key` is not done again: its answer is. Kept in memory, for a time and a number of them
// for each key of the API; after a restart nothing of it is left.
import Basics
import Crypto
import WebSockets

/// Answers that are kept.
struct IdempotencyWindow {
  /// Answers that are kept for one key of the API, and requests that are being done. For one more the oldest answer goes.
  static let most = 1_000
  /// Bytes of an answer that is kept; a longer one is not.
  static let mostBytes = 64 << 10
  /// How long an answer is kept.
  static let time = TimeDelta.seconds(3_600)
  /// Characters that a client's key may have.
  static let longestKey = 255

  /// A request by what its client calls it.
  struct Name: Hashable {
    /// The key of the API.
    let key: String
    /// What stands in the header.
    let text: String
  }

  /// What has become of a request of a name.
  enum Found: Equatable {
    /// There was none: it is to be done, and `finish` to be called.
    case new
    /// It is being done.
    case inFlight
    /// Another one had this name.
    case other
    case answered(HTTPResponse)
    /// As many are being done as may be.
    case full
  }

  private struct Entry {
    let print: [UInt8]
    let began: Instant
    var answer: HTTPResponse?
  }

  private var entries: [Name: Entry] = [:]
  /// Of each key of the API, the oldest first. Those that are in flight are among them.
  private var order: [String: [Name]] = [:]

  /// Looks, and where nothing is found notes that it begins.
  mutating func begin(_ name: Name, print: [UInt8], at now: Instant) -> Found {
    forget(of: name.key) { now - $0.began > Self.time }
    if let entry = entries[name] {
      guard entry.print == print else { return .other }
      return entry.answer.map { .answered($0) } ?? .inFlight
    }
    if order[name.key]?.count ?? 0 >= Self.most {
      var isFound = false
      forget(of: name.key) { entry in
        defer { isFound = isFound || entry.answer != nil }
        return !isFound && entry.answer != nil
      }
      guard isFound else { return .full }
    }
    entries[name] = Entry(print: print, began: now, answer: nil)
    order[name.key, default: []].append(name)
    return .new
  }

  /// Keeps the answer of a request that was done. One that was refused may be done the next time, so nothing is kept of it.
  mutating func finish(_ name: Name, print: [UInt8], _ answer: HTTPResponse) {
    guard let entry = entries[name], entry.print == print, entry.answer == nil else { return }
    if (200..<300).contains(answer.status), answer.body.count <= Self.mostBytes {
      entries[name]?.answer = answer
    } else {
      entries[name] = nil
      order[name.key]?.removeAll { $0 == name }
    }
  }

  private mutating func forget(of key: String, where isOver: (Entry) -> Bool) {
    let gone = (order[key] ?? []).filter { entries[$0].map(isOver) ?? true }
    if gone.isEmpty { return }
    for name in gone { entries[name] = nil }
    let left = (order[key] ?? []).filter { entries[$0] != nil }
    order[key] = left.isEmpty ? nil : left
  }

  /// What tells requests apart that have one name.
  static func print(of request: HTTPRequest) -> [UInt8] {
    let text = Array("\(request.method.rawValue) \(request.path)?\(request.query)\n".utf8) + request.content
    let digest = Digest.sha256(text.span)
    return digest.indices.map { digest[$0] }
  }
}
