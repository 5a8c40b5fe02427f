// Twenty users with several devices do anything at any time, for hours of virtual time. After each step the invariants
// of `Board` hold, and `Witness` agrees with all that was told; here it is seen what the phones make of it: one order of
// changes, no gap for those who are in, every ring stopped, every call ended, and records that say what the events said.

import Basics
import RoostProtocol
import Testing

@testable import Calls

@Suite struct ModelTests {
  @Test(arguments: Array(1...10) + [20, 21]) func anythingMayHappen(_ seed: Int) {
    let model = Model(seed: UInt64(seed))
    for _ in 0..<5_000 { model.step() }
    let counters = model.board.counters
    // Enough of everything has really happened.
    #expect(CallKind.allCases.allSatisfy { counters[.started($0)] ?? 0 > 20 })
    #expect((counters[.joined] ?? 0) > 100 && (counters[.upgraded] ?? 0) > 3 && model.glares > 0 && model.returns > 2)
    #expect(model.successions > 10 && model.lostSuccessions > 0 && model.takeovers > 2)
    let reasons: [Reason] = [
      .hangup, .rejected, .busy, .noAnswer, .cancelled, .callerLost, .connectFailed, .disconnected, .stopped,
    ]
    #expect(model.board.now.instant - .zero > .seconds(3_600))
    for reason in reasons { #expect((counters[.ended(reason)] ?? 0) > 0, "\(reason)") }
    model.everybodyLeaves()
    model.checkTheEnd()
    #expect(model.ringsAfterTalk > 0 && model.removals > 5)
    #expect(model.waits + model.waitsOver > 2 && model.namesAgain > 0)
  }

  @Test func theSameSeedGivesTheSameCalls() {
    let runs = (0..<2).map { _ in
      let model = Model(seed: 99)
      for _ in 0..<400 { model.step() }
      return (model.board.hooks.map(\.type), model.board.graves.map(\.callId))
    }
    #expect(runs[0].0 == runs[1].0 && runs[0].1 == runs[1].1)
  }
}

/// Random commands with what the phones make of what they hear.
private final class Model {
  let board: Board
  var glares = 0
  /// Who has come back to his call after a restart.
  var returns = 0
  /// Whose device has said hello again while it had a leg, and took the leg up; and those who did not.
  var successions = 0
  var lostSuccessions = 0
  /// Legs that went to another device of their user.
  var takeovers = 0
  /// Whom an operator has put out, or stopped ringing.
  var removals = 0
  /// Who came into a call while he rang for another, and who was out of his call and rang on.
  var waits = 0
  var waitsOver = 0
  /// Calls that were given the name of one that is forgotten.
  var namesAgain = 0
  /// Rings that came to nothing for one who had been in the call.
  var ringsAfterTalk = 0
  private var phones: [Phone] = []
  private var away: [Phone] = []
  private var random: SplitMix64
  /// Calls that ring on a phone, as it believes.
  private var rings: [DeviceID: Set<String>] = [:]
  /// The last change of each call that a phone has heard, as long as it has the leg.
  private var heard: [DeviceID: [String: Int]] = [:]
  private var ended: [DeviceID: Set<String>] = [:]
  private var started: Set<String> = []
  /// What those who started calls called them.
  private var named: [String: String] = [:]
  /// Who has been heard of as having come into a call, and calls that have been heard to be active.
  private var came: [String: Set<String>] = [:]
  private var active: Set<String> = []

  init(seed: UInt64) {
    board = Board(seed: seed) { rules in
      (rules.videoSeats, rules.audioSeats, rules.maxRings) = (5, 7, 4)
      rules.ringTimeout = .seconds(20)
      rules.aloneTimeout = .seconds(60)
      rules.tombstone = .seconds(600)
      rules.hasPush = seed % 2 == 0
      rules.keepsCalls = true
      (rules.ringsPerCaller, rules.ringsPerCallee, rules.ringsPerPair) = (0, 0, 0)
    }
    random = SplitMix64(seed: seed &* 104_729)
    board.witness = Witness(board, videoSeats: 5, audioSeats: 7, ringSeconds: 20, graceSeconds: 15)
  }

  func step() {
    let isGroupRunning = board.board.tables.calls.running.values.contains { $0.isGroup && $0.isAnswered }
    if isGroupRunning, Int.random(in: 0..<40, using: &random) == 0 { restart() }
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<7: arrive()
    case 7..<9: sayHelloAgain()
    case 9..<12: breakOff()
    case 12..<17: comeBack()
    case 17..<19: leave()
    case 19..<27: pass()
    case 27..<45: start()
    case 45..<62: ring()
    case 62..<75: media()
    case 75..<77: takeOver()
    case 77..<86: inside()
    default: end()
    }
    listen()
  }

