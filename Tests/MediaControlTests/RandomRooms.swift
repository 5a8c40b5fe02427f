// People who come, publish, watch, mute, move and leave at random, with the effects of each in the order that the conference has.

import Basics
import Media
import MediaPeer
import RoostProtocol
import TestSupport

@testable import MediaControl
@testable import Members

/// Rooms at a desk, in which anything happens in any order.
final class RandomRooms {
  struct Person {
    var room: UInt64
    /// What they publish: sound first.
    var tracks: [UInt64] = []
  }

  let desk: Desk
  private var dice: SplitMix64
  private(set) var people: [UInt64: Person] = [:]
  private var kinds: [UInt64: TrackKind] = [:]
  private var muted: Set<UInt64> = []
  private var last: UInt64 = 0

  init(_ desk: Desk, seed: UInt64) {
    self.desk = desk
    dice = SplitMix64(seed: seed)
  }

  private func next() -> UInt64 {
    last += 1
    return last
  }

  private func roll(_ count: Int) -> Int { Int.random(in: 0..<count, using: &dice) }

  private func pick<T>(_ all: [T]) -> T? { all.isEmpty ? nil : all[roll(all.count)] }

  /// Somebody who is there.
  private func anybody() -> (seat: UInt64, person: Person)? {
    pick(people.keys.sorted()).flatMap { seat in people[seat].map { (seat, $0) } }
  }

  /// Tracks of others in somebody's room.
  private func seen(by seat: UInt64, _ kind: TrackKind? = nil) -> [UInt64] {
    let room = people[seat]?.room
    return people.filter { $0.key != seat && $0.value.room == room }.flatMap(\.value.tracks)
      .filter { kind == nil || kinds[$0] == kind }.sorted()
  }

  /// What somebody receives on lines of their own, or in views.
  private func received(by seat: UInt64, inViews: Bool) -> [Members.Subscription] {
    desk.received(by: seat).compactMap { desk.subscriptions[$0] }.filter { ($0.view != nil) == inViews }
  }

  // MARK: what happens

  /// One thing happens.
  func step() throws {
    switch roll(12) {
    case 0, 1: try join()
    case 2, 3, 4: subscribe()
    case 5, 6: try show()
    case 7: try swap()
    case 8: mute()
    case 9: try wish()
    case 10:
      guard let one = anybody(), let id = pick(received(by: one.seat, inViews: false)) else { return }
      desk.unsubscribe(id.id)
    default: try go()
    }
  }

  private func join() throws {
    guard people.count < 9 else { return }
    let seat = next()
    var person = Person(room: UInt64(1 + roll(2)))
    desk.open(seat, room: person.room)
    if roll(3) > 0 {
      var browser = Browser()
      browser.audio("0")
      if roll(3) > 0 { browser.simulcast("1", ["l", "h"]) } else { browser.video("1") }
      let change = try desk.publish(seat, browser.offer, ["0": .audio, "1": .video], first: last + 1)
      for line in change.added {
        let track = next()
        kinds[track] = line.kind
        person.tracks.append(track)
      }
    }
    people[seat] = person
    for _ in 0..<roll(3) { desk.openView(next(), seat: seat) }
  }

  private func subscribe() {
    guard let one = anybody() else { return }
    let has = Set(received(by: one.seat, inViews: false).compactMap(\.track))
    guard let track = pick(seen(by: one.seat).filter { !has.contains(TrackID($0)) }) else { return }
    desk.subscribe(next(), seat: one.seat, track: track)
  }

  private func show() throws {
    guard let one = anybody(), let view = pick(received(by: one.seat, inViews: true)) else { return }
    try desk.show(view.id.rawValue, roll(4) == 0 ? nil : pick(seen(by: one.seat, .video)))
  }

  private func swap() throws {
    guard let one = anybody() else { return }
    let lines = received(by: one.seat, inViews: false)
    let pictures = lines.filter { $0.track.flatMap { kinds[$0.rawValue] } == .video }
    guard let a = pick(pictures), let b = pick(pictures.filter { $0.id != a.id }), a.isAgreed == b.isAgreed else {
      return
    }
    _ = try desk.swap(a.id.rawValue, b.id.rawValue)
  }

