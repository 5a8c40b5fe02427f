// Those who only play: they take a seat as everybody does, or none, as the room's kind says.

import Basics
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

@Suite struct PlayerSeatTests {
  /// `demo` has three seats; so many players may come in beside them.
  private static func scene(players: Int?) -> Scene {
    var rules = ConferenceRules.test
    rules.rooms["demo"]?.players = players
    return Scene(rules)
  }

  private static func player(_ name: String, _ scene: Scene) -> Client {
    scene.proof = { $0.onlyPlays = true }
    defer { scene.proof = { _ in } }
    return scene.client(name)
  }

  @Test func withoutTheKeyPlayersTakeSeats() throws {
    let scene = Self.scene(players: nil)
    let players = (1...4).map { Self.player("P\($0)", scene) }
    for player in players.prefix(3) { _ = try scene.join(player).get() }
    #expect(scene.join(players[3]) == .failure(.limit(.roomFull, limit: 3, count: 3)))
    #expect(scene.join(scene.client("A")) == .failure(.limit(.roomFull, limit: 3, count: 3)))
    try scene.publish(players[0], ["0:audio"])
    #expect(scene.roomCount("demo", asking: players[0]) == 3)
  }

  @Test func withItTheyTakeNone() throws {
    let scene = Self.scene(players: 2)
    let people = ["A", "B", "C", "D"].map { scene.client($0) }
    let players = (1...3).map { Self.player("P\($0)", scene) }
    _ = try scene.join(people[0]).get()
    #expect(try scene.join(players[0]).get().count == 1, "seats are counted, and a player has none")
    for one in people[1...2] { _ = try scene.join(one).get() }
    // The room is full of people, and a player comes in all the same.
    #expect(scene.join(people[3]) == .failure(.limit(.roomFull, limit: 3, count: 3)))
    _ = people.map { $0.take() }
    let snapshot = try scene.join(players[1]).get()
    #expect(snapshot.count == 3 && snapshot.limit == 3 && snapshot.participants.count == 5)
    #expect(people[0].takeNames() == [.participantJoined], "others see who plays")
    // It is bounded by itself.
    #expect(scene.join(players[2]) == .failure(.limit(.roomFull, limit: 2, count: 2)))
    #expect(scene.roomCount("demo", asking: people[3]) == 3)
    // A place beside the seats becomes free for players alone, a seat for people alone.
    scene.cut(players[0], clean: true)
    #expect(scene.join(people[3]) == .failure(.limit(.roomFull, limit: 3, count: 3)))
    #expect(throws: Never.self) { try scene.join(players[2]).get() }
    scene.cut(people[2], clean: true)
    #expect(throws: Never.self) { try scene.join(people[3]).get() }
  }

  /// Nobody comes to a seat by the way of players.
  @Test func aPlaceBesideTheSeatsIsNoSeat() throws {
    let scene = Self.scene(players: 2)
    let player = Self.player("P", scene)
    _ = try scene.join(player).get()
    #expect(throws: ErrorObject.self) { try scene.publish(player, ["0:audio"]) }
    let same = scene.client("P", "other")
    for one in ["A", "B", "C"] { _ = try scene.join(scene.client(one)).get() }
    let result = scene.join(same) {
      $0.takeover = true
      $0.resumeToken = player.token
    }
    #expect(result == .failure(ErrorObject(.alreadyJoined)))
    #expect(scene.roomCount("demo", asking: same) == 3)
  }

  /// A player that is lost keeps its place for the grace, and a named room that has emptied counts anew.
  @Test func placesAreGivenBackOnce() throws {
    let scene = Self.scene(players: 1)
    for _ in 0..<3 {
      let player = Self.player("P", scene)
      _ = try scene.join(player).get()
      scene.cut(player)
      let other = Self.player("Q", scene)
      #expect(scene.join(other) == .failure(.limit(.roomFull, limit: 1, count: 1)))
      scene.advance(.milliseconds(2_000))
      #expect(try scene.join(other).get().count == 0)
      scene.cut(other, clean: true)
    }
    let people = ["A", "B", "C"].map { scene.client($0) }
    for one in people { _ = try scene.join(one).get() }
    #expect(scene.roomCount("demo", asking: people[0]) == 3)
  }
}
