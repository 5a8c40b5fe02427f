// Devices of users come, lose their socket, come back and go; the media of their legs comes up and is lost.

import Basics
import RoostProtocol

extension Switchboard {
  /// A device has said hello. What rings for its user is delivered to it: see `ringing(for:on:at:)` and the effects.
  /// `predecessor` is a session of the same device whose leg it may take up; `replaced` is to follow. `mayCall`: see `setMayCall`.
  public mutating func arrived(
    _ id: DeviceID, user: String, name: String, displayName: String, isCallable: Bool,
    mayCall: Bool = true, predecessor: DeviceID? = nil, at now: Now
  ) -> [CallEffect] {
    let device = Device(
      user: user, name: name, displayName: displayName, isCallable: isCallable, mayCall: mayCall,
      predecessor: predecessor)
    return move(now) { tables, step in
      tables.devices.add(id, device)
      let presence = Presence(device: id, user: user)
      presence.cameBack(&tables)
      presence.deliverRings(&tables, &step)
    }
  }

  /// The user of a device may call, or may no more. Who may not hears of no call but what rings on the device and what it is in.
  public mutating func setMayCall(_ id: DeviceID, _ mayCall: Bool) { tables.devices.setMayCall(id, mayCall) }

  /// A device has a socket again. Its session repeats what it missed; where that is gone, `isAnew`.
  public mutating func connected(_ id: DeviceID, isAnew: Bool, at now: Now) -> [CallEffect] {
    move(now, of: id) { presence, tables, step in
      tables.devices.setConnected(id, true)
      presence.cameBack(&tables)
      if isAnew { presence.deliverRings(&tables, &step) }
    }
  }

  /// A device's socket broke; its session waits to be resumed.
  public mutating func disconnected(_ id: DeviceID, at now: Now) -> [CallEffect] {
    move(now, of: id) { presence, tables, step in
      tables.devices.setConnected(id, false)
      presence.noteLoss(&tables)
      presence.wentAway(&tables, &step)
    }
  }

  /// A session makes way for the next one of its device. Its leg waits to be taken up, as one whose socket broke.
  public mutating func replaced(_ id: DeviceID, at now: Now) -> [CallEffect] {
    move(now, of: id) { presence, tables, step in
      tables.devices.supersede(id)
      presence.noteLoss(&tables)
      presence.stopRinging(&tables.calls)
      presence.wentAway(&tables, &step)
    }
  }

  /// A device is gone for good: it said so, did not come back, or was replaced.
  public mutating func gone(_ id: DeviceID, _ reason: LeaveReason, at now: Now) -> [CallEffect] {
    move(now, of: id) { presence, tables, step in
      presence.endLeg(LegEnd(goneFor: reason), &tables, &step)
      tables.devices.remove(id)
      presence.stopRinging(&tables.calls)
      presence.wentAway(&tables, &step)
    }
  }

  /// The media of a leg is lost for the moment, or found again.
  public mutating func mediaLost(_ isLost: Bool, on id: DeviceID, at now: Now) -> [CallEffect] {
    move(now, of: id) { presence, tables, _ in
      tables.devices.setMediaLost(id, isLost)
      presence.noteLoss(&tables)
    }
  }

  /// The media of a leg did not come back in time, or its seat was taken away otherwise.
  public mutating func legLost(on id: DeviceID, at now: Now) -> [CallEffect] {
    move(now, of: id) { presence, tables, step in presence.endLeg(LegEnd(goneFor: .lost), &tables, &step) }
  }

  /// A leg's user turns to something else than calls.
  public mutating func leave(_ id: DeviceID, at now: Now) -> [CallEffect] {
    move(now, of: id) { presence, tables, step in presence.endLeg(LegEnd(reason: .hangup), &tables, &step) }
  }

  /// The subscribe transport of a leg is up.
  public mutating func mediaUp(on id: DeviceID, at now: Now) -> [CallEffect] {
    move(now, of: id) { presence, tables, step in
      guard let call = tables.call(onLegOf: id) else { return }
      tables.calls.update(presence.user, in: call) { $0.isMediaUp = true }
      step.touch(call)
    }
  }

  /// A step about a device, if it is there.
  private mutating func move(
    _ now: Now, of id: DeviceID, _ body: (Presence, inout Tables, inout Step) -> Void
  ) -> [CallEffect] {
    guard let user = tables.devices[id]?.user else { return [] }
    return move(now) { tables, step in body(Presence(device: id, user: user), &tables, &step) }
  }
}

/// A device and its user: what its coming and going means for the user's calls.
private struct Presence {
  let device: DeviceID
  let user: String

  /// Delivers what rings for the user.
  func deliverRings(_ tables: inout Tables, _ step: inout Step) {
    for call in tables.calls.ringing(user) { Callee(user, in: call.id).deliver(to: [device], &tables, &step) }
  }

  /// A caller who is back has no grace running against them.
  func cameBack(_ tables: inout Tables) {
    noteLoss(&tables)
    for call in tables.calls.all(of: user) where call.caller == user { tables.calls.cancel(.callerGrace(call.id)) }
  }

  /// Whether a leg is lost is seen in snapshots; the room tells of it as it happens.
  func noteLoss(_ tables: inout Tables) {
    guard let call = tables.call(onLegOf: device), let isLost = tables.devices[device]?.isLost else { return }
    tables.calls.update(user, in: call) { $0.isLost = isLost }
  }

  /// Calls ring here no more.
  func stopRinging(_ calls: inout CallTable) {
    for call in calls.ringing(user) {
      calls.update(user, in: call.id) { $0.ring?.remove(device) }
    }
  }

  /// A socket of the user is gone: a caller without any has `callerGrace`, a callee whom no device rings may have to be woken.
  func wentAway(_ tables: inout Tables, _ step: inout Step) {
    if let id = tables.legs[user], let call = tables.calls[id], call.caller == user, !call.isAnswered,
      !tables.devices.isConnected(user)
    {
      tables.calls.set(.callerGrace(id), at: step.now.instant + tables.rules.callerGrace)
    }
    for call in tables.calls.ringing(user) { Callee(user, in: call.id).noteUnheard(&tables, &step) }
  }

  /// Ends the leg, if the device has it.
  func endLeg(_ end: LegEnd, _ tables: inout Tables, _ step: inout Step) {
    guard let call = tables.call(onLegOf: device) else { return }
    Leg(user, in: call).depart(end, &tables, &step)
  }
}

extension LegEnd {
  /// The end of a leg whose device is gone. What is no loss and nobody else's doing is a hang-up.
  fileprivate init(goneFor reason: LeaveReason) {
    if reason == .lost {
      self.init(reason: .disconnected, outcome: .lost)
    } else if reason == .removed {
      self.init(reason: .removed, outcome: .removed)
    } else {
      self.init(reason: reason == .replaced ? .replaced : .hangup)
    }
  }
}
