// What happens while a track crosses a pipe: it ends, the pipe ends, it is muted, and what was lost of its sound is restored.

import Basics
import Forwarding
import RTP
import Testing

@testable import Media

struct CrossingTests {
  /// Sound that stood in later packets is given to mirrors as it is to listeners beside the publisher.
  @Test func restoredSoundCrosses() throws {
    let room = try TwoWorkers()
    defer { room.end() }
    let anna = try room.near.join("anna")
    let (bert, emil) = (try room.far.join("bert"), try room.near.join("emil"))
    let sound = room.near.publish(anna, .audio)
    room.near.track(sound) { $0.redundancy = 2 }
    room.mirror(sound, .audio, publisher: anna)
    let (far, local) = (room.far.subscribe(bert, to: sound), room.near.subscribe(emil, to: sound))
    room.run(.seconds(1))
    anna.uplink = .losing(0.1)
    room.run(.seconds(5))
    anna.uplink = .good
    room.run(.milliseconds(500))
    #expect(room.near.worker.counters.restored > 10)
    let numbers = { (stream: ReceivedStream?) in
      Set((stream?.packets.values ?? [:].values).compactMap { $0.stamp?.frame })
    }
    let (there, here) = (numbers(room.far.stream(far)), numbers(room.near.stream(local)))
    let (first, last) = (try #require(there.min()), try #require(there.max()))
    // In its place, and not because the mirror has asked for it.
    #expect(room.repeats == 0)
    #expect(there.count > 250 && here.filter { $0 >= first && $0 <= last }.isSubset(of: there))
  }

  @Test(arguments: [true, false]) func aTrackEndsWhileItCrosses(isRemovedFirst: Bool) throws {
    let room = try TwoWorkers()
    defer { room.end() }
    let (_, video, watching) = try room.scene(layers: [4])
    room.run(.seconds(1))
    room.isStopped = true
    room.run(.milliseconds(500))
    if isRemovedFirst { room.far.apply(.removeProducer(video)) }
    room.near.stopPublishing(video)
    room.isStopped = false
    room.forget()
    room.run(.milliseconds(100))
    #expect(room.packets.count > 30, "what waited crosses all the same")
    #expect(room.far.worker.counters.producers == (isRemovedFirst ? 0 : 1))
    // The mirror asks for what is not there any more, and nothing comes of it.
    room.run(.seconds(2))
    if !isRemovedFirst { room.far.apply(.removeProducer(video)) }
    room.run(.seconds(1))
    #expect(room.far.worker.counters.consumers == 0 && watching.count == 3)
  }

  @Test func aPipeIsClosedWithPacketsInIt() throws {
    let room = try TwoWorkers()
    let (_, video, _) = try room.scene(layers: [4])
    let local = room.near.subscribe(try room.near.join("emil"), to: video)
    room.run(.seconds(1))
    room.isStopped = true
    room.run(.milliseconds(500))
    room.near.apply(.closePipe(room.pipe))
    room.isStopped = false
    room.forget()
    room.run(.seconds(1))
    #expect(room.packets.isEmpty && room.near.stream(local)?.problems == [])
    #expect(room.age(of: local, at: room.near) < .milliseconds(200))
    room.far.apply(.closePipe(room.pipe))
    #expect(room.far.worker.counters.producers == 0 && room.near.brokenRules() == [] && room.far.brokenRules() == [])
  }

  /// Sound and picture of one publisher have one clock.
  @Test func oneOfTwoMirrorsLeavesTheClockToTheOther() throws {
    let room = try TwoWorkers()
    defer { room.end() }
    let (anna, video, _) = try room.scene()
    let sound = room.near.publish(anna, .audio)
    room.mirror(sound, .audio, publisher: anna)
    let heard = room.far.subscribe(room.far.peers[0], to: sound)
    room.run(.seconds(7))
    let pipe = try #require(room.far.worker.directory.pipes[room.pipe])
    room.far.apply(.removeProducer(video))
    #expect(Array(room.far.worker.ends.pipes[pipe].publishers) == [anna.key.value])
    room.run(.seconds(7))
    #expect(try #require(room.far.stream(heard)?.captureError()) < .milliseconds(20))
    room.far.apply(.removeProducer(sound))
    #expect(room.far.worker.ends.pipes[pipe].publishers.isEmpty)
  }

  /// Whoever came while it was muted has a picture at once, in whichever order the two workers hear that it goes on.
  @Test(arguments: [true, false]) func aMuteEndsHereOrThereFirst(farFirst: Bool) throws {
    let room = try TwoWorkers()
    defer { room.end() }
    let (anna, video, watching) = try room.scene()
    room.run(.seconds(2))
    for call in [room.near, room.far] { call.apply(.setMuted(video, true)) }
    let late = room.far.subscribe(try room.far.join("fred"), to: video)
    room.run(.seconds(2))
    let before = room.frames(watching[0])
    for call in farFirst ? [room.far, room.near] : [room.near, room.far] {
      call.apply(.setMuted(video, false))
      room.run(.milliseconds(100))
    }
    room.run(.milliseconds(100))
    #expect(room.frames(late) > 1 && room.frames(watching[0]) > before + 1)
    room.run(.seconds(1))
    for consumer in watching + [late] { #expect(room.far.stream(consumer)?.problems == []) }
    #expect(anna.tracks[0].layers[0].requests <= 6)
  }
}
