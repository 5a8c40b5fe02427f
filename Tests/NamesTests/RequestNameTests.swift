// Every field of a request that names somebody or something is held to the form of names; those that do not are listed.

import RoostProtocol
import Testing

@testable import Names

@Suite struct RequestNameTests {
  private static let bad = "\u{212a}im"

  private static func requests(_ name: String) -> [(field: String, request: Request)] {
    [
      ("user", .session(.hello(HelloParams(user: name)))),
      ("deviceId", .session(.hello(HelloParams(user: "a", deviceId: name)))),
      ("users[1]", .userQuery(UserQueryParams(users: ["a", name]))),
      ("user", .block(.add(BlockParams(user: name)))), ("user", .block(.remove(BlockParams(user: name)))),
      ("room", .room(.join(RoomJoinParams(room: name)))), ("room", .room(.leave(RoomParams(room: name)))),
      ("room", .room(.info(RoomParams(room: name)))), ("after", .room(.list(RoomListParams(after: name)))),
      ("room", .room(.moderate(ModerateParams(room: name, action: .lock)))),
      ("user", .room(.moderate(ModerateParams(room: "r", action: .kick, user: name)))),
      ("room", .room(.raiseHand(RaiseHandParams(room: name, raised: true)))),
      ("room", .chat(.send(ChatSendParams(room: name, text: "t")))),
      ("to[1]", .chat(.send(ChatSendParams(room: "r", text: "t", to: ["a", name])))),
      ("clientMsgId", .chat(.send(ChatSendParams(room: "r", text: "t", clientMsgId: name)))),
      ("room", .chat(.history(ChatHistoryParams(room: name)))),
      ("to[1]", .call(.start(CallStartParams(to: ["a", name], kind: .group, media: .audio)))),
      ("clientCallId", .call(.start(CallStartParams(to: ["a"], kind: .group, media: .audio, clientCallId: name)))),
      ("users[0]", .call(.invite(CallInviteParams(callId: "c", users: [name])))),
      ("users[0]", .call(.cancelInvite(CallCancelInviteParams(callId: "c", users: [name])))),
    ]
  }

  @Test func everyNameIsLookedAt() throws {
    for (field, request) in Self.requests(Self.bad) {
      let error = #expect(throws: ErrorObject.self, "\(request.method) \(field)") { try request.checkNames() }
      #expect(error?.code == .invalidParams && error?.data.field == field, "\(request.method) \(field)")
      #expect(error?.message.contains("in Unicode form C") == true)
    }
    for (field, request) in Self.requests("Kim") {
      #expect(throws: Never.self, "\(request.method) \(field)") { try request.checkNames() }
    }
  }

  @Test func whatPeopleSayIsOfAnyForm() {
    let texts: [Request] = [
      .session(.hello(HelloParams(user: "a", displayName: Self.bad))),
      .room(.join(RoomJoinParams(room: "r", displayName: Self.bad, metadata: RawJSON(.string(Self.bad))))),
      .chat(.send(ChatSendParams(room: "r", text: Self.bad))),
    ]
    for request in texts { #expect(throws: Never.self) { try request.checkNames() } }
  }
}
