// A switchboard in virtual time with users' phones as plain values: requests go in, effects are sorted to whom they are
// for, and seats are a ledger. After every step the invariants are checked.

import Basics
import RoostProtocol
import Testing

@testable import Calls

/// Params that name a call and nothing else.
func call(_ id: String) -> CallParams { CallParams(callId: id) }

/// One device of a user, and what it has been told.
final class Phone: CustomStringConvertible {
  let user: String
  let name: String
  let id: DeviceID
  /// The session of the same device before this one, if that kept its leg for it.
  let predecessor: DeviceID?
  var isCallable: Bool
  var isConnected = true
  /// Whether the media of the seat that it has are lost for the moment.
  var isMediaLost = false
  /// Until when it keeps its leg for the next session of its device, which is there.
  var waitsUntil: Instant?
  var events: [Event] = []

  init(_ user: String, _ name: String, _ id: DeviceID, isCallable: Bool, predecessor: DeviceID? = nil) {
    (self.user, self.name, self.id, self.isCallable) = (user, name, id, isCallable)
    self.predecessor = predecessor
  }

  var description: String { "\(user)/\(name)" }

  /// Takes the names of what came since the last time.
  func names() -> [EventName] { take().map(\.name) }

  func take() -> [Event] {
    defer { events = [] }
    return events
  }
}

final class Board {
  var board: Switchboard
  var now = Now(instant: .zero, wallMilliseconds: 1_700_000_000_000)
  var phones: [DeviceID: Phone] = [:]
  /// Who sits in which call, as the effects say.
  var seats: [DeviceID: CallID] = [:]
  var pushes: [PushNotice] = []
  var hooks: [WebhookEvent] = []
  var records: [String: [CallRecord]] = [:]
  var kept: [CallID: KeptCall] = [:]
  var graves: [Call] = []
  private(set) var tombstones: [KeptTombstone] = []
  private var entries: [UserRecord] = []
  /// What is kept of whom users have blocked.
  var blocks: Set<KeptBlock> = []
  var counters: [CallCounter: Int] = [:]
  var random: SplitMix64
  /// What each phone has heard of each rev, in words that must be the same for all.
  var history: [String: [Int: Set<String>]] = [:]
  /// Who sees to it that everybody hears what he should, where the test has one.
  var witness: Witness?
  private var step = Step()
  private var nextDevice: UInt64 = 0

  init(seed: UInt64 = 1, _ change: (inout CallRules) -> Void = { _ in }) {
    var rules = CallRules()
    change(&rules)
    board = Switchboard(rules: rules)
    random = SplitMix64(seed: seed)
  }

  // MARK: - Phones

  func phone(_ user: String, _ name: String = "d1", callable: Bool = true, predecessor: DeviceID? = nil) -> Phone {
    nextDevice += 1
    let phone = Phone(user, name, DeviceID(nextDevice), isCallable: callable, predecessor: predecessor)
    phones[phone.id] = phone
    carry(
      board.arrived(
        phone.id, user: user, name: name, displayName: user.uppercased(), isCallable: callable,
        predecessor: predecessor, at: now), phone)
    return phone
  }

  /// The same device says hello again, as the conference does it: a session with a leg keeps that for the next one, and
  /// goes when the leg does.
  func again(_ old: Phone, callable: Bool = true) -> Phone {
    let hasLeg = board.hasLeg(old.id)
    let phone = phone(old.user, old.name, callable: callable, predecessor: hasLeg ? old.id : old.predecessor)
    guard hasLeg else {
      gone(old, .replaced)
      return phone
    }
    (old.isConnected, old.isCallable, old.waitsUntil) = (false, false, now.instant + board.rules.resumeGrace)
    step.replaced = old.id
    carry(board.replaced(old.id, at: now))
    return phone
  }

  func cut(_ phone: Phone) {
    phone.isConnected = false
    carry(board.disconnected(phone.id, at: now))
  }

  func back(_ phone: Phone, isAnew: Bool = false) {
    phone.isConnected = true
    carry(board.connected(phone.id, isAnew: isAnew, at: now))
  }

