// Somebody who hears everything that is told and knows the rules of docs/calls.md, but nothing of the switchboard's state:
// he works out who has to hear what, what each record has to say and who is busy, and compares.

import Basics
import RoostProtocol
import Testing

@testable import Calls

/// Follows a board step by step.
final class Witness {
  private let videoSeats: Int
  private let audioSeats: Int
  private let ringTime: Int64
  private let grace: Int64
  var calls: [String: SeenCall] = [:]
  /// The newest change of each call that a device was told as an event.
  private var heard: [DeviceID: [String: (rev: Int, name: EventName)]] = [:]
  /// How calls have ended, in the words of `call.ended`.
  var endings: [String: SeenStop] = [:]
  var expected = Expected()
  private(set) var step = Step()
  private unowned let board: Board

  /// What must have come of a step.
  struct Expected {
    var records: Set<SeenRecord> = []
    var misses: Set<SeenMiss> = []
    var pushes: Set<SeenPush> = []
  }

  /// What was told as one change of a call.
  private struct Told {
    var main: [Event: Set<DeviceID>] = [:]
    var stops: [SeenStop: Set<DeviceID>] = [:]
  }

  /// `videoSeats` and the rest: what the board was made with.
  init(_ board: Board, videoSeats: Int, audioSeats: Int, ringSeconds: Int64, graceSeconds: Int64) {
    (self.board, self.videoSeats, self.audioSeats) = (board, videoSeats, audioSeats)
    (ringTime, grace) = (ringSeconds * 1_000, graceSeconds * 1_000)
  }

  var now: Int64 { board.now.wallMilliseconds }

  /// When a ring ends that begins now: after what was asked for, 5 to 180 seconds, or else the board's time.
  var ringEnd: Int64 { now + (step.request?.ringTime.map { min(max($0, 5_000), 180_000) } ?? ringTime) }

  /// Takes a step in, once all of it has been carried out.
  func see(_ step: Step) {
    (self.step, expected) = (step, Expected())
    if step.isRestart { restart() }
    open()
    checkOrder()
    var changes = changes()
    if let (id, rev) = changeToldByReply(), changes[id]?[rev] == nil { changes[id, default: [:]][rev] = Told() }
    for id in changes.keys.sorted() {
      for (rev, told) in (changes[id] ?? [:]).sorted(by: { $0.key < $1.key }) { take(id, rev, told) }
    }
    for id in calls.keys.sorted() { endUnheard(id) }
    takeRings()
    checkMisses()
    checkPushes()
    checkRecords()
    checkState()
  }

  /// Nothing is left over.
  func checkTheEnd() { hold(calls.isEmpty, "every call ends, and is heard to: \(calls.keys)") }

  // MARK: - What was told

  private func open() {
    guard case .started(let call, _, _, false) = step.reply, let actor = step.actor, calls[call.callId] == nil,
      endings[call.callId] == nil
    else { return }
    calls[call.callId] = SeenCall(call, at: actor, ringsUntil: ringEnd, push: handedOn(call.callId))
    let others = devices(of: call.caller).subtracting([actor.id])
    hold(hearers { if case .callCreated(let made) = $0 { made.call.callId == call.callId } else { false } } == others)
  }

  private func hearers(_ isMeant: (Event) -> Bool) -> Set<DeviceID> {
    Set(step.told.filter { isMeant($0.event) }.map(\.device))
  }

  /// Every device hears of a call in the order of its changes; a ring and the invitation behind it are one change.
  private func checkOrder() {
    for (device, event) in step.told {
      guard let (call, rev, name) = event.told else { continue }
      if let last = heard[device]?[call] {
        let isSame = rev == last.rev && name == .callInvited && last.name == .callIncoming
        // A ring is delivered again to a device that comes back; it shows the call as it stands.
        let isShown = name == .callIncoming && rev >= last.rev
        hold(rev > last.rev || isSame || isShown, "\(name) of \(rev) behind \(last)")
      }
      heard[device, default: [:]][call] = (rev, name)
    }
  }

  private func changes() -> [String: [Int: Told]] {
    var changes: [String: [Int: Told]] = [:]
    for (device, event) in step.told {
      guard let (call, rev, name) = event.told, name != .callIncoming else { continue }
      if case .callStopped(let stopped) = event {
        let stop = SeenStop(reason: stopped.reason, by: stopped.by)
        changes[call, default: [:]][rev, default: Told()].stops[stop, default: []].insert(device)
        hold(stopped.code == stopped.reason.code)
      } else {
        let words = event.withoutRecord
        let isNew = changes[call, default: [:]][rev, default: Told()].main[words, default: []].insert(device).inserted
        hold(isNew, "\(name) twice")
      }
    }
    return changes
  }

