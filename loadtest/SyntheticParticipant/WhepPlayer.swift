// One who plays by WHEP (draft-ietf-wish-whep-03): POST of the offer, the answer in the 201, DELETE at the end.

import Basics
import Threads

/// A session of WHEP: the whole of a room, as `/whep/{room}` shows it.
final class WhepPlayer: Player {
  private let base: String
  private let path: String
  private let token: String?
  private let session = Locked<String?>(nil)

  init(_ plan: PlayerPlan, _ configuration: SyntheticConfiguration) {
    base = plan.url
    path = "/whep/\(configuration.room)?name=\(configuration.user)"
    token = configuration.token
  }

  func play(_ offer: String) async throws(SyntheticError) -> String {
    let answer = try await ask("POST", base + path, offer)
    guard answer.status == 201, let location = answer.headers["location"] else {
      throw .state("POST \(path) was answered with \(answer.status): \(answer.body)")
    }
    session.withLock { $0 = location }
    return answer.body
  }

  func stop() async {
    guard let url = session.withLock({ $0.take() }) else { return }
    _ = try? await ask("DELETE", url, "")
  }

  private func ask(_ method: String, _ url: String, _ body: String) async throws(SyntheticError) -> PlainHTTP.Answer {
    var headers = ["Content-Type": "application/sdp"]
    if let token { headers["Authorization"] = "Bearer \(token)" }
    return try await PlainHTTP.ask(method, url, headers, body)
  }
}
