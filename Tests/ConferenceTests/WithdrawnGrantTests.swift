// What somebody has made of the grant `moderate`, or was let in with, does not outlive their proof: whichever way they come again.

import Basics
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

@Suite struct WithdrawnGrantTests {
  /// Neither a ban keeps out who has the grant, nor does it hold for them no more when the grant is gone.
  @Test func whoIsBannedGoesWithTheGrantThatLetThemIn() throws {
    let here = try Assembly(in: "hall")
    #expect(here.moderate(here.host, .ban, user: "M") == nil)
    here.scene.rights = Rights.all.union(.moderate)
    let other = here.scene.client("M")
    _ = try here.scene.join(other, "hall").get()
    _ = here.scene.operate(.narrow(user: "M", to: .all, room: nil))
    #expect(other.take().contains(.roomClosed(RoomClosed(room: "hall", reason: .removed))))
    #expect(here.scene.code(other, .room(.join(RoomJoinParams(room: "hall")))) == .banned)
    // Who is banned elsewhere only stays.
    _ = here.scene.operate(.narrow(user: "H", to: .all, room: nil))
    #expect(try here.seen("H", by: here.ben) != nil)
  }

  /// How somebody comes again with a smaller proof.
  enum Way: CaseIterable {
    case sayingGoodbye, leavingTheRoom, whenTheProofWasOver, asTheSameDevice, asAnotherDevice
  }

  private static let start = Scene().now.wallMilliseconds

  /// A host whose proof is over after a second.
  private func assembly() throws -> Assembly {
    try Assembly(in: "hall") { if $0.user == "H" { $0.endsAt = Self.start + 1_000 } }
  }

  /// The host, back without the grant, in front of the room.
  private func comeAgain(_ here: Assembly, _ way: Way) -> Client {
    let scene = here.scene
    (scene.rights, scene.proof) = ([.join, .subscribe], { _ in })
    switch way {
    case .sayingGoodbye: #expect(scene.code(here.host, .session(.bye)) == nil)
    case .leavingTheRoom:
      #expect(scene.code(here.host, .room(.leave(RoomParams(room: "hall")))) == nil)
      #expect(scene.code(here.host, .session(.token(TokenParams(token: "H")))) == nil)
      return here.host
    case .whenTheProofWasOver: scene.advance(.seconds(1))
    case .asTheSameDevice: break
    case .asAnotherDevice:
      #expect(scene.code(here.host, .room(.leave(RoomParams(room: "hall")))) == nil)
      return scene.client("H", "d2")
    }
    return scene.client("H")
  }

  private func join(_ here: Assembly, _ client: Client, takeover: Bool? = nil) -> ErrorObject? {
    here.scene.refusal(client, .room(.join(RoomJoinParams(room: "hall", takeover: takeover))))
  }

  // MARK: - Roles

  @Test(arguments: Way.allCases, [RoomRole.moderator, .speaker])
  func aRoleOfOnesOwnPassesNoLock(_ way: Way, _ role: RoomRole) throws {
    let here = try assembly()
    #expect(here.moderate(here.host, .role, user: "H") { $0.role = role } == nil)
    #expect(here.moderate(here.host, .lock) == nil)
    #expect(join(here, comeAgain(here, way))?.code == .roomLocked)
  }

  @Test(arguments: Way.allCases) func aRoleOfOnesOwnModeratesNothing(_ way: Way) throws {
    let here = try assembly()
    #expect(here.moderate(here.host, .role, user: "H") { $0.role = .moderator } == nil)
    let again = comeAgain(here, way)
    #expect(join(here, again) == nil)
    #expect(here.moderate(again, .kick, user: "B")?.data.reason == "moderate")
    #expect(try here.seen("H", by: here.ben)?.role == nil)
  }

  /// Nor one that another moderator gave to them meanwhile, nor one from before: the grant has taken its place.
  @Test(arguments: Way.allCases) func theGrantTakesThePlaceOfARole(_ way: Way) throws {
    let here = try assembly()
    here.scene.rights = Rights.all.union(.moderate)
    let other = here.scene.client("O")
    _ = try here.scene.join(other, "hall").get()
    #expect(here.moderate(other, .role, user: "H") { $0.role = .moderator } == nil)
    #expect(here.moderate(other, .role, user: "B") { $0.role = .moderator } == nil)
    for rights in [Rights.all.union(.moderate), .all] {
      here.scene.rights = rights
      #expect(here.scene.code(here.ben, .session(.token(TokenParams(token: "B")))) == nil)
    }
    #expect(here.moderate(here.ben, .lock)?.data.reason == "moderate")
    #expect(here.moderate(other, .lock) == nil)
    #expect(join(here, comeAgain(here, way))?.code == .roomLocked)
  }