  func gone(_ phone: Phone, _ reason: LeaveReason = .left) {
    step.leaving = phone.id
    phone.waitsUntil = nil
    carry(board.gone(phone.id, reason, at: now))
    phones[phone.id] = nil
    guard reason != .replaced, let before = phone.predecessor.flatMap({ phones[$0] }), before.waitsUntil != nil else {
      return
    }
    gone(before, reason)
  }

  /// Sessions that have made way go with the leg that they kept.
  private func dismiss() {
    for phone in phones.values.sorted(by: { $0.id < $1.id }) where phone.waitsUntil != nil && seats[phone.id] == nil {
      gone(phone, .replaced)
    }
  }

  /// The process is about to stop.
  func drain() { carry(board.drain(at: now)) }

  /// The process is killed, and the next one finds what was kept.
  func restart(after seconds: Double) {
    now = now.advanced(by: .milliseconds(Int((seconds * 1000).rounded())))
    var found = KeptCalls()
    found.running = kept.values.sorted { ($0.call.createdAt, $0.call.callId) < ($1.call.createdAt, $1.call.callId) }
    found.tombstones = tombstones
    found.records = entries.map { KeptRecord(entry: $0, isUnseen: false) }
    (board, phones, seats) = (Switchboard(rules: board.rules), [:], [:])
    step.isRestart = true
    carry(board.restore(found, at: now))
  }

  /// The media of a phone's seat are lost for the moment, or found again.
  func mediaLost(_ isLost: Bool, _ phone: Phone) {
    phone.isMediaLost = isLost
    carry(board.mediaLost(isLost, on: phone.id, at: now))
  }

  func mediaUp(_ phones: Phone...) { for phone in phones { carry(board.mediaUp(on: phone.id, at: now)) } }

  // MARK: - Time

  func advance(_ seconds: Double) {
    // Whole milliseconds, so that both clocks say the same.
    let end = now.advanced(by: .milliseconds(Int((seconds * 1000).rounded())))
    while let deadline = nextDeadline, deadline <= end.instant {
      if deadline > now.instant { now = now.advanced(by: deadline - now.instant) }
      for phone in phones.values.sorted(by: { $0.id < $1.id }) where phone.waitsUntil.map({ $0 <= now.instant }) == true
      {
        gone(phone, .lost)
      }
      carry(board.poll(at: now))
      #expect(board.nextDeadline.map { $0 > now.instant } ?? true, "poll meets every deadline that is due")
    }
    now = end
  }

  private var nextDeadline: Instant? {
    (phones.values.compactMap(\.waitsUntil) + [board.nextDeadline].compactMap(\.self)).min()
  }

  // MARK: - Requests

  /// Makes a request and returns its reply.
  func send(_ phone: Phone, _ request: Request) throws(ErrorObject) -> CallReply {
    let (id, at) = (phone.id, now)
    let before = board
    do throws(ErrorObject) {
      let effects: [CallEffect] =
        switch request {
        case .call(.start(let params)): try board.start(params, as: CallID(using: &random), from: id, at: at)
        case .call(.ringing(let params)): try board.ringing(params, from: id, at: at)
        case .call(.accept(let params)): try board.accept(params, from: id, mayTakeOver: true, at: at)
        case .call(.join(let params)): try board.join(params, from: id, mayTakeOver: true, at: at)
        case .call(.reject(let params)): try board.reject(params, from: id, at: at)
        case .call(.cancel(let params)): try board.cancel(params, from: id, at: at)
        case .call(.hangup(let params)): try board.hangup(params, from: id, at: at)
        case .call(.invite(let params)): try board.invite(params, from: id, at: at)
        case .call(.cancelInvite(let params)): try board.cancelInvite(params, from: id, at: at)
        case .call(.mediaChange(let params)): try board.mediaChange(params, from: id, at: at)
        case .call(.end(let params)): try board.endForAll(params, from: id, at: at)
        case .block(let params): try board.perform(params, from: id, at: at)
        default: throw ErrorObject(.unsupported)
        }
      (step.actor, step.request) = (phone, request)
      guard let reply = carry(effects, phone) else {
        Issue.record("a request gets exactly one reply")
        throw ErrorObject(.internalError)
      }
      return reply
    } catch {
      #expect(board.tables == before.tables, "a request that is refused changes nothing")
      throw error
    }
  }