  // MARK: - One change

  private func take(_ id: String, _ rev: Int, _ told: Told) {
    if case .callEnded(let ended) = told.main.keys.first { leaveUnheard(id, but: ended.by) }
    guard let before = calls[id] else { return hold(false, "\(told.main.keys) of \(id), which is over") }
    hold(rev == before.rev + 1, "nobody heard what came between \(before.rev) and \(rev) of \(id)")
    hold(told.main.count <= 1, "two changes in one: \(told.main.keys)")
    let isToldByReply = changeToldByReply().map { $0 == (id, rev) } == true
    calls[id]?.rev = rev
    let (event, hearers) = told.main.first.map { ($0.key, $0.value) } ?? (nil, [])
    var stops: [SeenStop: Set<DeviceID>] = [:]
    if let old = legTakenOver(id, rev) {
      stops[SeenStop(reason: .replaced, by: step.actor?.user)] = [old]
      if let actor = step.actor {
        calls[id]?.people[actor.user]?.place = .joined(actor.id)
        calls[id]?.people[actor.user]?.hasMoved = true
        calls[id]?.people[actor.user]?.actor = actor.name
      }
      check(event, hearers, must: audience(before).subtracting([old]), may: actorMay(id, rev))
    } else if let event {
      checkHearers(event, hearers, before, may: actorMay(id, rev))
      stops = change(id, by: event)
    } else if let actor = step.actor, isToldByReply {
      hold(audience(before).subtracting([actor.id]).isEmpty, "\(actor) joins \(id), and nobody is told")
      join(id, actor.user, actor.id)
    } else {
      hold(false, "\(rev) of \(id) was told nobody but \(told.stops)")
    }
    hold(told.stops == stops, "\(id) at \(rev), \(event?.name.rawValue ?? ""): \(told.stops), not \(stops)")
  }

  /// Somebody who comes into a call, as his reply shows it.
  private func changeToldByReply() -> (String, Int)? {
    guard case .joined(let call) = step.reply, call.rev > calls[call.callId]?.rev ?? .max else { return nil }
    return (call.callId, call.rev)
  }

  // MARK: - After a restart

  /// Groups go on, if their people come back in time; any other call is over, and so is every ring. Nobody is there to hear.
  private func restart() {
    heard = [:]
    for (id, call) in calls.sorted(by: { $0.key < $1.key }) {
      guard call.kind == .group, call.isAnswered else {
        let lasted = call.answeredAt.map { now - $0 } ?? 0
        _ = end(id, CallEnded(callId: id, rev: 0, reason: .stopped, code: Reason.stopped.code, durationMs: lasted))
        continue
      }
      for user in call.joined.keys { calls[id]?.people[user]?.place = .away(until: now + grace) }
      for user in call.rung.keys { ringDied(user, id) }
      calls[id]?.rev = board.board.tables.calls[CallID(id)]?.rev ?? 0
    }
  }

  /// Those who are waited for go together. Where nobody is there who has to hear that, the next word is of the end.
  private func leaveUnheard(_ id: String, but last: String?) {
    guard let call = calls[id], audience(call).isEmpty else { return }
    for (user, end) in call.away where end <= now && user != last {
      leave(id, user, .lost, .disconnected)
      calls[id]?.rev += 1
    }
  }

  private func endUnheard(_ id: String) {
    guard let call = calls[id], call.joined.isEmpty, call.away.values.allSatisfy({ $0 <= now }) else { return }
    hold(audience(call).isEmpty && former(call).isEmpty, "\(id) ends, and nobody is told")
    for user in call.away.keys { record(user, id, .answered, nil, .disconnected) }
    calls[id] = nil
  }

  /// The device that loses its leg to another one of its user's by the request that is served.
  private func legTakenOver(_ id: String, _ rev: Int) -> DeviceID? {
    guard let call = step.entered, call.callId == id, call.rev == rev, let actor = step.actor,
      case .joined(let old) = calls[id]?.people[actor.user]?.place, old != actor.id
    else { return nil }
    return old
  }

  /// Who asked is told by the reply what the reply shows.
  private func actorMay(_ id: String, _ rev: Int) -> Set<DeviceID> {
    var may = leaving
    if let call = step.shown, call.callId == id, rev <= call.rev, let actor = step.actor { may.insert(actor.id) }
    return may
  }

