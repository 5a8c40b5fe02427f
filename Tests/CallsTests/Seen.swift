// A call as those outside see it: put together from replies and events alone, by the rules of docs/calls.md.

import Basics
import RoostProtocol

@testable import Calls

/// A call that is not over, as its members could tell it.
struct SeenCall {
  enum Place: Equatable {
    case rung
    case joined(DeviceID)
    /// In it, and not come back yet after a restart.
    case away(until: Int64)
    case gone
  }

  struct Ring {
    var from: String
    var inProgress: Bool
    var until: Int64
    /// What the caller or inviter wants handed on to whoever wakes phones.
    var push: RawJSON?
    /// Devices that have been told, or have said that they ring.
    var devices: Set<DeviceID> = []
    /// The names of those that were told to be silent.
    var silenced: Set<String> = []
    /// Devices that have said that they ring.
    var acknowledged: Set<DeviceID> = []
    /// Since when no device is there that has said so and was not told to be silent.
    var unheardSince: Int64?
    /// Whether a push went out.
    var isPushed = false
    /// Whether those who are in have been told that he is rung.
    var isTold = false
  }

  struct Person {
    var place: Place
    var isOriginal: Bool
    var state: MemberState
    var ring: Ring?
    var answeredAt: Int64?
    /// The name of the device that has answered or rejected the last ring, or started the call.
    var actor: String?
    /// Whether another device or session has taken his leg up: its media has to come up anew.
    var hasMoved = false
    /// Whether he was in it, left and has not come back.
    var hasBeenIn = false
  }

  let id: String
  let caller: String
  var kind: CallKind
  /// Whether `call.typeChanged` has to follow in this step.
  var becomesGroup = false
  var media: MediaClass
  let rejectPolicy: RejectPolicy
  let createdAt: Int64
  var rev: Int
  var people: [String: Person] = [:]
  var answeredAt: Int64?
  var isActive: Bool
  /// What was told of the one who left a call between two while an invitee rang.
  var departure: (reason: Reason, by: String)?

  init(_ call: Call, at phone: Phone, ringsUntil end: Int64, push: RawJSON?) {
    (caller, kind, media, rejectPolicy) = (call.caller, call.kind, call.media, call.rejectPolicy)
    id = call.callId
    (createdAt, rev, isActive) = (call.createdAt, call.rev, call.kind == .group)
    for member in call.members {
      let isCaller = member.user == call.caller
      let ring = isCaller ? nil : Ring(from: call.caller, inProgress: false, until: end, push: push)
      people[member.user] = Person(
        place: isCaller ? .joined(phone.id) : .rung, isOriginal: !isCaller, state: member.state, ring: ring,
        actor: isCaller ? phone.name : nil)
    }
  }

  var isAnswered: Bool { answeredAt != nil }
  var joined: [String: DeviceID] {
    people.compactMapValues { if case .joined(let device) = $0.place { device } else { nil } }
  }
  /// Those who have not come back yet after a restart, and until when they are waited for.
  var away: [String: Int64] {
    people.compactMapValues { if case .away(let end) = $0.place { end } else { nil } }
  }
  /// Whoever has a seat.
  var inside: Set<String> { Set(joined.keys).union(away.keys) }
  var rung: [String: Ring] { people.compactMapValues { $0.place == .rung ? $0.ring : nil } }
  /// Seats that are taken or held.
  var held: Int { people.values.count { $0.place != .gone } }
}

/// Why a phone stopped ringing.
struct SeenStop: Hashable {
  var reason: Reason
  var by: String?
}

/// What somebody has in his list.
struct SeenRecord: Hashable {
  var user: String
  var callId: String
  /// The name of the device that answered or rejected.
  var device: String?
  var result: CallResult
  var why: Reason?
  var reason: Reason
  var answeredAt: Int64?
  var endedAt: Int64
}

/// A missed call that somebody is told of.
struct SeenMiss: Hashable {
  var user: String
  var callId: String
  var why: Reason
}

/// What is said to whoever wakes phones.
struct SeenPush: Hashable {
  var type: PushNotice.Kind
  var user: String
  var callId: String
  var reason: Reason?
  /// What is handed on.
  var push: RawJSON?
}

/// One step of the switchboard as it is seen from outside.
struct Step {
  /// Who asked, if anybody did, for what and with which answer.
  var actor: Phone?
  var request: Request?
  var reply: CallReply?
  var told: [(device: DeviceID, event: Event)] = []
  var records: [UserRecord] = []
  var pushes: [PushNotice] = []
  /// Whether this is what the next process makes of what was kept.
  var isRestart = false
  /// A device that has made way for its next session, and rings no more.
  var replaced: DeviceID?
  /// A device that is about to go: whether it hears the last word does not matter.
  var leaving: DeviceID?

  /// The call as the reply shows it.
  var shown: Call? {
    switch reply {
    case .started(let call, _, _, _), .joined(let call), .call(let call): call
    default: nil
    }
  }

  /// The call that the actor is in from here on, if the reply says so.
  var entered: Call? {
    switch reply {
    case .started(let call, _, _, _), .joined(let call): call
    default: nil
    }
  }
}
