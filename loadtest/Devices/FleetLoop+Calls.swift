// What devices say to the server and hear from it: their sessions, and calls that ring and are rejected.

import Basics

/// When calls are to be started: evenly, whatever became of those before.
struct CallPace {
  private var interval = TimeDelta.zero
  /// When the next is due.
  private(set) var next = Instant.distantFuture

  /// None.
  init() {}

  init(perSecond: Double, from start: Instant) {
    guard perSecond > 0 else { return }
    interval = .seconds(1 / perSecond)
    next = start + interval
  }

  func isDue(at now: Instant) -> Bool { next <= now }

  /// One was started; says when it was planned. Where none could be started for a second the pace is not made up for.
  mutating func advance(at now: Instant) -> Instant {
    defer { next = max(next + interval, now - .seconds(1)) }
    return next
  }
}

extension FleetLoop {
  /// The socket is a WebSocket: begins a session, or takes the old one up.
  mutating func greet(_ index: Int) {
    devices[index].phase = .greeting
    if let token = devices[index].token {
      let id = devices[index].id(for: .resume)
      say(index, Messages.resume(id: id, token: token, lastSeq: devices[index].lastSeq))
    } else {
      hello(index)
    }
  }

  private mutating func hello(_ index: Int) {
    let (user, token) = (user(index), devices[index].token)
    devices[index].lastSeq = 0
    say(index, Messages.hello(id: devices[index].id(for: .hello), user: user, token: token))
  }

  /// Takes a message.
  mutating func hear(_ index: Int, _ bytes: [UInt8], _ range: Range<Int>) {
    figures.messages += 1
    switch Messages.kind(bytes, range) {
    case .event(let name):
      if let seq = Messages.number("\"seq\":", bytes, range) {
        devices[index].lastSeq = max(devices[index].lastSeq, seq)
      }
      hearEvent(index, name, bytes, range)
    case .reply(let id, let code):
      guard let awaited = devices[index].awaited, awaited.id == id else { return }
      devices[index].awaited = nil
      hearReply(index, awaited.request, code: code, bytes, range)
    case .other: figures.note("a message that is neither reply nor event")
    }
  }

  private mutating func hearReply(
    _ index: Int, _ request: Device.Request, code: Int?, _ bytes: [UInt8], _ range: Range<Int>
  ) {
    switch request {
    case .resume:
      guard code == nil else {
        figures.begunAnew += 1
        return hello(index)
      }
      figures.resumed += 1
      becomeReady(index)
    case .hello:
      guard code == nil, let token = Messages.text("resumeToken", bytes, range) else {
        figures.note("session.hello was refused with \(code ?? 0)")
        return lose(index)
      }
      devices[index].token = token
      becomeReady(index)
    case .start:
      if let code { fail(index, "call.start was refused with \(code)") }
    case .ringing:
      guard let call = devices[index].callId else { return }
      guard code == nil else { return fail(index, "call.ringing was refused with \(code ?? 0)") }
      say(index, Messages.reject(id: devices[index].id(for: .reject), call: call))
    case .reject:
      if let code { fail(index, "call.reject was refused with \(code)") } else { endPart(index) }
    }
  }

  private mutating func becomeReady(_ index: Int) {
    opening -= 1
    devices[index].phase = .ready
    figures.ready += 1
    figures.lastReadyAt = Self.now
  }
}

// MARK: Calls

extension FleetLoop {
  /// Starts a call between two who are free; false when there are no such two, or the call went wrong at once.
  mutating func startCall(at now: Instant) -> Bool {
    guard let caller = nextFree(besides: nil), let callee = nextFree(besides: caller) else { return false }
    figures.lateness.record(now - pace.advance(at: now))
    figures.callsStarted += 1
    begin(caller, .caller(callee))
    begin(callee, .callee(caller))
    let sent = Self.now
    devices[caller].calledAt = sent
    due.push(sent + plan.patience, .call(caller, count: devices[caller].calls))
    let id = devices[caller].id(for: .start)
    say(caller, Messages.start(id: id, to: user(callee)))
    return true
  }

  private mutating func begin(_ index: Int, _ role: Device.Role) {
    devices[index].role = role
    devices[index].isDone = false
    devices[index].callId = nil
    devices[index].calls += 1
  }

  /// The next device that is in no call; all have their turn.
  private mutating func nextFree(besides other: Int?) -> Int? {
    for _ in 0..<min(devices.count, 256) {
      cursor = cursor + 1 < devices.count ? cursor + 1 : 0
      let device = devices[cursor]
      if device.phase == .ready, device.role == .none, device.awaited == nil, cursor != other { return cursor }
    }
    return nil
  }

  mutating func hearEvent(_ index: Int, _ name: String, _ bytes: [UInt8], _ range: Range<Int>) {
    switch (name, devices[index].role) {
    case ("call.incoming", .callee(let caller)):
      figures.ringDelay.record(Self.now - devices[caller].calledAt)
      guard let call = Messages.text("callId", bytes, range) else {
        return fail(index, "call.incoming without a callId")
      }
      devices[index].callId = call
      say(index, Messages.ringing(id: devices[index].id(for: .ringing), call: call))
    case ("call.ended", .caller): endPart(index)
    default: return
    }
  }

  /// One of the two knows that the call is over; when both do, it went as it should.
  mutating func endPart(_ index: Int) {
    devices[index].isDone = true
    guard let other = devices[index].peer, devices[other].isDone else { return }
    figures.callsEnded += 1
    devices[index].role = .none
    devices[other].role = .none
  }

  /// The call of this device went otherwise than it should.
  mutating func fail(_ index: Int, _ problem: String) {
    figures.note(problem)
    abandonCall(index)
  }

  /// The device has no part in its call any more.
  mutating func abandonCall(_ index: Int) {
    guard let other = devices[index].peer else { return }
    figures.callsFailed += 1
    devices[index].role = .none
    devices[other].role = .none
  }

  /// A call's time is over; `count` says which of the device's calls it was.
  mutating func giveUp(_ index: Int, count: Int) {
    guard devices[index].calls == count, devices[index].role != .none else { return }
    fail(index, "a call did not ring, or did not end, in \(rounded(plan.patience.seconds)) s")
  }

  private func rounded(_ seconds: Double) -> Double { (seconds * 10).rounded() / 10 }
}
