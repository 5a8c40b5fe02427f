// Every method of the protocol can be reached from the library, by a method of its own.
import Foundation
import RoostProtocol
import TestSupport
import Testing

@testable import RoostClient

@Suite struct EveryMethodTests {
  private static let call = RoostClientTests.call(state: .active)
  private static let room = snapshot("call:c1")

  /// A server that says yes to everything.
  private static func answer(_ request: FakeServer.Call) -> Bool {
    switch request.request {
    case .room(.join): request.reply(.room(snapshot("demo")))
    case .room(.list): request.reply(.rooms(RoomListResult(rooms: [])))
    case .room(.info(let params)):
      request.reply(.roomInfo(RoomInfo(name: params.room, kind: "demo", media: .video, limit: 3, count: 1)))
    case .chat(.send): request.reply(.chatSent(ChatSendResult(msgId: "m", ts: 1, delivered: 1, stored: true)))
    case .message(.request): request.reply(.messageAnswered(MessageAnswered(from: "ben", data: 1)))
    case .message(.send): request.reply(.messageSent(MessageSendResult(delivered: 1)))
    case .chat(.history): request.reply(.messages(ChatHistoryResult(messages: [])))
    case .peerConnection(.offer): request.reply(.published(PublishResult(sdp: "answer", tracks: [])))
    case .track(.mute), .track(.unmute): request.reply(.muted(MuteResult(muted: true)))
    case .subscription(.subscribe): request.reply(.subscribed(SubscribeResult(subscriptionId: "s1")))
    case .view(.open(let params)):
      request.reply(.views(ViewOpenResult(views: (1...params.count).map { "s\($0)" })))
    case .block(.list): request.reply(.blocked(BlockedResult(users: [])))
    case .userQuery: request.reply(.users(UserQueryResult(users: [])))
    case .call(.start): request.reply(.callStarted(CallStartResult(call: call, room: room, busy: [], unreachable: [])))
    case .call(.accept), .call(.join): request.reply(.callRoom(CallRoomResult(call: call, room: room)))
    case .call(.reject), .call(.cancel), .call(.hangup), .call(.get), .call(.end):
      request.reply(.call(CallResultObject(call: call)))
    case .call(.invite): request.reply(.callInvited(CallInviteResult(invited: [], busy: [], failed: [])))
    case .call(.current): request.reply(.callCurrent(CallCurrentResult()))
    case .call(.available): request.reply(.calls(CallListResult(calls: [])))
    case .call(.history): request.reply(.records(CallHistoryResult(records: [])))
    default: return false
    }
    return true
  }

  @Test func theLibrarySendsEveryMethodOfTheProtocol() async throws {
    let server = try FakeServer { Self.answer($0) }
    let session = try await RoostSession.connect(
      to: server.url, hello: HelloParams(user: "anna"), options: quick { $0.keepAlive = .milliseconds(50) })
    try await session.renew(token: "t2")
    try await useRooms(session)
    try await useCalls(session)
    await session.dropConnection()
    let heard = { (method: Method) in server.requests.contains { $0.method == method } }
    #expect(await eventually { heard(.sessionResume) && heard(.ping) })
    // It is back once it has had the answer: who goes before that has nobody to say so to.
    #expect(await eventually { (try? await session.renew(token: "t3")) != nil })
    await session.close()
    #expect(await eventually { heard(.sessionBye) })
    let made = try Self.made(in: "Sources/clients/RoostClient")
    #expect(Set(server.requests.map(\.method)).isSubset(of: made), "what is heard is found in the sources too")
    #expect(made == Set(Method.allCases))
  }

