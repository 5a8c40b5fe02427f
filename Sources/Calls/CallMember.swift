// A member: one user in one call, for the life of the call, whatever becomes of him.
//
//   inviting ─▶ ringing | busy_ringing ─▶ connecting ─▶ joined        (reconnecting: a joined one whose leg is lost)
//      │              │                        └──┬───────┘
//      ▼              ▼                           ▼
//   unreachable    declined · no_answer · cancelled · answered_by_other     left · lost · removed
//   busy

import Basics
import RoostProtocol

/// One user in one call.
struct CallMember: Sendable {
  let user: String
  var displayName: String?
  /// As others see it, but for `reconnecting`, which is `isLost`.
  var state: MemberState
  /// Why, when he is no longer in it.
  var reason: Reason?
  /// What he sends.
  var media: MediaClass?
  /// Who invited him; nil for the caller and those he called.
  var invitedBy: String?
  /// Last joined, last left, in milliseconds since 1970.
  var joinedAt: Int64?
  var leftAt: Int64?
  /// What is not seen on the wire.
  var terms = MemberTerms()
  /// The device that has the leg. None for one who is not joined, and for one who has not come back after a restart.
  var device: DeviceID?
  /// No socket, or no media.
  var isLost = false
  /// The leg's subscribe transport is up.
  var isMediaUp = false
  /// The device that answered or rejected last, so that another one can be told so.
  var actor: DeviceID?
  /// While he is being rung.
  var ring: Ring?

  /// Has a seat.
  var isJoined: Bool { state == .connecting || state == .joined }
  /// A seat is held for him.
  var isRinging: Bool { ring != nil }
  /// Was joined and left: his record says so, whatever becomes of later rings.
  var hasBeenIn: Bool { leftAt != nil }
  /// Neither, but he has been asked.
  var isGone: Bool { !isJoined && !isRinging }

  /// Whether he may join again of his own accord while the call runs.
  var mayComeBack: Bool { isGone && state != .cancelled && state != .removed }

  /// As it goes over the wire.
  var wire: Member {
    Member(
      user: user, displayName: displayName, state: isJoined && isLost ? .reconnecting : state, reason: reason,
      media: media, invitedBy: invitedBy, joinedAt: joinedAt, leftAt: leftAt)
  }
}

/// What is known of a member, is not seen on the wire, and lasts.
struct MemberTerms: Hashable, Sendable {
  /// First joined: from here on he has answered.
  var answered: Now?
  /// Called by `call.start`, and not invited later: his reject may end the call.
  var isOriginal = false
  /// What its client calls the device that answered or rejected last.
  var actorName: String?

  /// When he answered.
  var answeredAt: Int64? { answered?.wallMilliseconds }
}

/// What a ring is about, whatever devices ring.
struct RingTerms: Codable, Hashable, Sendable {
  /// Who calls or invites.
  let from: String
  /// Whether others talk already.
  let inProgress: Bool
  /// What the caller or inviter sends along.
  let extra: JSONValue?
  let push: JSONValue?
  let startedAt: Int64
  let expiresAt: Int64
  /// Whether a push went out.
  var isPushed = false
  /// Says nothing any more, and is kept only because earlier versions cannot read a call without it: whether he is in another
  /// call is asked of his legs (`ringState`).
  private(set) var isWaiting = false
}

/// What is known of somebody's ringing phones.
struct Ring: Sendable {
  /// More than anybody has devices; a ring does not remember the silence of names that are made up beyond that.
  static let mostSilenced = 64

  var terms: RingTerms
  /// Devices that ring.
  var devices: Set<DeviceID> = []
  /// What their clients call the devices that were told to be silent: they stay so in their next sessions, too.
  private(set) var silenced: Set<String> = []
  /// Devices that have said that they ring.
  var acknowledged: Set<DeviceID> = []
  /// Whether one has ever said so: the others know that he is rung.
  var isAcknowledged = false

  /// The same in order; nil where there are none.
  var silencedNames: [String]? { silenced.isEmpty ? nil : silenced.sorted() }

  /// Keeps this ring from a device, by what its client calls it.
  mutating func silence(_ name: String) {
    if silenced.count < Self.mostSilenced { silenced.insert(name) }
  }
}
