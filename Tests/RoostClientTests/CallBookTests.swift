// A call's snapshot, event by event.
import RoostProtocol
import Testing

@testable import RoostClient

func call(
  _ id: String = "c1", kind: CallKind = .oneToOne, state: CallState = .ringing, rev: Int = 1, caller: String = "ben",
  members: [Member] = [Member(user: "ben", state: .joined), Member(user: "anna", state: .ringing)]
) -> Call {
  Call(
    callId: id, room: "call:\(id)", kind: kind, media: .video, answerPolicy: kind == .group ? .everyone : .firstWins,
    rejectPolicy: kind == .oneToOne ? .anyEnds : .ignore, busyPolicy: .reject, state: state, rev: rev, caller: caller,
    members: members, createdAt: 1000, expiresAt: 31_000, remainingMs: 30_000)
}

func incoming(_ call: Call, waiting: Bool = false) -> Event {
  .callIncoming(CallIncoming(call: call, from: call.caller, inProgress: false, waiting: waiting))
}

@Suite struct CallBookTests {
  private func book(_ events: [Event], user: String = "anna") -> CallBook {
    var book = CallBook(user: user)
    for (index, event) in events.enumerated() {
      _ = book.apply(EventMessage(seq: index + 1, serverTime: 5000 + Int64(index), event: event))
    }
    return book
  }

  private func accepted(_ rev: Int, _ user: String = "anna", _ media: MediaClass = .video) -> Event {
    .callAccepted(CallAccepted(callId: "c1", rev: rev, user: user, media: media))
  }

  private func member(_ rev: Int, _ member: Member) -> MemberEvent {
    MemberEvent(callId: "c1", rev: rev, member: member)
  }

  @Test func aCallRingsIsAnsweredAndBecomesActive() {
    let ringing = book([incoming(call())])
    #expect(ringing.ringing == ["c1"] && ringing.running == ["c1"])
    let answered = book([incoming(call()), accepted(2, "anna", .audio)]).calls["c1"]
    #expect(answered?.state == .connecting && answered?.rev == 2)
    #expect(answered?.member("anna")?.state == .connecting && answered?.member("anna")?.media == .audio)
    #expect(answered?.expiresAt == nil && answered?.remainingMs == nil)
    let active = book([
      incoming(call()), accepted(2), .callActive(CallActive(callId: "c1", rev: 3, startedAt: 4000)),
    ])
    #expect(active.calls["c1"]?.state == .active && active.calls["c1"]?.startedAt == 4000)
    #expect(active.calls["c1"]?.joined.map(\.user) == ["ben", "anna"])
    #expect(active.ringing.isEmpty)
  }

  @Test func theFirstAnswerStopsTheOthers() {
    let members = ["ben", "anna", "carl"].map { Member(user: $0, state: $0 == "ben" ? .joined : .ringing) }
    let after = book([incoming(call(kind: .oneToMany, members: members)), accepted(2, "carl")]).calls["c1"]
    #expect(after?.member("anna")?.state == .answeredByOther)
    #expect(after?.member("carl")?.state == .connecting)
    #expect(after?.member("ben")?.state == .joined)
  }

  @Test(arguments: [
    (Reason.cancelled, MemberState.cancelled), (.noAnswer, .noAnswer), (.answeredByOther, .answeredByOther),
    (.rejectedElsewhere, .declined), (.answeredElsewhere, .ringing), (.callEnded, .cancelled),
  ])
  func aStopSilencesAndSaysWhatBecameOfOneself(_ reason: Reason, _ state: MemberState) {
    let after = book([incoming(call()), .callStopped(CallStopped(callId: "c1", rev: 4, reason: reason))])
    #expect(after.ringing.isEmpty)
    #expect(after.calls["c1"]?.member("anna")?.state == state)
    #expect(after.calls["c1"]?.state == .ringing, "the call may live on")
  }

  @Test func aThirdIsInvitedAndTheCallBecomesAGroup() {
    var events = [incoming(call()), accepted(2), .callActive(CallActive(callId: "c1", rev: 3, startedAt: 1))]
    events.append(.callInvited(CallInvited(callId: "c1", rev: 4, inviter: "anna", users: ["carl", "ben"])))
    let invited = book(events).calls["c1"]
    #expect(invited?.kind == .oneToOne)
    #expect(invited?.member("carl") == Member(user: "carl", state: .inviting, invitedBy: "anna"))
    #expect(invited?.member("ben")?.state == .joined, "one who is in it stays")
    events += [
      .memberRinging(member(5, Member(user: "carl", state: .ringing, invitedBy: "anna"))),
      .callTypeChanged(CallTypeChanged(callId: "c1", rev: 6, from: .oneToOne, to: .group)), accepted(7, "carl"),
      .memberState(member(8, Member(user: "carl", state: .joined, invitedBy: "anna", joinedAt: 9))),
      .memberLeft(member(9, Member(user: "ben", state: .left, reason: .hangup))),
    ]
    let group = book(events).calls["c1"]
    #expect(group?.kind == .group && group?.answerPolicy == .everyone && group?.rejectPolicy == .ignore)
    #expect(group?.busyPolicy == .ring)
    #expect(group?.state == .active && group?.rev == 9)
    #expect(group?.joined.map(\.user) == ["anna", "carl"])
    #expect(group?.member("ben")?.reason == .hangup)
  }