  /// Methods whose requests are made in the sources of a folder.
  private static func made(in folder: String) throws -> Set<Method> {
    let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized
    let table = try String(
      contentsOf: root.appending(path: "Sources/wire/RoostProtocol/generated/Methods.swift"), encoding: .utf8)
    let sources = try FileManager.default.contentsOfDirectory(atPath: root.appending(path: folder).path)
    let texts = try sources.filter { $0.hasSuffix(".swift") }.map {
      try String(contentsOf: root.appending(path: "\(folder)/\($0)"), encoding: .utf8)
    }
    // As `case .room(.leave): .roomLeave`; a group may be named in several places, or a request kept before it is sent.
    let rows = table.matches(of: /case (\.\w+)(\(\.\w+)?\)?: \.(\w+)\n/)
    #expect(rows.count == Method.allCases.count)
    return Set(
      rows.compactMap { row in
        let request = String(row.1) + (row.2.map(String.init) ?? "(")
        let isMade = texts.contains { $0.firstRange(of: request) != nil }
        return isMade ? Method.allCases.first { "\($0)" == row.3 } : nil
      })
  }

  /// The control: what makes no requests.
  @Test func whatMakesNoRequestIsNotTakenForOne() throws { #expect(try Self.made(in: "Sources/base/Basics") == []) }

  /// A long list comes in pages, and the library asks on until it has all.
  @Test func allPagesOfTheListOfRooms() async throws {
    let all = (0..<5).map { RoomInfo(name: "room \($0)", kind: "demo", media: .video, limit: 3, count: 0) }
    let server = try FakeServer { call in
      guard case .room(.list(let params)) = call.request else { return false }
      let first = params.after.flatMap { after in all.firstIndex { $0.name == after } }.map { $0 + 1 } ?? 0
      let page = Array(all[first...].prefix(2))
      call.reply(.rooms(RoomListResult(rooms: page, next: first + 2 < all.count ? page.last?.name : nil)))
      return true
    }
    let session = try await RoostSession.connect(to: server.url, hello: HelloParams(user: "anna"), options: quick())
    #expect(try await session.rooms() == all)
    #expect(server.requests.count { $0.method == .roomList } == 3)
    #expect(try await session.rooms(after: "room 3", limit: 2).rooms == [all[4]])
    await session.close()
  }

  private func useRooms(_ session: RoostSession) async throws {
    #expect(try await session.rooms() == [])
    #expect(try await session.info(of: "demo").count == 1)
    _ = try await session.presence(of: ["ben"])
    let room = try await session.join(room: "demo")
    try await room.chat("hello")
    try await room.send("dtmf", "5", to: ["ben"])
    #expect(try await room.ask("ben", "vote", 1).from == "ben")
    try await room.answer("q1", "yes")
    _ = try await room.chatHistory()
    _ = try await room.publish(sdp: "offer")
    try await room.answer(offerId: 1, sdp: "answer")
    try await room.restartSubscribe()
    try await room.setMuted("t1", true)
    try await room.setMuted("t1", false)
    try await room.unpublish("t1")
    let subscription = try await room.subscribe(SubscribeParams(trackId: "t2"))
    try await room.update(SubscriptionUpdateParams(subscriptionId: subscription, paused: true))
    try await room.swap(subscription, "s2")
    try await room.unsubscribe(subscription)
    let views = try await room.openViews(2)
    try await room.show([
      ViewWish(subscriptionId: views[0], follow: .activeSpeaker), ViewWish(subscriptionId: views[1]),
    ])
    try await room.moderate(.kick, user: "ben")
    try await room.raiseHand()
    try await room.leave()
  }

  private func useCalls(_ session: RoostSession) async throws {
    let call = try await session.startCall(CallStartParams(to: ["ben"], kind: .oneToOne, media: .video)).call
    try await call.ringing()
    try await call.accept()
    try await call.reject()
    try await call.join()
    try await call.invite(["carl"])
    try await call.cancelInvite(["carl"])
    try await call.requestMediaChange(to: .audio)
    try await call.refresh()
    try await call.cancel()
    try await call.hangup()
    try await call.end()
    _ = try await session.currentCall()
    _ = try await session.availableCalls()
    _ = try await session.callHistory()
    try await session.block("mallory")
    try await session.unblock("mallory")
    #expect(try await session.blockedUsers() == [])
  }
}
