// What must hold once a server that was killed is there again: all that is certain of calls, seats, records and chat.
import RoostClient
import RoostProtocol
import Testing

/// One look at a server that has just been started, through new sessions of all users.
struct Aftermath {
  let certain: Ledger.Certain
  let sessions: [String: RoostSession]
  let what: String
  /// Calls as the server knows them now.
  private(set) var calls: [String: Call] = [:]
  /// By user and call.
  private(set) var records: [String: [String: CallRecord]] = [:]

  init(_ certain: Ledger.Certain, _ sessions: [String: RoostSession], _ what: String) async throws {
    (self.certain, self.sessions, self.what) = (certain, sessions, what)
    for (id, told) in certain.calls {
      if let session = sessions[told.caller] { calls[id] = try await session.call(id).refresh() }
    }
    for (user, session) in sessions {
      records[user] = try await history(of: session)
      let hello = await session.hello
      let listed = try await session.availableCalls()
      for id in Set((listed + [hello.current].compactMap(\.self)).map(\.callId)) where calls[id] == nil {
        calls[id] = try await session.call(id).refresh()
      }
    }
  }

  private var running: Set<String> { Set(calls.values.filter { $0.state != .ended }.map(\.callId)) }

  /// Whether a user is in a call.
  func isIn(_ user: String, _ call: String) -> Bool {
    calls[call]?.members.contains { $0.user == user && $0.state.isJoined } ?? false
  }

  /// All that a user has in his list.
  private func history(of session: RoostSession) async throws -> [String: CallRecord] {
    var found: [String: CallRecord] = [:]
    var before: String?
    repeat {
      let page = try await session.callHistory(before: before, limit: 100)
      for record in page.records {
        #expect(found.updateValue(record, forKey: record.callId) == nil, "\(what): a record once")
      }
      before = page.next
    } while before != nil
    return found
  }

  func check() async throws {
    for (id, told) in certain.calls {
      guard let call = calls[id] else { continue }
      checkCall(told, call)
      if let ending = certain.endings[id] {
        #expect(call.state == .ended && Ledger.Ending(reason: call.reason, by: call.by) == ending, "\(what): \(call)")
      }
      guard call.state == .ended else { continue }
      checkRecords(of: call)
      try await checkLateAnswer(to: call)
    }
    try await checkSeats()
    checkTold()
  }

  // MARK: - Calls

  private func checkCall(_ told: Call, _ call: Call) {
    let isSame = call.caller == told.caller && call.createdAt == told.createdAt && call.extra == told.extra
    #expect(isSame && call.rev >= told.rev, "\(what): \(told) is \(call)")
    #expect(Set(told.members.map(\.user)).isSubset(of: call.members.map(\.user)), "\(what): members of \(call)")
    if told.state == .ended {
      // The result of a start stands at the rev before the changes that it shows, and says when the rings would have ended.
      var same = told
      (same.rev, same.expiresAt, same.remainingMs) = (call.rev, call.expiresAt, call.remainingMs)
      #expect(call == same, "\(what): what was over is as it was")
    }
    guard call.state != .ended else { return }
    let isAnybodyIn = call.members.contains { $0.state.isJoined }
    let isAnybodyRung = call.members.contains { $0.state.isRinging }
    #expect(call.kind == .group && isAnybodyIn, "\(what): only groups go on: \(call)")
    #expect(!isAnybodyRung, "\(what): no ring outlives the server: \(call)")
  }

  /// Whoever answers too late is told what has become of it.
  private func checkLateAnswer(to call: Call) async throws {
    let callees = call.members.map(\.user).filter { $0 != call.caller }
    guard let session = callees.compactMap({ sessions[$0] }).first else { return }
    do {
      try await session.call(call.callId).accept()
      Issue.record("\(what): \(call) was answered after its end")
    } catch {
      let data = error.refusal?.data
      #expect(error.code == ErrorCode.callEnded.rawValue && data?.reason == call.reason?.rawValue, "\(what): \(error)")
      #expect(data?.by == call.by && data?.endedAt == call.endedAt, "\(what): \(error)")
    }
  }

