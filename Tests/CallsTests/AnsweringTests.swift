// Answers, refusals and the media that follows: rows 7 to 11 and 31 of the transition table of docs/calls.md.

import Basics
import RoostProtocol
import Testing

@testable import Calls

@Suite struct AnsweringTests {
  // 7
  @Test func theFirstAnswerStopsEveryoneElse() throws {
    let board = Board()
    let a = board.phone("a")
    let (b1, b2, c) = (board.phone("b"), board.phone("b", "d2"), board.phone("c"))
    let id = try board.start(a, ["b", "c"], .oneToMany).call.callId
    for phone in [a, b1, b2, c] { _ = phone.take() }
    let answered = try board.accept(b1, id)
    #expect(answered.state == .connecting && board.state("c", id) == .answeredByOther)
    guard case .callStopped(let own) = b2.take().first, case .callStopped(let other) = c.take().first else {
      Issue.record("not stopped")
      return
    }
    #expect(own.reason == .answeredElsewhere && other.reason == .answeredByOther && own.code == other.code)
    #expect(a.names() == [.callAccepted] && b1.take().isEmpty)
    #expect(board.records["c"]?.map(\.why) == [.answeredByOther] && board.board.missed("c") == 0)
    // Whoever comes too late is told what became of it.
    #expect(board.code(b2, .call(.reject(CallRejectParams(callId: id)))) == .answeredElsewhere)
    #expect(board.code(b2, .call(.accept(CallAcceptParams(callId: id)))) == .answeredElsewhere)
    #expect(board.code(c, .call(.accept(CallAcceptParams(callId: id)))) == .answeredElsewhere)
    for phone in [b2, c] { #expect(board.error(phone, .call(.accept(CallAcceptParams(callId: id))))?.data.by == "b") }
    #expect(try board.accept(b1, id).rev == answered.rev, "twice on one device is once")
  }

  /// Whoever is the first to answer, the call is for him and the caller, and everybody else stops.
  @Test(arguments: ["asked again", "invited"]) func theFirstAnswerOfOneWhoWasInvitedStopsEveryoneElse(_ how: String)
    throws
  {
    let board = Board()
    let (a, b, c, d) = (board.phone("a"), board.phone("b"), board.phone("c"), board.phone("d"))
    let id = try board.start(a, ["b", "c"], .oneToMany) { $0.rejectPolicy = .ignore }.call.callId
    if how == "asked again" { #expect(board.code(b, .call(.reject(CallRejectParams(callId: id)))) == nil) }
    let first = how == "asked again" ? b : d
    #expect(board.code(a, .call(.invite(CallInviteParams(callId: id, users: [first.user])))) == nil)
    for phone in [a, b, c, d] { _ = phone.take() }
    let answered = try board.accept(first, id)
    #expect(answered.kind == .oneToMany && answered.answerPolicy == .firstWins && answered.state == .connecting)
    #expect(a.names() == [.callAccepted] && c.names() == [.callStopped] && board.state("c", id) == .answeredByOther)
    #expect(board.records["c"]?.map(\.why) == [.answeredByOther] && board.board.tables.calls.ringing("b").isEmpty)
    board.mediaUp(a, first)
    #expect(try board.get(a, id).state == .active)
    // From here on it is as between two: a third who joins makes it a group.
    #expect(board.code(first, .call(.invite(CallInviteParams(callId: id, users: ["c"])))) == nil)
    #expect(try board.accept(c, id).kind == .group)
  }

  /// One who was invited before anybody had answered is stopped by the first answer as those who were called.
  @Test func theFirstAnswerStopsWhoWasInvitedBeforeIt() throws {
    let board = Board()
    let (a, b, d) = (board.phone("a"), board.phone("b"), board.phone("d"))
    let id = try board.start(a, ["b", "c"], .oneToMany).call.callId
    #expect(board.code(a, .call(.invite(CallInviteParams(callId: id, users: ["d"])))) == nil)
    _ = d.take()
    try board.accept(b, id)
    #expect(d.names() == [.callStopped] && board.state("d", id) == .answeredByOther)
    // Of a call for one the other may still come.
    let e = board.phone("e")
    #expect(board.code(a, .call(.hangup(CallHangupParams()))) == nil)
    let next = try board.start(a, ["b"]).call.callId
    #expect(board.code(a, .call(.invite(CallInviteParams(callId: next, users: ["e"])))) == nil)
    try board.accept(b, next)
    #expect(try board.accept(e, next).kind == .group)
  }

  // 8
  @Test func mediaAtBothEndsMakesItActive() throws {
    let board = Board()
    let (a, b) = (board.phone("a"), board.phone("b"))
    let id = try board.start(a, ["b"]).call.callId
    board.mediaUp(a)
    try board.accept(b, id)
    _ = (a.take(), b.take())
    #expect(try board.get(a, id).state == .connecting)
    board.advance(1)
    board.mediaUp(b)
    guard case .callActive(let first) = a.take().last, case .callActive(let second) = b.take().last else {
      Issue.record("not active")
      return
    }
    #expect(first == second && first.startedAt == board.now.wallMilliseconds)
    board.advance(60)
    #expect(try board.get(b, id).state == .active, "no timer is left")
  }

  // 9
  @Test func mediaThatNeverComesEndsTwoAndLosesOne() throws {
    let board = Board()
    let (a, b) = (board.phone("a"), board.phone("b"))
    let id = try board.start(a, ["b"]).call.callId
    board.mediaUp(a)
    try board.accept(b, id)
    board.advance(15)
    #expect(a.names().last == .callEnded && b.names().last == .callEnded && board.graves.last?.reason == .connectFailed)
    #expect(board.records["a"]?.last?.result == .failed && board.records["b"]?.last?.result == .failed)
    let c = board.phone("c")
    let group = try board.start(a, ["b", "c"], .group).call.callId
    try board.accept(b, group)
    board.mediaUp(a, b)
    try board.accept(c, group)
    _ = (a.take(), b.take())
    board.advance(15)
    #expect(board.state("c", group) == .lost && board.board.count == 1)
    #expect(a.names() == [.memberLeft] && b.names() == [.memberLeft])
  }

  // 9, for the one who called
  @Test func aCallerWhoseMediaNeverComesIsDroppedToo() throws {
    let board = Board()
    let (a, b, c) = (board.phone("a"), board.phone("b"), board.phone("c"))
    _ = try board.start(a, ["b"])
    board.advance(20)
    try board.accept(b, try #require(board.board.tables.calls.ringing("b").first).id.text)
    board.mediaUp(b)
    board.advance(14)
    #expect(board.board.count == 1, "his time begins with the answer")
    board.advance(1)
    #expect(board.graves.last?.reason == .connectFailed && board.board.count == 0)

    let group = try board.start(a, ["b", "c"], .group).call.callId
    board.advance(10)
    for phone in [b, c] { try board.accept(phone, group) }
    board.mediaUp(b, c)
    _ = (a.take(), b.take())
    board.advance(15)
    #expect(board.state("a", group) == .lost && board.seats[a.id] == nil && board.board.tables.calls.count == 1)
    for phone in [a, b] {
      guard case .memberLeft(let left) = phone.take().first else {
        Issue.record("\(phone) does not know that the caller is lost")
        continue
      }
      #expect(left.member.user == "a" && left.member.reason == .connectFailed)
    }
    #expect(board.records["a"]?.last?.reason == .connectFailed)
    guard case .joined = try board.send(a, .call(.join(CallJoinParams(callId: group)))) else {
      Issue.record("who was lost may come back")
      return
    }
    board.mediaUp(a)
    board.advance(60)
    #expect(board.state("a", group) == .joined)
  }

  /// Two of whom one has no media yet become a group: from then on he alone is dropped.
  @Test func whoHasNoMediaWhenTwoBecomeAGroupIsDropped() throws {
    let board = Board()
    let (a, b, c) = (board.phone("a"), board.phone("b"), board.phone("c"))
    let id = try board.start(a, ["b"]).call.callId
    try board.accept(b, id)
    board.mediaUp(b)
    #expect(board.code(b, .call(.invite(CallInviteParams(callId: id, users: ["c"])))) == nil)
    try board.accept(c, id)
    board.mediaUp(c)
    board.advance(15)
    #expect(board.state("a", id) == .lost && board.state("b", id) == .joined && board.state("c", id) == .joined)
  }

  /// One whose media is up waits for an invitee, when the other one of two has left.
  @Test func whoeverWaitsForAnInviteeIsNotDroppedForTheOneWhoLeft() throws {
    let board = Board()
    let (a, b, c) = (board.phone("a"), board.phone("b"), board.phone("c"))
    let id = try board.start(a, ["b"]).call.callId
    try board.accept(b, id)
    board.mediaUp(b)
    #expect(board.code(b, .call(.invite(CallInviteParams(callId: id, users: ["c"])))) == nil)
    board.gone(a, .lost)
    board.advance(20)
    #expect(board.state("a", id) == .lost && board.board.count == 1)
    try board.accept(c, id)
    board.mediaUp(c)
    #expect(board.state("b", id) == .joined && board.state("c", id) == .joined)
  }

  // 10
  @Test func aVideoCallMayBeAnsweredWithVoice() throws {
    let board = Board()
    let (a, b) = (board.phone("a"), board.phone("b"))
    let id = try board.start(a, ["b"]).call.callId
    let answered = try board.accept(b, id, media: .audio)
    guard case .callAccepted(let event) = a.take().last else {
      Issue.record("not told")
      return
    }
    #expect(event.media == .audio && answered.media == .video && answered.members.last?.media == .audio)
  }

  // 11
  @Test func aRejectEndsItWithItsTextOnce() throws {
    let board = Board()
    let (a, b1, b2) = (board.phone("a"), board.phone("b"), board.phone("b", "d2"))
    let id = try board.start(a, ["b"]).call.callId
    _ = b2.take()
    #expect(board.code(b2, .call(.reject(CallRejectParams(callId: id, scope: .thisDevice)))) == nil)
    #expect(a.take().isEmpty && board.state("b", id) == .inviting)
    #expect(board.code(b1, .call(.reject(CallRejectParams(callId: id, text: "later")))) == nil)
    let heard = a.take()
    #expect(heard.map(\.name) == [.memberDeclined, .callEnded])
    guard case .memberDeclined(let declined) = heard.first, case .callEnded(let ended) = heard.last,
      case .callStopped(let stopped) = b2.take().first
    else {
      Issue.record("not as the names say")
      return
    }
    #expect(declined.text == "later" && ended.text == nil && ended.by == "b" && ended.code == 6001)
    #expect(stopped.reason == .rejectedElsewhere)
    #expect(board.records["b"]?.last?.result == .declined && board.board.missed("b") == 0)
    #expect(board.records["a"]?.last?.result == .declined)
  }

  @Test func oneRejectEndsItForAllOrForHimAlone() throws {
    let board = Board()
    let (a, b, c, d) = (board.phone("a"), board.phone("b"), board.phone("c"), board.phone("d"))
    var id = try board.start(a, ["b", "c"], .oneToMany).call.callId
    _ = c.take()
    #expect(board.code(b, .call(.hangup(CallHangupParams(callId: id)))) == nil, "a hang-up while it rings is a reject")
    guard case .callStopped(let stopped) = c.take().first else {
      Issue.record("c rings on")
      return
    }
    #expect(stopped.reason == .rejectedByOther && board.board.count == 0)
    id = try board.start(a, ["b", "c", "d"], .oneToMany) { $0.rejectPolicy = .ignore }.call.callId
    #expect(board.code(b, .call(.reject(CallRejectParams(callId: id)))) == nil)
    #expect(board.code(b, .call(.accept(CallAcceptParams(callId: id)))) == .invalidState)
    #expect(board.code(board.phone("b", "d2"), .call(.accept(CallAcceptParams(callId: id)))) == .rejectedElsewhere)
    _ = d.take()
    try board.accept(c, id)
    guard case .callStopped(let other) = d.take().first else { throw ErrorObject(.internalError) }
    #expect(other.reason == .answeredByOther)
  }

  @Test func aWishForOtherMediaIsSeenByTheTwoAsLongAsItWaits() throws {
    let board = Board()
    let (a, b, c) = (board.phone("a"), board.phone("b"), board.phone("c"))
    let id = try board.talk(a, b, .audio)
    let wish = MediaRequest(by: "a", media: .video)
    func change(_ action: MediaChangeAction, _ media: MediaClass? = nil) -> Request {
      .call(.mediaChange(MediaChangeParams(callId: id, action: action, media: media)))
    }
    #expect(board.code(a, change(.request, .video)) == nil)
    #expect(board.code(a, .call(.invite(CallInviteParams(callId: id, users: ["c"])))) == nil)
    for one in [a, b] { #expect(try board.get(one, id).mediaRequest == wish) }
    #expect(try board.get(c, id).mediaRequest == nil, "not his affair")
    #expect(board.board.current(of: "b", at: board.now)?.mediaRequest == wish)
    #expect(board.code(b, change(.reject)) == nil)
    #expect(try board.get(a, id).mediaRequest == nil)

    // Whoever leaves, with an invitee still rung: there is nobody left to agree.
    for leaver in [b, a] {
      let board = Board()
      let (a, b, c) = (board.phone("a"), board.phone("b"), board.phone("c"))
      let id = try board.talk(a, b, .audio)
      let ask = MediaChangeParams(callId: id, action: .request, media: .video)
      #expect(board.code(a, .call(.mediaChange(ask))) == nil)
      #expect(board.code(a, .call(.invite(CallInviteParams(callId: id, users: ["c"])))) == nil)
      let (gone, stays) = leaver.user == "a" ? (a, b) : (b, a)
      _ = stays.take()
      #expect(board.code(gone, .call(.hangup(CallHangupParams(callId: id)))) == nil)
      #expect(stays.names() == [.memberLeft, .callMediaChanged])
      #expect(try board.get(stays, id).mediaRequest == nil && board.board.count == 1)
      try board.accept(c, id)
      #expect(try board.get(stays, id).media == .audio)
    }
  }

  @Test func aWishForOtherMediaEndsWithTheCall() throws {
    let board = Board()
    let (a, b) = (board.phone("a"), board.phone("b"))
    let id = try board.talk(a, b, .audio)
    let ask = MediaChangeParams(callId: id, action: .request, media: .video)
    #expect(board.code(a, .call(.mediaChange(ask))) == nil && board.code(b, .call(.hangup(CallHangupParams()))) == nil)
    #expect(try board.get(a, id).mediaRequest == nil && board.graves.last?.mediaRequest == nil)
  }

  // 31
  @Test func mediaChangesByAgreement() throws {
    let board = Board { ($0.videoSeats, $0.audioSeats) = (3, 5) }
    let (a, b) = (board.phone("a"), board.phone("b"))
    let id = try board.talk(a, b, .audio)
    func change(_ action: MediaChangeAction, _ media: MediaClass? = nil) -> Request {
      .call(.mediaChange(MediaChangeParams(callId: id, action: action, media: media)))
    }
    #expect(board.code(a, change(.request, .video)) == nil)
    #expect(board.code(b, change(.request, .video)) == .mediaChangePending && b.names() == [.callMediaChangeRequested])
    #expect(board.code(a, change(.accept)) == .invalidState, "not by oneself")
    #expect(board.code(b, change(.reject)) == nil)
    #expect(try board.get(a, id).media == .audio)
    #expect(board.code(a, change(.request, .video)) == nil && board.code(a, change(.cancel)) == nil)
    #expect(board.code(a, change(.request, .video)) == nil)
    board.advance(60)
    #expect(board.code(b, change(.accept)) == .invalidState)
    #expect(board.code(b, change(.request, .video)) == nil && board.code(a, change(.accept)) == nil)
    #expect(try board.get(a, id).media == .video)
    let results = b.take().compactMap { event -> MediaChangeResult? in
      guard case .callMediaChanged(let change) = event else { return nil }
      return change.result
    }
    #expect(results == [.rejected, .cancelled, .timeout, .accepted])
    // In a group one decides, but not beyond the seats there are.
    #expect(board.code(a, change(.request, .audio)) == nil && board.code(b, change(.accept)) == nil)
    for user in ["c", "d"] { _ = board.phone(user) }
    #expect(board.code(a, .call(.invite(CallInviteParams(callId: id, users: ["c", "d"])))) == nil)
    #expect(board.code(a, change(.request, .video)) == .callFull)
  }
}