  /// The code of a refusal; nil for a success.
  func code(_ phone: Phone, _ request: Request) -> ErrorCode? {
    do throws(ErrorObject) {
      _ = try send(phone, request)
      return nil
    } catch { return error.code }
  }

  func error(_ phone: Phone, _ request: Request) -> ErrorObject? {
    do throws(ErrorObject) {
      _ = try send(phone, request)
      return nil
    } catch { return error }
  }

  func start(
    _ phone: Phone, _ to: [String], _ kind: CallKind = .oneToOne, _ media: MediaClass = .video,
    _ fill: (inout CallStartParams) -> Void = { _ in }
  ) throws -> (call: Call, busy: [String], unreachable: [String], glare: Bool) {
    var params = CallStartParams(to: to, kind: kind, media: media)
    fill(&params)
    guard case .started(let call, let busy, let unreachable, let glare) = try send(phone, .call(.start(params))) else {
      throw ErrorObject(.internalError)
    }
    return (call, busy, unreachable, glare)
  }

  @discardableResult
  func accept(_ phone: Phone, _ callId: String, media: MediaClass? = nil) throws -> Call {
    guard case .joined(let call) = try send(phone, .call(.accept(CallAcceptParams(callId: callId, media: media))))
    else {
      throw ErrorObject(.internalError)
    }
    return call
  }

  /// Two who talk.
  func talk(_ a: Phone, _ b: Phone, _ media: MediaClass = .video) throws -> String {
    let callId = try start(a, [b.user], .oneToOne, media).call.callId
    try accept(b, callId)
    mediaUp(a, b)
    for phone in phones.values { _ = phone.take() }
    return callId
  }

  func get(_ phone: Phone, _ callId: String) throws -> Call {
    try board.get(CallParams(callId: callId), from: phone.id, at: now)
  }

  func state(_ user: String, _ callId: String) -> MemberState? { board.tables.calls[CallID(callId)]?[user]?.wire.state }

  // MARK: - Effects

  @discardableResult
  func carry(_ effects: [CallEffect], _ actor: Phone? = nil) -> CallReply? {
    var reply: CallReply?
    var shown: [(DeviceID, CallID)] = []
    for effect in effects {
      switch effect {
      case .tell(let devices, let event):
        #expect(Set(devices).count == devices.count)
        for device in devices {
          if device == actor?.id, reply == nil, !event.isRing { Issue.record("\(event.name) before the reply") }
          hear(device, event)
        }
      case .ring(let device, let incoming): hear(device, .callIncoming(incoming))
      case .reply(let result):
        #expect(reply == nil)
        reply = result
      case .seat(let device, let call, _):
        #expect(seats.updateValue(call, forKey: device) == nil, "one seat a device")
        phones[device]?.isMediaLost = false
      case .unseat(let device, _): #expect(seats.removeValue(forKey: device) != nil, "released exactly once")
      case .moveSeat(let old, let new):
        #expect(seats[new] == nil)
        seats[new] = seats.removeValue(forKey: old)
        phones[new]?.isMediaLost = false
      case .closeRoom(let call, _):
        shown += seats.filter { $0.value == call }.map { ($0.key, $0.value) }
        seats = seats.filter { $0.value != call }
      case .setMedia, .setHost, .recordSeen: break
      case .push(let notice):
        pushes.append(notice)
        step.pushes.append(notice)
      case .webhook(let event): hooks.append(event)
      case .records(let list):
        step.records += list
        entries += list
        for entry in list {
          records[entry.user, default: []].removeAll { $0.callId == entry.record.callId }
          records[entry.user, default: []].append(entry.record)
        }
      case .keepCall(let kept): self.kept[CallID(kept.call.callId)] = kept
      case .forgetCall(let id): kept[id] = nil
      case .tombstone(let tombstone):
        graves.append(tombstone.call)
        tombstones.append(tombstone)
      case .keepBlock(let block, let isOn): if isOn { blocks.insert(block) } else { blocks.remove(block) }
      case .count(let counter): counters[counter, default: 0] += 1
      }
    }
    for (device, call) in shown { hold(isTold(device, of: call), "shown out of \(call) without a word") }
    checkInvariants()
    step.reply = reply
    witness?.see(step)
    step = Step()
    dismiss()
    return reply
  }

