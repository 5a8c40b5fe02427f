// What an application changes of what it allows: it wins over tokens and clients, holds as long as it should, and is checked as all else is.

import Basics
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

@Suite struct AskingChangesTests {
  private static func changes(_ fill: (inout QuestionChanges) -> Void) -> QuestionAnswer {
    var changes = QuestionChanges()
    fill(&changes)
    return .changed(changes)
  }

  /// One whose hello was answered like this. `proof`: what their token says.
  private func hello(
    _ user: String, _ answer: QuestionAnswer, _ kinds: Set<Question.Kind> = [.hello],
    _ change: (inout ConferenceRules) -> Void = { _ in }
  ) -> (here: Asked, one: Client) {
    let here = Asked([])
    here.scene.isVerified = true
    here.scene.proof = { $0.isVerified = true }
    here.scene.core.ask(about: kinds)
    let one = here.scene.stranger(user)
    here.send(one, one.makeID())
    here.answer(answer)
    return (here, one)
  }

  private func participant(_ room: RoomSnapshot) -> Participant? {
    room.participants.first { $0.participantId == room.selfId }
  }

  private func join(_ here: Asked, _ client: Client, as name: String? = nil) throws -> RoomSnapshot {
    let reply = here.scene.request(client, .room(.join(RoomJoinParams(room: "demo", displayName: name))))
    guard case .success(.room(let room)) = reply else { throw try #require(reply.error) }
    return room
  }

  @Test(arguments: [true, false]) func aNameOfAHelloWins(isChanged: Bool) throws {
    let (here, one) = hello("B", isChanged ? Self.changes { $0.displayName = "Berta" } : .yes)
    let room = try join(here, one, as: "Somebody else")
    #expect(participant(room)?.displayName == (isChanged ? "Berta" : "Somebody else"))
    // A further token says another name, and changes nothing of it.
    #expect(here.scene.code(one, .session(.token(TokenParams(token: "B")))) == nil)
    let again = try join(here, one, as: "A third")
    #expect(participant(again)?.displayName == (isChanged ? "Berta" : "A third"))
  }

  /// A name from the application is compared as any other.
  @Test func aNameThatIsTakenIsRefused() throws {
    let (here, one) = hello("B", Self.changes { $0.displayName = "A" })
    _ = try join(here, here.anna)
    #expect(here.scene.code(one, Asked.join) == .nameTaken)
  }

  @Test(arguments: [true, false]) func grantsAreNarrowedWhateverTokensGive(isChanged: Bool) throws {
    let answer = Self.changes {
      // What the token does not give it does not give.
      $0.grants = [.join, .chat, .moderate]
    }
    let (here, one) = hello("B", isChanged ? answer : .yes)
    func rights() -> Rights? {
      let sessions = here.scene.core.sessions
      return sessions.session(on: one.connection).flatMap { sessions.identity(of: $0) }?.rights
    }
    let left: Rights = isChanged ? [.join, .chat] : .all
    #expect(rights() == left)
    let call = Request.call(.start(CallStartParams(to: ["A"], kind: .oneToOne, media: .audio)))
    #expect(here.scene.code(one, call) == (isChanged ? .forbidden : nil))
    let told = one.events.compactMap { if case .sessionGrants(let grants) = $0 { Rights(grants.grants) } else { nil } }
    #expect(told == (isChanged ? [left] : []), "the client knows its token, and not this")
    #expect(here.scene.code(one, .session(.token(TokenParams(token: "B")))) == nil)
    #expect(rights() == left, "a further token gives it no more")
  }

  @Test(arguments: [true, false]) func aCapOfAHelloOutlivesTokens(isChanged: Bool) throws {
    let (here, one) = hello("B", isChanged ? Self.changes { $0.cap = 1 } : .yes)
    here.scene.proof = { ($0.isVerified, $0.cap) = (true, 3) }
    #expect(here.scene.code(one, .session(.token(TokenParams(token: "B")))) == nil)
    _ = try join(here, here.anna)
    #expect(here.scene.code(one, Asked.join) == (isChanged ? .roomFull : nil))
  }

  @Test(arguments: [true, false]) func aJoinIsChanged(isChanged: Bool) throws {
    let here = Asked([.join])
    let answer = Self.changes { ($0.displayName, $0.metadata) = ("Chair", ["role": "chair"]) }
    let id = here.send(.room(.join(RoomJoinParams(room: "demo", displayName: "me", metadata: ["role": "guest"]))))
    here.answer(isChanged ? answer : .yes)
    guard case .success(.room(let room))? = here.reply(id) else { throw try #require(here.error(id)) }
    #expect(participant(room)?.displayName == (isChanged ? "Chair" : "me"))
    #expect(participant(room)?.metadata == ["role": isChanged ? "chair" : "guest"])
  }

  /// A cap of a join holds for it alone, and never widens that of a token.
  @Test(arguments: [(1, ErrorCode?.some(.roomFull)), (2, nil), (9, nil)])
  func aJoinIsCapped(cap: Int, refusal: ErrorCode?) throws {
    let here = Asked([])
    let ben = here.scene.client("B")
    _ = try join(here, ben)
    here.scene.core.ask(about: [.join])
    let id = here.send(Asked.join)
    here.answer(Self.changes { $0.cap = cap })
    #expect(here.error(id)?.code == refusal && here.isQuiet)
  }

  /// Who joins again is asked about, and gets the name that the application gives then.
  @Test func aRenewalIsChanged() throws {
    let here = Asked([.join])
    here.send(Asked.join)
    here.answer(.yes)
    here.send(.room(.join(RoomJoinParams(room: "demo", displayName: "King"))))
    here.answer(Self.changes { $0.displayName = "Not king" })
    #expect(participant(try join(here, here.anna))?.displayName == "Not king")
  }

  @Test(arguments: [true, false]) func metadataInACallIsChanged(isChanged: Bool) throws {
    let here = Asked([.callStart])
    let start = CallStartParams(to: ["B"], kind: .oneToOne, media: .audio, metadata: ["a": 1])
    let id = here.send(.call(.start(start)))
    here.answer(isChanged ? Self.changes { $0.metadata = ["a": 2] } : .yes)
    guard case .success(.callStarted(let result))? = here.reply(id) else { throw try #require(here.error(id)) }
    #expect(participant(result.room)?.metadata == ["a": isChanged ? 2 : 1])
  }

  /// What is taken of an offer goes with it to negotiation, by whatever door, and holds for that offer alone.
  @Test(arguments: [true, false]) func whatIsPublishedIsLimited(isStream: Bool) throws {
    var limits = PublishLimits()
    (limits.codecs, limits.layers) = ([.opus], 1)
    let here = Asked([.publish])
    _ = try join(here, here.anna)
    for (number, answer) in [Self.changes { $0.published = limits }, .yes].enumerated() {
      let id = here.anna.makeID()
      if isStream {
        let params = PublishOfferParams(pc: .publish, sdp: "offer", tracks: [])
        let stream = MediaConnectionID(UInt64(number + 2))
        here.scene.apply(.stream(here.anna.connection, id, .publish(stream, params)))
      } else {
        here.send(Asked.offer, id: id)
      }
      #expect(here.scene.publishLimits.count == number, "asked first")
      here.answer(answer)
      #expect(here.reply(id) != nil)
    }
    #expect(here.scene.publishLimits == [limits, nil])
  }
}
