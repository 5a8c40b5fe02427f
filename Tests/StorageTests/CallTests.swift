// Calls and messages for web servers in the file.

import Calls
import Members
import Names
import RoostProtocol
import Testing

@testable import Storage

@Suite struct CallTests {
  private func record(_ call: String, of user: String = "anna", endedAt: Int64 = 1000) -> KeptRecord {
    KeptRecord(
      entry: UserRecord(
        user: user, device: "phone",
        record: CallRecord(
          callId: call, direction: .incoming, result: .missed, why: .noAnswer, elsewhere: false, startedAt: 1,
          endedAt: endedAt, durationMs: 0, peers: ["bert"], kind: .oneToOne, media: .video, reason: .noAnswer)),
      isUnseen: true)
  }

  private func call(_ id: String, endedAt: Int64? = nil) -> Call {
    Call(
      callId: id, room: "call:" + id, kind: .group, media: .audio, answerPolicy: .everyone, rejectPolicy: .ignore,
      busyPolicy: .ring, state: endedAt == nil ? .active : .ended, rev: 3, caller: "anna",
      members: [Member(user: "anna", state: .joined)], extra: ["a": [1, 2]], createdAt: 5, endedAt: endedAt,
      reason: endedAt == nil ? nil : .hangup)
  }

  @Test func recordsArePagedNewestFirstAndReplaced() throws {
    let folder = try Folder()
    try folder.open { file in
      for number in 0..<10 { try file.apply(.record(record("c\(number)")), .record(record("c\(number)", of: "bert"))) }
      try file.apply(.record(record("c3", endedAt: 9)), .seen(user: "anna"))
      let first = try file.records(RecordQuery(user: "anna", before: nil, limit: 4))
      #expect(first.map(\.record.callId) == ["c3", "c9", "c8", "c7"] && first.first?.record.endedAt == 9)
      let second = try file.records(RecordQuery(user: "anna", before: "c7", limit: 4))
      #expect(second.map(\.record.callId) == ["c6", "c5", "c4", "c2"])
      for last in ["c0", "none"] {
        let page = try file.records(RecordQuery(user: "anna", before: last, limit: 4))
        #expect(page.isEmpty)
      }
    }
    let restored = try folder.restored().calls
    #expect(restored.records.count == 20 && restored.records.first?.entry.record.callId == "c0")
    #expect(restored.records.allSatisfy { $0.isUnseen == ($0.entry.user == "bert") })
    #expect(restored.records.first?.entry.device == "phone")
  }

  /// `extra` is what was written, byte for byte, before the restart and after it.
  @Test func whatIsOpaqueComesBackAsItWasWritten() throws {
    let written = #"{ "z" : 1.0, "a":[12345678901234567890123, 1e400 ] }"#
    let json = #"{"id":1,"method":"call.invite","params":{"callId":"c","users":["b"],"extra":\#(written)}}"#
    guard case .request(_, .call(.invite(let params))) = ClientFrame.decode(Array(json.utf8)) else {
      throw ErrorObject(.internalError)
    }
    let folder = try Folder()
    try folder.open { file in
      var ended = call("a", endedAt: 10)
      ended.extra = params.extra
      try file.apply(.tombstone(KeptTombstone(call: ended, clientCallId: nil)))
    }
    let restored = try #require(try folder.restored().calls.tombstones.first)
    #expect(String(decoding: try JSONWriter.bytes(of: restored), as: UTF8.self).contains(#""extra":\#(written),"#))
  }

  @Test func endedCallsAreThereAgain() throws {
    let folder = try Folder()
    var tombstone = try #require(tombstones(["a": 10, "b": 20]).first)
    tombstone.clientCallId = "mine"
    try folder.open { file in
      try file.apply(.tombstone(tombstone))
      for other in tombstones(["c": 5]) { try file.apply(.tombstone(other)) }
    }
    let restored = try folder.restored().calls.tombstones
    #expect(restored.map(\.call.endedAt).compactMap(\.self) == [5, tombstone.call.endedAt].compactMap(\.self))
    #expect(restored.last == tombstone)
  }

  @Test func whatIsTooOldGoes() throws {
    let folder = try Folder()
    try folder.open { file in
      for (name, time) in [("old", Int64(10)), ("new", 20)] {
        try file.apply(.record(record(name, endedAt: time)))
        for tombstone in tombstones([name: time]) { try file.apply(.tombstone(tombstone)) }
      }
      try file.apply(
        [], retention: Retention(recordsBefore: 15, tombstonesBefore: 15, records: 9, recordsOfUser: 9),
        wallMilliseconds: 0)
    }
    let restored = try folder.restored().calls
    #expect(restored.records.map(\.entry.record.callId) == ["new"] && restored.tombstones.map(\.call.callId) == ["new"])
  }

