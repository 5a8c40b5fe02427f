// Large rooms that are to send the video of few: of those who spoke last, and of the rest as many as are missing (`video_last_n`).
// Who is not among them is paused for each receiver, without negotiation.
//
//   people speak, publish, go ─▶ the first N + 1 of the room ─▶ whose place has changed ─▶ their receivers' wishes

import RoostProtocol

/// The rule of a room's loudest. Views are none of its business, nor is what a receiver asked for by a priority, nor a shared screen.
enum LastN {
  /// The room's loudest may be others: pauses what is no longer to be sent, and lets go on what is.
  static func update(in key: RoomKey, _ rooms: inout Rooms, _ step: inout Step) {
    guard let count = rooms.table[key]?.rules.videoLastN else { return }
    let (old, new) = (rooms.table[key]?.loudest ?? [], loudest(count + 1, of: key, rooms.table))
    guard old != new else { return }
    rooms.table.update(key) { $0.loudest = new }
    // One of the first N is sent the next one in place of themselves, so that one changes too.
    let changed = Set(old.prefix(count)).symmetricDifference(new.prefix(count)).union(old.dropFirst(count))
      .union(new.dropFirst(count))
    for seat in changed.sorted() {
      for track in rooms.table.tracks(of: seat) where track.wire.isCamera {
        for subscription in rooms.table.subscribers(of: track.id) { judge(subscription, &rooms, &step) }
      }
    }
  }

  /// Pauses a subscription, or lets it go on, as the room's loudest are now. Its client hears of what changes.
  static func judge(_ id: SubscriptionID, _ rooms: inout Rooms, _ step: inout Step) {
    guard let before = rooms.table.subscriptions[id], before.view == nil, let track = before.track else { return }
    var wish = before.wish
    wish.isLeftOut = leavesOut(track, for: before, rooms.table)
    guard wish != before.wish, let after = rooms.table.setWish(wish, of: id) else { return }
    step.add(.updateSubscription(after, before: before.wish))
    if after.isAgreed { tell(after, &rooms, &step) }
  }

  /// Whether a receiver is not sent a track, because its publisher is none of the loudest.
  static func leavesOut(_ track: TrackID, for subscription: Subscription, _ rooms: RoomTable) -> Bool {
    guard subscription.wish.priority == 0, let track = rooms.tracks[track], track.wire.isCamera,
      let room = rooms.seats[subscription.seat].flatMap({ rooms[$0.room] }), let count = room.rules.videoLastN
    else { return false }
    return !room.loudest.filter { $0 != subscription.seat }.prefix(count).contains(track.seat)
  }

  /// Says how a subscription stands, where it is paused.
  static func tell(_ subscription: Subscription, _ rooms: inout Rooms, _ step: inout Step) {
    guard let session = rooms.table.seats[subscription.seat]?.session else { return }
    let name = "\(subscription.id)"
    if let reason = subscription.pauseReason {
      let missing = reason == .noMedia ? subscription.missing : nil
      let event = SubscriptionEvent(subscriptionId: name, reason: reason, step: missing)
      step.tell(.subscriptionPaused(event), to: session)
    } else {
      step.tell(.subscriptionResumed(SubscriptionEvent(subscriptionId: name)), to: session)
    }
  }

  /// So many of those with cameras: who spoke last comes first, then whoever was among them before, then by the order of joining.
  private static func loudest(_ count: Int, of key: RoomKey, _ rooms: RoomTable) -> [SeatID] {
    guard let room = rooms[key] else { return [] }
    var found: [SeatID] = []
    for seat in [room.speaking.seats, room.loudest, room.members].joined() where !found.contains(seat) {
      if found.count == count { break }
      guard rooms.tracks(of: seat).contains(where: { $0.wire.isCamera }) else { continue }
      found.append(seat)
    }
    return found
  }
}
