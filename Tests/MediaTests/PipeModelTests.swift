// Anything in any order, over two workers: random commands at both, a pipe that loses and stops. After each step the tables of both must
// be whole; and when all is well again, whoever watches has a picture.

import Basics
import Forwarding
import Media
import RTP
import Testing

private struct PipeModel {
  struct Track {
    let key: ProducerKey
    let kind: MediaKind
    let publisher: VirtualPeer
    var muted = (near: false, far: false)
    var isMirrored = false
  }

  let room: TwoWorkers
  private var dice: SplitMix64
  private let publishers: [VirtualPeer]
  private let viewers: [VirtualPeer]
  private var tracks: [Track] = []
  private var views: [(key: ConsumerKey, track: ProducerKey?, kind: MediaKind, paused: Bool)] = []
  private var taps: [TapKey] = []
  private var lastTap: UInt64 = 0

  init(seed: UInt64) throws {
    let room = try TwoWorkers()
    self.room = room
    dice = SplitMix64(seed: seed &* 0x1234_5678_9abc_def1)
    publishers = try ["anna", "emil"].map { try room.near.join($0) }
    viewers = try ["bert", "carl", "dora"].map { try room.far.join($0) }
    for _ in 0..<2 { _ = publish() }
    for _ in 0..<2 { _ = mirror() }
    for _ in 0..<4 { _ = subscribe() }
    room.run(.seconds(1))
  }

  mutating func step() -> String {
    let what = act()
    room.run(.milliseconds(Int(dice.next() % 60)))
    return what
  }

  private mutating func act() -> String {
    switch dice.next() % 24 {
    case 0, 1: return publish()
    case 2: return unpublish()
    case 3, 4, 5: return mirror()
    case 6: return removeMirror()
    case 7, 8, 9: return subscribe()
    case 10: return unsubscribe()
    case 11, 12: return mute()
    case 13: return pause()
    case 14: return chooseLayer()
    case 15: return restartSender()
    case 16: return toggleLayer()
    case 17: return show()
    case 18: return tap()
    case 19: return leap()
    default: return changePipe()
    }
  }

  private mutating func publish() -> String {
    guard tracks.count < 4, let peer = publishers.randomElement(using: &dice) else { return "enough tracks" }
    let kind = dice.chance(0.3) ? MediaKind.audio : .video
    let layers = dice.chance(0.5) ? [1, 2, 3] : [2]
    let key = room.near.publish(peer, kind, layers: layers)
    tracks.append(Track(key: key, kind: kind, publisher: peer))
    return "publish"
  }

  private mutating func unpublish() -> String {
    guard let index = tracks.indices.randomElement(using: &dice) else { return "nothing to end" }
    let track = tracks.remove(at: index)
    let isFarFirst = dice.chance(0.5)
    if track.isMirrored && isFarFirst { room.far.apply(.removeProducer(track.key)) }
    room.near.stopPublishing(track.key)
    room.run(.milliseconds(Int(dice.next() % 30)))
    if track.isMirrored && !isFarFirst { room.far.apply(.removeProducer(track.key)) }
    views.removeAll { $0.track == track.key }
    return "unpublish"
  }

  private mutating func mirror() -> String {
    guard let index = tracks.indices.filter({ !tracks[$0].isMirrored }).randomElement(using: &dice) else {
      return "nothing to mirror"
    }
    room.mirror(tracks[index].key, tracks[index].kind, publisher: tracks[index].publisher)
    (tracks[index].isMirrored, tracks[index].muted.far) = (true, false)
    return "mirror"
  }

  private mutating func removeMirror() -> String {
    guard let index = mirrored.randomElement(using: &dice) else { return "no mirror" }
    room.far.apply(.removeProducer(tracks[index].key))
    tracks[index].isMirrored = false
    views.removeAll { $0.track == tracks[index].key }
    return "mirror removed"
  }

  private var mirrored: [Int] { tracks.indices.filter { tracks[$0].isMirrored } }

  private mutating func subscribe() -> String {
    guard views.count < 8, let index = mirrored.randomElement(using: &dice),
      let peer = viewers.randomElement(using: &dice)
    else { return "no subscription" }
    let (isPaused, layer) = (dice.chance(0.2), dice.chance(0.5) ? Int(dice.next() % 3) : nil)
    let track = tracks[index]
    let key = room.far.subscribe(peer, to: track.key, paused: isPaused, layer: layer)
    views.append((key, track.key, track.kind, isPaused))
    return "subscribe"
  }

  private mutating func unsubscribe() -> String {
    guard let index = views.indices.randomElement(using: &dice) else { return "no view" }
    room.far.apply(.removeConsumer(views.remove(at: index).key))
    return "unsubscribe"
  }