  /// Time goes by: a moment, or now and then so much that everything is up that can be.
  private func pass() {
    let isLong = Int.random(in: 0..<12, using: &random) == 0
    board.advance(isLong ? .random(in: 60...400, using: &random) : .random(in: 0.1...9, using: &random))
  }

  /// The server stops or is killed, some come back to what they were in, and nobody waits for the others any more.
  private func restart() {
    if board.board.count.isMultiple(of: 2) {
      board.drain()
      listen()
    }
    let before = phones + away
    (phones, away, rings, heard, ended) = ([], [], [:], [:], [:])
    board.restart(after: .random(in: 0.5...20, using: &random))
    for old in before where Bool.random(using: &random) {
      let phone = board.phone(old.user, old.name)
      phones.append(phone)
      guard let call = board.board.current(of: phone.user, at: board.now), Int.random(in: 0..<4, using: &random) > 0
      else { continue }
      guard case .joined(let call) = ask(phone, .call(.join(CallJoinParams(callId: call.callId)))) else { continue }
      enter(phone, call)
      board.mediaUp(phone)
      returns += 1
    }
    board.advance(16)
    listen()
  }

  // MARK: - Devices

  private func arrive() {
    guard phones.count + away.count < 36 else { return }
    let user = "u\(Int.random(in: 0..<20, using: &random))"
    let name = "d\(Int.random(in: 0..<3, using: &random))"
    guard !(phones + away).contains(where: { $0.user == user && $0.name == name }) else { return }
    phones.append(board.phone(user, name, callable: Int.random(in: 0..<9, using: &random) > 0))
  }

  /// A page is loaded again, an app starts anew: with the call that it was in, at once, later, or not at all.
  private func sayHelloAgain() {
    let seated = (phones + away).filter { board.seats[$0.id] != nil }
    let isSeated = Int.random(in: 0..<4, using: &random) > 0
    guard let old = (isSeated ? seated : phones + away).randomElement(using: &random) else { return }
    phones.removeAll { $0 === old }
    away.removeAll { $0 === old }
    let call = board.seats[old.id]
    let phone = board.again(old, callable: Int.random(in: 0..<9, using: &random) > 0)
    phones.append(phone)
    rings[old.id] = nil
    if board.phones[old.id] == nil { forget(old) }
    listen()
    guard let call else { return }
    switch Int.random(in: 0..<5, using: &random) {
    case 0: board.advance(.random(in: 14...30, using: &random))
    case 1: return
    case 2:
      _ = ask(phone, .call(.hangup(CallHangupParams(callId: call.text))))
      return
    default: break
    }
    listen()
    takeUp(phone, call)
  }

  private func takeUp(_ phone: Phone, _ call: CallID) {
    guard case .joined(let joined) = ask(phone, .call(.join(CallJoinParams(callId: call.text)))) else {
      lostSuccessions += 1
      return
    }
    successions += 1
    enter(phone, joined)
    if Bool.random(using: &random) { board.mediaUp(phone) }
  }

  /// Another device of his goes on with the call that somebody is in.
  private func takeOver() {
    let callId = { (phone: Phone) in self.board.board.tables.legs[phone.user] }
    let others = phones.filter { callId($0) != nil && board.seats[$0.id] == nil }
    guard let phone = others.randomElement(using: &random), let call = callId(phone) else { return }
    let params = CallJoinParams(callId: call.text, takeover: true)
    guard case .joined(let joined) = ask(phone, .call(.join(params))) else { return }
    takeovers += 1
    enter(phone, joined)
    board.mediaUp(phone)
  }

  private func breakOff() {
    guard let phone = anybody() else { return }
    phones.removeAll { $0 === phone }
    away.append(phone)
    board.cut(phone)
  }

  private func comeBack() {
    guard let phone = away.randomElement(using: &random) else { return }
    away.removeAll { $0 === phone }
    if Int.random(in: 0..<3, using: &random) == 0 {
      forget(phone)
      board.gone(phone, .lost)
    } else {
      phones.append(phone)
      board.back(phone)
    }
  }

  private func leave() {
    guard let phone = anybody() else { return }
    phones.removeAll { $0 === phone }
    forget(phone)
    board.gone(phone, [.left, .replaced].randomElement(using: &random) ?? .left)
  }

  private func forget(_ phone: Phone) {
    (rings[phone.id], heard[phone.id], ended[phone.id]) = (nil, nil, nil)
  }