  // MARK: - Who hears

  /// Nobody minds what a device hears that goes.
  private var leaving: Set<DeviceID> { Set([step.leaving].compactMap(\.self)) }

  func devices(of user: String) -> Set<DeviceID> {
    Set(board.phones.values.filter { $0.user == user }.map(\.id))
  }

  /// The legs' devices, and all of the caller's while he is in.
  private func audience(_ call: SeenCall) -> Set<DeviceID> {
    let own = call.inside.contains(call.caller) ? devices(of: call.caller) : []
    return Set(call.joined.values).union(own)
  }

  /// Who was put out hears no more of it.
  private func former(_ call: SeenCall) -> Set<DeviceID> {
    call.people.filter { $0.value.place == .gone && $0.value.state != .removed }.keys.reduce(into: []) {
      $0.formUnion(devices(of: $1))
    }
  }

  /// The devices of who left one of two alone with an invitee that rings.
  private func leaver(_ call: SeenCall) -> Set<DeviceID> {
    guard let user = call.departure?.by, call.people[user]?.place == .gone else { return [] }
    return devices(of: user)
  }

  private func checkHearers(_ event: Event, _ hearers: Set<DeviceID>, _ call: SeenCall, may: Set<DeviceID>) {
    let audience = audience(call)
    switch event {
    case .memberLeft(let left):
      let rung = call.rung.values.reduce(into: Set<DeviceID>()) { $0.formUnion($1.devices) }
      var after = call
      after.people[left.member.user]?.place = .gone
      check(
        event, hearers, must: self.audience(after).union(rung), may: may.union(devices(of: left.member.user)))
    case .memberRemoved(let removed) where removed.member.state == .removed:
      let rung = call.rung.values.reduce(into: Set<DeviceID>()) { $0.formUnion($1.devices) }
      check(event, hearers, must: audience.union(rung), may: may)
    case .callInvited(let invited):
      let asked = step.request?.invitees ?? []
      let others = asked.reduce(into: Set<DeviceID>()) { $0.formUnion(devices(of: $1)) }
      let rung = invited.users.reduce(into: Set<DeviceID>()) { $0.formUnion(callable($1)) }
      let former = former(call).subtracting(others)
      check(event, hearers, must: audience.union(former).union(rung), may: may.union(others.subtracting(rung)))
    case .callTypeChanged: check(event, hearers, must: audience.union(former(call)), may: may)
    case .callEnded:
      let former = call.kind == .group ? former(call) : leaver(call)
      check(event, hearers, must: audience.union(former), may: leaving)
    default: check(event, hearers, must: audience, may: may)
    }
  }

  private func callable(_ user: String) -> Set<DeviceID> {
    devices(of: user).filter { board.phones[$0]?.isCallable == true }
  }

  private func check(_ event: Event?, _ hearers: Set<DeviceID>, must: Set<DeviceID>, may: Set<DeviceID>) {
    let name = event?.name.rawValue ?? "a takeover"
    hold(must.subtracting(may).isSubset(of: hearers), "\(name) was not told \(must.subtracting(hearers))")
    hold(hearers.isSubset(of: must.union(may)), "\(name) was told \(hearers.subtracting(must))")
  }

  // MARK: - Lists

  private func checkRecords() {
    let kept = step.records.map { entry in
      SeenRecord(
        user: entry.user, callId: entry.record.callId, device: entry.device, result: entry.record.result,
        why: entry.record.why, reason: entry.record.reason, answeredAt: entry.record.answeredAt,
        endedAt: entry.record.endedAt)
    }
    let wrong = expected.records.symmetricDifference(kept)
    hold(wrong.isEmpty && kept.count == expected.records.count, "records: \(wrong)")
    for entry in step.records {
      let record = entry.record
      hold(record.durationMs == (record.answeredAt.map { record.endedAt - $0 } ?? 0))
    }
    // The end is told with the record that is in the list.
    for case (let device, .callEnded(let ended)) in step.told {
      guard let phone = board.phones[device] else { continue }
      let record = board.records[phone.user]?.last { $0.callId == ended.callId }
      hold(ended.record?.result == record?.result && ended.record?.endedAt == record?.endedAt, "\(phone): \(ended)")
      hold(ended.record != nil, "\(phone) has no record of a call that it hears the end of")
    }
  }

