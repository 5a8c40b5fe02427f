// Whose doing a line of the log is: everything that somebody with a session can cause counts as theirs.

import Basics
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

@Suite struct SubjectTests {
  private let here = PeerNetwork(SocketAddress(v4: 0xc000_0201, port: 1))

  private func scene(_ change: (inout ConferenceRules) -> Void = { _ in }) -> Scene {
    var rules = ConferenceRules.test
    change(&rules)
    let scene = Scene(rules)
    scene.isVerified = true
    scene.proof = { [here] in $0.network = here }
    return scene
  }

  /// Lines that are nobody's; each must be of this scene's only network, but for the end of a call that everybody has left.
  private func strays(_ scene: Scene) -> [String] {
    scene.log.filter { $0.subject?.user == nil || ($0.subject?.network != here && $0.event != "call.ended") }
      .map(\.event)
  }

  /// Comes, is refused, joins, calls, publishes, is cut, comes back and is gone: by requests, by what media tell, and by time.
  @Test func whateverSomebodyCausesIsTheirs() throws {
    let scene = scene { $0.maxSessionsPerUser = 2 }
    let (a, b) = (scene.client("A"), scene.client("B"))
    _ = scene.client("A", "d2")
    #expect(scene.hello(scene.stranger("A", "d3")).isFailure)
    for client in [a, b] { _ = try scene.join(client).get() }
    _ = try scene.publish(a, ["0:audio"])
    scene.negotiationError = ErrorObject(.noCommonCodec)
    _ = try? scene.publish(a, ["1:audio"])
    scene.negotiationError = nil
    let seat = try scene.seat(a)
    scene.apply(.media(seat, .publish, .failed(.dtls, reason: "x", isFinal: false)))
    scene.apply(.excess(seat, .publish, .video, bitsPerSecond: 1))
    scene.apply(.media(seat, .subscribe, .closed(reason: "x")))
    _ = scene.join(a, "other")
    scene.cut(b)
    _ = scene.resume(b)
    _ = scene.code(b, .room(.join(RoomJoinParams(room: "call:x"))))
    _ = try scene.start(a, ["B"])
    scene.advance(.seconds(600))
    _ = try scene.start(b, ["A"])
    scene.cut(b)
    scene.cut(a, clean: true)
    scene.advance(.seconds(600))
    #expect(strays(scene) == [], "nobody's")
    let events = Set(scene.log.map(\.event))
    #expect(
      events.isSuperset(of: [
        "session_started", "hello_refused", "join", "leave", "publish_refused", "media_failed", "publisher_cut",
        "media_closed", "reconnecting", "reconnected", "session_resumed", "join_refused", "session_ended",
        "call.started", "call.ended",
      ]), "\(events.sorted())")
  }

  /// What an operator does is the operator's, whomever it is about.
  @Test func operatorsAreNotCounted() throws {
    let scene = scene()
    let a = scene.client("A")
    _ = try scene.join(a).get()
    scene.log = []
    _ = scene.operate(.remove(user: "A", room: "demo"))
    #expect(scene.log.count == 3 && scene.log.allSatisfy { $0.subject == nil })
  }
}