  // MARK: - Requests

  private func start() {
    guard let phone = anybody() else { return }
    let kind = CallKind.allCases.randomElement(using: &random) ?? .group
    let count = kind == .oneToOne ? 1 : Int.random(in: 1...4, using: &random)
    var params = CallStartParams(to: (0..<count).map { _ in somebody() }, kind: kind, media: anyMedia())
    params.busyPolicy = [nil, .ring, .reject].randomElement(using: &random) ?? nil
    if kind == .oneToMany { params.rejectPolicy = Bool.random(using: &random) ? .ignore : .anyEnds }
    params.replace = Int.random(in: 0..<4, using: &random) == 0
    params.ringTimeoutMs = [nil, nil, 1_000, 12_000].randomElement(using: &random) ?? nil
    params.push = anyPush()
    params.clientCallId = Int.random(in: 0..<6, using: &random) == 0 ? "n\(started.count % 9)" : nil
    let known = params.clientCallId.flatMap { named["\(phone.user) \($0)"] }
    guard case .started(let call, _, _, let isGlare) = ask(phone, .call(.start(params))) else { return }
    if let known { checkName(known, isOf: call) }
    if let name = params.clientCallId { named["\(phone.user) \(name)"] = call.callId }
    started.insert(call.callId)
    if isGlare { glares += 1 }
    enter(phone, call)
    // Two who call each other at once, or one of several who calls back.
    guard Bool.random(using: &random), let callee = phones.first(where: { $0.user == params.to[0] }),
      callee.user != phone.user
    else { return }
    let back = CallStartParams(
      to: [phone.user], kind: CallKind.allCases.randomElement(using: &random) ?? .oneToOne, media: anyMedia(),
      clientCallId: Int.random(in: 0..<3, using: &random) == 0 ? "g\(started.count)" : nil)
    guard case .started(let same, _, _, let met) = ask(callee, .call(.start(back))) else { return }
    started.insert(same.callId)
    if met {
      glares += 1
      hold(same.callId == call.callId, "glare is one call")
    }
    enter(callee, same)
  }

  /// A name is that of one call while the call runs and as long as it says what became of it; then it is free.
  private func checkName(_ known: String, isOf call: Call) {
    guard let endedAt = board.graves.last(where: { $0.callId == known })?.endedAt else {
      return hold(call.callId == known, "one name, two calls")
    }
    hold(call.callId != known && board.now.wallMilliseconds - endedAt > 600_000, "the name of a call that is over")
    namesAgain += 1
  }

  private func ring() {
    guard let phone = phones.filter({ !(rings[$0.id] ?? []).isEmpty }).randomElement(using: &random),
      let callId = rings[phone.id]?.sorted().randomElement(using: &random)
    else { return }
    switch Int.random(in: 0..<10, using: &random) {
    case 0..<3: _ = ask(phone, .call(.ringing(CallParams(callId: callId))))
    case 3..<8:
      let accept = CallAcceptParams(
        callId: callId, media: anyMedia(), takeover: Bool.random(using: &random), push: anyPush())
      if case .joined(let call) = ask(phone, .call(.accept(accept))) { enter(phone, call) }
    default:
      let scope: RejectScope = Bool.random(using: &random) ? .everywhere : .thisDevice
      let reject = CallRejectParams(callId: callId, reason: anyReason(), text: "no", scope: scope, push: anyPush())
      _ = ask(phone, .call(.reject(reject)))
    }
  }

  private func media() {
    let seated = board.seats.keys.sorted().compactMap { board.phones[$0] }
    guard let phone = seated.randomElement(using: &random) else { return }
    switch Int.random(in: 0..<12, using: &random) {
    case 0: board.mediaLost(true, phone)
    case 1: board.mediaLost(false, phone)
    case 2: board.carry(board.board.legLost(on: phone.id, at: board.now))
    // He turns to something else than calls.
    case 3 where phone.waitsUntil == nil: board.carry(board.board.leave(phone.id, at: board.now))
    default: board.mediaUp(phone)
    }
  }

