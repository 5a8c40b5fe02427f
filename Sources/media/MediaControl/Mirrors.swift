// Which tracks are brought to which workers besides their own, and for whom: the first who is sent a track there begins a mirror, and the last one
// ends it. What is on its own worker is not in here.
//
//   subscription ─▶ (track, worker) ─▶ how many ─▶ 0 → 1: `begins` · 1 → 0: `ends`

import Members

/// The mirrors of all workers, by who needs them. A subscription needs one or none, so what is said twice changes nothing.
struct Mirrors {
  /// A mirror: a track, and the worker that it is brought to.
  struct Name: Hashable {
    let track: TrackID
    let worker: Int
  }

  /// What becomes of mirrors when a subscription is sent something else: one begins before that, and one ends behind it.
  struct Change: Equatable {
    var begins: Name?
    var ends: Name?
  }

  private var uses: [SubscriptionID: Name] = [:]
  private var counts: [Name: Int] = [:]
  /// Where each track is brought to, in ascending order.
  private var places: [TrackID: [Int]] = [:]

  /// Where a track is brought to, in ascending order.
  func workers(of track: TrackID) -> [Int] { places[track] ?? [] }

  var isEmpty: Bool { uses.isEmpty && counts.isEmpty && places.isEmpty }

  /// A subscription at `worker` is sent a track of the worker `source` from now on, or nothing.
  mutating func show(_ track: TrackID?, source: Int?, on id: SubscriptionID, at worker: Int) -> Change {
    let new = track.flatMap { source == nil || source == worker ? nil : Name(track: $0, worker: worker) }
    let old = uses[id]
    guard new != old else { return Change() }
    uses[id] = new
    var change = Change()
    if let new {
      counts[new, default: 0] += 1
      if counts[new] == 1 {
        places[new.track] = (workers(of: new.track) + [worker]).sorted()
        change.begins = new
      }
    }
    if let old, drop(old) { change.ends = old }
    return change
  }

  /// One use less; whether that was the last.
  private mutating func drop(_ name: Name) -> Bool {
    guard let count = counts[name] else { return false }
    counts[name] = count > 1 ? count - 1 : nil
    if count > 1 { return false }
    let others = workers(of: name.track).filter { $0 != name.worker }
    places[name.track] = others.isEmpty ? nil : others
    return true
  }

  /// Two subscriptions on one worker exchange what they are sent. Nothing begins or ends.
  mutating func swap(_ a: SubscriptionID, _ b: SubscriptionID) { (uses[a], uses[b]) = (uses[b], uses[a]) }

  /// A track is over; where it was brought to, in ascending order.
  mutating func close(_ track: TrackID) -> [Int] {
    guard let workers = places.removeValue(forKey: track) else { return [] }
    for worker in workers { counts[Name(track: track, worker: worker)] = nil }
    uses = uses.filter { $0.value.track != track }
    return workers
  }
}

/// What rooms over several workers have besides their parts.
struct SpreadRooms {
  var mirrors = Mirrors()
  var pipes = Pipes()
}
