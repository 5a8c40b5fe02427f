// The transition table of docs/calls.md, row by row.

import Basics
import RoostProtocol
import Testing

@testable import Calls

private func call(_ id: String) -> CallParams { CallParams(callId: id) }

@Suite struct TransitionTests {
  // 1
  @Test func startRingsEveryDeviceAndTellsTheCallersOthers() throws {
    let board = Board()
    let (a1, a2) = (board.phone("a"), board.phone("a", "d2"))
    let (b1, b2) = (board.phone("b"), board.phone("b", "d2"))
    let silent = board.phone("b", "d3", callable: false)
    let started = try board.start(a1, ["b"]) { $0.extra = ["n": 1] }
    #expect(started.call.state == .ringing && started.call.rev == 1 && started.call.remainingMs == 30_000)
    #expect(started.busy.isEmpty && started.unreachable.isEmpty && !started.glare)
    #expect(started.call.members.map(\.state) == [.joined, .inviting])
    #expect(a1.take().isEmpty && silent.take().isEmpty)
    #expect(a2.names() == [.callCreated])
    for phone in [b1, b2] {
      guard case .callIncoming(let incoming) = phone.take().first else {
        Issue.record("no ring")
        return
      }
      #expect(incoming.from == "a" && !incoming.inProgress && !incoming.waiting && incoming.call.extra == ["n": 1])
    }
    #expect(board.seats == [a1.id: CallID(started.call.callId)] && board.hooks.map(\.type) == [.callStarted])
    #expect(started.call.callId.count == 36 && started.call.room == "call:" + started.call.callId)
  }