  private func inside() {
    guard let phone = phones.filter({ board.seats[$0.id] != nil }).randomElement(using: &random),
      let callId = board.seats[phone.id]?.text
    else { return }
    switch Int.random(in: 0..<10, using: &random) {
    case 0..<5:
      let gone = board.board.tables.calls[CallID(callId)]?.gone.map(\.user).randomElement(using: &random)
      let users = (0..<Int.random(in: 1...3, using: &random)).map { _ in somebody() } + [gone].compactMap(\.self)
      var params = CallInviteParams(callId: callId, users: users)
      params.push = anyPush()
      params.ringTimeoutMs = [nil, 8_000].randomElement(using: &random) ?? nil
      params.busyPolicy = [nil, nil, .ring, .reject].randomElement(using: &random) ?? nil
      _ = ask(phone, .call(.invite(params)))
    case 5:
      _ = ask(phone, .call(.cancelInvite(CallCancelInviteParams(callId: callId, users: [somebody(), somebody()]))))
    default:
      let action = MediaChangeAction.allCases.randomElement(using: &random) ?? .request
      _ = ask(phone, .call(.mediaChange(MediaChangeParams(callId: callId, action: action, media: anyMedia()))))
    }
  }

  private func end() {
    guard let phone = anybody() else { return }
    let seat = board.seats[phone.id] ?? phone.predecessor.flatMap { board.seats[$0] }
    let callId = seat?.text ?? started.sorted().randomElement(using: &random) ?? "x"
    switch Int.random(in: 0..<13, using: &random) {
    case 0..<5:
      let hangup = CallHangupParams(callId: callId, reason: anyReason(), text: "bye", push: anyPush())
      _ = ask(phone, .call(.hangup(hangup)))
    case 5..<7: _ = ask(phone, .call(.cancel(CallCancelParams(callId: callId, push: anyPush()))))
    case 7: _ = ask(phone, .call(.end(CallParams(callId: callId))))
    // An operator ends it.
    case 8: board.carry((try? board.board.stop(callId, at: board.now))?.effects ?? [])
    case 9: putOut()
    default:
      let wanted = board.board.available(to: phone.user, at: board.now).map(\.callId).randomElement(using: &random)
      let join = CallJoinParams(callId: wanted ?? callId, takeover: Bool.random(using: &random))
      if case .joined(let call) = ask(phone, .call(.join(join))) { enter(phone, call) }
    }
  }

  /// An operator puts somebody out of a call, or stops ringing him.
  private func putOut() {
    let members = board.board.tables.calls.inOrder.flatMap { call in
      call.members.filter { $0.device != nil || $0.isRinging }.map { (call: call.id.text, user: $0.user) }
    }
    guard let one = members.randomElement(using: &random),
      let effects = try? board.board.remove(one.user, from: one.call, at: board.now)
    else { return }
    board.carry(effects)
    removals += 1
  }

  private func ask(_ phone: Phone, _ request: Request) -> CallReply? {
    do throws(ErrorObject) {
      let reply = try board.send(phone, request)
      if !request.silencesOne, let callId = request.answered { rings[phone.id]?.remove(callId) }
      return reply
    } catch {
      hold(error.code != .internalError && error.code != .notLoggedIn, "\(error)")
      if case .call(.start) = request { hold(error.code != .callNotFound, "nobody looks for a call who starts one") }
      return nil
    }
  }

  // MARK: - What the phones make of it

  /// The reply tells where the phone stands; what it heard before is older.
  private func enter(_ phone: Phone, _ call: Call) {
    let last = heard[phone.id]?[call.callId]
    heard[phone.id, default: [:]][call.callId] = max(last ?? 0, call.rev)
    rings[phone.id]?.remove(call.callId)
    came[call.callId, default: []].insert(phone.user)
    listen()
  }

  private func listen() {
    for phone in board.phones.values.sorted(by: { $0.id < $1.id }) {
      for event in phone.take() { hear(phone, event) }
    }
    for (device, call) in board.seats {
      guard let known = heard[device]?[call.text], let rev = board.board.tables.calls[call]?.rev else { continue }
      hold(known == rev, "one who is in has heard every change: \(known), not \(rev)")
    }
    for (device, calls) in rings {
      guard let user = board.phones[device]?.user else { continue }
      for call in calls {
        hold(board.board.tables.calls[CallID(call)]?[user]?.isRinging == true, "a phone rings for nothing")
      }
    }
  }

  private func hear(_ phone: Phone, _ event: Event) {
    switch event {
    case .callIncoming(let incoming): rings[phone.id, default: []].insert(incoming.call.callId)
    case .callActive(let call): active.insert(call.callId)
    case .memberState(let params) where params.member.state == .busyRinging: waits += 1
    case .memberState(let params) where params.member.state == .ringing: waitsOver += 1
    case .callStopped(let stopped): rings[phone.id]?.remove(stopped.callId)
    case .callEnded(let end):
      rings[phone.id]?.remove(end.callId)
      hold(ended[phone.id, default: []].insert(end.callId).inserted, "a call ends once")
    case .memberDeclined(let params) where params.member.user == phone.user: rings[phone.id]?.remove(params.callId)
    default: break
    }
    guard let (call, rev, _) = event.change else { return }
    hold(!(ended[phone.id]?.contains(call) ?? false) || event.name == .callEnded, "nothing after the end")
    guard let last = heard[phone.id]?[call] else { return }
    hold(rev >= last, "\(phone) hears \(event.name) of \(rev) behind \(last)")
    if board.seats[phone.id]?.text == call { hold(rev <= last + 1, "\(phone) has missed \(last + 1) of \(call)") }
    heard[phone.id]?[call] = max(rev, last)
  }

