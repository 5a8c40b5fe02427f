// The order of changes in a call between two, on all of the caller's devices, with and without the upgrade to a group.

import Basics
import RoostProtocol
import TestSupport
import Testing

extension EndToEnd.CallScenarios {
  @Test func twoAndThoseWhoJoinThemSeeTheChangesInOneOrder() async throws {
    try await TestServer.calls { server in
      let two = try await server.talkers(["anna", "ben"])
      let third = try await server.phone("carl")
      let fourth = try await server.phone("dora")
      // The caller's other device hears every change, and none of them in a reply.
      let tablet = try await server.phone("anna", device: "tablet")
      let people = two + [third, fourth, tablet]
      for round in 0..<8 {
        let becomesGroup = round.isMultiple(of: 2)
        let started = try await two[0].start(["ben"]).call
        let id = started.callId
        try await two[1].rings(id)
        try await two[1].accept(id)
        for one in two { _ = try await one.hears(\.active, of: id) }
        var random = SplitMix64(seed: UInt64(round))
        let plans = [Talker(two[0], id, &random, asks: "carl"), Talker(two[1], id, &random, asks: "dora")]
        try await withThrowingTaskGroup(of: Void.self) { group in
          for plan in plans { group.addTask { try await plan.talk() } }
          group.addTask {
            try await third.rings(id)
            if becomesGroup { try await third.accept(id) } else { try await third.reject(id, text: "later") }
          }
          group.addTask {
            _ = try await fourth.hears(\.incoming, of: id)
            // It may be taken back meanwhile.
            _ = try await refused { try await fourth.ringing(id) }
            _ = try await refused { try await fourth.reject(id) }
          }
          try await group.waitForAll()
        }
        for one in [two[1], third, fourth] { _ = try await refused { try await one.hangup(id) } }
        try await two[0].hangup(id)
        try await people.settle()

        let changes = await changesInOrder(people, id, "round \(round)")
        let wanted: Set<EventName> =
          becomesGroup ? [.callAccepted, .callTypeChanged] : [.memberDeclined, .callMediaChangeRequested]
        #expect(wanted.isSubset(of: Set(changes.values.map(\.name))), "round \(round)")
        let final = try await two[0].get(id)
        #expect(final.state == .ended && (final.kind == .group) == becomesGroup)
        for device in [two[0], tablet] {
          let missed = Set((started.rev + 1)...final.rev).subtracting(await heardRevs(device, id)).sorted()
          #expect(missed.isEmpty, "\(device.device) did not hear \(missed), round \(round)")
        }
      }
      await people.close()
    }
  }
}

/// One of two who talk: asks for other media, answers such a wish, invites somebody, in any order.
private struct Talker {
  let one: Phone
  let requests: [Request]

  init(_ one: Phone, _ callId: String, _ random: inout SplitMix64, asks user: String) {
    let changes: [(MediaChangeAction, MediaClass?)] = [
      (.request, .audio), (.request, .video), (.accept, nil), (.accept, nil), (.reject, nil), (.cancel, nil),
    ]
    var requests = changes.map { action, media in
      Request.call(.mediaChange(MediaChangeParams(callId: callId, action: action, media: media)))
    }
    requests += [.call(.invite(CallInviteParams(callId: callId, users: [user])))]
    if user == "dora" { requests += [.call(.cancelInvite(CallCancelInviteParams(callId: callId, users: [user])))] }
    (self.one, self.requests) = (one, requests.shuffled(using: &random))
  }

  /// What the other one's request has made impossible is refused.
  func talk() async throws {
    for request in requests { _ = try await refused { try await one.session.request(request) } }
  }
}