  /// Who missed a call is told so on all of his devices, and nobody else is.
  private func checkMisses() {
    var told: [SeenMiss: Set<DeviceID>] = [:]
    for case (let device, .callMissed(let missed)) in step.told {
      let miss = SeenMiss(user: board.phones[device]?.user ?? "", callId: missed.callId, why: missed.why)
      hold(told[miss, default: []].insert(device).inserted, "a miss is told once")
    }
    for miss in expected.misses {
      let must = devices(of: miss.user)
      hold(told[miss, default: []].union(leaving) == must.union(leaving), "\(miss) was told \(told[miss] ?? [])")
    }
    hold(Set(told.keys).isSubset(of: expected.misses), "missed: \(Set(told.keys).subtracting(expected.misses))")
  }

  // MARK: - Phones that have to be woken

  var hasPush: Bool { board.board.rules.hasPush }

  func isConnected(_ user: String) -> Bool { devices(of: user).contains { board.phones[$0]?.isConnected == true } }

  func isReachable(_ user: String) -> Bool {
    callable(user).subtracting(leaving).contains { board.phones[$0]?.isConnected == true }
  }

  /// Whether a device is there that has said that it rings.
  func isHeard(_ ring: SeenCall.Ring) -> Bool { ring.acknowledged.contains { isThere($0, ring) } }

  /// Whether a device is there that rings or would.
  private func isThere(_ id: DeviceID, _ ring: SeenCall.Ring) -> Bool {
    guard let phone = board.phones[id], phone.id != step.leaving else { return false }
    return phone.isConnected && phone.isCallable && !ring.silenced.contains(phone.name)
  }

  /// Where no device rings, phones are woken within the time that one has to say so, and at once where none could.
  private func checkWoken(_ user: String, _ id: String, _ ring: SeenCall.Ring) {
    guard hasPush, !ring.isPushed, !isHeard(ring) else {
      calls[id]?.people[user]?.ring?.unheardSince = nil
      return
    }
    hold(devices(of: user).contains { isThere($0, ring) }, "\(user) is not woken")
    let since = ring.unheardSince ?? now
    hold(now - since <= board.board.rules.deliverTimeout.milliseconds, "\(user) is woken too late")
    calls[id]?.people[user]?.ring?.unheardSince = since
  }

  /// One push a ring, where no device is there to ring or none has said that it does; a cancel for each that is over.
  private func checkPushes() {
    var others: Set<SeenPush> = []
    for notice in step.pushes {
      guard notice.type == .ring else {
        let push = SeenPush(
          type: notice.type, user: notice.to, callId: notice.callId, reason: notice.reason, push: notice.push)
        hold(others.insert(push).inserted, "\(push) twice")
        continue
      }
      guard let ring = calls[notice.callId]?.rung[notice.to] else {
        hold(false, "a push for a ring that is over")
        continue
      }
      hold(!ring.isPushed && !isHeard(ring), "\(notice.to) need not be woken")
      hold(Set(notice.silenced ?? []) == ring.silenced, "\(notice.to): \(notice.silenced ?? [])")
      hold(notice.push == handedOn(notice.callId) ?? ring.push, "\(notice)")
      hold(notice.from == ring.from && notice.expiresAt == ring.until && notice.inProgress == ring.inProgress)
      calls[notice.callId]?.people[notice.to]?.ring?.isPushed = true
    }
    // Whether one whose last device goes in this very step is connected is anybody's guess.
    let goes = step.leaving.flatMap { board.phones[$0]?.user }
    let wrong = expected.pushes.symmetricDifference(others).filter { $0.type != .missed || $0.user != goes }
    hold(wrong.isEmpty, "pushes: \(wrong)")
  }

  // MARK: - Rings

