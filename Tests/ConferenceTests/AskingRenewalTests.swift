// Who is there and says something else of themselves: the name and the metadata of a question are those that others see.

import Basics
import Calls
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

@Suite struct AskingRenewalTests {
  private static func join(_ name: String?, _ metadata: RawJSON? = nil) -> Request {
    .room(.join(RoomJoinParams(room: "demo", displayName: name, metadata: metadata)))
  }

  /// Anna is in a room as Bob, and joins are asked about from then on.
  private func seated() throws -> Asked {
    let here = Asked([])
    #expect(here.isDone(here.send(Self.join("Bob", ["x": 1]))))
    here.scene.core.ask(about: [.join])
    return here
  }

  /// What others see of Anna.
  private func seen(_ here: Asked) throws -> (name: String, metadata: RawJSON) {
    let seat = try #require(here.scene.core.rooms.table.seats[try here.scene.seat(here.anna)])
    return (seat.displayName, seat.metadata)
  }

  // MARK: - Rooms

  @Test(arguments: [true, false], [true, false])
  func anotherNameIsAskedAboutAsAJoin(isName: Bool, isAllowed: Bool) throws {
    let here = try seated()
    let id = here.send(isName ? Self.join("Support") : Self.join(nil, ["x": 2]))
    let question = try #require(here.scene.questions.first?.question)
    guard case .join(let params) = question.wish else { return #expect(Bool(false), "a join") }
    #expect(question.room == "demo" && params.displayName == (isName ? "Support" : nil))
    #expect(params.metadata == (isName ? nil : ["x": 2]) && here.reply(id) == nil)
    #expect(try seen(here) == ("Bob", ["x": 1]), "nobody sees it before")
    here.answer(isAllowed ? .yes : .no(code: "name"))
    #expect(here.isDone(id) == isAllowed && here.error(id)?.data.reason == (isAllowed ? nil : "name") && here.isQuiet)
    #expect(try seen(here) == (isName && isAllowed ? "Support" : "Bob", ["x": !isName && isAllowed ? 2 : 1]))
  }

  /// What others would not see is nobody's question, and what is refused anyway neither.
  @Test func whatChangesNothingIsNotAskedAbout() throws {
    let here = try seated()
    for request in [Self.join(nil), Self.join("Bob"), Self.join("Bob", ["x": 1])] {
      #expect(here.isDone(here.send(request)))
    }
    here.scene.core.ask(about: [])
    here.scene.rights = Rights.all.subtracting(.chat)
    let quiet = here.scene.client("Q")
    (here.scene.rights, here.scene.proof) = (.all, { $0.hasGivenName = true })
    let given = here.scene.client("G")
    for client in [quiet, given] { _ = try here.scene.join(client).get() }
    here.scene.core.ask(about: [.join])
    #expect(here.scene.code(quiet, Self.join("Support")) == .forbidden, "who may not write there")
    #expect(here.scene.code(given, Self.join("Support")) == nil, "whose name is not theirs to choose")
    #expect(here.scene.code(here.anna, Self.join("Q")) == .nameTaken, "what another is called")
    #expect(here.scene.questions.isEmpty && here.isQuiet)
  }

  /// The yes is for the seat that was asked about: who has left is out.
  @Test(arguments: [true, false])
  func aYesToAnotherNameBringsNobodyBack(goesElsewhere: Bool) throws {
    let here = try seated()
    let id = here.send(Self.join("Support"))
    try #require(here.scene.questions.count == 1)
    if goesElsewhere {
      let other = here.send(.room(.join(RoomJoinParams(room: "voice"))))
      here.answer(.yes)
      #expect(here.isDone(other) && here.scene.questions.count == 2)
    } else {
      #expect(here.isDone(here.send(Asked.leave)), "nobody stays for the sake of a name")
    }
    here.answer(.yes, 0)
    #expect(here.error(id)?.code == .notJoined && here.isQuiet)
    let place = here.scene.core.seat(of: here.anna.connection).flatMap { here.scene.core.rooms.table.seats[$0]?.room }
    #expect(place.map { here.scene.core.rooms.table.name(of: $0) } == (goesElsewhere ? "voice" : nil))
  }

  // MARK: - Calls

  private static let ways = ["accept", "join", "start"]

  private static func request(_ way: String, _ call: String, _ metadata: RawJSON?) -> Request {
    switch way {
    case "accept": .call(.accept(CallAcceptParams(callId: call, metadata: metadata)))
    case "join": .call(.join(CallJoinParams(callId: call, metadata: metadata)))
    default:
      .call(
        .start(
          CallStartParams(
            to: ["B"], kind: .group, media: .audio, clientCallId: "mine", metadata: metadata)))
    }
  }

  /// Anna has called Ben, and they talk.
  private func talking() throws -> (here: Asked, call: String) {
    let here = Asked([])
    let ben = here.scene.client("B")
    let id = here.send(Self.request("start", "", ["x": 1]))
    guard case .success(.callStarted(let started))? = here.reply(id) else { throw ErrorObject(.internalError) }
    _ = try here.scene.accept(ben, started.call.callId)
    try here.scene.mediaUp(here.anna, ben)
    here.scene.core.ask(about: [.callStart, .callAccept])
    return (here, started.call.callId)
  }

  @Test(arguments: ways, [true, false])
  func otherMetadataInACallAreAskedAboutAsAnAnswer(way: String, isAllowed: Bool) throws {
    let (here, call) = try talking()
    for metadata in [nil, ["x": 1]] as [RawJSON?] {
      #expect(here.isDone(here.send(Self.request(way, call, metadata))) && here.scene.questions.isEmpty)
    }
    let id = here.send(Self.request(way, call, ["x": 2]))
    let question = try #require(here.scene.questions.first?.question)
    guard case .callAccept(let params) = question.wish else { return #expect(Bool(false), "an answer") }
    #expect(question.call == call && params.metadata == ["x": 2] && here.reply(id) == nil)
    #expect(try seen(here).metadata == ["x": 1])
    here.answer(isAllowed ? .yes : .no(code: "metadata"))
    #expect(here.isDone(id) == isAllowed && here.isQuiet)
    #expect(try seen(here).metadata == ["x": isAllowed ? 2 : 1])
  }

  @Test(arguments: ways) func aYesToOtherMetadataBringsNobodyBack(way: String) throws {
    let (here, call) = try talking()
    let carl = here.scene.client("C")
    here.scene.core.ask(about: [])
    _ = try here.scene.request(here.anna, .call(.invite(CallInviteParams(callId: call, users: ["C"])))).get()
    _ = try here.scene.accept(carl, call)
    here.scene.core.ask(about: [.callStart, .callAccept])
    let id = here.send(Self.request(way, call, ["x": 2]))
    #expect(here.isDone(here.send(.call(.hangup(CallHangupParams(callId: call))))) && here.reply(id) == nil)
    try #require(here.scene.questions.count == 1)
    here.answer(.yes)
    #expect(here.error(id)?.code == .notInCall && here.isQuiet)
    #expect(here.scene.core.seat(of: here.anna.connection) == nil && here.scene.core.calls.isRunning(CallID(call)))
  }
}
