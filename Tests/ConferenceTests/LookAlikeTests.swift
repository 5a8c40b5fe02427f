// Whose name others in the room could take for somebody else's: at the first join, at the next, and on another device.

import Basics
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

@Suite struct LookAlikeTests {
  private func join(_ scene: Scene, _ client: Client, _ name: String, _ room: String = "demo") -> ErrorCode? {
    scene.code(client, .room(.join(RoomJoinParams(room: room, displayName: name))))
  }

  @Test(arguments: [
    "\u{410}nna L", "Ann\u{430} l", "\u{ff21}nna L", "ANNA L", "Anna \u{a0} L", "Ann\u{200b}a L", "Anna\u{2800}L",
  ]) func whoLooksLikeSomebodyElseIsNotLetIn(name: String) throws {
    let scene = Scene()
    let (anna, ben, other) = (scene.client("A"), scene.client("B"), scene.client("B", "d2"))
    #expect(join(scene, anna, "Anna L") == nil && join(scene, ben, name) == .nameTaken)
    #expect(anna.take().isEmpty)
    #expect(join(scene, ben, name, "other") == nil, "each room has its names")
    #expect(join(scene, ben, "Ben") == nil && join(scene, ben, name) == .nameTaken)
    let over = RoomJoinParams(room: "demo", displayName: name, takeover: true, resumeToken: ben.token)
    #expect(scene.code(other, .room(.join(over))) == .nameTaken)
    // One's own name may be written in another way, and is free once one has gone.
    #expect(join(scene, anna, name) == nil && join(scene, anna, "Anna L") == nil)
    #expect(scene.code(anna, .room(.leave(RoomParams(room: "demo")))) == nil && join(scene, ben, name) == nil)
  }

  /// Within a script people are called what looks alike; a room is full of them.
  @Test func namesOfOneScriptAreWhatTheyAreWrittenAs() throws {
    var (rules, hall) = (ConferenceRules.test, RoomRules(kind: "hall"))
    (hall.media, hall.audioSeats) = (.audio, 33)
    rules.rooms = ["demo": hall]
    let scene = Scene(rules)
    scene.beliefInterval = 8
    var names = ["Ian", "lan", "corn", "com", "O", "0", "Rene", "Ren\u{e9}", "\u{448}\u{430}", "\u{449}\u{430}"]
    names += (names.count..<32).map { "\u{fdfa}\u{410}\u{43d}\u{43d}\u{430} \($0)" }
    for (index, name) in names.enumerated() { #expect(join(scene, scene.client("u\(index)"), name) == nil) }
    #expect(join(scene, scene.client("v"), "\u{406}an") == .nameTaken, "the control: a Cyrillic I")
  }
}
