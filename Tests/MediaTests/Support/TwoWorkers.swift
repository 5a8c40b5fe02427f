// A room over two workers in virtual time, and a pipe between them that may lose packets. In most tests who publishes is at one, and
// an audience at the other. A turn of both is a millisecond.

import Basics
import Forwarding
import RTP
import Testing

@testable import Media

final class TwoWorkers {
  static let delay = OneWay.delay
  let near: Call
  let far: Call
  let pipe = PipeKey(5)
  /// From near to far, and from far to near.
  private(set) var there = OneWay()
  private(set) var back = OneWay()
  /// The control: mirrors forget at once that they have asked for a keyframe.
  var forgetsRequests = false
  private var nextLook = Instant.zero

  init() throws {
    near = try Call(seed: 1)
    far = try Call(seed: 2, firstKey: 10_000)
    near.apply(.openPipe(pipe))
    far.apply(.openPipe(pipe))
  }

  /// Brings a track to the far worker, where somebody must be.
  func mirror(_ track: ProducerKey, _ kind: MediaKind, publisher: VirtualPeer, layers: Int? = nil) {
    let parameters = layers.map { (0..<$0).map { EncodingParameters(rid: "r\($0)") } } ?? near.mirroredLayers(track)
    far.mirror(track, kind, of: publisher, layers: parameters, through: pipe)
  }

  /// Brings a track of the far worker to the near one.
  func mirrorBack(_ track: ProducerKey, _ kind: MediaKind, publisher: VirtualPeer) {
    near.mirror(track, kind, of: publisher, layers: far.mirroredLayers(track), through: pipe)
  }

  /// Anna publishes at one worker, and three watch at the other.
  func scene(
    codec: CodecProfile = .vp8, layers: [Int] = [2], wishes: [Int?] = [nil, nil, nil]
  ) throws -> (anna: VirtualPeer, video: ProducerKey, watching: [ConsumerKey]) {
    let anna = try near.join("anna")
    let people = try ["bert", "carl", "dora"].map { try far.join($0) }
    let video = near.publish(anna, .video, codec: codec, layers: layers)
    mirror(video, .video, publisher: anna)
    let watching = zip(people, wishes).map { far.subscribe($0, to: video, layer: $1) }
    return (anna, video, watching)
  }

  /// Complete frames that somebody at the other worker got.
  func frames(_ consumer: ConsumerKey) -> Int { far.stream(consumer)?.frames.count ?? 0 }

  /// How old the newest picture, or sound, is that somebody has.
  func age(of consumer: ConsumerKey, at call: Call) -> TimeDelta {
    let captures = call.stream(consumer)?.packets.values.compactMap { $0.stamp?.capture } ?? []
    return captures.max().map { near.now - Instant(nanoseconds: $0) } ?? .seconds(1_000)
  }

  func run(_ duration: TimeDelta) {
    let end = near.now + duration
    while near.now < end {
      if near.now >= nextLook { look() }
      near.run(.milliseconds(1))
      far.run(.milliseconds(1))
      cross()
    }
  }

  /// Looks whether the tables of both are whole, once a second.
  private func look() {
    nextLook = near.now + .seconds(1)
    #expect(near.brokenRules() == [])
    #expect(far.brokenRules() == [])
  }

  /// Ends everything, and looks whether anything is left.
  func end() {
    look()
    for call in [near, far] {
      call.apply(.closePipe(pipe))
      call.worker.closeAll(at: call.now)
      call.turn()
      #expect(call.leftovers() == [])
    }
  }

  /// Has what waits at both written before each flush, as loops do, and looks behind it. Returns how often something waits there.
  func lookBehindFlushes(drains: Bool = true) -> () -> Int {
    var found = 0
    near.beforeFlush = { [unowned self] in if drains { there.take(from: $0, pipe) } }
    far.beforeFlush = { [unowned self] in if drains { back.take(from: $0, pipe) } }
    let look: (Call) -> Void = { [pipe] in
      if let id = $0.worker.directory.pipes[pipe], $0.worker.ends.pipes[id].isWaiting { found += 1 }
    }
    near.afterTurn = { [unowned self] in if !there.isStopped { look($0) } }
    far.afterTurn = { [unowned self] in if !back.isStopped { look($0) } }
    return { found }
  }

  private func cross() {
    there.take(from: near, pipe)
    back.take(from: far, pipe)
    there.give(to: far, pipe)
    back.give(to: near, pipe)
    if forgetsRequests { far.worker.tracks.encodings.forEach { $1.encoding.keyframes = KeyframeThrottle() } }
  }

  func forget() {
    there.forget()
    back.forget()
  }

  // MARK: from near to far

  /// Nobody takes what waits at the near worker.
  var isStopped: Bool {
    get { there.isStopped }
    set { there.isStopped = newValue }
  }

  /// Which packets the pipe loses.
  var loses: (PipedPacket) -> Bool {
    get { there.loses }
    set { there.loses = newValue }
  }

  /// Another pipe in the other direction.
  func changeBack(isStopped: Bool, loses: @escaping (PipedPacket) -> Bool) {
    (back.isStopped, back.loses) = (isStopped, loses)
  }

  var packets: [PipedPacket] { there.packets }
  /// What the source said.
  var told: [PipeMessage] { there.messages.map(\.message) }
  /// What its mirrors said.
  var messages: [(at: Instant, message: PipeMessage)] { back.messages }
  var layers: [Int: Int] { there.layers }
  var repeats: Int { there.repeats }
  var copies: Int { there.copies + back.copies }
  var asked: Int { back.asked }
  func keyframes(of place: Int) -> [Instant] { back.keyframes(of: place) }
}
