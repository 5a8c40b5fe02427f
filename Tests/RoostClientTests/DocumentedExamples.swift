// The examples of docs/roost-client.md, word for word, so that they compile. DocumentedExamplesTests compares.
import RoostClient
import RoostProtocol

private func sessionAndRoom() async throws {
  let session = try await RoostSession.connect(
    to: "wss://meet.example.org/rtc", hello: HelloParams(user: "anna", deviceId: "phone", displayName: "Anna"))
  let room = try await session.join(room: "demo")
  try await room.chat("hello")
  try await room.send("pointer", ["x": 0.5, "y": 0.25])
  for await case .event(let message) in await session.events() {
    if case .chatMessage(let chat) = message.event { print(chat.from, chat.text) }
    if case .messageReceived(let sent) = message.event { print(sent.from, sent.topic, sent.data.text) }
  }
}

private func freshToken() async throws -> String { "" }

private func tokens() async throws -> RoostSession {
  var options = SessionOptions()
  options.token = { try await freshToken() }
  let session = try await RoostSession.connect(
    to: "wss://meet.example.org/rtc", hello: HelloParams(user: "anna", deviceId: "phone"), options: options)
  return session
}

private func tokensByHand(_ session: RoostSession) async throws {
  for await case .event(let message) in await session.events() {
    guard case .sessionExpiring(let warning) = message.event else { continue }
    print("the token is over in", warning.remainingMs / 1000, "seconds")
    try await session.renew(token: freshToken())
  }
}

private func severalViews(_ session: RoostSession) async throws {
  let gate = try await session.join(RoomJoinParams(room: "gate", autoSubscribe: false))
  let tracks = await gate.snapshot?.participants.flatMap(\.tracks) ?? []
  var shown: [Int: String] = [:]
  for track in tracks {
    guard track.kind == .video, let view = track.viewIndex else { continue }
    shown[view] = try await gate.subscribe(
      SubscribeParams(trackId: track.trackId, definition: view == 0 ? .high : .low, view: view))
  }
  if let large = shown[0], let small = shown[1] {
    try await gate.swap(large, small)
    try await gate.unsubscribe(small)
  }
}

private func placesWhoseVideoChanges(_ session: RoostSession) async throws {
  let hall = try await session.join(RoomJoinParams(room: "hall", views: 1))
  let strip = try await hall.openViews(2)
  let stage = await hall.snapshot?.views?.first ?? strip[0]
  try await hall.show([ViewWish(subscriptionId: stage, follow: .activeSpeaker), ViewWish(subscriptionId: strip[0])])
}

private func viewsInACall(_ session: RoostSession) async throws {
  for await ring in await session.incomingCalls() {
    let door = try await ring.call.accept(metadata: ["screen": "hall"], autoSubscribe: false)
    let views = await door.snapshot?.participants.flatMap(\.tracks).filter { $0.kind == .video } ?? []
    if let first = views.first { _ = try await door.subscribe(SubscribeParams(trackId: first.trackId, view: 0)) }
  }
}

private func calling(_ session: RoostSession) async throws {
  let started = try await session.startCall(
    CallStartParams(to: ["ben"], kind: .oneToOne, media: .video, clientCallId: "7c1f"))
  if started.unreachable == ["ben"] { print("ben has no device and no push") }
  for await update in await started.call.updates() {
    switch update.event {
    case .memberRinging: print("it rings")
    case .callAccepted(let answer): print("\(answer.user) answers with \(answer.media.rawValue)")
    case .callActive: print("you hear each other")
    case .memberDeclined(let event): print("no:", event.text ?? "")
    default: break
    }
    if update.call.state == .ended { print("over:", update.call.reason?.rawValue ?? "") }
  }
}

private func beingCalled(_ session: RoostSession, userAnswers: () -> Bool) async throws {
  for await ring in await session.incomingCalls() {
    try await ring.call.ringing()
    print(ring.from, "calls", ring.inProgress ? "from a running call" : "", ring.waiting ? "while you talk" : "")
    if userAnswers() {
      let room = try await ring.call.accept(media: .audio)
      print("in", room.name)
    } else {
      try await ring.call.reject(text: "In ten minutes?")
    }
  }
}

