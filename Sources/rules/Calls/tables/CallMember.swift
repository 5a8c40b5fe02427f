// A member: one user in one call, for the life of the call, whatever becomes of them.
//
//   inviting ─▶ ringing | busy_ringing ─▶ connecting ─▶ joined        (reconnecting: a joined one whose leg is lost)
//      │              │                        └──┬───────┘
//      ▼              ▼                           ▼
//   unreachable    declined · no_answer · cancelled · answered_by_other     left · lost · removed
//   busy

import Basics
import RoostProtocol

/// One user in one call.
struct CallMember: Equatable, Sendable {
  let user: String
  var displayName: String?
  /// As others see it, but for `reconnecting`, which is `isLost`.
  var state: MemberState
  /// Why, when they are no longer in it.
  var reason: Reason?
  /// What they send.
  var media: MediaClass?
  /// Who invited them; nil for the caller and those who were called by `call.start`.
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
  /// The group's host.
  var isHost = false
  /// The leg's subscribe transport is up.
  var isMediaUp = false
  /// The device that answered or rejected last, so that another one can be told so.
  private(set) var actor: DeviceID?
  /// While they are being rung.
  var ring: Ring?

  /// They hear nothing of being asked: they have blocked who asks.
  var isHidden: Bool { terms.isBlocking && !isJoined }
  /// They know of the call.
  var isAware: Bool { !isHidden || hasBeenIn }
  /// Has a seat.
  var isJoined: Bool { state == .connecting || state == .joined }
  /// A seat is held for them.
  var isRinging: Bool { ring != nil }
  /// Was joined and left: their record says so, whatever becomes of later rings.
  var hasBeenIn: Bool { leftAt != nil }
  /// Neither, but they have been asked.
  var isGone: Bool { !isJoined && !isRinging }

  /// Whether they may join again on their own while the call runs.
  var mayComeBack: Bool { isGone && state != .cancelled && state != .removed }

  /// As it goes over the wire.
  var wire: Member {
    Member(
      user: user, displayName: displayName, state: isJoined && isLost ? .reconnecting : state, reason: reason,
      media: media, invitedBy: invitedBy, joinedAt: joinedAt, leftAt: leftAt, role: isHost ? .host : nil)
  }

  // MARK: - Change

  /// Changes it in place.
  mutating func apply(_ change: (inout Self) -> Void) { change(&self) }

  /// This device has answered or rejected; `name` is what its client calls it.
  mutating func setActor(_ device: DeviceID?, _ name: String?) { (actor, terms.actorName) = (device, name) }

  /// The leg begins on this device; its media has yet to come up.
  mutating func beginLeg(on id: DeviceID, _ name: String?) {
    device = id
    setActor(id, name)
    (isMediaUp, isLost) = (false, false)
  }

  /// Is in the call from now on, or since then. What is sent is `media`, or else what the call carries; never video in an audio call.
  mutating func join(_ media: MediaClass?, carried: MediaClass, since: Int64? = nil, at now: Now) {
    self.media = carried == .audio ? .audio : media ?? carried
    (joinedAt, leftAt) = (since ?? now.wallMilliseconds, nil)
    terms.answered = terms.answered ?? now
    terms.isPutOut = false
  }

  /// The leg is over.
  mutating func endLeg(_ outcome: LegOutcome, _ reason: Reason, at now: Now) {
    (state, self.reason, leftAt) = (outcome.memberState, reason, now.wallMilliseconds)
    (device, isLost, isMediaUp, isHost) = (nil, false, false, false)
  }
}

/// What becomes of a member whose leg ends.
enum LegOutcome: Equatable, Sendable {
  case left, lost, removed

  /// What the others see of them.
  var memberState: MemberState {
    switch self {
    case .left: .left
    case .lost: .lost
    case .removed: .removed
    }
  }

  /// What the others in the room hear.
  var leaveReason: LeaveReason {
    switch self {
    case .left: .left
    case .lost: .lost
    case .removed: .removed
    }
  }
}

/// What is known of a member, is not seen on the wire, and lasts.
struct MemberTerms: Hashable, Sendable {
  /// First joined: from here on they have answered.
  var answered: Now?
  /// Called by `call.start`, and not invited later: their reject may end the call.
  var isOriginal = false
  /// What its client calls the device that answered or rejected last.
  var actorName: String?
  /// Whether they have blocked the one who asked them last, as it was then: they hear nothing of it.
  var isBlocking = false
  /// A host or an operator has put them out, and they have not been in it since.
  var isPutOut = false

  /// When they answered.
  var answeredAt: Int64? { answered?.wallMilliseconds }
}

/// What a ring is about, whatever devices ring.
struct RingTerms: Codable, Hashable, Sendable {
  /// Who calls or invites.
  let from: String
  /// Whether others talk already.
  let inProgress: Bool
  /// What the caller or inviter sends along.
  let extra: RawJSON?
  let push: RawJSON?
  let startedAt: Int64
  let expiresAt: Int64
  /// Whether a push went out.
  var isPushed = false
  /// Says nothing any more, and is kept only because earlier versions cannot read a call without it: whether the callee is in
  /// another call is asked of their leg (`Legs.ringState`).
  private(set) var isWaiting = false
}

/// What is known of somebody's ringing phones.
struct Ring: Equatable, Sendable {
  /// More than anybody has devices; a ring does not remember the silence of names that are made up beyond that.
  static let mostSilenced = 64

  var terms: RingTerms
  /// Devices that ring.
  var devices: Set<DeviceID> = []
  /// What their clients call the devices that were told to be silent: they stay so in their next sessions, too.
  private(set) var silenced: Set<String> = []
  /// Devices that have said that they ring.
  private(set) var acknowledged: Set<DeviceID> = []
  /// Whether one has ever said so: the others know that this user is rung.
  private(set) var isAcknowledged = false

  init(terms: RingTerms) { self.terms = terms }

  /// The silenced names in order; nil where there are none.
  var silencedNames: [String]? { silenced.isEmpty ? nil : silenced.sorted() }

  /// Keeps this ring from a device, by what its client calls it.
  mutating func silence(_ name: String) {
    if silenced.count < Self.mostSilenced { silenced.insert(name) }
  }

  /// A device has said that it rings.
  mutating func acknowledge(_ device: DeviceID) {
    devices.insert(device)
    acknowledged.insert(device)
    isAcknowledged = true
  }

  /// A device rings no more.
  mutating func remove(_ device: DeviceID) {
    devices.remove(device)
    acknowledged.remove(device)
  }
}