  // MARK: - Seats

  private func checkSeats() async throws {
    for (user, session) in sessions {
      let hello = await session.hello
      #expect(hello.ringing.isEmpty, "\(what): \(user) is rung by a server that is no more")
      if let current = hello.current {
        #expect(current.member(user)?.state == .reconnecting && running.contains(current.callId), "\(what): \(current)")
      }
      let isListed = Set(try await session.availableCalls().map(\.callId))
      #expect(isListed.isSubset(of: running), "\(what): a ghost is listed")
      guard let seat = certain.seats[user] else { continue }
      #expect(
        hello.current?.callId == seat.flatMap { running.contains($0) ? $0 : nil },
        "\(what): \(user) sits in \(seat ?? "none")")
      guard let seat, let call = certain.calls[seat], mustGoOn(call) else { continue }
      #expect(
        running.contains(seat) && isListed.contains(seat), "\(what): a group in which \(user) is goes on: \(call)")
    }
  }

  /// A group that somebody has joined, and that its host has not ended.
  private func mustGoOn(_ call: Call) -> Bool {
    let isAnswered = call.members.contains { $0.user != call.caller && $0.joinedAt != nil }
    return call.kind == .group && isAnswered && !certain.endedByHost.contains(call.callId)
  }

  // MARK: - Records

  /// What was told to be on disk, or what has come in its place.
  private func checkTold() {
    for (user, told) in certain.records {
      let found = records[user] ?? [:]
      let missing = told.values.filter { record in
        found[record.callId].map { $0 != record && $0.endedAt < record.endedAt } ?? true
      }
      #expect(missing.isEmpty, "\(what): \(missing.count) of \(told.count) records of \(user) are missing")
    }
  }

  /// Each has the truth about a call that is over in his list.
  private func checkRecords(of call: Call) {
    for member in call.members {
      guard let list = records[member.user] else { continue }
      guard let record = list[call.callId] else {
        Issue.record("\(what): \(member.user) has no record of \(call)")
        continue
      }
      #expect((record.direction == .outgoing) == (member.user == call.caller), "\(what): \(record)")
      #expect(
        !record.peers.contains(member.user) && record.endedAt <= call.endedAt ?? 0, "\(what): \(record) of \(call)")
      #expect((record.answeredAt != nil) == (record.result == .answered), "\(what): \(record)")
      switch member.state {
      // He had been in it before a ring came to nothing.
      case _ where member.leftAt != nil && record.result == .answered: break
      case .declined: #expect(record.result == .declined, "\(what): \(member), \(record)")
      case .busy, .noAnswer, .unreachable, .cancelled, .answeredByOther:
        #expect(record.result == .missed, "\(what): \(member), \(record)")
      default: #expect(!member.state.isRinging && !member.state.isJoined, "\(what): \(member) after the end")
      }
    }
  }

  // MARK: - Coming back

  /// Everybody comes back to the call that he is in, and finds what was said; some leave it, and the others' seats are
  /// returned.
  func comeBack() async throws -> [String: String] {
    var seats: [String: String] = [:]
    for (user, session) in sessions {
      guard let current = await session.hello.current else { continue }
      let room = try await session.call(current.callId).join()
      let state = try await session.call(current.callId).refresh()
      #expect(
        state.member(user)?.state.isJoined == true && state.state == .active, "\(what): \(user) is back in \(state)")
      try await checkChat(of: room)
      if Bool.random() { try await session.call(current.callId).hangup() } else { seats[user] = current.callId }
    }
    return seats
  }

  /// The room of a call keeps its last hundred messages.
  private func checkChat(of room: RoomSession) async throws {
    let found = Set(try await room.chatHistory(limit: 100).map(\.msgId))
    let told = certain.messages.values.filter { $0.room == room.name }.sorted { $0.ts < $1.ts }
    guard told.count < 80 else { return }
    let missing = told.filter { !found.contains($0.msgId) }
    #expect(missing.isEmpty, "\(what): \(missing) of \(room.name) is missing")
  }
}