  private func isTold(_ device: DeviceID, of call: CallID) -> Bool {
    step.told.contains {
      if case .callEnded(let ended) = $1 { $0 == device && ended.callId == call.text } else { false }
    }
  }

  private func hear(_ device: DeviceID, _ event: Event) {
    guard let phone = phones[device] else {
      Issue.record("\(event.name) for a device that is gone")
      return
    }
    phone.events.append(event)
    step.told.append((device, event))
    guard let (call, rev, words) = event.change else { return }
    history[call, default: [:]][rev, default: []].insert(words)
  }

  // MARK: - Invariants

  func checkInvariants() {
    var live: [String: CallID] = [:]
    var taken: [DeviceID: CallID] = [:]
    for call in board.tables.calls.running.values {
      hold(call.held <= board.rules.seats(call.media), "seats never over the cap")
      hold(call.joined.count > 0 || call.arrangement != nil, "a call without anybody is over")
      hold(call.isAnswered || !call.ringing.isEmpty, "a call that nobody can answer is over")
      hold(call.isGroup || call.joined.count >= 2 || !call.ringing.isEmpty, "nobody talks to himself")
      let hosts = call.members.filter(\.isHost)
      hold(
        hosts.count == (call.isGroup && call.arrangement == nil ? 1 : 0) && hosts.allSatisfy(\.isJoined),
        "a group has one host, who is in it")
      for member in call.members {
        if member.isJoined {
          hold(live.updateValue(call.id, forKey: member.user) == nil, "one call a user")
          if let device = member.device { taken[device] = call.id }
          if let phone = member.device.flatMap({ phones[$0] }) {
            hold(member.isLost == (!phone.isConnected || phone.isMediaLost), "\(phone) is reconnecting, or is not")
          }
          let isAwaited = member.isMediaUp || board.tables.calls.timers[.connect(call.id, member.user)] != nil
          hold(isAwaited || member.device == nil || !call.isAnswered, "no leg stays without media for ever")
        } else {
          hold(member.device == nil && board.tables.calls.timers[.connect(call.id, member.user)] == nil)
        }
        hold(!(member.isJoined && member.isRinging))
        hold((board.tables.calls.timers[.ring(call.id, member.user)] != nil) == member.isRinging, "every ring stops")
        hold(board.tables.calls.memberships[member.user]?.contains(call.id) == true)
      }
    }
    hold(live == board.tables.legs.calls, "the busy set is the live legs")
    hold(taken == seats, "seats are legs")
    hold(
      board.tables.calls.memberships.values.allSatisfy {
        !$0.isEmpty && $0.allSatisfy { board.tables.calls[$0] != nil }
      })
  }

  func hold(_ condition: Bool, _ what: String = "", line: Int = #line) {
    guard !condition else { return }
    let location = SourceLocation(fileID: #fileID, filePath: #filePath, line: line, column: 1)
    Issue.record("does not hold: \(what)", sourceLocation: location)
  }
}

extension Event {
  var isRing: Bool { name == .callIncoming }

  /// The change that an event tells of, in words which everybody who hears of it must hear alike.
  var change: (call: String, rev: Int, words: String)? {
    switch self {
    case .callStopped(let event): (event.callId, event.rev, "stop \(event.by ?? "")")
    case .callEnded(let event): (event.callId, event.rev, "end \(event.reason) \(event.by ?? "") \(event.durationMs)")
    case .callAccepted(let event): (event.callId, event.rev, "\(event)")
    case .callActive(let event): (event.callId, event.rev, "\(event)")
    case .callAlone(let event): (event.callId, event.rev, "\(event)")
    case .callInvited(let event): (event.callId, event.rev, "\(event)")
    case .callTypeChanged(let event): (event.callId, event.rev, "\(event)")
    case .callMediaChanged(let event), .callMediaChangeRequested(let event): (event.callId, event.rev, "\(event)")
    case .memberRinging(let event), .memberBusy(let event), .memberDeclined(let event), .memberNoAnswer(let event),
      .memberLeft(let event), .memberRemoved(let event), .memberState(let event):
      (event.callId, event.rev, "\(event)")
    default: nil
    }
  }
}
