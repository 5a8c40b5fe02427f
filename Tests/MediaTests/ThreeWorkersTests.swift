// A track that two other workers have: it crosses two pipes, and each of them has wishes of its own.

import Basics
import Forwarding
import RTP
import Testing

@testable import Media

struct ThreeWorkersTests {
  @Test func oneCopyForEachPipe() throws {
    let room = try ThreeWorkers()
    defer { room.end() }
    let (anna, _, watching) = try room.scene()
    room.run(.seconds(4))
    for index in room.pipes.indices {
      for consumer in watching[index] { #expect(try room.isWell(consumer, at: room.others[index])) }
      #expect(room.there[index].copies == 0 && room.there[index].repeats == 0 && room.back[index].asked == 0)
      #expect(room.others[index].worker.counters.drops[.unknownStream] == 0)
    }
    // Two pictures of two packets in 66 ms, once for each pipe though two watch behind it.
    let (first, second) = (room.there[0].packets.count, room.there[1].packets.count)
    #expect(first > 220 && first < 260 && abs(first - second) < 10)
    #expect(anna.nackedByServer == 0)
  }

  @Test func eachPipeRepairsWhatItHasLost() throws {
    let room = try ThreeWorkers()
    defer { room.end() }
    let (anna, _, watching) = try room.scene()
    room.run(.seconds(1))
    var dice = SplitMix64(seed: 9)
    room.lose(onWay: 1) { !$0.isRepeat && dice.next() % 20 == 0 }
    room.run(.seconds(3))
    room.lose(onWay: 1) { _ in false }
    room.run(.seconds(1))
    #expect(room.there[0].repeats == 0 && room.there[1].repeats > 5 && anna.nackedByServer == 0)
    for index in room.pipes.indices {
      for consumer in watching[index] { #expect(try room.isWell(consumer, at: room.others[index])) }
    }
  }

  @Test func layersAreWantedForEachPipeBySelf() throws {
    let room = try ThreeWorkers()
    defer { room.end() }
    let (_, video, watching) = try room.scene(layers: [1, 2, 4], wishes: [[0, 0], [2, 2]])
    room.run(.seconds(4))
    room.forget()
    room.run(.seconds(1))
    #expect(Set(room.there[0].layers.keys) == [0] && Set(room.there[1].layers.keys) == [2])
    // The wishes change places.
    for (index, layer) in [(0, 2), (1, 0)] {
      for consumer in watching[index] { room.others[index].apply(.setLayer(consumer, layer)) }
    }
    room.run(.seconds(14))
    room.forget()
    room.run(.seconds(1))
    #expect(Set(room.there[0].layers.keys) == [2] && Set(room.there[1].layers.keys) == [0])
    // Behind one pipe nobody watches any more: the other has its layer still.
    for consumer in watching[0] { room.others[0].apply(.setPaused(consumer, true)) }
    room.run(.seconds(14))
    room.forget()
    room.run(.seconds(1))
    #expect(room.there[0].packets.isEmpty && Set(room.there[1].layers.keys) == [0])
    for consumer in watching[1] { #expect(try room.isWell(consumer, at: room.others[1])) }
    #expect(room.source.layers(video).count == 3)
  }

  /// Requests for a keyframe that reach the publisher while somebody behind each pipe asks again and again.
  private func requests(forgets: Bool) throws -> (reached: Int, crossed: Int) {
    let room = try ThreeWorkers()
    defer { room.end() }
    let (anna, _, watching) = try room.scene()
    room.run(.seconds(2))
    room.forget()
    room.forgetsRequests = forgets
    let before = anna.tracks[0].layers[0].requests
    for _ in 0..<8 {
      for index in room.pipes.indices {
        room.others[index].peers[0].requestKeyframe(watching[index][0])
        room.run(.milliseconds(10))
      }
      room.run(.milliseconds(600))
    }
    return (anna.tracks[0].layers[0].requests - before, room.back.reduce(0) { $0 + $1.keyframes(of: 0).count })
  }

  @Test func aKeyframeThatTwoMirrorsWantIsAskedOnce() throws {
    let merged = try requests(forgets: false)
    #expect(merged.crossed >= 12 && merged.reached * 2 <= merged.crossed + 2 && merged.reached >= 5, "\(merged)")
    let control = try requests(forgets: true)
    #expect(control.reached >= merged.reached + 3, "\(control), and \(merged)")
  }

  @Test(arguments: [true, false]) func oneOfTwoPipesIsClosed(isSourceFirst: Bool) throws {
    let room = try ThreeWorkers()
    defer { room.end() }
    let (_, video, watching) = try room.scene()
    room.run(.seconds(1))
    for call in isSourceFirst ? [room.source, room.others[0]] : [room.others[0], room.source] {
      call.apply(.closePipe(room.pipes[0]))
      room.run(.milliseconds(20))
    }
    room.forget()
    room.run(.seconds(2))
    #expect(room.there[0].packets.isEmpty && room.others[0].worker.counters.producers == 0)
    var crossing: [PipeID] = []
    room.source.worker.tracks.encodings.forEach { crossing += $1.pipes.map(\.pipe) }
    #expect(crossing == [try #require(room.source.worker.directory.pipes[room.pipes[1]])])
    for consumer in watching[1] { #expect(try room.isWell(consumer, at: room.others[1])) }
    #expect(room.there[1].packets.count > 100 && room.source.layers(video).count == 1)
  }
}