  @Test func startIsRefusedForReasons() throws {
    let board = Board { ($0.videoSeats, $0.audioSeats) = (3, 4) }
    let a = board.phone("a")
    for user in ["b", "c", "d", "e"] { _ = board.phone(user) }
    func refusal(_ to: [String], _ kind: CallKind, _ media: MediaClass = .video) -> ErrorObject? {
      board.error(a, .callStart(CallStartParams(to: to, kind: kind, media: media)))
    }
    #expect(refusal(["a"], .group)?.code == .cannotCallSelf)
    #expect(refusal(["b", "c"], .oneToOne)?.data.field == "to")
    #expect(refusal(["b", "c", "d"], .group)?.data.limit == 3)
    #expect(refusal(["b", "c", "d", "e"], .group, .audio)?.code == .tooManyInvitees)
    #expect(
      board.code(a, .callStart(CallStartParams(to: ["b"], kind: .group, media: .audio, answerPolicy: .firstWins)))
        == .invalidParams)
    #expect(try board.start(a, ["a", "b", "b", "c"], .group).call.members.map(\.user) == ["a", "b", "c"])
    #expect(refusal(["d"], .oneToOne)?.code == .selfBusy)
    let next = try board.start(a, ["d"]) { $0.replace = true }
    #expect(board.board.calls.keys.map(\.text) == [next.call.callId])
    #expect(board.graves.map(\.reason) == [.cancelled])
  }

  @Test func theSameNameIsTheSameCall() throws {
    let board = Board()
    let (a, b) = (board.phone("a"), board.phone("b"))
    let first = try board.start(a, ["b"]) { $0.clientCallId = "x" }
    let second = try board.start(a, ["b"]) { $0.clientCallId = "x" }
    #expect(first.call.callId == second.call.callId && b.names() == [.callIncoming])
    #expect(
      board.code(
        board.phone("a", "d2"),
        .callStart(
          CallStartParams(
            to: ["b"], kind: .oneToOne, media: .video, clientCallId: "x"))) == .alreadyJoined)
    #expect(board.code(a, .callCancel(CallCancelParams(callId: first.call.callId))) == nil)
    let over = board.error(a, .callStart(CallStartParams(to: ["b"], kind: .oneToOne, media: .video, clientCallId: "x")))
    #expect(over?.code == .callEnded && over?.data.reason == "cancelled")
  }

  // 2
  @Test func whoHasNoDeviceIsPushedAtOnceAndWhoIsSilentLater() throws {
    let board = Board { $0.hasPush = true }
    let (a, c) = (board.phone("a"), board.phone("c"))
    let id = try board.start(a, ["b", "c"], .group) { $0.push = "hi" }.call.callId
    #expect(board.pushes.map(\.to) == ["b"] && board.pushes.first?.push == "hi")
    #expect(a.names() == [.memberState])
    board.advance(4.9)
    #expect(board.pushes.count == 1)
    board.advance(0.2)
    #expect(board.pushes.map(\.to) == ["b", "c"] && board.pushes.allSatisfy { $0.type == .ring })
    guard case .memberState(let event) = a.take().last else {
      Issue.record("the caller does not know of the push")
      return
    }
    #expect(event.push == true && event.member.user == "c")
    try board.accept(c, id)
    #expect(board.pushes.last?.type == .cancel && board.pushes.last?.to == "c")
  }

  @Test func withoutPushOneWithoutADeviceIsUnreachable() throws {
    let board = Board()
    let a = board.phone("a")
    let started = try board.start(a, ["b"])
    #expect(started.unreachable == ["b"])
    #expect(a.names() == [.memberState, .callEnded])
    #expect(board.graves.first?.reason == .unreachable && board.records["b"]?.first?.why == .unreachable)
    // One whose device may come back in a moment is given that moment.
    let b = board.phone("b")
    board.cut(b)
    let again = try board.start(a, ["b"])
    #expect(again.unreachable.isEmpty && board.board.count == 1)
    board.advance(5.1)
    #expect(board.graves.last?.reason == .unreachable)
  }

  // 3
  @Test func ringingIsToldOnce() throws {
    let board = Board()
    let (a, b1, b2) = (board.phone("a"), board.phone("b"), board.phone("b", "d2"))
    let id = try board.start(a, ["b"]).call.callId
    for phone in [b1, b2, b1] { #expect(board.code(phone, .callRinging(call(id))) == nil) }
    #expect(a.names() == [.memberRinging] && board.state("b", id) == .ringing)
    #expect(board.code(board.phone("c"), .callRinging(call(id))) == .notInvited)
    #expect(board.code(a, .callRinging(call("nothing"))) == .callNotFound)
  }

  // 4
  @Test func aLateDeviceRingsForTheTimeThatIsLeft() throws {
    let board = Board { $0.hasPush = true }
    let a = board.phone("a")
    let id = try board.start(a, ["b"]).call.callId
    board.advance(10)
    let b = board.phone("b")
    guard case .callIncoming(let incoming) = b.take().first else {
      Issue.record("no ring")
      return
    }
    #expect(incoming.call.callId == id && incoming.call.remainingMs == 20_000)
    #expect(board.board.ringing(for: "b", at: board.now).first?.remainingMs == 20_000)
    board.advance(20)
    #expect(b.names() == [.callStopped, .callMissed])
    #expect(board.phone("b", "d2").take().isEmpty)
  }

  // 5
  @Test func busyIsReportedAndMissed() throws {
    let board = Board()
    let (a, b, c) = (board.phone("a"), board.phone("b"), board.phone("c"))
    _ = try board.talk(b, c)
    let started = try board.start(a, ["b"])
    #expect(started.busy == ["b"])
    #expect(a.names() == [.memberBusy, .callEnded] && b.names() == [.callMissed])
    #expect(board.graves.last?.reason == .busy && !board.board.isBusy("a"))
    #expect(board.records["b"]?.map(\.why) == [.busy] && board.board.missed("b") == 1)
    _ = board.board.history(CallHistoryParams(), from: b.id)
    #expect(board.board.missed("b") == 0)
  }

  // 6
  @Test func aBusyOneWaitsWhereTheCallerWantsIt() throws {
    let board = Board()
    let (a, b, c) = (board.phone("a"), board.phone("b"), board.phone("c"))
    _ = try board.talk(b, c)
    let started = try board.start(a, ["b"]) { $0.busyPolicy = .ring }
    #expect(started.busy == ["b"])
    guard case .callIncoming(let incoming) = b.take().first else {
      Issue.record("no ring")
      return
    }
    #expect(incoming.waiting && board.code(b, .callRinging(call(started.call.callId))) == nil)
    #expect(board.state("b", started.call.callId) == .busyRinging)
  }

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
    #expect(board.code(b2, .callReject(CallRejectParams(callId: id))) == .answeredElsewhere)
    #expect(board.code(b2, .callAccept(CallAcceptParams(callId: id))) == .answeredElsewhere)
    #expect(board.code(c, .callAccept(CallAcceptParams(callId: id))) == .answeredElsewhere)
    #expect(try board.accept(b1, id).rev == answered.rev, "twice on one device is once")
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
    board.mediaUp(b)
    try board.accept(c, group)
    _ = (a.take(), b.take())
    board.advance(15)
    #expect(board.state("c", group) == .lost && board.board.count == 1)
    #expect(a.names() == [.memberLeft] && b.names() == [.memberLeft])
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
    #expect(board.code(b2, .callReject(CallRejectParams(callId: id, scope: .thisDevice))) == nil)
    #expect(a.take().isEmpty && board.state("b", id) == .inviting)
    #expect(board.code(b1, .callReject(CallRejectParams(callId: id, text: "later"))) == nil)
    let heard = a.take()
    #expect(heard.map(\.name) == [.memberDeclined, .callEnded])
    guard case .memberDeclined(let declined) = heard.first, case .callEnded(let ended) = heard.last,
      case .callStopped(let stopped) = b2.take().first
    else { return }
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
    #expect(board.code(b, .callHangup(CallHangupParams(callId: id))) == nil, "a hang-up while it rings is a reject")
    guard case .callStopped(let stopped) = c.take().first else {
      Issue.record("c rings on")
      return
    }
    #expect(stopped.reason == .rejectedByOther && board.board.count == 0)
    id = try board.start(a, ["b", "c", "d"], .oneToMany) { $0.rejectPolicy = .ignore }.call.callId
    #expect(board.code(b, .callReject(CallRejectParams(callId: id))) == nil)
    #expect(board.code(b, .callAccept(CallAcceptParams(callId: id))) == .invalidState)
    #expect(board.code(board.phone("b", "d2"), .callAccept(CallAcceptParams(callId: id))) == .rejectedElsewhere)
    _ = d.take()
    try board.accept(c, id)
    guard case .callStopped(let other) = d.take().first else { return }
    #expect(other.reason == .answeredByOther)
  }

  // 12, 13
  @Test func aRingThatNobodyAnswersStops() throws {
    let board = Board()
    let (a, b) = (board.phone("a"), board.phone("b"))
    let id = try board.start(a, ["b"]) { $0.ringTimeoutMs = 7_000 }.call.callId
    _ = b.take()
    board.advance(6.9)
    #expect(board.board.count == 1)
    board.advance(0.1)
    #expect(b.names() == [.callStopped, .callMissed] && a.names() == [.memberNoAnswer, .callEnded])
    #expect(try board.get(b, id).reason == .noAnswer && board.board.legs.isEmpty)
    #expect(board.records["a"]?.last?.why == .noAnswer && board.records["b"]?.last?.why == .noAnswer)
  }

  // 14
  @Test func aCancelStopsTheRing() throws {
    let board = Board { $0.hasPush = true }
    let (a, b) = (board.phone("a"), board.phone("b"))
    let id = try board.start(a, ["b", "c"], .oneToMany).call.callId
    _ = b.take()
    #expect(board.code(b, .callCancel(CallCancelParams(callId: id))) == .forbidden)
    #expect(board.code(a, .callCancel(CallCancelParams(callId: id))) == nil)
    #expect(b.names() == [.callStopped, .callMissed] && board.records["b"]?.last?.why == .cancelled)
    #expect(board.pushes.map(\.type) == [.ring, .cancel, .missed] && board.pushes.allSatisfy { $0.to == "c" })
    #expect(board.code(a, .callCancel(CallCancelParams(callId: id))) == nil, "twice is once")
    #expect(board.code(a, .callHangup(CallHangupParams(callId: id))) == nil)
    let late = board.error(b, .callAccept(CallAcceptParams(callId: id)))
    #expect(late?.code == .callEnded && late?.data.reason == "cancelled" && late?.data.by == "a")
    #expect(board.error(b, .callAccept(CallAcceptParams(callId: "x")))?.code == .callNotFound)
  }

  @Test func aCallerWhoHangsUpWhileConnectingHasCancelled() throws {
    let board = Board()
    let (a, b) = (board.phone("a"), board.phone("b"))
    let id = try board.start(a, ["b"]).call.callId
    try board.accept(b, id)
    let cancel = board.error(a, .callCancel(CallCancelParams(callId: id)))
    #expect(cancel?.code == .invalidState && cancel?.data.reason == "answered" && cancel?.data.by == "b")
    #expect(board.code(a, .callHangup(CallHangupParams())) == nil)
    #expect(b.names().contains(.callEnded) && board.graves.last?.reason == .cancelled)
    #expect(board.records["b"]?.last?.why == .cancelled)
  }

  // 15
  @Test func aCallerWhoIsLostHasAGrace() throws {
    let board = Board()
    let (a, b) = (board.phone("a"), board.phone("b"))
    var id = try board.start(a, ["b"]).call.callId
    _ = b.take()
    board.cut(a)
    board.advance(7.9)
    board.back(a)
    board.advance(1)
    #expect(b.take().isEmpty && board.board.count == 1, "a resume inside the grace is invisible")
    board.cut(a)
    board.advance(8)
    guard case .callStopped(let stopped) = b.take().first else {
      Issue.record("b rings on")
      return
    }
    #expect(stopped.reason == .callerLost && stopped.code == 6013)
    // An accept inside the grace counts, and then the connect timeout does.
    board.back(a)
    id = try board.start(a, ["b"]).call.callId
    board.cut(a)
    board.advance(5)
    try board.accept(b, id)
    board.advance(14)
    #expect(board.board.count == 1)
    board.advance(1)
    #expect(board.graves.last?.reason == .connectFailed)
  }

  // 16
  @Test func aHangUpEndsACallOfTwo() throws {
    let board = Board()
    let (a, b) = (board.phone("a"), board.phone("b"))
    _ = try board.talk(a, b)
    board.advance(10)
    #expect(board.code(a, .callHangup(CallHangupParams(text: "bye"))) == nil)
    for phone in [a, b] {
      guard case .callEnded(let ended) = phone.take().first else {
        Issue.record("\(phone) does not know")
        return
      }
      #expect(ended.code == 6000 && ended.durationMs == 10_000 && ended.by == "a" && ended.text == "bye")
      #expect(ended.record?.result == .answered && ended.record?.durationMs == 10_000)
    }
    #expect(board.board.legs.isEmpty && board.seats.isEmpty && board.board.nextDeadline == nil)
  }

  @Test func whoeverIsLeftKeepsTheCallWhileAnInviteeRings() throws {
    let board = Board()
    let (a, b, c) = (board.phone("a"), board.phone("b"), board.phone("c"))
    let id = try board.talk(a, b)
    #expect(board.code(a, .callInvite(CallInviteParams(callId: id, users: ["c"]))) == nil)
    #expect(board.code(b, .callHangup(CallHangupParams(text: "bye"))) == nil)
    #expect(board.board.count == 1 && board.state("b", id) == .left)
    #expect(a.names() == [.callInvited, .memberLeft])
    _ = c.take()
    board.advance(30)
    #expect(c.names() == [.callStopped, .callMissed])
    guard case .callEnded(let ended) = a.take().last else {
      Issue.record("a waits for ever")
      return
    }
    #expect(ended.reason == .hangup && ended.by == "b" && ended.text == "bye")
  }

  // 17, 18
  @Test func aGroupRunsWhileAnybodyIsIn() throws {
    let board = Board()
    let (a, b, c, d) = (board.phone("a"), board.phone("b"), board.phone("c"), board.phone("d"))
    let id = try board.start(a, ["b", "c", "d"], .group).call.callId
    for phone in [b, c] { try board.accept(phone, id) }
    board.mediaUp(a, b, c)
    for phone in [a, b, c, d] { _ = phone.take() }
    #expect(board.code(a, .callHangup(CallHangupParams())) == nil)
    #expect(a.take().isEmpty, "the reply has told him")
    #expect(b.names() == [.memberLeft] && d.names() == [.memberLeft])
    #expect(board.code(a, .callHangup(CallHangupParams(callId: id))) == nil, "twice is once")
    #expect(board.code(b, .callHangup(CallHangupParams())) == nil)
    _ = (a.take(), b.take(), c.take(), d.take())
    #expect(board.code(c, .callHangup(CallHangupParams())) == nil)
    #expect([a, b, c].allSatisfy { $0.names() == [.callEnded] })
    guard case .callStopped(let stopped) = d.take().first else {
      Issue.record("d rings on")
      return
    }
    #expect(stopped.reason == .callEnded && board.board.available(to: "a", at: board.now).isEmpty)
    #expect(board.records.values.allSatisfy { $0.count == 1 } && board.records.count == 4)
  }

  // 19
  @Test func anInviteRingsWhoIsNotThereYet() throws {
    let board = Board { $0.videoSeats = 4 }
    let (a, b, c, d) = (board.phone("a"), board.phone("b"), board.phone("c"), board.phone("d"))
    let e = board.phone("e")
    let id = try board.start(a, ["b", "c"], .group).call.callId
    try board.accept(b, id)
    #expect(board.code(c, .callReject(CallRejectParams(callId: id))) == nil)
    for phone in [a, b, c, d] { _ = phone.take() }
    let request = { (users: [String]) in Request.callInvite(CallInviteParams(callId: id, users: users)) }
    #expect(board.code(c, request(["d"])) == .notInCall && board.code(e, request(["d"])) == .notInCall)
    let full = board.error(a, request(["c", "d", "e"]))
    #expect(full?.code == .callFull && full?.data.limit == 4 && full?.data.joined == 2 && full?.data.ringing == 0)
    #expect([a, b, c, d, e].allSatisfy { $0.take().isEmpty }, "and nobody is rung")
    guard case .invited(let result) = try board.send(a, request(["d", "b", "a", "x"])) else { return }
    #expect(result.invited == ["d", "b"] && result.failed.map(\.user) == ["a", "x"])
    #expect(d.names() == [.callIncoming, .callInvited])
    #expect(b.names() == [.callInvited, .memberState] && c.names() == [.callInvited])
    guard case .invited(let again) = try board.send(a, request(["d"])) else { return }
    #expect(again.invited == ["d"] && d.take().isEmpty, "who rings is not rung again")
    guard case .invited(let anew) = try board.send(b, request(["c"])) else { return }
    #expect(anew.invited == ["c"] && c.names() == [.callIncoming, .callInvited])
    #expect(board.state("c", id) == .inviting)
  }

  // 20
  @Test func anInvitationCanBeTakenBack() throws {
    let board = Board()
    let (a, b, c) = (board.phone("a"), board.phone("b"), board.phone("c"))
    let id = try board.talk(a, b)
    #expect(board.code(b, .callInvite(CallInviteParams(callId: id, users: ["c"]))) == nil)
    _ = (a.take(), b.take(), c.take())
    #expect(board.code(b, .callCancelInvite(CallCancelInviteParams(callId: id, users: ["c", "x"]))) == nil)
    #expect(c.names() == [.callStopped, .callMissed] && a.names() == [.memberRemoved] && b.names() == [.memberRemoved])
    #expect(try board.get(a, id).kind == .oneToOne && board.board.count == 1)
    #expect(board.code(c, .callJoin(CallJoinParams(callId: id))) == .invalidState)
  }

  // 21
  @Test func anInviteeWhoJoinsMakesItAGroup() throws {
    let board = Board()
    let (a, b, c) = (board.phone("a"), board.phone("b"), board.phone("c"))
    let id = try board.talk(a, b)
    #expect(board.code(a, .callInvite(CallInviteParams(callId: id, users: ["c"]))) == nil)
    _ = (a.take(), b.take(), c.take())
    let seats = board.seats
    let joined = try board.accept(c, id)
    #expect(joined.kind == .group && joined.answerPolicy == .everyone && joined.rejectPolicy == .ignore)
    #expect(a.names() == [.callAccepted, .callTypeChanged] && b.names() == [.callAccepted, .callTypeChanged])
    #expect(board.seats.filter { seats[$0.key] != nil } == seats, "nobody's seat has changed")
    board.mediaUp(c)
    #expect(a.names() == [.memberState] && c.names() == [.memberState])
    #expect(board.code(a, .callHangup(CallHangupParams())) == nil)
    #expect(board.board.count == 1, "the starter may go now")
  }

  // 22
  @Test func anInviteeWhoDeclinesChangesNothing() throws {
    let board = Board()
    let (a, b, c) = (board.phone("a"), board.phone("b"), board.phone("c"))
    let id = try board.talk(a, b)
    #expect(board.code(a, .callInvite(CallInviteParams(callId: id, users: ["c"]))) == nil)
    _ = (a.take(), b.take())
    #expect(board.code(c, .callReject(CallRejectParams(callId: id))) == nil)
    #expect(a.names() == [.memberDeclined] && b.names() == [.memberDeclined])
    #expect(try board.get(a, id).kind == .oneToOne && board.board.count == 1)
  }

  // 23
  @Test func whoeverWasAskedMayComeBack() throws {
    let board = Board { $0.videoSeats = 3 }
    let (a, b, c) = (board.phone("a"), board.phone("b"), board.phone("c"))
    let id = try board.start(a, ["b", "c"], .group).call.callId
    try board.accept(b, id)
    #expect(board.code(c, .callReject(CallRejectParams(callId: id))) == nil)
    #expect(board.board.available(to: "c", at: board.now).map(\.callId) == [id])
    for _ in 0..<2 {
      #expect(board.code(c, .callJoin(CallJoinParams(callId: id))) == nil)
      #expect(board.code(c, .callJoin(CallJoinParams(callId: id))) == nil, "who is in is in")
      #expect(board.code(c, .callHangup(CallHangupParams())) == nil)
    }
    let d = board.phone("d")
    #expect(board.code(d, .callJoin(CallJoinParams(callId: id))) == .notInvited)
    #expect(board.code(a, .callInvite(CallInviteParams(callId: id, users: ["d"]))) == nil)
    let full = board.error(c, .callJoin(CallJoinParams(callId: id)))
    #expect(full?.code == .callFull && full?.data.joined == 2 && full?.data.ringing == 1)
    try board.accept(d, id)
    #expect(board.board.calls[CallID(id)]?.members.count == 4)
  }

  // 24
  @Test func aSecondDeviceMayTakeOver() throws {
    let board = Board()
    let (a, b1, b2) = (board.phone("a"), board.phone("b"), board.phone("b", "d2"))
    let id = try board.talk(a, b1)
    #expect(board.code(b2, .callJoin(CallJoinParams(callId: id))) == .alreadyJoined)
    #expect(board.code(b2, .callJoin(CallJoinParams(callId: id, takeover: true))) == nil)
    #expect(board.seats[b2.id] == CallID(id) && board.seats[b1.id] == nil && board.seats.count == 2)
    guard case .callStopped(let stopped) = b1.take().last else {
      Issue.record("the old device does not know")
      return
    }
    #expect(stopped.reason == .replaced && a.names() == [.memberState] && board.state("b", id) == .joined)
    #expect(board.code(b1, .callHangup(CallHangupParams(callId: id))) == .answeredElsewhere)
    board.mediaUp(b2)
    board.advance(60)
    #expect(board.board.count == 1)
    let effects = try board.board.join(
      CallJoinParams(callId: id, takeover: true), from: b2.id, mayTakeOver: false, at: board.now)
    #expect(effects.count == 1, "the device that has it needs no token")
    #expect(throws: ErrorObject.self) {
      try board.board.join(CallJoinParams(callId: id, takeover: true), from: b1.id, mayTakeOver: false, at: board.now)
    }
  }

  // 25, 26
  @Test func aLostLegKeepsItsSeat() throws {
    let board = Board()
    let (a, b) = (board.phone("a"), board.phone("b"))
    let id = try board.talk(a, b)
    board.cut(b)
    #expect(board.state("b", id) == .reconnecting && board.seats.count == 2)
    board.back(b)
    #expect(board.state("b", id) == .joined)
    board.carry(board.board.mediaLost(true, on: b.id, at: board.now))
    #expect(board.state("b", id) == .reconnecting)
    board.carry(board.board.mediaLost(false, on: b.id, at: board.now))
    #expect(board.state("b", id) == .joined && a.take().isEmpty, "the room tells of it")
  }

  // 27
  @Test func aLegThatDoesNotComeBackIsLost() throws {
    let board = Board()
    let (a, b, c) = (board.phone("a"), board.phone("b"), board.phone("c"))
    var id = try board.talk(a, b)
    board.gone(b, .lost)
    guard case .callEnded(let ended) = a.take().last else {
      Issue.record("a waits for ever")
      return
    }
    #expect(ended.code == 6009 && ended.by == "b")
    let again = board.phone("b")
    id = try board.start(a, ["b", "c"], .group).call.callId
    try board.accept(again, id)
    try board.accept(c, id)
    board.carry(board.board.legLost(on: c.id, at: board.now))
    #expect(board.state("c", id) == .lost && c.names().last == .memberLeft && board.board.count == 1)
  }

  // 28
  @Test func twoWhoCallEachOtherHaveOneCall() throws {
    let board = Board()
    let (a, b) = (board.phone("a"), board.phone("b"))
    let first = try board.start(a, ["b"])
    let second = try board.start(b, ["a"]) { $0.media = .audio }
    #expect(second.glare && second.call.callId == first.call.callId && second.call.state == .connecting)
    #expect(a.names() == [.callAccepted] && b.names() == [.callIncoming, .callAccepted])
    #expect(board.board.count == 1 && board.records.isEmpty)
    board.mediaUp(a, b)
    #expect(try board.get(a, first.call.callId).state == .active)
  }

  // 29
  @Test func acceptingAnotherCallLeavesTheFirst() throws {
    let board = Board()
    let (a, b, c, d) = (board.phone("a"), board.phone("b"), board.phone("c"), board.phone("d"))
    let group = try board.start(a, ["b", "d"], .group).call.callId
    for phone in [b, d] { try board.accept(phone, group) }
    let other = try board.start(c, ["b"]) { $0.busyPolicy = .ring }.call.callId
    _ = (a.take(), b.take())
    #expect(try board.accept(b, other).state == .connecting)
    guard case .memberLeft(let left) = a.take().last else {
      Issue.record("a does not know")
      return
    }
    #expect(left.member.reason == .switchedCall && board.seats[b.id] == CallID(other) && board.board.count == 2)
    #expect(b.take().isEmpty)
  }

  // 30
  @Test func theServerEndsCalls() throws {
    let board = Board()
    let (a, b, c, d) = (board.phone("a"), board.phone("b"), board.phone("c"), board.phone("d"))
    let id = try board.talk(a, b)
    board.carry(board.board.stop(CallID(id), at: board.now))
    #expect(a.names() == [.callEnded] && b.names() == [.callEnded] && board.graves.last?.reason == .stopped)
    let group = try board.start(c, ["d"], .group).call.callId
    try board.accept(d, group)
    let ringing = try board.start(a, ["b"]).call.callId
    board.carry(board.board.drain(at: board.now))
    #expect(board.board.calls.keys.map(\.text) == [group] && board.graves.last?.callId == ringing)
    #expect(board.code(a, .callStart(CallStartParams(to: ["b"], kind: .oneToOne, media: .audio))) == .draining)
    #expect(board.code(d, .callEnd(call(group))) == .forbidden)
    #expect(board.code(c, .callEnd(call(group))) == nil && board.board.count == 0)
  }

  // 31
  @Test func mediaChangesByAgreement() throws {
    let board = Board { ($0.videoSeats, $0.audioSeats) = (3, 5) }
    let (a, b) = (board.phone("a"), board.phone("b"))
    let id = try board.talk(a, b, .audio)
    func change(_ action: MediaChangeAction, _ media: MediaClass? = nil) -> Request {
      .callMediaChange(MediaChangeParams(callId: id, action: action, media: media))
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
    #expect(board.code(a, .callInvite(CallInviteParams(callId: id, users: ["c", "d"]))) == nil)
    #expect(board.code(a, change(.request, .video)) == .callFull)
  }

  // 32
  @Test func anEndedCallAnswersForADay() throws {
    let board = Board()
    let (a, b, c) = (board.phone("a"), board.phone("b"), board.phone("c"))
    let id = try board.talk(a, b)
    #expect(board.code(a, .callHangup(CallHangupParams())) == nil)
    let requests: [Request] = [
      .callRinging(call(id)), .callAccept(CallAcceptParams(callId: id)), .callReject(CallRejectParams(callId: id)),
      .callJoin(CallJoinParams(callId: id)), .callInvite(CallInviteParams(callId: id, users: ["c"])),
      .callMediaChange(MediaChangeParams(callId: id, action: .request, media: .audio)),
    ]
    for request in requests {
      let error = board.error(b, request)
      #expect(error?.code == .callEnded && error?.data.reason == "hangup" && error?.data.by == "a")
      #expect(error?.data.endedAt == board.now.wallMilliseconds)
      #expect(board.code(c, request) == .callNotFound, "strangers learn nothing")
    }
    #expect(board.code(b, .callHangup(CallHangupParams(callId: id))) == nil)
    board.advance(86_400)
    #expect(try board.get(b, id).reason == .hangup)
    board.advance(1)
    #expect(throws: ErrorObject.self) { try board.get(b, id) }
  }

  @Test func oneWhoIsAloneInAGroupIsWarned() throws {
    let board = Board()
    let (a, b) = (board.phone("a"), board.phone("b"))
    let id = try board.start(a, ["b"], .group).call.callId
    try board.accept(b, id)
    board.mediaUp(a, b)
    #expect(board.code(b, .callHangup(CallHangupParams())) == nil)
    _ = a.take()
    board.advance(240)
    guard case .callAlone(let alone) = a.take().last else {
      Issue.record("no warning")
      return
    }
    #expect(alone.remainingMs == 60_000)
    #expect(board.code(a, .callInvite(CallInviteParams(callId: id, users: ["b"]))) == nil)
    board.advance(31)
    #expect(board.board.count == 1, "a ring stops the clock")
    board.advance(300)
    #expect(board.board.count == 0 && board.graves.last?.reason == .stopped)
  }
}