  private func mute() {
    guard let one = anybody(), let track = pick(one.person.tracks) else { return }
    let isMuted = !muted.contains(track)
    if isMuted { muted.insert(track) } else { muted.remove(track) }
    desk.director.setMuted(TrackID(track), isMuted)
  }

  private func wish() throws {
    guard let one = anybody(), let id = pick(received(by: one.seat, inViews: roll(2) == 0)) else { return }
    var wish = SubscriptionWish()
    wish.maxHeight = [nil, 180, 720][roll(3)]
    wish.paused = roll(2) == 0
    try desk.update(id.id.rawValue, wish)
  }

  /// Somebody leaves, moves, or ends a track.
  private func go() throws {
    guard let (seat, person) = anybody() else { return }
    switch roll(3) {
    case 0:
      try desk.leave(seat, person.tracks)
      people[seat] = nil
    case 1:
      let room = 3 - person.room
      if try desk.move(seat, person.tracks, to: room) { people[seat]?.room = room }
    default:
      guard let track = pick(person.tracks) else { return }
      people[seat]?.tracks.removeAll { $0 == track }
      try desk.end(track)
    }
  }

  /// Everybody leaves.
  func empty() throws {
    for (seat, person) in people.sorted(by: { $0.key < $1.key }) { try desk.leave(seat, person.tracks) }
    people = [:]
  }
}

/// A sum of what workers were told: kinds, names and order, and nothing that is random.
struct CommandSum {
  private(set) var value: UInt64 = 0xcbf2_9ce4_8422_2325

  mutating func add(_ turn: [(worker: Int, commands: [WorkerCommand])]) {
    for (worker, commands) in turn {
      for command in commands {
        for byte in "\(worker) \(command.summary);".utf8 { value = (value ^ UInt64(byte)) &* 0x100_0000_01b3 }
      }
    }
  }
}

extension WorkerCommand {
  /// What it is about, without credentials, certificates and the numbers of streams.
  var summary: String {
    switch self {
    case .openTransport(let key, let room, _, let loudest): "open \(key.value) \(room.value) \(loudest ?? -1)"
    case .moveTransport(let key, let room, let loudest): "move \(key.value) \(room.value) \(loudest ?? -1)"
    case .setRemote(let key, _): "remote \(key.value)"
    case .restartICE(let key, _): "restart \(key.value)"
    case .askSilence(let key, let transports): "silence \(key.value) \(transports.map(\.value))"
    case .closeTransport(let key): "close \(key.value)"
    case .addProducer(let key, let transport, let parameters, let publisher, let pauses):
      "produce \(key.value) \(transport.value) \(parameters.encodings.map { $0.rid ?? "" }) \(publisher.key) \(pauses)"
    case .updateProducer(let key, _): "update \(key.value)"
    case .removeProducer(let key): "end \(key.value)"
    case .setMuted(let key, let muted): "mute \(key.value) \(muted)"
    case .addConsumer(let key, let producer, let transport, _, let paused, let layer, let priority):
      "consume \(key.value) \(producer?.value ?? 0) \(transport.value) \(paused) \(layer ?? -1) \(priority)"
    case .setLayer(let key, let layer): "layer \(key.value) \(layer ?? -1)"
    case .setPriority(let key, let priority): "priority \(key.value) \(priority)"
    case .updateConsumer(let key, _): "change \(key.value)"
    case .removeConsumer(let key): "remove \(key.value)"
    case .setPaused(let key, let paused): "pause \(key.value) \(paused)"
    case .swap(let a, let b): "swap \(a.value) \(b.value)"
    case .openTap(let key, let producer): "tap \(key.value) \(producer.value)"
    case .closeTap(let key): "untap \(key.value)"
    case .openPipe(let key): "pipe \(key.value)"
    case .closePipe(let key): "unpipe \(key.value)"
    case .addMirror(let key, let pipe, let room, let parameters, let publisher):
      "mirror \(key.value) \(pipe.value) \(room.value) \(parameters.encodings.map { $0.rid ?? "" }) \(publisher.key)"
    case .show(let key, let producer, let layer, let priority):
      "show \(key.value) \(producer?.value ?? 0) \(layer ?? -1) \(priority)"
    }
  }
}
