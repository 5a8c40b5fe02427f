// Custom messages: whom they reach, in which order, and how many there may be.

import Basics
import Calls
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

@Suite struct DataMessageTests {
  private func send(
    _ scene: Scene, _ client: Client, _ data: RawJSON = 1, to: [String]? = nil, room: String? = "demo",
    call: String? = nil, topic: String = "pointer"
  ) -> Result<MessageSendResult, ErrorObject> {
    let params = MessageSendParams(room: room, callId: call, to: to, topic: topic, data: data)
    return scene.request(client, .message(.send(params))).map { reply in
      guard case .messageSent(let result) = reply else { return MessageSendResult(delivered: -1) }
      return result
    }
  }

  private func code(_ result: Result<MessageSendResult, ErrorObject>) -> ErrorCode? {
    if case .failure(let error) = result { error.code } else { nil }
  }

  private func heard(_ client: Client) -> [MessageReceived] {
    client.take().compactMap { if case .messageReceived(let message) = $0 { message } else { nil } }
  }

  private func chat(_ scene: Scene, _ client: Client, _ text: String) -> ErrorCode? {
    scene.code(client, .chat(.send(ChatSendParams(room: "demo", text: text))))
  }

  /// Anna and Ben in a call, which Anna has started.
  private func call(_ scene: Scene) throws -> (anna: Client, ben: Client, id: String) {
    let (anna, ben) = (scene.client("A"), scene.client("B"))
    let start = CallStartParams(to: ["B"], kind: .oneToOne, media: .video)
    guard case .callStarted(let started) = try scene.request(anna, .call(.start(start))).get() else {
      throw ErrorObject(.internalError)
    }
    let id = started.call.callId
    _ = try scene.request(ben, .call(.accept(CallAcceptParams(callId: id)))).get()
    _ = (anna.take(), ben.take())
    return (anna, ben, id)
  }

  // MARK: - Whom they reach

  @Test func allOthersHearItOrSome() throws {
    let scene = Scene()
    let (anna, ben) = try scene.two()
    let carl = scene.client("C")
    _ = try scene.join(carl).get()
    for one in [anna, ben, carl] { _ = one.take() }
    let data = try #require(RawJSON(text: #"{"b": 1.50, "a":[]}"#))
    #expect(try send(scene, anna, data).get().delivered == 2)
    let expected = MessageReceived(room: "demo", from: "A", displayName: "A", topic: "pointer", data: data)
    #expect(heard(ben) == [expected] && heard(carl) == [expected])
    #expect(anna.take().isEmpty, "one does not hear oneself")
    #expect(try send(scene, anna, 2, to: ["C", "nobody"]).get().delivered == 1)
    #expect(ben.take().isEmpty && heard(carl).map(\.data) == [2])
    #expect(try send(scene, anna, 3, to: []).get().delivered == 2, "an empty list is everybody, as in chat")
  }

  @Test func inACallItSaysTheCall() throws {
    let scene = Scene()
    let (anna, ben, id) = try call(scene)
    #expect(try send(scene, anna, room: nil, call: id, topic: "dtmf").get().delivered == 1)
    let expected = MessageReceived(callId: id, from: "A", displayName: "A", topic: "dtmf", data: 1)
    #expect(heard(ben) == [expected])
    #expect(try send(scene, ben, room: "call:\(id)", topic: "dtmf").get().delivered == 1)
    #expect(heard(anna).map(\.callId) == [id], "its room by its name is the same")
  }

  @Test func whoIsNotThereSendsNothing() throws {
    let scene = Scene()
    let (anna, _, id) = try call(scene)
    let carl = scene.client("C")
    #expect(code(send(scene, carl)) == .notJoined && code(send(scene, anna)) == .notJoined)
    #expect(code(send(scene, carl, room: nil, call: id)) == .notInvited, "they have no part in it")
    #expect(code(send(scene, carl, room: nil, call: "nothing")) == .callNotFound)
    let invite = CallInviteParams(callId: id, users: ["C"])
    #expect(scene.code(anna, .call(.invite(invite))) == nil)
    #expect(code(send(scene, carl, room: nil, call: id)) == .notInCall, "who rings is not in it")
    #expect(scene.code(anna, .call(.cancelInvite(CallCancelInviteParams(callId: id, users: ["C"])))) == nil)
    _ = try scene.request(anna, .call(.hangup(CallHangupParams(callId: id)))).get()
    guard case .failure(let error) = send(scene, anna, room: nil, call: id) else {
      Issue.record("the call is over")
      return
    }
    #expect(error.code == .callEnded && error.data.reason == "cancelled")
  }

