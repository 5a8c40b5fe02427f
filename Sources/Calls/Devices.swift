// Devices of users: they come, lose their socket, come back and go. A leg is a device's part in a call.

import Basics
import RoostProtocol

/// A session, as far as calls care.
struct Device: Sendable {
  let user: String
  /// What the client calls it: the same after the next hello.
  let name: String
  let displayName: String
  /// Whether calls shall ring here.
  var isCallable: Bool
  /// The session of the same device that made way for this one, where that has a leg.
  let predecessor: DeviceID?
  var isConnected = true
  var isMediaLost = false
}

extension Switchboard {
  /// A device has said hello. What rings for its user is delivered to it: see `ringing(on:)` and the effects.
  /// `predecessor` is a session of the same device whose leg it may take up; `replaced` is to follow.
  public mutating func arrived(
    _ id: DeviceID, user: String, name: String, displayName: String, isCallable: Bool,
    predecessor: DeviceID? = nil, at now: Now
  ) -> [CallEffect] {
    move(now) { board in
      board.devices[id] = Device(
        user: user, name: name, displayName: displayName, isCallable: isCallable, predecessor: predecessor)
      board.devicesByUser[user, default: []].append(id)
      board.cameBack(id, user)
      for call in board.ringingCalls(of: user) { board.ring(user, in: call.id, on: [id]) }
    }
  }

  /// A device has a socket again. What it missed is repeated by whoever kept it; where that is gone, `isAnew`.
  public mutating func connected(_ id: DeviceID, isAnew: Bool, at now: Now) -> [CallEffect] {
    move(now) { board in
      guard let user = board.devices[id]?.user else { return }
      board.devices[id]?.isConnected = true
      board.cameBack(id, user)
      guard isAnew else { return }
      for call in board.ringingCalls(of: user) { board.ring(user, in: call.id, on: [id]) }
    }
  }

  /// A device's socket broke; its session waits to be resumed.
  public mutating func disconnected(_ id: DeviceID, at now: Now) -> [CallEffect] {
    move(now) { board in
      guard let user = board.devices[id]?.user else { return }
      board.devices[id]?.isConnected = false
      board.noteLoss(id, user)
      board.lostSight(of: user)
    }
  }

  /// A session makes way for the next one of its device. Its leg waits to be taken up, as one whose socket broke.
  public mutating func replaced(_ id: DeviceID, at now: Now) -> [CallEffect] {
    move(now) { board in
      guard let user = board.devices[id]?.user else { return }
      board.devices[id]?.isConnected = false
      board.devices[id]?.isCallable = false
      board.noteLoss(id, user)
      board.stopRinging(on: id, user)
      board.lostSight(of: user)
    }
  }

  /// A device is gone for good: it said so, did not come back, or was replaced.
  public mutating func gone(_ id: DeviceID, _ reason: LeaveReason, at now: Now) -> [CallEffect] {
    move(now) { board in
      guard let user = board.devices[id]?.user else { return }
      if let call = board.call(onLegOf: id) { board.depart(user, from: call, Self.departure(reason)) }
      board.devices[id] = nil
      board.devicesByUser[user]?.removeAll { $0 == id }
      if board.devicesByUser[user]?.isEmpty == true { board.devicesByUser[user] = nil }
      board.stopRinging(on: id, user)
      board.lostSight(of: user)
    }
  }

  /// The media of a leg is lost for the moment, or found again.
  public mutating func mediaLost(_ isLost: Bool, on id: DeviceID, at now: Now) -> [CallEffect] {
    move(now) { board in
      guard let user = board.devices[id]?.user else { return }
      board.devices[id]?.isMediaLost = isLost
      board.noteLoss(id, user)
    }
  }

  /// The media of a leg did not come back in time, or its seat was taken away otherwise.
  public mutating func legLost(on id: DeviceID, at now: Now) -> [CallEffect] {
    move(now) { board in
      guard let user = board.devices[id]?.user, let call = board.call(onLegOf: id) else { return }
      board.depart(user, from: call, Self.departure(.lost))
    }
  }

