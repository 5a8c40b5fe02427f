// A web server that fails at random, and what it was told: each event once, where it was taken first.
import Basics
import Foundation
import TinyHTTP

/// An event as it came.
struct ToldEvent: Hashable, Sendable {
  var id: String
  /// 0 where there is none.
  var number: Int64
  var room: String
  var body: String
}

/// What is wrong with what was told.
struct EventFindings: CustomStringConvertible, Equatable {
  /// Numbers that never came.
  var missing = 0
  /// Numbers that came with two ids, or ids with two numbers.
  var ambiguous = 0
  /// Events that came behind one of their room with a higher number.
  var disordered = 0

  var description: String { "\(missing) missing, \(ambiguous) ambiguous, \(disordered) out of order" }

  /// Looks at events in the order of their coming; known ids have been dropped.
  init(_ events: [ToldEvent], last: Int64) {
    var names: [Int64: String] = [:]
    var latest: [String: Int64] = [:]
    for event in events {
      if let other = names.updateValue(event.id, forKey: event.number), other != event.id { ambiguous += 1 }
      if let before = latest[event.room], before >= event.number { disordered += 1 }
      latest[event.room] = max(latest[event.room] ?? 0, event.number)
    }
    missing = Int(last) - names.keys.count { (1...max(last, 1)).contains($0) }
  }
}

final class EventReceiver: Sendable {
  fileprivate struct State: Sendable {
    var events: [ToldEvent] = []
    var known: [String: Int] = [:]
    /// Tries that said something else than the one before.
    var changed = 0
    var tries = 0
    var failures = 0
  }

  private let state: Locked<State>
  private let illness: Locked<Int>
  private let server: TinyServer

  init() throws {
    let (state, illness) = (Locked(State()), Locked(2))
    (self.state, self.illness) = (state, illness)
    server = try TinyServer(keepsAlive: true) { request in
      let isIll = Int.random(in: 0..<100) < illness.withLock { $0 }
      let failure = ["503 Ill", "404 Not Found", "302 Found\r\nlocation: /elsewhere", "429 Later", "taken", ""]
        .randomElement()
      if isIll, failure != "taken" {
        state.withLock { ($0.tries, $0.failures) = ($0.tries + 1, $0.failures + 1) }
        return failure
      }
      state.withLock { $0.take(request) }
      // Taken, but the answer is lost.
      return isIll ? "" : "200 OK"
    }
  }

  func stop() { server.stop() }

  /// Of a hundred requests so many fail.
  func fall(ill percent: Int) { illness.withLock { $0 = percent } }

  var yaml: String {
    "webhooks: {events: {url: 'http://127.0.0.1:\(server.port)/', secret: a secret of the test}, at_once: 16}"
  }
  var events: [ToldEvent] { state.withLock(\.events) }
  var count: Int { state.withLock(\.events.count) }
  var changed: Int { state.withLock(\.changed) }
  var words: String {
    state.withLock { "\($0.events.count) events in \($0.tries) tries, \($0.failures) of which failed" }
  }
}

extension EventReceiver.State {
  mutating func take(_ request: TinyRequest) {
    tries += 1
    guard let json = try? JSONSerialization.jsonObject(with: Data(request.body)) as? [String: Any],
      let id = request.headers["roost-delivery"], json["id"] as? String == id
    else { return changed += 1 }
    let event = ToldEvent(
      id: id, number: (json["number"] as? NSNumber)?.int64Value ?? 0, room: json["room"] as? String ?? "",
      body: String(decoding: request.body, as: UTF8.self))
    if let index = known[id] {
      if events[index] != event { changed += 1 }
      return
    }
    known[id] = events.count
    events.append(event)
  }
}