  @Test func mediaChangesWhenItWasAccepted() {
    let change = { (result: MediaChangeResult, rev: Int) in
      Event.callMediaChanged(CallMediaChange(callId: "c1", rev: rev, by: "ben", media: .audio, result: result))
    }
    #expect(book([incoming(call()), change(.rejected, 2)]).calls["c1"]?.media == .video)
    let asked = Event.callMediaChangeRequested(CallMediaChange(callId: "c1", rev: 2, by: "ben", media: .audio))
    let wish = MediaRequest(by: "ben", media: .audio)
    #expect(book([incoming(call()), asked]).calls["c1"]?.mediaRequest == wish)
    #expect(book([incoming(call()), asked, change(.cancelled, 3)]).calls["c1"]?.mediaRequest == nil)
    #expect(book([incoming(call()), change(.accepted, 2)]).calls["c1"]?.media == .audio)
  }

  @Test func whatIsOlderThanTheSnapshotChangesNothing() {
    let fresh = call(state: .active, rev: 10)
    var book = book([incoming(call()), accepted(2)])
    book.update(fresh)
    _ = book.apply(
      EventMessage(seq: 9, serverTime: 0, event: .memberLeft(member(9, Member(user: "ben", state: .left)))))
    book.update(call(rev: 3))
    #expect(book.calls["c1"] == fresh)
  }

  @Test func anEndIsRememberedForAWhile() {
    var book = book([incoming(call())])
    _ = book.apply(
      EventMessage(
        seq: 2, serverTime: 7000,
        event: .callEnded(
          CallEnded(callId: "c1", rev: 2, reason: .cancelled, code: 6004, by: "ben", durationMs: 0))))
    let ended = book.calls["c1"]
    #expect(ended?.state == .ended && ended?.reason == .cancelled && ended?.by == "ben" && ended?.endedAt == 7000)
    #expect(book.ringing.isEmpty && book.running.isEmpty)
    for number in 0..<CallBook.endedCalls { book.update(call("later\(number)", state: .ended)) }
    #expect(book.calls["c1"] == nil)
    #expect(book.calls.count == CallBook.endedCalls)
  }

  /// One hangs up while an invitee rings: the call goes on, and its end comes later.
  @Test func aCallThatOneHasLeftIsOverWhenTheOthersAre() {
    var book = book([incoming(call()), accepted(2), .callActive(CallActive(callId: "c1", rev: 3, startedAt: 1))])
    let left = Member(user: "anna", state: .left, reason: .hangup)
    book.update(call(state: .active, rev: 5, members: [Member(user: "ben", state: .joined), left]))
    #expect(book.running == ["c1"] && book.calls["c1"]?.joined.map(\.user) == ["ben"])
    let end = CallEnded(callId: "c1", rev: 8, reason: .hangup, code: 6000, by: "anna", durationMs: 9)
    _ = book.apply(EventMessage(seq: 4, serverTime: 9000, event: .callEnded(end)))
    #expect(book.running.isEmpty && book.calls["c1"]?.state == .ended && book.calls["c1"]?.member("anna") == left)
  }

  private func record(_ reason: Reason, _ result: CallResult, kind: CallKind = .oneToOne) -> CallRecord {
    CallRecord(
      callId: "c1", direction: .incoming, result: result, elsewhere: false, startedAt: 1000, endedAt: 8000,
      durationMs: 0, peers: ["ben"], kind: kind, media: .video, reason: reason)
  }

  /// Declined on another device, missed, answered by somebody else or on another device: nobody tells of the end of a call
  /// between two, and one's own record says that it is over.
  @Test(arguments: [
    (Reason.rejectedElsewhere, Reason.rejected, CallResult.declined), (.noAnswer, .noAnswer, .missed),
    (.cancelled, .cancelled, .missed), (.answeredByOther, .answeredByOther, .missed),
    (.answeredElsewhere, .hangup, .answered),
  ])
  func aCallBetweenTwoIsOverWithOnesPartInIt(_ stop: Reason, _ reason: Reason, _ result: CallResult) {
    let stopped = Event.callStopped(CallStopped(callId: "c1", rev: 2, reason: stop))
    var book = book([incoming(call()), stopped, .callRecord(CallRecordEvent(record: record(reason, result)))])
    let over = book.calls["c1"]
    #expect(book.running.isEmpty && over?.state == .ended && over?.reason == reason && over?.endedAt == 8000)
    // The two who talked became a group: one he may join.
    let changed = CallTypeChanged(callId: "c1", rev: 5, from: .oneToMany, to: .group)
    _ = book.apply(EventMessage(seq: 4, serverTime: 9000, event: .callTypeChanged(changed)))
    let group = book.calls["c1"]
    #expect(book.running == ["c1"] && group?.kind == .group && group?.state == .active)
    #expect(group?.reason == nil && group?.endedAt == nil)
    for number in 0..<CallBook.endedCalls { book.update(call("later\(number)", state: .ended)) }
    #expect(book.calls["c1"] != nil, "it is not among those that are forgotten")
  }

  @Test func aGroupGoesOnWithoutOne() {
    let group = call(kind: .group, state: .active)
    let stopped = Event.callStopped(CallStopped(callId: "c1", rev: 2, reason: .noAnswer))
    let missed = record(.noAnswer, .missed, kind: .group)
    let book = book([incoming(group), stopped, .callRecord(CallRecordEvent(record: missed))])
    #expect(book.running == ["c1"] && book.calls["c1"]?.state == .active)
    #expect(!book.isStale(missed))
    var other = CallBook(user: "anna")
    other.update(call(kind: .group, state: .active, members: [Member(user: "anna", state: .joined)]))
    #expect(other.isStale(missed), "it was joined on another device, and what became of it has to be asked")
  }

  @Test func eventsOfUnknownCallsAreLeftAlone() {
    let book = book([accepted(5)])
    #expect(book.calls.isEmpty)
    #expect(accepted(5).callId == "c1" && accepted(5).callRevision == 5)
    #expect(Event.sessionReplaced.callId == nil && Event.sessionReplaced.callRevision == nil)
  }
}
