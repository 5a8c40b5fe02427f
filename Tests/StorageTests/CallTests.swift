// Calls and messages for web servers in the file.

import Calls
import Conference
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
      try file.apply([], retention: Retention(recordsBefore: 15, tombstonesBefore: 15), wallMilliseconds: 0)
    }
    let restored = try folder.restored().calls
    #expect(restored.records.map(\.entry.record.callId) == ["new"] && restored.tombstones.map(\.call.callId) == ["new"])
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
