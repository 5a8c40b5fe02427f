// `extra` and `push` on their way through calls: to who is rung, through a resume, a restart, and to web servers.

import Basics
import Calls
import Foundation
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

@Suite struct VerbatimCallTests {
  private static let written = #"{ "z" : 1.0, "a":[12345678901234567890123, 1e400 ] , "t":"\ud83d" }"#

  private func decode(_ method: String, _ params: String) throws -> Request {
    let json = #"{"jsonrpc":"2.0","id":1,"method":"\#(method)","params":\#(params)}"#
    guard case .request(_, let request) = ClientFrame.decode(Array(json.utf8)) else {
      throw ErrorObject(.internalError)
    }
    return request
  }

  private func start(_ fields: String) throws -> Request {
    try decode("call.start", #"{"to":["b"],"kind":"group","media":"audio",\#(fields)}"#)
  }

  private func sent(_ event: Event?) throws -> String {
    let event = try #require(event)
    let frame = ServerFrame.event(EventMessage(seq: 1, serverTime: 1, event: event))
    return String(decoding: try frame.encode(), as: UTF8.self)
  }

  private static var keeping: ConferenceRules {
    var rules = ConferenceRules.test
    (rules.storesRecords, rules.calls.keepsCalls) = (true, true)
    return rules
  }

  /// Line 15: the ring, the same ring after a resume, an invitation, and what others hear.
  @Test func whatIsSentAlongIsRungByteForByte() throws {
    let scene = Scene()
    let (a, b, c) = (scene.client("a"), scene.client("b"), scene.client("c"))
    scene.cut(b)
    let reply = try scene.request(a, start(#""extra":\#(Self.written)"#)).get()
    let answer = String(decoding: try ServerFrame.reply(.number(1), reply).encode(), as: UTF8.self)
    #expect(answer.contains(#""extra":\#(Self.written),"#))
    scene.resume(b)
    guard case .callIncoming(let incoming)? = b.take().first else { throw ErrorObject(.internalError) }
    #expect(try sent(.callIncoming(incoming)).contains(#""extra":\#(Self.written),"#))
    _ = try scene.accept(b, incoming.call.callId)
    let invite = try decode(
      "call.invite", #"{"callId":"\#(incoming.call.callId)","users":["c"],"extra": [ 0.10 ]}"#)
    #expect(scene.code(a, invite) == nil)
    #expect(try sent(c.take().first).contains(#""extra":[ 0.10 ],"#))
  }

  /// What is kept of a running call and of one that is over, as it is written and read again.
  @Test func whatIsKeptIsKeptByteForByte() throws {
    let scene = Scene(Self.keeping)
    let (a, b) = (scene.client("a"), scene.client("b"))
    let request = try start(#""extra":\#(Self.written),"push":[ 2.0 ]"#)
    guard case .callStarted(let started) = try scene.request(a, request).get() else {
      throw ErrorObject(.internalError)
    }
    let id = started.call.callId
    _ = scene.request(b, .call(.ringing(CallParams(callId: id))))
    let kept = try #require(
      scene.stores.flatMap(\.1).compactMap { if case .call(let call) = $0 { call } else { nil } }.last)
    let text = String(decoding: try JSONWriter.bytes(of: kept), as: UTF8.self)
    #expect(text.contains(#""extra":\#(Self.written),"#) && text.contains(#""push":[ 2.0 ],"#))
    let read = try JSONDecoder().decodeVerbatim(KeptCall.self, from: Array(text.utf8))
    #expect(String(decoding: try JSONWriter.bytes(of: read), as: UTF8.self) == text)

    _ = try scene.accept(b, id)
    #expect(scene.code(a, .call(.end(CallParams(callId: id)))) == nil)
    let grave = try #require(
      scene.stores.flatMap(\.1).compactMap { if case .tombstone(let call) = $0 { call } else { nil } }.last)
    let over = String(decoding: try JSONWriter.bytes(of: grave), as: UTF8.self)
    #expect(over.contains(#""extra":\#(Self.written),"#))
  }

  /// For whoever wakes phones, and whoever follows what happens.
  @Test func webServersAreToldByteForByte() throws {
    var rules = ConferenceRules.test
    (rules.calls.hasPush, rules.calls.isFollowed) = (true, true)
    let scene = Scene(rules)
    let a = scene.client("a")
    #expect(scene.code(a, try start(#""extra":\#(Self.written),"push":{"t" : 1.0}"#)) == nil)
    let notice = try #require(scene.pushes.first)
    let push = String(decoding: try JSONText.bytes(of: notice), as: UTF8.self)
    #expect(push.contains(#""push":{"t" : 1.0}"#) && push.contains(#""extra":\#(Self.written)"#))
    let hook = String(
      decoding: try JSONText.bytes(of: try #require(scene.hooks.last { $0.call != nil })), as: UTF8.self)
    #expect(hook.contains(#""extra":\#(Self.written)"#))
  }
}
