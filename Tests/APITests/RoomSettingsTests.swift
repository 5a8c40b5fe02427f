// Settings of rooms by the API: which of them are meant, who was first, and what is taken for a tag.
import Basics
import Foundation
import RoostProtocol
import Testing
import WebSockets

@testable import API
@testable import Members

@Suite struct RoomSettingsTests {
  private static let path = "/rooms/{room}/settings"
  private static let body = #"{"kind": "group", "audioLimit": 8}"#
  private static let room: DefinedRoom = {
    var plan = RoomPlan(kind: "group")
    (plan.audioLimit, plan.media, plan.until) = (8, .firstJoiner, 5)
    return DefinedRoom(room: "A", origin: .made, plan: plan, tag: "0af", isServed: true)
  }()
  private static let text =
    #"{"origin":"made","room":"A","served":true,"settings":{"audioLimit":8,"kind":"group","media":"first_joiner","until":5},"version":"0af"}"#
    + "\n"

  private func put(
    _ asker: Asker, _ condition: String?, body: String = Self.body, on api: API? = nil
  ) async throws -> HTTPResponse {
    try await asker.ask(
      .put, Self.path, segments: ["room": "A"], body: body, headers: condition.map { ["if-match": $0] } ?? [:], on: api)
  }

  private func tag(_ answer: HTTPResponse) -> String? { answer.headers.first { $0.name == "etag" }?.value }

  @Test func settingsHaveATag() async throws {
    let asker = Asker(answer: { _ in .success(.definition(Self.room)) })
    let read = try await asker.ask(.get, Self.path, segments: ["room": "A"])
    #expect(read.status == 200 && read.text == Self.text && tag(read) == "\"0af\"")
    let put = try await put(asker, "\"0af\"")
    #expect(put.status == 200 && put.text == Self.text && tag(put) == "\"0af\"")
    let made = try await asker.ask(.post, "/rooms", body: #"{"room": "A", "kind": "group"}"#)
    #expect(made.status == 201 && made.text == Self.text && tag(made) == "\"0af\"")
    // The control: what is no settings has none.
    let removed = try await Asker().ask(.delete, Self.path, segments: ["room": "A"])
    #expect(tag(removed) == nil)
  }

  @Test func allOfThemAreAPage() async throws {
    let asker = Asker(answer: { _ in .success(.definitions([Self.room], next: 3)) })
    let answer = try await asker.ask(.get, "/settings", query: ["page": "2"])
    #expect(answer.text == #"{"next":3,"rooms":[\#(Self.text.dropLast())]}"# + "\n")
  }

  @Test func whoSaysNoConditionIsAskedForOne() async throws {
    let asker = Asker(answer: { _ in .success(.definition(Self.room)) })
    let answer = try await put(asker, nil)
    #expect(try answer.status == 428 && answer.problem().title == "Precondition Required")
    #expect(asker.asked.wishes.withLock { $0.isEmpty })
    // The controls: whoever says that any will do, and who takes settings back.
    #expect(try await put(asker, "*").status == 200)
    let back = try await Asker().ask(.delete, Self.path, segments: ["room": "A"])
    #expect(back.status == 200 && back.text == "{\"removed\":1}\n")
  }

  @Test func whoComesSecondHears() async throws {
    let asker = Asker(answer: { action in
      guard case .replaceSettings(_, _, let condition) = action else { return .failure(ErrorObject(.internalError)) }
      return .success(condition.holds(for: "0af") ? .definition(Self.room) : .outdated(tag: "0af"))
    })
    let late = try await put(asker, "\"0ae\"")
    #expect(try late.status == 412 && late.problem().title == "Precondition Failed" && tag(late) == "\"0af\"")
    #expect(late.headers.contains { $0.name == "content-type" && $0.value == "application/problem+json" })
    #expect(try await put(asker, tag(late)).status == 200, "the control")
    #expect(try await put(asker, "\"0ae\", \"0af\"").status == 200, "one of several")
    // Strong comparison: a weak tag is never the same.
    #expect(try await put(asker, "W/\"0af\"").status == 412)
    #expect(try await put(asker, "0af").status == 400)
  }

  @Test(
    arguments: [
      (nil, TagCondition.none), ("*", .any), (" * ", .any), ("\"a\"", .tags(["a"])), ("\"\"", .tags([""])),
      ("\"a\" ,\t\"b,c\"", .tags(["a", "b,c"])), ("W/\"a\", \"b\"", .tags(["b"])), ("W/\"a\"", .tags([])),
      ("\"*\"", .tags(["*"])),
      (Array(repeating: "\"a\"", count: 16).joined(separator: ","), .tags(Array(repeating: "a", count: 16))),
      ("", nil), ("a", nil), ("\"a", nil), ("\"a\" \"b\"", nil), ("\"a\",", .tags(["a"])), (", ,\"a\"", .tags(["a"])),
      (",", nil), (" , ", nil), ("\"a\",,\"b\"", .tags(["a", "b"])),
      ("*, \"a\"", nil),
      ("\"a\"x", nil), ("w/\"a\"", nil), ("\"a b\"", nil), ("\"ä\"", .tags(["ä"])), ("\"a\u{7f}\"", nil), ("W/", nil),
      ("\"a\", *", nil),
      (Array(repeating: "\"a\"", count: 17).joined(separator: ","), nil),
    ] as [(String?, TagCondition?)])
  func conditionsAreRead(header: String?, condition: TagCondition?) throws {
    do throws(ErrorObject) {
      #expect(try TagCondition(ifMatch: header) == condition)
    } catch {
      #expect(condition == nil && error.code == .invalidParams && error.data.field == "If-Match")
    }
  }

  @Test func aPostIsMadeOnce() async throws {
    let asker = Asker(answer: { _ in .success(.definition(Self.room)) })
    let api = asker.api()
    func make(_ key: String?) async throws -> HTTPResponse {
      let headers = key.map { ["idempotency-key": $0] } ?? [:]
      return try await asker.ask(
        .post, "/rooms", body: #"{"room": "A", "kind": "group"}"#, headers: headers, on: api)
    }
    let first = try await make("k")
    let again = try await make("k")
    #expect(again.status == 201 && again.text == first.text && tag(again) == "\"0af\"")
    #expect(asker.asked.wishes.withLock { $0.count } == 1)
    _ = try await make(nil)
    #expect(asker.asked.wishes.withLock { $0.count } == 2, "the control")
  }

  /// Better nothing than something else than what was meant.
  @Test(arguments: [
    (#"{"kind": "group", "seats": 4}"#, "seats"), (#"{"kind": "group", "media": "smell"}"#, "media"), ("{}", "kind"),
    (#"{"kind": "group", "until": null}"#, "until"), (#"{"kind": "group", "players": "4"}"#, "players"),
    (#"{"kind": "group", "room": "A"}"#, "room"), (#"{"kind": "group", "lobby": true}"#, "lobby"),
  ]) func whatIsNotUnderstoodIsRefused(body: String, field: String) async throws {
    let asker = Asker()
    let answer = try await put(asker, "*", body: body)
    #expect(try answer.status == 400 && answer.problem().field == field)
    #expect(asker.asked.wishes.withLock { $0.isEmpty })
  }
}