private func tooLate(_ ring: IncomingCall) async throws {
  do {
    try await ring.call.accept()
  } catch {
    switch error.refusal?.code {
    case .callEnded: print("too late:", error.refusal?.data.reason ?? "", "by", error.refusal?.data.by ?? "")
    case .answeredElsewhere: print("answered on another of your devices")
    default: throw error
    }
  }
}

private func ignoring(_ ring: IncomingCall) async throws {
  try await ring.call.reject(scope: .thisDevice)
}

private func secondCall(_ session: RoostSession, userSwitches: (String) -> Bool) async throws {
  for await ring in await session.incomingCalls() where ring.waiting {
    if userSwitches(ring.from) {
      let room = try await ring.call.accept()
      print("now in", room.name)
    } else {
      try await ring.call.reject(reason: .busy)
    }
  }
}

private func over(_ call: CallSession) async throws {
  try await call.cancel()
  try await call.hangup(text: "my train is here")
}

private func firstToAnswer(_ session: RoostSession) async throws {
  let doorbell = try await session.startCall(
    CallStartParams(to: ["ben", "carl", "dora"], kind: .oneToMany, media: .video, rejectPolicy: .ignore))
  for await update in await doorbell.call.updates() {
    if case .memberDeclined(let event) = update.event { print(event.member.user, "does not come; the others ring on") }
    if case .callAccepted(let answer) = update.event { print(answer.user, "opens") }
  }
}

private func firstToReject(_ session: RoostSession) async throws {
  let board = try await session.startCall(
    CallStartParams(to: ["ben", "carl"], kind: .oneToMany, media: .audio, rejectPolicy: .anyEnds))
  for await update in await board.call.updates() where update.call.state == .ended {
    print(update.call.reason == .rejected ? "declined by" : "over:", update.call.by ?? "")
  }
}

private func several(_ session: RoostSession) async throws {
  let group = try await session.startCall(
    CallStartParams(to: ["ben", "carl", "dora"], kind: .group, media: .audio))
  let result = try await group.call.invite(["emil"], ringTimeout: .seconds(20))
  for failure in result.failed { print(failure.user, failure.error.message) }
  try await group.call.cancelInvite(["emil"])
}

private func comingBack(_ session: RoostSession) async throws {
  for running in try await session.availableCalls() {
    print(running.callId, running.joined.map(\.user))
    let room = try await session.call(running.callId).join()
    print("back in", room.name)
  }
}

private func afterRestart(_ session: RoostSession) async throws {
  if let call = try await session.currentCall() {
    let room = try await call.join()
    print("again in", room.name)
  }
}

private func anotherDevice(_ session: RoostSession) async throws {
  guard let call = try await session.currentCall() else { return }
  do {
    try await call.join()
  } catch {
    guard error.refusal?.code == .alreadyJoined else { throw error }
    let room = try await call.takeOver(media: .audio)
    print("goes on here, in", room.name)
  }
}

private func mediaChange(_ call: CallSession) async throws {
  try await call.requestMediaChange(to: .video)
  for await update in await call.updates() {
    if case .callMediaChangeRequested(let request) = update.event { print(request.by, "asks for", request.media) }
    if case .callMediaChanged(let change) = update.event { print(change.result == .accepted, update.call.media) }
  }
}

private func mediaChangeAnswered(_ call: CallSession, userAgrees: (MediaClass) -> Bool) async throws {
  for await update in await call.updates() {
    guard case .callMediaChangeRequested(let request) = update.event else { continue }
    try await call.answerMediaChange(userAgrees(request.media))
  }
}

private func mediaChangeWithdrawn(_ call: CallSession) async throws {
  try await call.cancelMediaChange()
}

private func push(_ session: RoostSession, callId: String) async throws {
  let call = session.call(callId)
  let state = try await call.refresh()
  if state.state == .ended { print("nothing to ring for:", state.reason?.rawValue ?? "") }
}

private func list(_ session: RoostSession) async throws {
  var page = try await session.callHistory(limit: 20)
  while true {
    for record in page.records { print(record.direction, record.result, record.peers, record.durationMs) }
    guard let next = page.next else { break }
    page = try await session.callHistory(before: next, limit: 20)
  }
  for user in try await session.presence(of: ["ben", "carl"]) { print(user.user, user.reachable, user.inCall) }
}
