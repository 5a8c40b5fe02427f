// Scenario 51: twenty members and random commands; everybody sees the changes of a call in one order. What makes the order
// of two, and of two who become a group, is in OrderOfTwo.swift.

import Basics
import RoostClient
import RoostProtocol
import TestSupport
import Testing

extension EndToEnd.CallScenarios {
  @Test(arguments: [UInt64(51), 52]) func scenario51EverybodySeesTheChangesInOneOrder(_ seed: UInt64) async throws {
    try await TestServer.calls({
      $0.calls.resumeGrace = .seconds(600)
      $0.sessions.resumeGrace = .seconds(600)
    }) { server in
      let host = try await server.phone("user0")
      var people = [host]
      for number in 1..<20 { people.append(try await Phone(server.url, "user\(number)", reconnects: true)) }
      let started = try await host.start(people.dropFirst().map(\.user), .group, .audio).call
      let id = started.callId
      let users = people.map(\.user)
      let wanderers = try await withThrowingTaskGroup(of: Wanderer.self) { group in
        for (number, one) in people.enumerated().dropFirst() {
          let seed = seed &* 1_000 &+ UInt64(number)
          group.addTask {
            var wanderer = Wanderer(one, in: id, others: users, seed: seed)
            try await wanderer.wander()
            return wanderer
          }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      try await host.settle()
      try await wanderers.map(\.one).settle()
      let stays = wanderers.flatMap(\.stays)
      let former = wanderers.flatMap(\.former)
      for phone in former { #expect(await eventually { await phone.log.isOver }, "\(phone.user) has made way") }
      #expect(wanderers.contains { $0.successions > 0 } && wanderers.contains { $0.takeovers > 0 }, "seed \(seed)")
      people = [host] + wanderers.map(\.one) + former
      let final = try await host.get(id).rev
      #expect(final > 300, "seed \(seed)")

      let changes = await changesInOrder(people, id, "seed \(seed)")
      let kinds = Set(changes.values.map(\.name))
      for name: EventName in [
        .callAccepted, .callInvited, .callMediaChanged, .memberDeclined, .memberLeft, .memberRemoved, .memberRinging,
        .memberState,
      ] { #expect(kinds.contains(name), "nobody did \(name), seed \(seed)") }
      // The host never left and did nothing, so he heard every change.
      let hosts = await heardRevs(host, id)
      let missed = Set((started.rev + 1)...final).subtracting(hosts).sorted()
      #expect(missed.isEmpty, "\(missed), seed \(seed)")
      for stay in stays {
        let heard = await heardRevs(stay.who, id)
        // The changes with which one comes and goes are told by the replies; all others are heard, one's own too.
        let missing = Set(stay.from...stay.to).subtracting(heard).filter { !stay.isTold($0, changes[$0]) }
        #expect(
          missing.isEmpty,
          "\(stay.who.user) did not hear \(missing.sorted()) between \(stay.from) and \(stay.to), seed \(seed)")
      }
    }
  }

  /// What happened at each rev, for all of whom nobody disagrees, and everybody in the same order.
  func changesInOrder(_ people: [Phone], _ callId: String, _ what: String) async -> [Int: HeardChange] {
    var changes: [Int: HeardChange] = [:]
    for one in people {
      let heard = await one.log.all { event -> (Int, Event)? in
        event.callId == callId ? event.callRevision.map { ($0, event) } : nil
      }
      for ((earlier, before), (later, event)) in zip(heard, heard.dropFirst()) {
        // A ring is one's own word for the invitation that everybody hears, and part of the same change.
        let isInOrder = before.incoming != nil ? earlier <= later : earlier < later
        #expect(isInOrder, "\(one.user): \(event.name) of \(later) behind \(before.name) of \(earlier), \(what)")
      }
      for (rev, event) in heard {
        guard let change = event.change else { continue }
        #expect(changes[rev, default: change] == change, "two hear \(rev) as different changes, \(what)")
        changes[rev] = change
      }
    }
    return changes
  }

  func heardRevs(_ who: Phone, _ callId: String) async -> Set<Int> {
    Set(await who.log.all { $0.callId == callId ? $0.callRevision : nil })
  }
}

/// A time in which one was joined, by the revs of the replies that began and ended it.
private struct Stay: Sendable {
  var who: Phone
  var from: Int
  var to: Int

  /// Whether it is the change that one of the two replies told: this user's own.
  func isTold(_ rev: Int, _ change: HeardChange?) -> Bool {
    (rev == from || rev == to) && change?.actor == who.user
  }
}

/// Somebody who comes and goes, invites and is invited, loses his socket now and then, starts his app anew and goes on with
/// another device; he is out at the end.
private struct Wanderer {
  /// The device that he has now, and those that made way for it.
  private(set) var one: Phone
  private(set) var former: [Phone] = []
  private(set) var stays: [Stay] = []
  private(set) var successions = 0
  private(set) var takeovers = 0
  private let callId: String
  private let others: [String]
  private var random: SplitMix64
  private var joinedAt: Int?
  private var asked: [String] = []

  init(_ one: Phone, in callId: String, others: [String], seed: UInt64) {
    (self.one, self.callId, self.others) = (one, callId, others.filter { $0 != one.user })
    random = SplitMix64(seed: seed)
  }

  mutating func wander() async throws {
    _ = try await one.hears(\.incoming, of: callId)
    for _ in 0..<60 { try await act() }
    try await leave()
  }

  private mutating func act() async throws {
    switch (Int.random(in: 0..<13, using: &random), joinedAt) {
    case (0, _): await one.session.dropConnection()
    case (12, _) where Bool.random(using: &random): try await startAgain()
    case (12, _?): try await takeOver()
    case (1...2, nil): _ = try await refused { try await one.ringing(callId) }
    case (3...4, nil): _ = try await refused { try await one.reject(callId, text: "later") }
    // A ring that has been stopped meanwhile, no seat: he tries again.
    case (5...6, nil): _ = try await refused { joinedAt = try await one.accept(callId).call.rev }
    case (_, nil): _ = try await refused { joinedAt = try await one.join(callId).call.rev }
    case (1...3, _?): try await leave()
    case (4...5, _?):
      let media: MediaClass = Bool.random(using: &random) ? .video : .audio
      let change = MediaChangeParams(callId: callId, action: .request, media: media)
      _ = try await refused { try await one.session.request(.call(.mediaChange(change))) }
    case (6...7, _?):
      let params = CallCancelInviteParams(callId: callId, users: asked)
      _ = try await refused { try await one.session.request(.call(.cancelInvite(params))) }
    default:
      asked = Array(others.shuffled(using: &random).prefix(2))
      _ = try await refused { try await one.invite(callId, asked) }
    }
  }

  private mutating func leave() async throws {
    guard let from = joinedAt else { return }
    stays.append(Stay(who: one, from: from, to: try await one.hangup(callId).rev))
    joinedAt = nil
  }

  /// The same device says hello on another socket, and takes up the call that it was in.
  private mutating func startAgain() async throws {
    // What was lost with a socket has been repeated when this is answered.
    _ = try await one.session.request(.session(.ping))
    let next = try await Phone(one.url, one.user, device: one.device, token: one.token, reconnects: true)
    former.append(one)
    if let from = joinedAt {
      let left = try #require(await next.session.hello.current, "a hello hangs up")
      stays.append(Stay(who: one, from: from, to: left.rev))
      joinedAt = try await next.join(callId).call.rev
      successions += 1
    }
    one = next
  }

  /// Another device of his takes his seat, and this one is put away.
  private mutating func takeOver() async throws {
    guard let from = joinedAt else { return }
    _ = try await one.session.request(.session(.ping))
    let next = try await Phone(one.url, one.user, device: "device \(former.count)", reconnects: true)
    let joined = try await next.join(callId, takingFrom: one.token)
    stays.append(Stay(who: one, from: from, to: joined.call.rev))
    await one.session.close()
    former.append(one)
    (one, joinedAt, takeovers) = (next, joined.call.rev, takeovers + 1)
  }
}

/// A change as everybody who hears of it hears it.
struct HeardChange: Hashable {
  var name: EventName
  var words: String
  /// Whose doing it is.
  var actor: String?
}

extension Event {
  /// The change as everybody hears it; a ring and its end are one's own words for it, and a record is none.
  fileprivate var change: HeardChange? {
    let told: (words: String, actor: String?)? =
      switch self {
      case .callEnded(let event): ("\(event.reason) \(event.by ?? "") \(event.durationMs)", event.by)
      case .callAccepted(let event): ("\(event)", event.user)
      case .callInvited(let event): ("\(event)", event.inviter)
      case .callActive(let event): ("\(event)", nil)
      case .callTypeChanged(let event): ("\(event)", nil)
      case .callAlone(let event): ("\(event)", nil)
      case .callMediaChanged(let event), .callMediaChangeRequested(let event): ("\(event)", event.by)
      default: memberEvent.map { ("\($0)", $0.member.user) }
      }
    return told.map { HeardChange(name: name, words: $0.words, actor: $0.actor) }
  }
}
