// Every operation of the OpenAPI document has a method, which asks for its path in its way.
import Foundation
import RoostProtocol
import Testing

@testable import RoostAdmin

@Suite struct EveryOperationTests {
  /// Each by its name. A segment of the path is said by its own name, and all is said that a query may say.
  private static let operations: [String: @Sendable (AdminClient) async throws -> Void] = [
    "listRooms": { _ = try await $0.listRooms(page: 2) },
    "readRoom": { _ = try await $0.readRoom(room: "room") },
    "changeRoom": { try await $0.changeRoom(room: "room", RoomChange(locked: true)) },
    "endRoom": { try await $0.endRoom(room: "room") },
    "listSettings": { _ = try await $0.listSettings(page: 2) },
    "makeRoom": { try await $0.makeRoom(RoomWish(room: "A", kind: "group"), once: "k") },
    "readSettings": { _ = try await $0.readSettings(room: "room") },
    "replaceSettings": { try await $0.replaceSettings(room: "room", RoomSettings(kind: "group"), ifMatch: .any) },
    "takeBackSettings": { try await $0.takeBackSettings(room: "room", ifMatch: .any) },
    "removeParticipant": { try await $0.removeParticipant(room: "room", user: "user") },
    "moveParticipant": { try await $0.moveParticipant(room: "room", user: "user", MoveWish(to: "B"), once: "k") },
    "moderate": { try await $0.moderate(room: "room", ModerationWish(action: .mute), once: "k") },
    "say": { try await $0.say(room: "room", ChatWish(text: "Hello", displayName: "House"), once: "k") },
    "sendMessage": { try await $0.sendMessage(room: "room", MessageWish(topic: "notice", data: ["at": 1]), once: "k") },
    "sendCallMessage": { try await $0.sendCallMessage(call: "call", MessageWish(topic: "notice", data: 1), once: "k") },
    "liftBan": { try await $0.liftBan(room: "room", user: "user") },
    "listBans": { _ = try await $0.listBans(page: 2, room: "B") },
    "banAddress": { try await $0.banAddress(BanWish(address: "203.0.113.7"), once: "k") },
    "liftAddress": { try await $0.liftAddress(address: "address", room: "B") },
    "listBlocks": { _ = try await $0.listBlocks(page: 2) },
    "readUser": { _ = try await $0.readUser(user: "user") },
    "readHistory": { _ = try await $0.readHistory(user: "user", before: "d") },
    "seeMissed": { try await $0.seeMissed(user: "user") },
    "readBlocks": { _ = try await $0.readBlocks(user: "user") },
    "liftBlocks": { try await $0.liftBlocks(user: "user") },
    "liftBlock": { try await $0.liftBlock(user: "user", blocked: "blocked") },
    "listRevoked": { _ = try await $0.listRevoked(page: 2) },
    "revokeToken": { try await $0.revokeToken(jti: "jti") },
    "restoreToken": { try await $0.restoreToken(jti: "jti") },
    "listGrants": { _ = try await $0.listGrants(page: 2) },
    "readGrants": { _ = try await $0.readGrants(user: "user", page: 2) },
    "narrowGrants": { try await $0.narrowGrants(user: "user", GrantsWish(grants: [])) },
    "restoreGrants": { try await $0.restoreGrants(user: "user", room: "B") },
    "listCalls": { _ = try await $0.listCalls(page: 2) },
    "readCall": { _ = try await $0.readCall(call: "call") },
    "startCall": { try await $0.startCall(CallWish(to: ["ben"]), once: "k") },
    "invite": { try await $0.invite(call: "call", InviteWish(users: ["ben"]), once: "k") },
    "withdrawInvitation": { try await $0.withdrawInvitation(call: "call", user: "user") },
    "endCall": { try await $0.endCall(call: "call") },
    "removeFromCall": { try await $0.removeFromCall(call: "call", user: "user") },
    "listEvents": { _ = try await $0.listEvents(after: 7) },
  ]

  /// What the document has of an operation.
  private struct Documented: Decodable {
    struct Parameter: Decodable {
      var name: String
      var `in`: String
    }
    var operationId: String
    var parameters: [Parameter]
    var requestBody: JSONValue?
  }

  private static func text(_ path: String) throws -> String {
    let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized
    return try String(contentsOf: root.appending(path: path), encoding: .utf8)
  }

  /// Headers that no operation has for itself.
  private static let everywhere: Set = ["Authorization", "Content-Type"]

  /// Where a document and the methods are not the same.
  private static func differences(from text: String) async throws -> [String] {
    struct Document: Decodable { var paths: [String: [String: Documented]] }
    let paths = try JSONDecoder().decode(Document.self, from: Data(text.utf8)).paths
    var differences: [String] = []
    var left = Set(operations.keys)
    for (path, methods) in paths {
      for (method, documented) in methods {
        guard let operation = operations[documented.operationId], left.remove(documented.operationId) != nil else {
          differences.append("\(documented.operationId) has no method")
          continue
        }
        let kept = Kept(404, "")
        try? await operation(kept.client(realm: "clinic"))
        let request = try #require(kept.requests.first, "\(documented.operationId)")
        let asked = try #require(URLComponents(string: request.url))
        let query = documented.parameters.filter { $0.in == "query" }.map(\.name)
        let isSame =
          request.method == method.uppercased() && asked.path == "/api/v1" + path.filter { !"{}".contains($0) }
          && Set(asked.queryItems?.map(\.name) ?? []) == Set(query)
          && request.content.isEmpty == (documented.requestBody == nil)
          && Set(request.headers.keys).subtracting(everywhere)
            == Set(documented.parameters.filter { $0.in == "header" }.map(\.name))
        if !isSame { differences.append("\(documented.operationId): \(request.method) \(request.url)") }
      }
    }
    return differences + left.map { "\($0) is no operation" }
  }

  @Test func everyOperationAsksForItsPath() async throws {
    #expect(try await Self.differences(from: Self.text("docs/openapi.json")) == [])
  }

  @Test(arguments: [
    (
      #""operationId": "endRoom""#, #""operationId": "closeRoom""#,
      ["closeRoom has no method", "endRoom is no operation"]
    ),
    (
      "/users/{user}/missed", "/users/{user}/unseen",
      ["seeMissed: DELETE http://roost/api/v1/users/user/missed?realm=clinic"]
    ),
    (
      "\"If-Match\"", "\"If-None-Match\"",
      [
        "replaceSettings: PUT http://roost/api/v1/rooms/room/settings?realm=clinic",
        "takeBackSettings: DELETE http://roost/api/v1/rooms/room/settings?realm=clinic",
      ]
    ),
    ("\"before\"", "\"until\"", ["readHistory: GET http://roost/api/v1/users/user/calls?before=d&realm=clinic"]),
  ]) func anotherDocumentIsFound(old: String, new: String, differences: [String]) async throws {
    let document = try Self.text("docs/openapi.json")
    #expect(document.contains(old))
    #expect(try await Self.differences(from: document.replacing(old, with: new)).sorted() == differences)
  }
}