  /// A leg's user turns to something else than calls.
  public mutating func leave(_ id: DeviceID, at now: Now) -> [CallEffect] {
    move(now) { board in
      guard let user = board.devices[id]?.user, let call = board.call(onLegOf: id) else { return }
      board.depart(user, from: call, LegEnd(reason: .hangup))
    }
  }

  /// The subscribe transport of a leg is up.
  public mutating func mediaUp(on id: DeviceID, at now: Now) -> [CallEffect] {
    move(now) { board in
      guard let user = board.devices[id]?.user, let call = board.call(onLegOf: id) else { return }
      board.calls[call]?[user]?.isMediaUp = true
      board.touched.insert(call)
    }
  }

  /// The call whose leg this device has.
  func call(onLegOf device: DeviceID) -> CallID? {
    guard let user = devices[device]?.user, let id = legs[user], calls[id]?[user]?.device == device else { return nil }
    return id
  }

  /// Calls that ring for a user, oldest first.
  func ringingCalls(of user: String) -> [LiveCall] {
    (memberships[user] ?? []).compactMap { calls[$0] }.filter { $0[user]?.isRinging == true }
      .sorted { $0.number < $1.number }
  }

  /// Devices of a user that calls ring on, those included that are about to come back.
  func callable(_ user: String) -> [DeviceID] {
    (devicesByUser[user] ?? []).filter { devices[$0]?.isCallable == true }
  }

  /// Whether any of a user's devices would ring now.
  func isReachable(_ user: String) -> Bool { callable(user).contains { devices[$0]?.isConnected == true } }

  /// Whether any of a user's devices rings now, or would if it had heard of it: none that was told to be silent.
  func isReachable(_ user: String, by ring: Ring) -> Bool { callable(user).contains { rings($0, ring) } }

  /// Whether a device is there that rings, as it has said itself.
  func isHeard(_ ring: Ring) -> Bool { ring.acknowledged.contains { rings($0, ring) } }

  private func rings(_ id: DeviceID, _ ring: Ring) -> Bool {
    guard let device = devices[id] else { return false }
    return device.isConnected && device.isCallable && !ring.silenced.contains(device.name)
  }

  /// Whether a socket of the user is open.
  func isConnected(_ user: String) -> Bool {
    devicesByUser[user]?.contains { devices[$0]?.isConnected == true } ?? false
  }

  private static func departure(_ reason: LeaveReason) -> LegEnd {
    switch reason {
    case .lost: LegEnd(reason: .disconnected, state: .lost)
    case .replaced: LegEnd(reason: .replaced)
    case .removed: LegEnd(reason: .removed, state: .removed)
    default: LegEnd(reason: .hangup)
    }
  }

  private mutating func cameBack(_ id: DeviceID, _ user: String) {
    noteLoss(id, user)
    for call in memberships[user] ?? [] where calls[call]?.caller == user { deadlines.cancel(.callerGrace(call)) }
  }

  private mutating func stopRinging(on id: DeviceID, _ user: String) {
    for call in ringingCalls(of: user) {
      calls[call.id]?[user]?.ring?.devices.remove(id)
      calls[call.id]?[user]?.ring?.acknowledged.remove(id)
    }
  }

  /// Whether a leg is lost is seen in snapshots; the room tells of it as it happens.
  private mutating func noteLoss(_ id: DeviceID, _ user: String) {
    guard let call = call(onLegOf: id), let device = devices[id] else { return }
    calls[call]?[user]?.isLost = !device.isConnected || device.isMediaLost
  }

  /// A socket of this user is gone: a caller without any has `callerGrace`, a callee whom no device rings may have to be woken.
  private mutating func lostSight(of user: String) {
    if let id = legs[user], let call = calls[id], call.caller == user, !call.isAnswered, !isConnected(user) {
      deadlines.set(.callerGrace(id), at: now.instant + rules.callerGrace)
    }
    for call in ringingCalls(of: user) { noteUnheard(user, in: call.id) }
  }
}