  private mutating func mute() -> String {
    guard let index = tracks.indices.randomElement(using: &dice) else { return "nothing to mute" }
    if dice.chance(0.8) {
      tracks[index].muted.near.toggle()
      room.near.apply(.setMuted(tracks[index].key, tracks[index].muted.near))
    }
    if tracks[index].isMirrored, dice.chance(0.8) {
      tracks[index].muted.far.toggle()
      room.far.apply(.setMuted(tracks[index].key, tracks[index].muted.far))
    }
    return "mute"
  }

  private mutating func pause() -> String {
    guard let index = views.indices.randomElement(using: &dice) else { return "nothing to pause" }
    views[index].paused.toggle()
    room.far.apply(.setPaused(views[index].key, views[index].paused))
    return "pause"
  }

  private mutating func chooseLayer() -> String {
    guard let view = views.randomElement(using: &dice) else { return "no view" }
    room.far.apply(.setLayer(view.key, dice.chance(0.3) ? nil : Int(dice.next() % 3)))
    return "layer"
  }

  private mutating func restartSender() -> String {
    guard let track = tracks.randomElement(using: &dice) else { return "no sender" }
    let ssrc = room.near.makeSSRC()
    room.near.track(track.key) { $0.restart(0, ssrc: ssrc, &dice) }
    return "sender restarted"
  }

  private mutating func toggleLayer() -> String {
    guard let track = tracks.randomElement(using: &dice) else { return "no layer" }
    let number = Int(dice.next() % 3)
    room.near.track(track.key) {
      guard $0.layers.count > 1 else { return }
      $0.layers[number].isActive.toggle()
      // As an encoder does that begins with a layer. All other keyframes are to be asked for.
      if $0.layers[number].isActive { $0.layers[number].wantsKeyframe = true }
    }
    return "layer on or off"
  }

  private mutating func show() -> String {
    guard let index = views.indices.randomElement(using: &dice) else { return "nothing to show on" }
    let kind = views[index].kind
    let track = mirrored.map { tracks[$0] }.filter { $0.kind == kind }.randomElement(using: &dice)
    room.far.apply(.show(views[index].key, track?.key))
    views[index].track = track?.key
    return "show"
  }

  private mutating func tap() -> String {
    if taps.count < 3, let track = tracks.randomElement(using: &dice) {
      lastTap += 1
      taps.append(TapKey(lastTap))
      room.near.apply(.openTap(TapKey(lastTap), track.key))
      if track.isMirrored { room.far.apply(.openTap(TapKey(lastTap), track.key)) }
    } else if let tap = taps.popLast() {
      room.near.apply(.closeTap(tap))
    }
    return "tap"
  }

  /// Numbers leap, as if the publisher had sent a lot in no time.
  private mutating func leap() -> String {
    guard let track = tracks.randomElement(using: &dice) else { return "no leap" }
    let by = UInt16(dice.next() % 30_000)
    room.near.track(track.key) { for index in $0.layers.indices { $0.layers[index].sequence &+= by } }
    return "leap"
  }

  private mutating func changePipe() -> String {
    room.isStopped = dice.chance(0.2)
    let share = [0, 0, 20, 300].randomElement(using: &dice) ?? 0
    var lost = SplitMix64(seed: dice.next())
    room.loses = { _ in lost.next() % 1_000 < share }
    return "another pipe"
  }

  /// All is well again.
  mutating func mend() {
    (room.isStopped, room.loses) = (false, { _ in false })
    for track in tracks {
      room.near.track(track.key) {
        for index in $0.layers.indices where !$0.layers[index].isActive {
          ($0.layers[index].isActive, $0.layers[index].wantsKeyframe) = (true, true)
        }
      }
      room.near.apply(.setMuted(track.key, false))
      if track.isMirrored { room.far.apply(.setMuted(track.key, false)) }
    }
    for view in views { room.far.apply(.setPaused(view.key, false)) }
    for tap in taps { room.near.apply(.closeTap(tap)) }
    room.run(.seconds(4))
  }

  /// Who watches something and has nothing of it that is new.
  func blind() -> [String] {
    views.filter { $0.track != nil && room.age(of: $0.key, at: room.far) > .milliseconds(500) }.map {
      "view \($0.key.value) of \($0.track?.value ?? 0) is \(room.age(of: $0.key, at: room.far)) behind"
    }
  }
}

struct PipeModelTests {
  @Test(arguments: Array(1...16) as [UInt64]) func anythingInAnyOrderOverAPipe(seed: UInt64) throws {
    var model = try PipeModel(seed: seed)
    for step in 0..<140 {
      let what = model.step()
      let broken = model.room.near.brokenRules() + model.room.far.brokenRules()
      try #require(broken.isEmpty, "seed \(seed), step \(step), \(what): \(broken)")
    }
    model.mend()
    #expect(model.blind() == [], "seed \(seed)")
    #expect(model.room.far.worker.counters.forwarded > 100)
    model.room.end()
  }
}
