// Calls of a session against a scripted server: requests, live state, and what a lost connection does to it.
import Basics
import Foundation
import RoostProtocol
import TestSupport
import Testing

@testable import RoostClient

private func connect(_ server: FakeServer, _ options: SessionOptions = quick()) async throws -> RoostSession {
  try await RoostSession.connect(to: server.url, hello: HelloParams(user: "anna"), options: options)
}

private func ended(_ rev: Int, _ reason: Reason = .hangup) -> Event {
  .callEnded(CallEnded(callId: "c1", rev: rev, reason: reason, code: reason.code, by: "ben", durationMs: 5))
}

private func talking(rev: Int) -> Call {
  call(
    state: .active, rev: rev, members: [Member(user: "ben", state: .joined), Member(user: "anna", state: .joined)])
}

/// Answers every request about calls as a server with one call would.
private func answer(_ call: FakeServer.Call, _ state: Call) -> Bool {
  switch call.request {
  case .call(.start):
    call.reply(.callStarted(.init(call: state, room: room, busy: [.init(user: "x")], unreachable: [])))
  case .call(.accept), .call(.join): call.reply(.callRoom(CallRoomResult(call: state, room: room)))
  case .call(.reject), .call(.cancel), .call(.hangup), .call(.get): call.reply(.call(CallResultObject(call: state)))
  case .call(.invite(let params)): call.reply(.callInvited(.init(invited: params.users, busy: [], failed: [])))
  case .call(.current): call.reply(.callCurrent(CallCurrentResult(call: state)))
  case .call(.available): call.reply(.calls(CallListResult(calls: [state])))
  case .call(.history): call.reply(.records(CallHistoryResult(records: [], next: "more")))
  case .userQuery(let params):
    call.reply(
      .users(
        .init(
          users: params.users.map {
            UserPresence(user: $0, reachable: true, inCall: false, devices: 1, capabilities: [])
          })))
  default: return false
  }
  return true
}

private let room = snapshot("call:c1")