  @Test func itNamesOneRoomOrOneCall() {
    let both = Request.message(.send(MessageSendParams(room: "demo", callId: "c", topic: "x", data: 1)))
    let neither = Request.message(.send(MessageSendParams(topic: "x", data: 1)))
    for request in [both, neither] {
      #expect { try request.validate() } throws: { ($0 as? ErrorObject)?.data.field == "room" }
    }
    #expect(throws: Never.self) {
      try Request.message(.send(MessageSendParams(callId: "c", topic: "x", data: 1))).validate()
    }
  }

  @Test func whoMayNotWriteSendsNothing() throws {
    let scene = Scene()
    scene.rights = Rights.all.subtracting([.chat])
    let anna = scene.client("A")
    scene.rights = .all
    let ben = scene.client("B")
    for one in [anna, ben] { _ = try scene.join(one).get() }
    _ = ben.take()
    #expect(code(send(scene, anna)) == .forbidden && ben.take().isEmpty)
    #expect(code(send(scene, ben)) == nil, "the control")
  }

  @Test func aChatThatIsClosedIsClosedToMessages() throws {
    let scene = Scene()
    let (anna, ben) = try scene.two()
    guard case .success = scene.operate(.moderate(ModerateParams(room: "demo", action: .disableChat))) else {
      Issue.record("it was not closed")
      return
    }
    guard case .failure(let error) = send(scene, anna) else {
      Issue.record("it was sent")
      return
    }
    #expect(error.code == .forbidden && error.data.reason == "chat_disabled")
    _ = ben.take()
    let fromOutside = MessageSendParams(room: "demo", topic: "notice", data: ["at": 5])
    #expect(scene.operate(.send(fromOutside, as: "House")) == .success(.sent(MessageSendResult(delivered: 2))))
    let expected = MessageReceived(room: "demo", from: "", displayName: "House", topic: "notice", data: ["at": 5])
    #expect(heard(ben) == [expected])
  }

  @Test func theApplicationSendsIntoCalls() throws {
    let scene = Scene()
    let (anna, ben, id) = try call(scene)
    let params = MessageSendParams(callId: id, to: ["B"], topic: "notice", data: 1)
    #expect(scene.operate(.send(params, as: nil)) == .success(.sent(MessageSendResult(delivered: 1))))
    #expect(heard(ben) == [MessageReceived(callId: id, from: "", topic: "notice", data: 1)] && anna.take().isEmpty)
    let nowhere: [(MessageSendParams, ErrorCode)] = [
      (MessageSendParams(callId: "x", topic: "n", data: 1), .callNotFound),
      (MessageSendParams(room: "x", topic: "n", data: 1), .roomNotFound),
      (MessageSendParams(room: "call:\(id)", topic: "n", data: 1), .roomNotFound),
    ]
    for (params, code) in nowhere {
      guard case .failure(let error) = scene.operate(.send(params, as: nil)) else {
        Issue.record("\(params)")
        continue
      }
      #expect(error.code == code)
    }
    _ = try scene.request(anna, .call(.hangup(CallHangupParams(callId: id)))).get()
    guard case .failure(let error) = scene.operate(.send(params, as: nil)) else {
      Issue.record("the call is over")
      return
    }
    #expect(error.code == .callEnded)
  }

  // MARK: - Order

  @Test func everybodyHearsThemInTheOrderOfAllElse() throws {
    let scene = Scene()
    let (anna, ben) = try scene.two()
    let carl = scene.client("C")
    #expect(code(send(scene, anna, 1)) == nil && chat(scene, anna, "two") == nil)
    _ = try scene.join(carl).get()
    #expect(code(send(scene, anna, 3)) == nil)
    #expect(scene.code(carl, .room(.leave(RoomParams(room: "demo")))) == nil)
    #expect(chat(scene, anna, "four") == nil && code(send(scene, anna, 5)) == nil)
    #expect(
      ben.takeNames() == [
        .messageReceived, .chatMessage, .participantJoined, .messageReceived, .participantLeft, .chatMessage,
        .messageReceived,
      ])
    #expect(heard(carl).map(\.data) == [3], "who comes later does not hear what was before")
  }

  @Test func whoWasAwayHearsThemOnce() throws {
    let scene = Scene()
    let (anna, ben) = try scene.two()
    scene.cut(ben)
    #expect(try send(scene, anna, 1).get().delivered == 0)
    #expect(chat(scene, anna, "two") == nil && code(send(scene, anna, 3)) == nil)
    _ = try scene.resume(ben).get()
    let told = ben.take().filter { $0.name == .messageReceived || $0.name == .chatMessage }
    #expect(told.map(\.name) == [.messageReceived, .chatMessage, .messageReceived])
    _ = try scene.resume(ben).get()
    #expect(heard(ben).isEmpty, "the control: what was heard does not come again")
  }

  /// As many events as a session keeps come with a resume, and of one more the first is lost: then it is a snapshot.
  @Test(arguments: [(512, true), (513, false)]) func whoWasAwayHearsSoMany(count: Int, areKept: Bool) throws {
    var rules = ConferenceRules.test
    (rules.dataBurst, rules.roomDataBurst, rules.outbox) = (1_000, 1_000, 1 << 40)
    let scene = Scene(rules)
    let (anna, ben) = try scene.two()
    scene.cut(ben)
    for _ in 0..<count { #expect(code(send(scene, anna)) == nil) }
    let result = try scene.resume(ben).get()
    #expect((result == .resumed(.replayed(count))) == areKept && heard(ben).count == (areKept ? count : 0))
  }

  @Test func aMessageThatComesTwiceIsSentOnce() throws {
    let scene = Scene()
    let (anna, ben) = try scene.two()
    let request = Request.message(.send(MessageSendParams(room: "demo", topic: "x", data: 1)))
    for _ in 0..<2 {
      #expect(
        scene.request(anna, request, id: .string("same")) == .success(.messageSent(MessageSendResult(delivered: 1))))
    }
    #expect(heard(ben).count == 1)
    #expect(code(send(scene, anna, 1)) == nil && heard(ben).count == 1, "the control: another id")
  }

  /// A burst of messages does not push other requests out of what is remembered, and a whole burst is remembered itself.
  @Test func messagesPushNoOtherRequestOut() throws {
    let scene = Scene()
    let (anna, ben) = try scene.two()
    let said = Request.chat(.send(ChatSendParams(room: "demo", text: "once")))
    let first = Request.message(.send(MessageSendParams(room: "demo", topic: "x", data: 0)))
    _ = try scene.request(anna, said, id: .string("chat")).get()
    _ = try scene.request(anna, first, id: .string("message")).get()
    for number in 1..<200 { #expect(code(send(scene, anna, RawJSON(.integer(Int64(number))))) == nil) }
    _ = ben.take()
    _ = try scene.request(anna, said, id: .string("chat")).get()
    _ = try scene.request(anna, first, id: .string("message")).get()
    #expect(ben.take().isEmpty)
    // The control: as many other requests do.
    for _ in 0..<ConferenceRules.test.requestWindow {
      #expect(scene.code(anna, .room(.info(RoomParams(room: "demo")))) == nil)
    }
    _ = try scene.request(anna, said, id: .string("chat")).get()
    #expect(ben.takeNames() == [.chatMessage])
  }

  // MARK: - How many

  @Test func aUserSendsSoManyAndNotOneMore() throws {
    let scene = Scene()
    let (anna, ben) = try scene.two()
    for _ in 0..<200 { #expect(code(send(scene, anna)) == nil) }
    guard case .failure(let error) = send(scene, anna) else {
      Issue.record("one more was sent")
      return
    }
    #expect(error.code == .rateLimited && error.data.retryAfterMs == 10 && error.data.retryable)
    #expect(
      chat(scene, anna, "still") == nil && code(send(scene, ben)) == nil, "the control: it is a budget of its own")
    scene.advance(.milliseconds(1000))
    for _ in 0..<100 { #expect(code(send(scene, anna)) == nil) }
    #expect(code(send(scene, anna)) == .rateLimited)
    _ = try scene.request(anna, .room(.leave(RoomParams(room: "demo")))).get()
    let laptop = scene.client("A", "laptop")
    _ = try scene.join(laptop).get()
    #expect(code(send(scene, laptop)) == .rateLimited, "with all devices together")
    #expect(heard(ben).count == 300)
  }

  private func text(_ bytes: Int) -> RawJSON { RawJSON(.string(String(repeating: "x", count: bytes - 2))) }

  @Test func aLongMessageCountsAsSeveral() throws {
    let scene = Scene()
    let (anna, _) = try scene.two()
    // "demo", "pointer" and "A" twice in quotation marks, and the words of an event.
    let around = 256 + 6 + 9 + 3 + 3
    #expect(code(send(scene, anna, text(MessageWeight.bytesEach - around))) == nil)
    // 199 are left: 39 of five, and three and one more.
    for _ in 0..<39 { #expect(code(send(scene, anna, text(ProtocolLimits.dataBytes))) == nil) }
    #expect(code(send(scene, anna, text(4 * MessageWeight.bytesEach - around + 1))) == .rateLimited)
    #expect(code(send(scene, anna, text(2 * MessageWeight.bytesEach - around + 1))) == nil)
    #expect(code(send(scene, anna, text(MessageWeight.bytesEach - around + 1))) == .rateLimited)
    #expect(code(send(scene, anna)) == nil)
    #expect(code(send(scene, anna)) == .rateLimited)
  }

  /// What is counted is no less than what is written, whatever stands in it.
  @Test func aMessageWeighsWhatItTakesOnTheWire() throws {
    for fill in ["x", "\"", "\u{1}"] {
      let name = String(repeating: fill, count: 128)
      for bytes in [3, 100, 1_500, 8_192] {
        let received = MessageReceived(
          callId: name, from: name, displayName: name, topic: String(name.prefix(64)), data: text(bytes))
        let requested = MessageRequested(
          requestId: "q18446744073709551615", callId: name, from: name, displayName: name,
          topic: String(name.prefix(64)), data: text(bytes), expiresAt: .max, remainingMs: 60_000)
        let weight = MessageWeight.of([name, name, name, received.topic], text(bytes))
        for event in [Event.messageReceived(received), .messageRequested(requested)] {
          let wire = try ServerFrame.event(
            EventMessage(seq: 1_000_000_000, serverTime: 1_795_251_002_371, event: event)
          )
          .encode().count
          #expect(weight * MessageWeight.bytesEach >= wire && (weight - 1) * MessageWeight.bytesEach < wire + 256)
        }
      }
    }
  }

  /// A room in which anybody may speak, with so many in it.
  private func crowd(_ scene: Scene, _ count: Int) throws -> [Client] {
    let people = (0..<count).map { scene.client("u\($0)") }
    for one in people { _ = try scene.join(one, "crowd").get() }
    for one in people { _ = one.take() }
    return people
  }

  private func crowdScene(_ seats: Int, _ change: (inout ConferenceRules) -> Void = { _ in }) -> Scene {
    var rules = ConferenceRules.test
    var kind = RoomRules(kind: "crowd")
    (kind.videoSeats, kind.audioSeats) = (seats, seats)
    rules.rooms["crowd"] = kind
    change(&rules)
    return Scene(rules)
  }

  /// Three who send all that each may: the room hears no more than may wait for one of them.
  @Test func aRoomHearsSoManyAndNotOneMore() throws {
    let scene = crowdScene(4)
    let people = try crowd(scene, 4)
    func say(_ index: Int, _ data: RawJSON = 1) -> Result<MessageSendResult, ErrorObject> {
      send(scene, people[index], data, room: "crowd")
    }
    for _ in 0..<200 { #expect(code(say(0)) == nil && code(say(1)) == nil) }
    guard case .failure(let error) = say(2) else {
      Issue.record("one more was sent")
      return
    }
    #expect(error.code == .rateLimited && error.data.retryAfterMs == 2 && error.message.contains("room"))
    #expect(heard(people[3]).count == 400)
    scene.advance(.milliseconds(500))
    for _ in 0..<50 { #expect(code(say(0)) == nil && code(say(1)) == nil) }
    // Three hundred are left; those of 3,000 bytes count two.
    for _ in 0..<99 { #expect(code(say(2, text(3_000))) == nil) }
    #expect(heard(people[3]).count == 199)
    for _ in 0..<102 { #expect(code(say(3)) == nil) }
    #expect(code(say(3)) == .rateLimited)
    #expect(code(send(scene, try scene.two().0)) == nil, "the control: another room")
    #expect(ConferenceRules().roomDataBurst * MessageWeight.bytesEach < 1 << 20, "less than waits for a slow reader")
  }

  /// Ten who send all that each may in one go, with names full of what is escaped: a listener who reads nothing meanwhile is told less than
  /// may wait for them. The control: without the room's budget it is more.
  @Test(arguments: [true, false]) func burstsOfManyAreLessThanMayWait(isBounded: Bool) throws {
    let scene = crowdScene(11) {
      if !isBounded { ($0.roomDataBurst, $0.dataSendBurst, $0.outbox) = (1_000_000, 1_000_000, 1 << 40) }
    }
    let people = try crowd(scene, 11)
    let topic = String(repeating: "\"", count: 64)
    for one in people.dropLast() {
      for _ in 0..<200 { _ = send(scene, one, text(1_500), room: "crowd", topic: topic) }
    }
    let told = try people[10].take().reduce(0) { sum, event in
      sum
        + (try ServerFrame.event(EventMessage(seq: 1_000, serverTime: 1_795_251_002_371, event: event)).encode().count)
    }
    #expect((told < 1 << 20) == isBounded && told > 600_000, "\(told)")
  }

  /// By who hears it: what the server sends.
  @Test func aRoomIsSentSoManyAndNotOneMore() throws {
    let scene = crowdScene(31) { ($0.dataSendsPerSecond, $0.dataSendBurst) = (100, 95) }
    let people = try crowd(scene, 31)
    for index in 2..<5 { #expect(try send(scene, people[index], room: "crowd").get().delivered == 30) }
    guard case .failure(let error) = send(scene, people[1], room: "crowd") else {
      Issue.record("one more was sent")
      return
    }
    #expect(error.code == .rateLimited && error.data.retryAfterMs == 250)
    let some = ["u2", "u3", "u4", "u5", "u6"]
    #expect(try send(scene, people[1], to: some, room: "crowd").get().delivered == 5, "the control: five are left")
    let ask = MessageRequestParams(room: "crowd", to: "u2", topic: "x", data: 1)
    #expect(scene.code(people[1], .message(.request(ask))) == .rateLimited)
    scene.advance(.milliseconds(950))
    // It weighs more than passes at once, and is let in when nothing else has been taken.
    #expect(try send(scene, people[1], text(8_000), room: "crowd").get().delivered == 30)
    #expect(code(send(scene, people[1], to: ["u2"], room: "crowd")) == .rateLimited)
  }

  /// One who sends to all as often as they may, or to many by their names, leaves others what they need; and the room is theirs again.
  @Test(arguments: [true, false]) func nobodyAloneKeepsOthersOut(toSome: Bool) throws {
    let scene = crowdScene(41) { ($0.dataSendsPerSecond, $0.dataSendBurst) = (400, 400) }
    let people = try crowd(scene, 41)
    let some = (1...20).map { "u\($0)" }
    func flood() -> Int {
      (0..<100).count { _ in code(send(scene, people[0], to: toSome ? some : nil, room: "crowd")) == nil }
    }
    #expect(flood() == (toSome ? 10 : 5), "half of 400 at once")
    for _ in 0..<5 { #expect(code(send(scene, people[1], room: "crowd")) == nil) }
    #expect(code(send(scene, people[2], room: "crowd")) == .rateLimited, "the control: the room has had its 400")
    for index in 2..<22 {
      scene.advance(.milliseconds(200))
      #expect(flood() <= (toSome ? 2 : 1), "a quarter in the long run")
      #expect(code(send(scene, people[index], room: "crowd")) == nil)
    }
  }

  /// Where little may wait for a reader, a room hears less at once.
  @Test(arguments: [(1 << 20, 400), (1 << 18, 102)]) func aRoomHearsWhatMayWait(outbox: Int, most: Int) throws {
    let scene = crowdScene(4) { $0.outbox = outbox }
    let people = try crowd(scene, 4)
    var sent = 0
    for _ in 0..<200 { for one in people.dropLast() where code(send(scene, one, room: "crowd")) == nil { sent += 1 } }
    #expect(sent == most)
  }

  /// What nobody hears takes nothing of what the room may be told.
  @Test func whatNobodyHearsTakesNothing() throws {
    let scene = crowdScene(4)
    let people = try crowd(scene, 4)
    for one in people.prefix(2) { for _ in 0..<200 { _ = send(scene, one, to: ["nobody"], room: "crowd") } }
    for _ in 0..<200 { #expect(code(send(scene, people[2], room: "crowd")) == nil) }
  }

  /// The load of an office that draws together: sixteen people, forty messages of 1 KiB a second each.
  @Test func sixteenWhoDrawTogetherAreNotRefused() throws {
    let scene = crowdScene(16)
    let people = try crowd(scene, 16)
    for _ in 0..<40 {
      for one in people { #expect(code(send(scene, one, text(1_024), room: "crowd")) == nil) }
      scene.advance(.milliseconds(25))
    }
    #expect(heard(people[0]).count == 15 * 40)
  }

  /// On an open server anybody is as many users as they like, but has one address.
  @Test func oneAddressSendsSoManyAndNotOneMore() throws {
    var rules = ConferenceRules.test
    (rules.networkRequestsPerSecond, rules.networkRequestBurst) = (0.001, 60)
    let scene = Scene(rules)
    scene.proof = { $0.network = PeerNetwork(SocketAddress(v4: 0xc000_0201, port: 1)) }
    let (anna, ben) = try scene.two()
    // Two hellos and two joins weigh thirty.
    for _ in 0..<15 { #expect(code(send(scene, anna)) == nil && code(send(scene, ben)) == nil) }
    #expect(code(send(scene, anna)) == .rateLimited && code(send(scene, ben)) == .rateLimited)
  }

  /// Who is over their budget takes nothing from others at their address; what is long takes more.
  @Test func whatIsRefusedTakesNothingFromTheAddress() throws {
    var rules = ConferenceRules.test
    (rules.networkRequestsPerSecond, rules.networkRequestBurst) = (0.001, 60)
    (rules.dataPerSecond, rules.dataBurst) = (0.001, 10)
    let scene = Scene(rules)
    scene.proof = { $0.network = PeerNetwork(SocketAddress(v4: 0xc000_0201, port: 1)) }
    let (anna, ben) = try scene.two()
    // Thirty are left. Two of five are Anna's; nobody asks for a room that she is not in more often than for another.
    #expect(code(send(scene, anna, text(8_192))) == nil)
    #expect(code(send(scene, anna, text(8_192), room: "elsewhere")) == .notJoined)
    for room in ["demo", "elsewhere"] {
      for _ in 0..<40 { #expect(code(send(scene, anna, room: room)) == .rateLimited) }
    }
    for _ in 0..<10 { #expect(code(send(scene, ben)) == nil) }
    #expect(code(send(scene, ben)) == .rateLimited)
    // Ten are left: two lists of five.
    for _ in 0..<2 { #expect(scene.code(ben, .room(.list())) == nil) }
    #expect(scene.code(ben, .room(.list())) == .rateLimited)
  }
}
