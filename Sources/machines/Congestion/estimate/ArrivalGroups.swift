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
    var firstSent = Instant.zero
    var lastSent = Instant.zero
    var firstArrived = TimeDelta.zero
    var lastArrived = TimeDelta.zero
  }
  private var current = Group()
  private var previous = Group()
  /// Groups seen since the start, the current one included; 2 stands for more.
  private var groups = 0
  private var reordered = 0

  /// No packets.
  init() {}

  /// Forgets all groups.
  mutating func restart() { self = ArrivalGroups() }

  /// Adds a packet. Returns a difference when it begins a group and two are complete before it.
  @inline(__always)
  mutating func add(sentAt: Instant, arrivedAt: TimeDelta) -> GroupDelta? {
    if groups > 0 {
      // Sent before this group: what a retransmitted report says of it comes too late.
      guard sentAt >= current.firstSent else { return nil }
      if belongs(sentAt, arrivedAt) {
        current.lastSent = max(current.lastSent, sentAt)
        current.lastArrived = max(current.lastArrived, arrivedAt)
        return nil
      }
    }
    return begin(Group(firstSent: sentAt, lastSent: sentAt, firstArrived: arrivedAt, lastArrived: arrivedAt))
  }

  @inline(__always)
  private func belongs(_ sentAt: Instant, _ arrivedAt: TimeDelta) -> Bool {
    if sentAt.nanoseconds &- current.firstSent.nanoseconds <= Self.length.nanoseconds { return true }
    let arrivalGap = arrivedAt - current.lastArrived
    return arrivalGap - (sentAt - current.lastSent) < .zero && arrivalGap <= Self.length
      && arrivedAt - current.firstArrived < Self.longestBurst
  }

  private mutating func begin(_ group: Group) -> GroupDelta? {
    let delta = groups > 1 ? compare() : nil
    if groups > 0 { previous = current }
    groups = min(groups + 1, 2)
    current = group
    return delta
  }

  private mutating func compare() -> GroupDelta? {
    let delta = GroupDelta(
      sent: current.lastSent - previous.lastSent, arrived: current.lastArrived - previous.lastArrived,
      arrivedAt: current.lastArrived)
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
