// What each event does to a call's snapshot. Pure.
import RoostProtocol

extension MemberState {
  /// Whether the member is being rung.
  public var isRinging: Bool { self == .inviting || self == .ringing || self == .busyRinging }
  /// Whether the member has a seat, be it for the moment without media.
  public var isJoined: Bool { self == .connecting || self == .joined || self == .reconnecting }
}

extension Call {
  /// The member with this user name.
  public func member(_ user: String) -> Member? { members.first { $0.user == user } }
  /// Who talks: those with a seat.
  public var joined: [Member] { members.filter(\.state.isJoined) }

  /// Whether it behaves as a call between two.
  private var isTwoParty: Bool { kind != .group }

  mutating func note(_ event: Event) {
    switch event {
    case .callAccepted(let event): noteAccepted(event)
    case .callActive(let event): noteActive(event)
    case .callInvited(let event): noteInvited(event)
    case .callTypeChanged(let event):
      (kind, answerPolicy, rejectPolicy, busyPolicy) = (event.to, .everyone, .ignore, .ring)
      // The caller is its host, where he is in it; else the server says who is.
      change(caller) { if $0.state.isJoined { $0.role = .host } }
      // For one who had no part in it any more it was over: a group he may join.
      if state == .connecting || state == .ended { state = .active }
      (reason, by, endedAt) = (nil, nil, nil)
    case .callMediaChangeRequested(let event): mediaRequest = MediaRequest(by: event.by, media: event.media)
    case .callMediaChanged(let event):
      mediaRequest = nil
      if event.result == .accepted { media = event.media }
    default: if let event = event.memberEvent { put(event.member) }
    }
  }

  private mutating func noteAccepted(_ event: CallAccepted) {
    change(event.user) { member in
      member.state = .connecting
      member.media = event.media
      member.reason = nil
    }
    guard isTwoParty, state == .ringing else { return }
    state = .connecting
    (expiresAt, remainingMs) = (nil, nil)
    guard answerPolicy == .firstWins else { return }
    for index in members.indices where members[index].user != event.user && members[index].state.isRinging {
      (members[index].state, members[index].reason) = (.answeredByOther, .answeredByOther)
    }
  }

  private mutating func noteActive(_ event: CallActive) {
    (state, startedAt) = (.active, event.startedAt)
    for index in members.indices where members[index].state == .connecting {
      (members[index].state, members[index].joinedAt) = (.joined, members[index].joinedAt ?? event.startedAt)
    }
  }

  private mutating func noteInvited(_ event: CallInvited) {
    for user in event.users {
      if let known = member(user), known.state.isJoined || known.state.isRinging { continue }
      put(
        Member(user: user, displayName: member(user)?.displayName, state: .inviting, invitedBy: event.inviter))
    }
  }

  /// One's own ring is over; the call may go on.
  mutating func noteStopped(_ event: CallStopped, user: String) {
    guard event.rev >= rev else { return }
    rev = event.rev
    let state: MemberState? =
      switch event.reason {
      case .answeredByOther: .answeredByOther
      case .rejectedElsewhere, .rejected: .declined
      case .noAnswer: .noAnswer
      case .answeredElsewhere: nil
      default: .cancelled
      }
    guard let state else { return }
    change(user) { ($0.state, $0.reason) = (state, event.reason) }
  }

  mutating func noteEnded(_ event: CallEnded, at time: Int64) {
    (state, reason, by) = (.ended, event.reason, event.by)
    rev = max(rev, event.rev)
    endedAt = event.record?.endedAt ?? time
    (expiresAt, remainingMs, mediaRequest) = (nil, nil, nil)
  }

  /// One's own part in a call between two is over.
  mutating func noteRecord(_ record: CallRecord) {
    (state, reason, endedAt) = (.ended, record.reason, record.endedAt)
    (expiresAt, remainingMs, mediaRequest) = (nil, nil, nil)
  }

  private mutating func put(_ member: Member) {
    if let index = members.firstIndex(where: { $0.user == member.user }) {
      members[index] = member
    } else {
      members.append(member)
    }
  }

  private mutating func change(_ user: String, _ body: (inout Member) -> Void) {
    if let index = members.firstIndex(where: { $0.user == user }) { body(&members[index]) }
  }
}