  /// Nothing is said of a role that nobody has; who was given the word has no hand up any more.
  @Test func whoHasTheGrantIsGivenNone() throws {
    let here = try assembly()
    #expect(here.scene.code(here.host, .room(.raiseHand(RaiseHandParams(room: "hall", raised: true)))) == nil)
    here.forget()
    #expect(here.moderate(here.host, .role, user: "H") { $0.role = .speaker } == nil)
    #expect(here.ben.takeNames() == [.participantUpdated])
    #expect(try here.seen("H", by: here.ben)?.role == .moderator)
    #expect(try here.seen("H", by: here.ben)?.handRaisedAt == nil)
    #expect(here.scene.core.rooms.table.all.values.allSatisfy { $0.moderation.roles.isEmpty })
  }

  /// What somebody else gave to one without the grant lasts as long as the room has people.
  @Test func aRoleThatWasGivenToAGuestStays() throws {
    let here = try Assembly(in: "hall")
    #expect(here.moderate(here.host, .role, user: "B") { $0.role = .moderator } == nil)
    #expect(here.moderate(here.host, .lock) == nil)
    #expect(here.scene.code(here.ben, .session(.bye)) == nil)
    let again = here.scene.client("B")
    #expect(join(here, again) == nil)
    #expect(here.moderate(again, .unlock) == nil)
  }

  @Test(arguments: Way.allCases) func nobodyAdmitsThemselves(_ way: Way) throws {
    let here = try assembly()
    #expect(here.moderate(here.host, .lobby) == nil)
    #expect(here.moderate(here.host, .admit, user: "H") == nil)
    #expect(join(here, comeAgain(here, way))?.code == .inLobby)
  }

  // MARK: - The lobby

  private func gone(_ client: Client) -> [String] {
    client.take().compactMap { if case .roomKnock(let knock) = $0, knock.gone == true { knock.user } else { nil } }
  }

  private func renew(_ here: Assembly, _ client: Client, _ rights: Rights, room: String? = nil) {
    here.scene.rights = rights
    here.scene.proof = { identity in identity.rooms = room.flatMap { RoomScope($0) } }
    #expect(here.scene.code(client, .session(.token(TokenParams(token: client.user)))) == nil)
    (here.scene.rights, here.scene.proof) = (.all, { _ in })
  }

  @Test(arguments: [(Rights.all.subtracting(.join), nil), (.all, "attic")] as [(Rights, String?)])
  func whoMayNotComeInWaitsNoMore(_ rights: Rights, _ room: String?) throws {
    let here = try Assembly(in: "hall")
    #expect(here.moderate(here.host, .lobby) == nil)
    let dora = here.scene.client("D")
    #expect(join(here, dora)?.code == .inLobby)
    renew(here, dora, Rights.all.subtracting(.chat))
    #expect(gone(here.host).isEmpty, "they may still come")
    renew(here, dora, rights, room: room)
    #expect(gone(here.host) == ["D"])
    #expect(try here.scene.join(here.host, "hall").get().moderation?.waiting == nil)
    renew(here, dora, .all)
    _ = here.host.take()
    #expect(join(here, dora)?.code == .inLobby)
    #expect(here.host.takeNames() == [.roomKnock], "they knock anew")
  }

  @Test func anAdmissionIsForgottenAndARefusalIsNot() throws {
    let here = try Assembly(in: "hall")
    #expect(here.moderate(here.host, .lobby) == nil)
    for (action, expected) in [(ModerationAction.admit, ErrorCode.inLobby), (.deny, .forbidden)] {
      let dora = here.scene.client("D")
      #expect(join(here, dora)?.code == .inLobby)
      #expect(here.moderate(here.host, action, user: "D") == nil)
      renew(here, dora, Rights.all.subtracting(.join))
      renew(here, dora, .all)
      #expect(join(here, dora)?.code == expected)
      #expect(here.scene.code(dora, .session(.bye)) == nil)
    }
  }

  /// It was the user who was let in: with another of their devices they may come.
  @Test func anAdmissionStaysForAnotherDevice() throws {
    let here = try Assembly(in: "hall")
    #expect(here.moderate(here.host, .lobby) == nil)
    let (phone, laptop) = (here.scene.client("D", "phone"), here.scene.client("D", "laptop"))
    #expect(join(here, phone)?.code == .inLobby)
    #expect(here.moderate(here.host, .admit, user: "D") == nil)
    renew(here, phone, Rights.all.subtracting(.join))
    #expect(join(here, laptop) == nil)
  }
}