  /// Three of a user and four of all may stay: a fourth and a fifth make the oldest go.
  @Test func whatIsTooMuchGoes() throws {
    let folder = try Folder()
    let retention = Retention(recordsBefore: 0, tombstonesBefore: 0, records: 4, recordsOfUser: 3)
    func calls(_ changes: [StoreChange]) throws -> [String] {
      try folder.open { try $0.apply(changes.map { RealmChange($0) }, retention: retention, wallMilliseconds: 0) }
      return try folder.restored().calls.records.map { $0.entry.user + $0.entry.record.callId }
    }
    func kept(_ user: String, _ call: String) -> StoreChange {
      var record = record(call, endedAt: 10)
      record.entry.user = user
      return .record(record)
    }
    #expect(try calls([kept("a", "1"), kept("a", "2"), kept("a", "3")]) == ["a1", "a2", "a3"])
    #expect(try calls([kept("a", "4")]) == ["a2", "a3", "a4"], "three of one user")
    #expect(try calls([kept("b", "1")]) == ["a2", "a3", "a4", "b1"])
    #expect(try calls([kept("c", "1")]) == ["a3", "a4", "b1", "c1"], "four of all")
    // Of one realm: another's take nothing from it.
    let clinic = try #require(Realm("clinic"))
    let elsewhere = (1...6).map { RealmChange(kept("d\($0)", "1"), of: clinic) }
    try folder.open { try $0.apply(elsewhere, retention: retention, wallMilliseconds: 0) }
    #expect(try calls([]) == ["a3", "a4", "b1", "c1"])
    #expect(try Database(path: folder.file).query("SELECT 1 FROM record").count == 8)
  }

  /// No more ended calls than are read back.
  @Test func endedCallsByNumber() throws {
    let folder = try Folder()
    let retention = Retention(recordsBefore: 0, tombstonesBefore: 0, records: 9, recordsOfUser: 9)
    let first = try #require(tombstones(["first": 1]).first)
    var more = first
    var changes = [StoreChange.tombstone(first)]
    for number in 2...10_000 {
      (more.call.callId, more.call.endedAt) = ("\(number)", Int64(number))
      changes.append(.tombstone(more))
    }
    func names(_ changes: [StoreChange]) throws -> Set<String> {
      try folder.open { try $0.apply(changes.map { RealmChange($0) }, retention: retention, wallMilliseconds: 0) }
      let rows = try Database(path: folder.file).query("SELECT call FROM ended_call")
      return Set(rows.compactMap { $0[0].text })
    }
    #expect(try names(changes).count == 10_000)
    (more.call.callId, more.call.endedAt) = ("one more", 10_001)
    let left = try names([.tombstone(more)])
    #expect(left.count == 10_000 && left.contains("one more") && !left.contains("first"))
  }

  @Test func blocksAreKeptAndTakenBack() throws {
    let folder = try Folder()
    let (first, second) = (KeptBlock(user: "a", blocked: "b"), KeptBlock(user: "a", blocked: "c"))
    try folder.open { try $0.apply(.block(first), .block(second), .block(first)) }
    #expect(Set(try folder.restored().blocks) == [first, second])
    let later = KeptBlock(user: "A", blocked: "b")
    try folder.open { try $0.apply(.block(later), .block(first)) }
    #expect(try folder.restored().blocks == [first, second, later], "oldest first")
    try folder.open { try $0.apply(.forgetBlock(later)) }
    try folder.open { try $0.apply(.forgetBlock(first)) }
    #expect(try folder.restored().blocks == [second])
  }

  @Test func whatWaitsToBeDeliveredKeepsItsOrder() throws {
    let folder = try Folder()
    func delivery(_ id: String) -> StoredDelivery {
      StoredDelivery(id: id, endpoint: "push", lane: "l", part: "plain", body: "{\"a\":1}", expiresAt: 7)
    }
    try folder.open { file in
      try file.apply([], outbox: ["c", "a", "b"].map { .keep(delivery($0)) }, wallMilliseconds: 0)
      try file.apply([], outbox: [.forget("a")], wallMilliseconds: 0)
    }
    #expect(try folder.open { try $0.deliveries(limit: 10) } == [delivery("c"), delivery("b")])
    #expect(try folder.open { try $0.deliveries(limit: 1) } == [delivery("c")])
  }

  private func tombstones(_ ends: KeyValuePairs<String, Int64>) -> [KeptTombstone] {
    ends.map { KeptTombstone(call: call($0.key, endedAt: $0.value), clientCallId: nil) }
  }
}
