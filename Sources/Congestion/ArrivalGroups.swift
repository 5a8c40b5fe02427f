// Groups packets that left together, and compares how far apart two groups left with how far apart they arrived.
//
//   packets ─▶ | group sent within 5 ms | next group | ─▶ difference: arrival gap − send gap > 0 means that a queue grows

import Basics

/// How two neighbouring groups differ.
struct GroupDelta {
  /// Between the last departures of both.
  var sent: TimeDelta
  /// Between the last arrivals of both.
  var arrived: TimeDelta
  /// Last arrival of the newer group.
  var arrivedAt: TimeDelta
}

/// Builds groups from packets in order of departure.
struct ArrivalGroups {
  /// Packets sent within this time are one group: what a burst does to itself is not the line's doing.
  static let length = TimeDelta.milliseconds(5)
  /// A burst may arrive compressed behind a busy radio for as long as this and is one group all the same.
  static let longestBurst = TimeDelta.milliseconds(100)
  /// A gap in arrivals, beyond the gap in departures, that means a jump of the receiver's clock.
  static let jump = TimeDelta.seconds(3)
  /// After so many groups that arrived before their predecessor all starts anew.
  static let mostReordered = 3

  private struct Group {
    var firstSent: Instant
    var lastSent: Instant
    var firstArrived: TimeDelta
    var lastArrived: TimeDelta
  }
  private var current: Group?
  private var previous: Group?
  private var reordered = 0

  /// No packets.
  init() {}

  /// Forgets all groups.
  mutating func restart() { self = ArrivalGroups() }

  /// Adds a packet. Returns a difference when it begins a group and two are complete before it.
  mutating func add(sentAt: Instant, arrivedAt: TimeDelta) -> GroupDelta? {
    guard let group = current else {
      current = Group(firstSent: sentAt, lastSent: sentAt, firstArrived: arrivedAt, lastArrived: arrivedAt)
      return nil
    }
    // Sent before this group: what a retransmitted report says of it comes too late.
    guard sentAt >= group.firstSent else { return nil }
    if belongs(sentAt, arrivedAt, to: group) {
      current?.lastSent = max(group.lastSent, sentAt)
      current?.lastArrived = max(group.lastArrived, arrivedAt)
      return nil
    }
    let delta = compare(group)
    if current != nil { previous = group }
    current = Group(firstSent: sentAt, lastSent: sentAt, firstArrived: arrivedAt, lastArrived: arrivedAt)
    return delta
  }

  private func belongs(_ sentAt: Instant, _ arrivedAt: TimeDelta, to group: Group) -> Bool {
    if sentAt - group.firstSent <= Self.length { return true }
    let arrivalGap = arrivedAt - group.lastArrived
    return arrivalGap - (sentAt - group.lastSent) < .zero && arrivalGap <= Self.length
      && arrivedAt - group.firstArrived < Self.longestBurst
  }

  private mutating func compare(_ group: Group) -> GroupDelta? {
    guard let previous else { return nil }
    let delta = GroupDelta(
      sent: group.lastSent - previous.lastSent, arrived: group.lastArrived - previous.lastArrived,
      arrivedAt: group.lastArrived)
    if delta.arrived - delta.sent > Self.jump {
      restart()
      return nil
    }
    guard delta.arrived >= .zero else {
      reordered += 1
      if reordered >= Self.mostReordered { restart() }
      return nil
    }
    reordered = 0
    return delta
  }
}
