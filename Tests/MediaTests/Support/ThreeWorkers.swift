// A room over three workers in virtual time: who publishes is at one, and a pipe goes from there to each of two others.

import Basics
import Forwarding
import RTP
import Testing

@testable import Media

final class ThreeWorkers {
  let source: Call
  let others: [Call]
  let pipes = [PipeKey(5), PipeKey(6)]
  /// From the source to each of the others, and from each of them to the source.
  private(set) var there = [OneWay(), OneWay()]
  private(set) var back = [OneWay(), OneWay()]
  /// The control: the source forgets at once that it has asked for a keyframe.
  var forgetsRequests = false
  private var nextLook = Instant.zero

  init() throws {
    source = try Call(seed: 1)
    others = [try Call(seed: 2, firstKey: 10_000), try Call(seed: 3, firstKey: 20_000)]
    for (pipe, other) in zip(pipes, others) {
      source.apply(.openPipe(pipe))
      other.apply(.openPipe(pipe))
    }
  }

  /// Anna publishes, and two watch at each of the others.
  func scene(
    layers: [Int] = [2], wishes: [[Int?]] = [[nil, nil], [nil, nil]]
  ) throws -> (anna: VirtualPeer, video: ProducerKey, watching: [[ConsumerKey]]) {
    let anna = try source.join("anna")
    let video = source.publish(anna, .video, layers: layers)
    var watching: [[ConsumerKey]] = []
    for (index, other) in others.enumerated() {
      let people = try wishes[index].indices.map { try other.join("\(index) \($0)") }
      other.mirror(video, .video, of: anna, layers: source.mirroredLayers(video), through: pipes[index])
      watching.append(zip(people, wishes[index]).map { other.subscribe($0, to: video, layer: $1) })
    }
    return (anna, video, watching)
  }

  func run(_ duration: TimeDelta) {
    let end = source.now + duration
    while source.now < end {
      if source.now >= nextLook { look() }
      source.run(.milliseconds(1))
      for other in others { other.run(.milliseconds(1)) }
      // What was wished for has been asked for, and what comes now has not.
      if forgetsRequests { source.worker.tracks.encodings.forEach { $1.encoding.keyframes = KeyframeThrottle() } }
      for (index, pipe) in pipes.enumerated() {
        there[index].take(from: source, pipe)
        back[index].take(from: others[index], pipe)
        there[index].give(to: others[index], pipe)
        back[index].give(to: source, pipe)
      }
    }
  }

  private func look() {
    nextLook = source.now + .seconds(1)
    for call in [source] + others { #expect(call.brokenRules() == []) }
  }

  /// Which packets the pipe to one of the others loses.
  func lose(onWay index: Int, _ loses: @escaping (PipedPacket) -> Bool) { there[index].loses = loses }

  func forget() {
    for index in pipes.indices {
      there[index].forget()
      back[index].forget()
    }
  }

  /// Ends everything, and looks whether anything is left.
  func end() {
    look()
    for call in [source] + others {
      for pipe in pipes where call.worker.directory.pipes[pipe] != nil { call.apply(.closePipe(pipe)) }
      call.worker.closeAll(at: call.now)
      call.turn()
      #expect(call.leftovers() == [])
    }
  }

  /// Whether somebody has all pictures, and the newest.
  func isWell(_ consumer: ConsumerKey, at call: Call) throws -> Bool {
    let stream = try #require(call.stream(consumer))
    let newest = stream.packets.values.compactMap { $0.stamp?.capture }.max() ?? 0
    return stream.problems == [] && call.now - Instant(nanoseconds: newest) < .milliseconds(200)
  }
}