  /// Every ring that is heard is that of a live invitation, on one of the devices of whom it is for.
  private func takeRings() {
    for case (let device, .callIncoming(let incoming)) in step.told {
      guard let phone = board.phones[device], let ring = calls[incoming.call.callId]?.rung[phone.user] else {
        hold(false, "a ring for nobody, of \(incoming.call.callId)")
        continue
      }
      hold(phone.isCallable && incoming.from == ring.from && incoming.inProgress == ring.inProgress)
      hold(!ring.silenced.contains(phone.name), "a device that was told to be silent rings again")
      hold(incoming.call.expiresAt == ring.until, "it rings for the time that is left")
      hold(incoming.call.remainingMs == ring.until - now && now < ring.until)
      calls[incoming.call.callId]?.people[phone.user]?.ring?.devices.insert(device)
    }
    if case .call(.ringing(let params)) = step.request, step.reply != nil, let actor = step.actor {
      calls[params.callId]?.people[actor.user]?.ring?.devices.insert(actor.id)
      calls[params.callId]?.people[actor.user]?.ring?.acknowledged.insert(actor.id)
    }
    if case .call(.reject(let params)) = step.request, params.scope == .thisDevice, step.reply != nil,
      let actor = step.actor
    {
      calls[params.callId]?.people[actor.user]?.ring?.silenced.insert(actor.name)
    }
    guard let gone = step.leaving ?? step.replaced else { return }
    for (id, call) in calls {
      for user in call.rung.keys {
        calls[id]?.people[user]?.ring?.devices.remove(gone)
        calls[id]?.people[user]?.ring?.acknowledged.remove(gone)
      }
    }
    if step.leaving != nil { heard[gone] = nil }
  }

  // MARK: - At all times

  private func checkState() {
    var legs: [String: String] = [:]
    var seats: [DeviceID: CallID] = [:]
    for (id, call) in calls {
      for user in call.inside { hold(legs.updateValue(id, forKey: user) == nil, "one call a user") }
    }
    for (id, call) in calls {
      let cap = call.media == .video ? videoSeats : audioSeats
      hold(!call.becomesGroup, "two to whom a third has come are a group")
      hold(call.held <= cap, "\(call.held) of \(cap) seats")
      hold(call.rev == board.board.tables.calls[CallID(id)]?.rev, "a change that nobody was told")
      for device in call.joined.values { seats[device] = CallID(id) }
      for (user, ring) in call.rung {
        hold(now < ring.until, "\(user) rings for too long")
        checkWaiting(user, call, isBusy: legs[user] != nil)
        checkWoken(user, id, ring)
        hold(!ring.devices.contains { board.phones[$0]?.user != user }, "a ring on a device of somebody else")
        let wanted = callable(user).filter { board.phones[$0].map { !ring.silenced.contains($0.name) } ?? false }
        hold(
          wanted.subtracting(leaving).isSubset(of: ring.devices),
          "\(user) is rung on all of his devices: \(wanted), not \(ring.devices)")
      }
    }
    hold(board.seats == seats, "seats are legs: \(board.seats), not \(seats)")
    let users = Set(board.phones.values.map(\.user)).union(legs.keys)
    for user in users {
      hold(board.board.isBusy(user) == (legs[user] != nil), "\(user) is busy without a leg, or not with one")
    }
    hold(Set(board.board.tables.calls.running.keys.map(\.text)) == Set(calls.keys), "calls that run")
  }

  /// One who rings does so beside a call as long as he is in one, and in the words that were told last.
  private func checkWaiting(_ user: String, _ call: SeenCall, isBusy: Bool) {
    guard let person = call.people[user], let ring = person.ring else { return }
    let wanted: MemberState = !ring.isTold ? .inviting : isBusy ? .busyRinging : .ringing
    hold(person.state == wanted, "\(user) is \(person.state), not \(wanted)")
    for case (let device, .callIncoming(let incoming)) in step.told
    where incoming.call.callId == call.id && board.phones[device]?.user == user {
      hold(incoming.waiting == isBusy, "\(user) is rung, waiting: \(incoming.waiting)")
    }
  }

  func hold(_ condition: Bool, _ what: String = "", line: Int = #line) {
    guard !condition else { return }
    let location = SourceLocation(fileID: #fileID, filePath: #filePath, line: line, column: 1)
    Issue.record("does not hold: \(what)", sourceLocation: location)
  }
}

extension Event {
  /// What it tells of which call: for changes, and for the ring that goes with one.
  fileprivate var told: (call: String, rev: Int, name: EventName)? {
    if case .callIncoming(let incoming) = self { return (incoming.call.callId, incoming.call.rev, name) }
    return change.map { ($0.call, $0.rev, name) }
  }

  /// The same for all who hear it.
  fileprivate var withoutRecord: Event {
    guard case .callEnded(var ended) = self else { return self }
    ended.record = nil
    return .callEnded(ended)
  }
}

extension Request {
  fileprivate var ringTime: Int64? {
    switch self {
    case .call(.start(let params)): params.ringTimeoutMs
    case .call(.invite(let params)): params.ringTimeoutMs
    default: nil
    }
  }

  fileprivate var invitees: [String]? {
    if case .call(.invite(let params)) = self { params.users } else { nil }
  }
}
