// Scenario 51: twenty members and random commands; everybody sees the changes of a call in one order.

import Basics
import RoostProtocol
import Testing

extension EndToEnd.CallScenarios {
  @Test func scenario51EverybodySeesTheChangesInOneOrder() async throws {
    try await TestServer.calls({ $0.calls.aloneTimeout = .zero }) { server in
      let people = try await server.phones((0..<20).map { "user\($0)" })
      let host = people[0]
      let started = try await host.start(people.dropFirst().map(\.user), .group, .audio).call
      let id = started.callId
      let stays = try await withThrowingTaskGroup(of: [Stay].self) { group in
        for one in people.dropFirst() {
          group.addTask { try await wander(one, in: id, others: people) }
        }
        var stays: [Stay] = []
        for try await some in group { stays += some }
        return stays
      }
      try await people.settle()
      let final = try await host.get(id).rev
      #expect(final > 100)

      var changes: [Int: String] = [:]
      for one in people {
        let heard = await one.log.messages.filter { $0.event.callId == id }
        let revs = heard.compactMap { one in one.event.changeRev.map { ($0, one.event) } }
        for (earlier, later) in zip(revs, revs.dropFirst()) {
          // A ring is one's own word for the invitation that everybody hears, and part of the same change.
          let isInOrder = earlier.1.incoming != nil ? earlier.0 <= later.0 : earlier.0 < later.0
          #expect(isInOrder, "\(one.user): \(later.1.name) of \(later.0) behind \(earlier.1.name) of \(earlier.0)")
        }
        for (rev, event) in revs {
          guard let change = event.change else { continue }
          #expect(changes[rev, default: change] == change, "two hear \(rev) as different changes")
          changes[rev] = change
        }
      }
      // The host never left and did nothing, so he heard every change.
      let hosts = await heardRevs(host, id)
      #expect(hosts == Set((started.rev + 1)...final), "\(Set((started.rev + 1)...final).subtracting(hosts).sorted())")
      for stay in stays {
        let heard = await heardRevs(stay.who, id)
        // One's own changes are told by the reply.
        let missing = Set(stay.from...stay.to).subtracting(heard).filter { rev in
          Event.actor(of: changes[rev] ?? "") != stay.who.user
        }
        #expect(
          missing.isEmpty, "\(stay.who.user) did not hear \(missing.sorted()) between \(stay.from) and \(stay.to)")
      }
    }
  }

  /// A time in which one was joined, by the revs of the replies that began and ended it.
  private struct Stay: Sendable {
    var who: Phone
    var from: Int
    var to: Int
  }

  private func heardRevs(_ who: Phone, _ callId: String) async -> Set<Int> {
    Set(await who.log.all { $0.callId == callId ? $0.changeRev : nil })
  }

  private func wander(_ one: Phone, in callId: String, others: [Phone]) async throws -> [Stay] {
    var random = SystemRandomNumberGenerator()
    var stays: [Stay] = []
    var joinedAt: Int?
    _ = try await one.hears(\.incoming, of: callId)
    for step in 0..<24 {
      switch (Int.random(in: 0..<6, using: &random), joinedAt) {
      case (0, nil) where step < 6: _ = try await refused { try await one.reject(callId) }
      case (0...3, nil): joinedAt = try await one.join(callId).call.rev
      case (0...3, let from?):
        stays.append(Stay(who: one, from: from, to: try await one.hangup(callId).rev))
        joinedAt = nil
      case (_, nil): break
      default:
        guard let other = others.randomElement(using: &random) else { continue }
        _ = try await refused { try await one.invite(callId, [other.user]) }
      }
    }
    if let joinedAt { stays.append(Stay(who: one, from: joinedAt, to: try await one.hangup(callId).rev)) }
    return stays
  }
}

extension Event {
  /// The change of the call that the event tells; nil for a record and for what has no `rev` of its own.
  fileprivate var changeRev: Int? {
    switch self {
    case .callRecord, .callMissed: nil
    case .callIncoming(let event): event.call.rev
    case .callCreated(let event): event.call.rev
    case .callStopped(let event): event.rev
    case .callEnded(let event): event.rev
    case .callAccepted(let event): event.rev
    case .callActive(let event): event.rev
    case .callInvited(let event): event.rev
    case .callTypeChanged(let event): event.rev
    case .callMediaChanged(let event), .callMediaChangeRequested(let event): event.rev
    default: memberChange?.rev
    }
  }

  fileprivate var memberChange: MemberEvent? {
    switch self {
    case .memberRinging(let event), .memberBusy(let event), .memberDeclined(let event), .memberNoAnswer(let event),
      .memberLeft(let event), .memberRemoved(let event), .memberState(let event):
      event
    default: nil
    }
  }

  /// The change in words that everybody who hears of it hears alike; a ring and its end are one's own words for it.
  fileprivate var change: String? {
    switch self {
    case .callIncoming, .callCreated, .callStopped, .callMissed, .callRecord: nil
    case .callEnded(let event): "ended \(event.reason.rawValue) \(event.by ?? "")"
    case .callAccepted(let event): "accepted \(event.user) \(event.media.rawValue)"
    case .callInvited(let event): "invited \(event.inviter) \(event.users)"
    case .callActive(let event): "active \(event.startedAt)"
    case .callTypeChanged(let event): "type \(event.from.rawValue) \(event.to.rawValue)"
    default: memberChange.map { "\(name.rawValue) \($0.member.user) \($0.member.state.rawValue)" }
    }
  }

  /// Whose doing such a change is.
  fileprivate static func actor(of change: String) -> String {
    change.split(separator: " ").dropFirst().first.map { String($0) } ?? ""
  }
}