  // MARK: - The end

  func everybodyLeaves() {
    for phone in phones + away { board.gone(phone) }
    board.advance(300)
  }

  func checkTheEnd() {
    board.witness?.checkTheEnd()
    let (calls, devices) = (board.board.tables.calls, board.board.tables.devices)
    hold(calls.running.isEmpty && board.board.tables.legs.calls.isEmpty && calls.memberships.isEmpty)
    hold(devices.devices.isEmpty && devices.byUser.isEmpty)
    hold(board.board.nextDeadline == nil && board.seats.isEmpty)
    hold(Set(board.graves.map(\.callId)) == started && board.graves.count == started.count, "every call ends once")
    for (call, revs) in board.history {
      for (rev, words) in revs { hold(wordsAgree(words), "\(call) \(rev): \(words)") }
    }
    for grave in board.graves {
      checkRecords(of: grave)
      let told = board.witness?.endings[grave.callId]
      hold(told == nil || told == grave.reason.map { SeenStop(reason: $0, by: grave.by) }, "\(grave) ended as was told")
    }
    let rung = board.pushes.filter { $0.type == .ring }.map { "\($0.callId) \($0.to)" }
    let taken = board.pushes.filter { $0.type == .cancel }.map { "\($0.callId) \($0.to)" }
    hold(Set(taken).isSubset(of: rung), "a push is taken back only where there was one")
  }

  /// The same change in different words: a stop for the one, what made it stop for the others.
  private func wordsAgree(_ words: Set<String>) -> Bool {
    words.filter { !$0.hasPrefix("stop") }.count <= 1
  }

  private func checkRecords(of call: Call) {
    hold(call.state == .ended && call.reason != nil && call.endedAt != nil)
    for member in call.members {
      let records = (board.records[member.user] ?? []).filter { $0.callId == call.callId }
      guard records.count == 1, let record = records.first else {
        hold(false, "\(records.count) records of \(member.user) in \(call)")
        continue
      }
      hold((record.direction == .outgoing) == (member.user == call.caller))
      hold(record.peers.contains(member.user) == false && record.durationMs >= 0)
      let hasBeenIn = member.leftAt != nil
      switch member.state {
      case .declined, .busy, .noAnswer, .unreachable, .cancelled, .answeredByOther:
        let result: CallResult = hasBeenIn ? .answered : member.state == .declined ? .declined : .missed
        hold(record.result == result, "\(member) has a record \(record.result)")
        if hasBeenIn { ringsAfterTalk += 1 }
      // Who answered was in, and in a call that was active everybody who came has talked.
      case .left, .lost, .removed:
        if record.result == .answered {
          hold(came[call.callId]?.contains(member.user) == true, "\(member.user) never came")
        }
        if active.contains(call.callId), came[call.callId]?.contains(member.user) == true {
          hold(record.result == .answered, "\(member.user) was in an active call: \(record.result)")
        }
      default: hold(false, "\(member.state) after the end")
      }
      if record.result == .answered { hold(record.answeredAt != nil) } else { hold(record.durationMs == 0) }
    }
  }

  private func anybody() -> Phone? { phones.randomElement(using: &random) }
  private func somebody() -> String { "u\(Int.random(in: 0..<20, using: &random))" }
  private func anyReason() -> Reason? { ([nil, nil] + Reason.said).randomElement(using: &random) ?? nil }
  private func anyPush() -> RawJSON? {
    guard Bool.random(using: &random) else { return .none }
    return ["word": RawJSON(.integer(.random(in: 0..<100, using: &random)))]
  }
  private func anyMedia() -> MediaClass { Bool.random(using: &random) ? .audio : .video }

  private func hold(_ condition: Bool, _ what: String = "", line: Int = #line) {
    guard !condition else { return }
    let location = SourceLocation(fileID: #fileID, filePath: #filePath, line: line, column: 1)
    Issue.record("does not hold: \(what)", sourceLocation: location)
  }
}
