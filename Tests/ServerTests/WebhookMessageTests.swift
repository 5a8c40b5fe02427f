// What web servers outside are sent: the text of opaque fields is that of whoever wrote it.

import Calls
import RoostProtocol
import Testing

@testable import Server

@Suite struct WebhookMessageTests {
  @Test func whatIsOpaqueIsSentAsItWasWritten() throws {
    let written = #"{ "z" : 1.0, "a":[12345678901234567890123, 1e400 ] }"#
    let json = #"{"id":1,"method":"call.invite","params":{"callId":"c","users":["b"],"extra":\#(written)}}"#
    guard case .request(_, .call(.invite(let params))) = ClientFrame.decode(Array(json.utf8)) else {
      throw ErrorObject(.internalError)
    }
    let call = Call(
      callId: "c", room: "call:c", kind: .group, media: .audio, answerPolicy: .everyone, rejectPolicy: .ignore,
      busyPolicy: .ring, state: .active, rev: 1, caller: "a", members: [], extra: params.extra, createdAt: 1)
    let event = WebhookEvent(type: .callStarted, at: 1, room: "call:c", call: call)
    let message = WebhookMessage(event, giveUpAfter: .seconds(60), wallMilliseconds: 1)
    let body = String(decoding: try #require(message.delivery).body, as: UTF8.self)
    #expect(body.contains(#""extra":\#(written),"#) && message.stored?.body == body)
  }
}
