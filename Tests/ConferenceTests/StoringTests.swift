// What waits for the disk and what does not: the sender's reply does, nobody else.

import Basics
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

@Suite struct StoringTests {
  private static var rules: ConferenceRules {
    var rules = ConferenceRules.test
    rules.storesRecords = true
    return rules
  }

  private func send(_ scene: Scene, _ client: Client, _ text: String, name: String? = nil, room: String = "demo")
    -> RequestID
  {
    let id = client.makeID()
    let params = ChatSendParams(room: room, text: text, clientMsgId: name)
    client.requests[id] = .chat(.send(params))
    scene.apply(.request(client.connection, id, .chat(.send(params))))
    return id
  }

  private func result(_ client: Client, _ id: RequestID) -> ChatSendResult? {
    guard case .success(.chatSent(let result)) = client.replies[id]?.last else { return nil }
    return result
  }

  @Test func theOthersHearAtOnceAndTheSenderWhenItIsOnDisk() throws {
    let scene = Scene(Self.rules)
    let (anna, bob) = (scene.client("anna"), scene.client("bob"))
    scene.join(anna)
    scene.join(bob)
    _ = (anna.take(), bob.take())
    let id = send(scene, anna, "hello")
    #expect(bob.takeNames() == [.chatMessage] && anna.replies[id] == nil)
    let (ticket, changes) = try #require(scene.stores.last)
    guard case .message(let stored, forgetting: nil) = try #require(changes.first) else {
      Issue.record("not a message: \(changes)")
      return
    }
    #expect(stored.message.text == "hello" && stored.delivered == 1)
    scene.apply(.stored(ticket, true))
    #expect(result(anna, id)?.stored == true && result(anna, id)?.delivered == 1)
    scene.apply(.stored(ticket, false))
    #expect(anna.replies[id]?.count == 1, "told once")
  }

  @Test func aDiskThatDoesNotAnswerCountsAsNo() throws {
    let scene = Scene(Self.rules)
    let anna = scene.client("anna")
    scene.join(anna)
    let (failed, silent) = (send(scene, anna, "one"), send(scene, anna, "two"))
    scene.apply(.stored(try #require(scene.stores.first).0, false))
    #expect(result(anna, failed)?.stored == false && anna.replies[silent] == nil)
    scene.advance(Self.rules.storePatience)
    #expect(result(anna, silent)?.stored == false)
    #expect(scene.core.storing.waiters.isEmpty)
  }

  @Test func theSameMessageSentAgainMeanwhileIsOneMessage() throws {
    let scene = Scene(Self.rules)
    let (anna, bob) = (scene.client("anna"), scene.client("bob"))
    scene.join(anna)
    scene.join(bob)
    _ = bob.take()
    let ids = (0..<3).map { _ in send(scene, anna, "hello", name: "c1") }
    #expect(scene.stores.count == 1 && bob.takeNames() == [.chatMessage])
    scene.apply(.stored(scene.stores[0].0, true))
    #expect(Set(ids.map { result(anna, $0)?.msgId }).count == 1 && ids.allSatisfy { result(anna, $0)?.stored == true })
    #expect(result(anna, send(scene, anna, "hello", name: "c1"))?.stored == true)
    #expect(scene.stores.count == 1)
  }

  @Test func theFileForgetsWhatTheRoomForgets() throws {
    var rules = Self.rules
    rules.chatBurst = 100
    rules.rooms["demo"]?.chatHistory = 2
    rules.rooms["mute"] = RoomRules(kind: "mute")
    rules.rooms["mute"]?.chatHistory = 0
    let scene = Scene(rules)
    let anna = scene.client("anna")
    scene.join(anna)
    for text in ["a", "b", "c"] { _ = send(scene, anna, text) }
    let numbers = scene.stores.compactMap { ticket, changes -> (UInt64, UInt64?)? in
      guard case .message(let stored, let forgotten) = changes.first else { return nil }
      return (stored.number, forgotten)
    }
    #expect(numbers.map(\.1) == [nil, nil, numbers[0].0])
    scene.join(anna, "mute")
    #expect(result(anna, send(scene, anna, "d", room: "mute"))?.stored == false, "kept nowhere, said at once")
    scene.join(anna, "ad hoc")
    _ = send(scene, anna, "e", room: "ad hoc")
    scene.join(anna, "demo")
    #expect(scene.stores.last?.1 == [.forgetRoom("ad hoc")])
  }

  @Test func whatWasSaidIsThereAfterARestart() throws {
    var state = RestoredState()
    state.chats = [
      "demo": [stored(40, "demo")], "ad hoc": [stored(41, "ad hoc")], "deserted": [stored(42, "deserted")],
    ]
    state.lastNumber = 42
    let scene = Scene(Self.rules, restored: state)
    let anna = scene.client("anna")
    let snapshot = try scene.join(anna).get()
    #expect(snapshot.chat.map(\.msgId) == ["m40"])
    #expect(result(anna, send(scene, anna, "again", name: "c40"))?.msgId == "m40", "sent again after the restart")
    #expect(try scene.join(anna, "ad hoc").get().chat.map(\.msgId) == ["m41"])
    scene.advance(Self.rules.restoredChatTime)
    #expect(scene.stores.last?.1 == [.forgetRoom("deserted")])
    #expect(try scene.join(anna, "deserted").get().chat == [])
    let id = send(scene, anna, "new", room: "deserted")
    scene.apply(.stored(try #require(scene.stores.last).0, true))
    let number = try #require(result(anna, id).flatMap { wireNumber($0.msgId, prefix: "m") })
    #expect(number > 42)
  }

  /// What the last process had sent, and not written before it was killed, had numbers as well.
  @Test func noNumberIsGivenTwiceAcrossACrash() throws {
    let scene = Scene(Self.rules)
    let anna = scene.client("anna")
    scene.join(anna)
    for text in ["kept", "sent and not written"] { _ = send(scene, anna, text) }
    let messages = scene.stores.flatMap(\.1).compactMap { change in
      if case .message(let message, _) = change { message } else { nil }
    }
    var state = RestoredState()
    (state.chats["demo"], state.lastNumber) = ([messages[0]], messages[0].number)
    let next = Scene(Self.rules, restored: state)
    let again = next.client("anna")
    next.join(again)
    let id = send(next, again, "new")
    next.apply(.stored(try #require(next.stores.last).0, true))
    let number = try #require(result(again, id).flatMap { wireNumber($0.msgId, prefix: "m") })
    #expect(number > messages[1].number)
  }

  /// Those who come back to a call and go again do not take along what was said in it: others may still come.
  @Test func theChatOfACallThatWasFoundAgainStaysWhileItRuns() throws {
    var rules = Self.rules
    rules.calls.keepsCalls = true
    let scene = Scene(rules)
    let (anna, bob) = (scene.client("anna"), scene.client("bob"))
    let start = CallStartParams(to: ["bob"], kind: .group, media: .audio)
    guard case .callStarted(let started) = try scene.request(anna, .call(.start(start))).get() else {
      throw ErrorObject(.internalError)
    }
    _ = scene.request(bob, .call(.accept(CallAcceptParams(callId: started.call.callId))))
    _ = send(scene, anna, "hello", room: started.call.room)
    var state = RestoredState()
    for change in scene.stores.flatMap(\.1) {
      if case .message(let message, _) = change { state.chats[started.call.room, default: []].append(message) }
      if case .call(let call) = change { state.calls.running = [call] }
    }

    let next = Scene(rules, restored: state)
    let join = Request.call(.join(CallJoinParams(callId: started.call.callId)))
    let (again, later) = (next.client("anna"), next.client("bob"))
    #expect(next.code(again, join) == nil)
    _ = next.request(again, .call(.hangup(CallHangupParams(callId: started.call.callId))))
    guard case .callRoom(let result) = try next.request(later, join).get() else { throw ErrorObject(.internalError) }
    #expect(result.room.chat.map(\.text) == ["hello"])
    _ = next.request(later, .call(.hangup(CallHangupParams(callId: started.call.callId))))
    #expect(next.stores.flatMap(\.1).contains(.forgetRoom(started.call.room)), "with the call it is forgotten")
    #expect(next.core.rooms.table.keys[started.call.room] == nil)
  }

  private func stored(_ number: UInt64, _ room: String) -> StoredMessage {
    StoredMessage(
      number: number, message: Message(msgId: "m\(number)", room: room, ts: 1, from: "anna", text: "hello"),
      clientMsgId: "c\(number)", delivered: 1)
  }
}
