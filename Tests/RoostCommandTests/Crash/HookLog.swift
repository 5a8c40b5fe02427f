// The web server that is told of calls and of phones to be woken, at times ill, and what it was told in which order.
import Basics
import Foundation
import TinyHTTP

final class HookLog: Sendable {
  /// A message that was taken.
  struct Taken: Sendable {
    var id: String
    /// What it must be in order with.
    var lane: String
    var type: String
    /// When what it tells of happened.
    var at: Int64
  }

  private let server: TinyServer
  private let taken: Locked<[Taken]>
  private let illness: Locked<Int>

  init() throws {
    let (taken, illness) = (Locked<[Taken]>([]), Locked(0))
    (self.taken, self.illness) = (taken, illness)
    server = try TinyServer { request in
      if Int.random(in: 0..<100) < illness.withLock({ $0 }) { return "503 Ill" }
      if let message = Taken(request) { taken.withLock { $0.append(message) } }
      return "200 OK"
    }
  }

  /// All of it, in order.
  var all: [Taken] { taken.withLock { $0 } }

  /// Of a hundred messages so many are not taken.
  func fall(ill percent: Int) { illness.withLock { $0 = percent } }

  func stop() { server.stop() }

  /// The section of the configuration that makes a server tell this one.
  var yaml: String {
    let parts = ["push", "events"].map {
      "\($0): {url: 'http://127.0.0.1:\(server.port)/\($0)', secret: a secret of the test}"
    }
    return "webhooks: {\(parts.joined(separator: ", ")), waiting: 60000}"
  }
}

extension HookLog.Taken {
  init?(_ request: TinyRequest) {
    guard let id = request.headers["roost-delivery"],
      let json = try? JSONSerialization.jsonObject(with: Data(request.body)) as? [String: Any],
      let type = json["type"] as? String
    else { return nil }
    let words = { (key: String) in json[key] as? String ?? "" }
    let lane = request.path == "/push" ? "\(words("callId")) \(words("to"))" : words("room")
    self.init(id: id, lane: lane, type: type, at: json["at"] as? Int64 ?? 0)
  }
}

extension [HookLog.Taken] {
  /// Each message once, where it was taken first, by lane.
  var lanes: [String: [HookLog.Taken]] {
    var seen: Set<String> = []
    return Dictionary(grouping: filter { seen.insert($0.id).inserted }, by: \.lane)
  }
}
