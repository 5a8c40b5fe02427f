// Large rooms that are to send the video of few: of those who spoke last, and of the rest as many as are missing (`video_last_n`).
// Who is not among them is paused for each receiver, without negotiation.
//
//   people speak, publish, go ─▶ the first N + 1 of the room ─▶ whose place has changed ─▶ their receivers' wishes

import Members
import RoostProtocol

/// The rule of a room's loudest. Views are none of its business, nor is what a receiver asked for by a priority, nor a shared screen.
enum LastN {
  /// The room's loudest may be others: pauses what is no longer to be sent, and lets go on what is.
  static func update(in key: RoomKey, _ media: inout TrackTable, _ table: RoomTable, _ step: inout Step) {
    guard let count = table[key]?.rules.videoLastN else { return }
    let (old, new) = (media.loudest[key] ?? [], loudest(count + 1, of: key, media, table))
    guard old != new else { return }
    media.setLoudest(new, in: key)
    // One of the first N is sent the next one in place of themselves, so that one changes too.
    let changed = Set(old.prefix(count)).symmetricDifference(new.prefix(count)).union(old.dropFirst(count))
      .union(new.dropFirst(count))
    for seat in changed.sorted() {
      for track in media.tracks(of: seat) where track.wire.isCamera {
        for subscription in track.id.subscribers(media, among: table[key]?.members ?? []) {
          judge(subscription, &media, table, &step)
        }
      }
    }
  }

  /// Pauses a subscription, or lets it go on, as the room's loudest are now. Its client hears of what changes.
  static func judge(_ id: SubscriptionID, _ media: inout TrackTable, _ table: RoomTable, _ step: inout Step) {
    guard let before = media.subscriptions[id], before.view == nil, let track = before.track else { return }
    var wish = before.wish
    wish.isLeftOut = leavesOut(track, for: before, media, table)
    guard wish != before.wish, let after = media.setWish(wish, of: id) else { return }
    step.add(.updateSubscription(after, before: before.wish))
    if after.isAgreed { tell(after, table, &step) }
  }

  /// Whether a receiver is not sent a track, because its publisher is none of the loudest.
  static func leavesOut(_ track: TrackID, for subscription: Subscription, _ media: TrackTable, _ table: RoomTable)
    -> Bool
  {
    guard subscription.wish.priority == 0, let track = media.tracks[track], track.wire.isCamera,
      let count = table[track.room]?.rules.videoLastN
    else { return false }
    return !(media.loudest[track.room] ?? []).filter { $0 != subscription.seat }.prefix(count).contains(track.seat)
  }

  /// Says how a subscription stands, where it is paused.
  static func tell(_ subscription: Subscription, _ table: RoomTable, _ step: inout Step) {
    guard let session = table.seats[subscription.seat]?.session else { return }
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
  private static func loudest(_ count: Int, of key: RoomKey, _ media: TrackTable, _ table: RoomTable) -> [SeatID] {
    guard let room = table[key] else { return [] }
    var found: [SeatID] = []
    for seat in [room.speaking.seats, media.loudest[key] ?? [], room.members].joined() where !found.contains(seat) {
      if found.count == count { break }
      guard table.seats[seat]?.room == key, media.tracks(of: seat).contains(where: { $0.wire.isCamera }) else {
        continue
      }
      found.append(seat)
    }
    return found
  }
}