@Suite struct CallSessionTests {
  @Test func eachMethodSaysWhatTheProtocolSays() async throws {
    let server = try FakeServer { answer($0, talking(rev: 4)) }
    let session = try await connect(server)
    let started = try await session.startCall(
      CallStartParams(to: ["ben"], kind: .oneToOne, media: .video, clientCallId: "mine"))
    #expect(started.busy == ["x"] && started.unreachable == [] && !started.isGlare)
    #expect(await started.room.snapshot?.room == "call:c1")
    let one = started.call
    #expect(await one.room?.name == "call:c1")
    try await one.ringing()
    _ = try await one.accept(media: .audio)
    _ = try await one.takeOver(resumeToken: "old")
    _ = try await one.reject(text: "later", scope: .thisDevice)
    #expect(try await one.invite(["carl"], ringTimeout: .milliseconds(7500)).invited == ["carl"])
    try await one.cancelInvite(["carl"])
    try await one.requestMediaChange(to: .audio)
    try await one.answerMediaChange(true)
    try await one.answerMediaChange(false)
    try await one.cancelMediaChange()
    #expect(try await one.refresh().rev == 4)
    _ = try await one.cancel()
    _ = try await one.hangup(reason: .background, text: "bye")
    #expect(await one.room == nil)
    #expect(try await session.currentCall()?.callId == "c1")
    #expect(try await session.availableCalls().map(\.callId) == ["c1"])
    #expect(try await session.callHistory(limit: 5).next == "more")
    #expect(try await session.presence(of: ["ben", "carl"]).map(\.user) == ["ben", "carl"])
    #expect(
      server.requests.dropFirst() == [
        .call(.start(CallStartParams(to: ["ben"], kind: .oneToOne, media: .video, clientCallId: "mine"))),
        .call(.ringing(CallParams(callId: "c1"))),
        .call(.accept(CallAcceptParams(callId: "c1", media: .audio))),
        .call(.join(CallJoinParams(callId: "c1", takeover: true, resumeToken: "old"))),
        .call(.reject(CallRejectParams(callId: "c1", text: "later", scope: .thisDevice))),
        .call(.invite(CallInviteParams(callId: "c1", users: ["carl"], ringTimeoutMs: 7500))),
        .call(.cancelInvite(CallCancelInviteParams(callId: "c1", users: ["carl"]))),
        .call(.mediaChange(MediaChangeParams(callId: "c1", action: .request, media: .audio))),
        .call(.mediaChange(MediaChangeParams(callId: "c1", action: .accept))),
        .call(.mediaChange(MediaChangeParams(callId: "c1", action: .reject))),
        .call(.mediaChange(MediaChangeParams(callId: "c1", action: .cancel))),
        .call(.get(CallParams(callId: "c1"))), .call(.cancel(CallCancelParams(callId: "c1"))),
        .call(.hangup(CallHangupParams(callId: "c1", reason: .background, text: "bye"))), .call(.current),
        .call(.available),
        .call(.history(CallHistoryParams(limit: 5))), .userQuery(UserQueryParams(users: ["ben", "carl"])),
      ])
  }

  @Test func aRingIsToldAndItsUpdatesEndWithTheCall() async throws {
    let server = try FakeServer { request in
      guard case .call(.accept) = request.request else { return false }
      _ = answer(request, talking(rev: 2))
      request.event(
        2, .memberState(MemberEvent(callId: "c1", rev: 3, member: Member(user: "ben", state: .reconnecting))))
      request.event(3, ended(4, .disconnected))
      return true
    }
    let session = try await connect(server)
    var rings = await session.incomingCalls().makeAsyncIterator()
    server.latest?.event(1, incoming(call()))
    let ring = try #require(await rings.next())
    #expect(ring.from == "ben" && !ring.inProgress && !ring.waiting && ring.snapshot.callId == "c1")
    #expect(await ring.call.isRinging)
    let updates = await ring.call.updates()
    _ = try await ring.call.accept()
    var told: [CallUpdate] = []
    for await update in updates { told.append(update) }
    #expect(told.map(\.call.rev) == [3, 4])
    #expect(told.first?.call.member("ben")?.state == .reconnecting)
    #expect(told.last?.call.reason == .disconnected)
    #expect(await !ring.call.isRinging)
    #expect(await ring.call.room == nil)
    for await _ in await ring.call.updates() { Issue.record("a call that is over changes no more") }
  }

  @Test(arguments: [RejectScope.thisDevice, .everywhere])
  func aRejectMakesThisDeviceSilent(_ scope: RejectScope) async throws {
    let own: MemberState = scope == .thisDevice ? .ringing : .declined
    let state = call(rev: 2, members: [Member(user: "ben", state: .joined), Member(user: "anna", state: own)])
    let server = try FakeServer { request in
      guard case .session(.resume) = request.request else { return answer(request, state) }
      // Two devices of one user: the server says what rings on this one.
      request.reply(.resumed(.resync(Resync(seq: 9, ringing: [call("new")]))))
      return true
    }
    let session = try await connect(server)
    var rings = await session.incomingCalls().makeAsyncIterator()
    server.latest?.event(1, incoming(call()))
    let ring = try #require(await rings.next())
    #expect(await ring.call.isRinging)
    let answered = try await ring.call.reject(scope: scope)
    #expect(answered.member("anna")?.state == own)
    #expect(await !ring.call.isRinging)
    // What goes on among the others makes it ring no more; nor does what it asks for itself.
    let change = MemberEvent(callId: "c1", rev: 3, member: Member(user: "ben", state: .joined))
    server.latest?.event(2, .memberState(change))
    #expect(await eventually { await session.lastSeq == 2 })
    _ = try await ring.call.refresh()
    #expect(await !ring.call.isRinging)
    await session.dropConnection()
    #expect(await rings.next()?.call.callId == "new", "nothing is told of the call that was silenced")
    #expect(await !ring.call.isRinging)
  }

  @Test func ringsThatWereOnAtTheBeginningAreToldToo() async throws {
    let server = try FakeServer { request in
      guard case .session(.hello(let params)) = request.request else { return false }
      var hello = FakeServer.hello(params.user)
      hello.ringing = [call()]
      request.reply(.hello(hello))
      return true
    }
    let session = try await connect(server)
    var rings = await session.incomingCalls().makeAsyncIterator()
    let ring = await rings.next()
    #expect(ring?.call.callId == "c1" && ring?.from == "ben" && ring?.waiting == false)
  }

  @Test func aReplayedGapLeavesTheStateRight() async throws {
    let server = try FakeServer { request in
      guard case .session(.resume) = request.request else { return answer(request, talking(rev: 2)) }
      request.reply(.resumed(.replayed(1)))
      request.event(1, ended(3))
      return true
    }
    let session = try await connect(server)
    let one = try await session.startCall(CallStartParams(to: ["ben"], kind: .oneToOne, media: .video)).call
    let updates = await one.updates()
    await session.dropConnection()
    var told: [CallUpdate] = []
    for await update in updates { told.append(update) }
    #expect(told.map(\.call.state) == [.ended])
    #expect(await one.state?.reason == .hangup)
  }

  @Test func aResyncBringsTheCallAndTheOthersAreAskedFor() async throws {
    let server = try FakeServer { request in
      switch request.request {
      case .session(.resume):
        let sync = Resync(
          seq: 700, room: snapshot("call:c1", seq: 700), call: talking(rev: 90), ringing: [call("new", rev: 3)])
        request.reply(.resumed(.resync(sync)))
      case .call(.get(let params)) where params.callId == "gone": request.refuse(ErrorObject(.callNotFound))
      case .call(.get): request.reply(.call(CallResultObject(call: call("over", state: .ended, rev: 7))))
      default: return answer(request, talking(rev: 2))
      }
      return true
    }
    let session = try await connect(server)
    for (seq, id) in ["over", "gone"].enumerated() { server.latest?.event(seq + 1, incoming(call(id))) }
    #expect(await eventually { await session.lastSeq == 2 })
    let one = try await session.startCall(CallStartParams(to: ["ben"], kind: .oneToOne, media: .video)).call
    var updates = await one.updates().makeAsyncIterator()
    let (over, gone) = (session.call("over"), session.call("gone"))
    var overUpdates = await over.updates().makeAsyncIterator()
    var goneUpdates = await gone.updates().makeAsyncIterator()
    var rings = await session.incomingCalls().makeAsyncIterator()
    #expect(Set([await rings.next()?.call.callId, await rings.next()?.call.callId]) == ["over", "gone"])
    await session.dropConnection()
    #expect(await rings.next()?.call.callId == "new", "what began to ring in the gap")
    let fresh = await updates.next()
    #expect(fresh?.event == nil && fresh?.call.rev == 90)
    #expect(await overUpdates.next()?.call.state == .ended)
    #expect(await overUpdates.next() == nil)
    #expect(await goneUpdates.next() == nil)
    #expect(await gone.state == nil)
    #expect(await !over.isRinging)
    #expect(await one.room?.snapshot?.seq == 700)
  }

  @Test func aNewSessionKnowsWhatRingsNow() async throws {
    let hellos = Locked(0)
    let server = try FakeServer { request in
      switch request.request {
      case .session(.hello(let params)):
        var hello = FakeServer.hello(params.user)
        let isSecond = hellos.withLock { count -> Bool in
          count += 1
          return count == 2
        }
        if isSecond { hello.ringing = [call("c2", rev: 5)] }
        request.reply(.hello(hello))
      case .session(.resume): request.refuse(ErrorObject(.resumeExpired))
      case .call(.get): request.reply(.call(CallResultObject(call: call(state: .ended, rev: 9))))
      default: return false
      }
      return true
    }
    let session = try await connect(server)
    server.latest?.event(1, incoming(call()))
    #expect(await eventually { await session.call("c1").isRinging })
    var rings = await session.incomingCalls().makeAsyncIterator()
    #expect(await rings.next()?.call.callId == "c1")
    await session.dropConnection()
    #expect(await rings.next()?.call.callId == "c2")
    #expect(await eventually { await session.call("c1").state?.state == .ended })
    #expect(await session.call("c2").isRinging)
  }

  /// What ended on another device is not kept as running: one's record ends it, or has it asked for.
  @Test func aRecordEndsWhatNobodyElseTellsTheEndOf() async throws {
    let record = { (id: String, kind: CallKind) in
      Event.callRecord(
        CallRecordEvent(
          record: CallRecord(
            callId: id, direction: .incoming, result: .answered, elsewhere: true, startedAt: 1, endedAt: 5,
            durationMs: 4, peers: ["ben"], kind: kind, media: .video, reason: .hangup)))
    }
    let server = try FakeServer { request in
      guard case .call(.get(let params)) = request.request else { return false }
      request.reply(.call(CallResultObject(call: call(params.callId, kind: .group, state: .ended, rev: 9))))
      return true
    }
    let session = try await connect(server)
    let members = [Member(user: "ben", state: .joined), Member(user: "anna", state: .joined)]
    server.latest?.event(1, incoming(call("two", state: .active, members: members)))
    server.latest?.event(2, incoming(call("group", kind: .group, state: .active, members: members)))
    #expect(await eventually { await session.lastSeq == 2 })
    let updates = [await session.call("two").updates(), await session.call("group").updates()]
    server.latest?.event(3, record("two", .oneToOne))
    server.latest?.event(4, record("group", .group))
    for (stream, reason) in zip(updates, [Reason.hangup, nil]) {
      var last: CallUpdate?
      for await update in stream { last = update }
      #expect(last?.call.state == .ended && last?.call.reason == reason)
    }
  }

  @Test func aRefusalNamesTheOutcome() async throws {
    let outcome = ErrorObject(.callEnded) { ($0.reason, $0.by, $0.endedAt) = ("cancelled", "ben", 5) }
    let server = try FakeServer { request in
      guard case .call(.accept) = request.request else { return false }
      request.refuse(outcome)
      return true
    }
    let session = try await connect(server)
    await #expect(throws: RoostError.refused(outcome)) { try await session.call("c1").accept() }
    #expect(await session.call("c1").room == nil)
  }

  @Test func aSessionThatIsThrownAwayEndsItsStreams() async throws {
    let server = try FakeServer { _ in false }
    var session: RoostSession? = try await connect(server)
    let events = try #require(await session?.events())
    let rings = try #require(await session?.incomingCalls())
    let updates = try #require(await session?.call("c1").updates())
    session = nil
    for await event in events { Issue.record("\(event)") }
    for await ring in rings { Issue.record("\(ring.from)") }
    for await update in updates { Issue.record("\(update)") }
    #expect(await eventually { server.closed.count == 1 })
  }
}
