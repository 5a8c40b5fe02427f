// One pipe between two workers that both have publishers and audience: each of its ends is source of some tracks and mirror of others, in
// one room.

import Basics
import Forwarding
import RTP
import Testing

@testable import Media

struct BothWaysTests {
  /// Two people at each worker, who all publish, and watch and hear each other.
  private struct Meeting {
    struct Person {
      let call: Call
      let peer: VirtualPeer
      let video: ProducerKey
      let sound: ProducerKey
    }

    let room: TwoWorkers
    private(set) var people: [Person] = []
    private(set) var watching: [(call: Call, consumer: ConsumerKey)] = []
    private(set) var hearing: [(call: Call, consumer: ConsumerKey)] = []

    init(codec: CodecProfile = .vp8) throws {
      room = try TwoWorkers()
      for (name, call) in [("anna", room.near), ("bert", room.far), ("carl", room.near), ("dora", room.far)] {
        let peer = try call.join(name)
        let video = call.publish(peer, .video, codec: codec, layers: [1])
        people.append(Person(call: call, peer: peer, video: video, sound: call.publish(peer, .audio)))
      }
      for person in people {
        for (track, kind) in [(person.video, MediaKind.video), (person.sound, .audio)] {
          if person.call === room.near {
            room.mirror(track, kind, publisher: person.peer)
          } else {
            room.mirrorBack(track, kind, publisher: person.peer)
          }
        }
      }
      for person in people {
        for other in people where other.peer !== person.peer {
          watching.append((person.call, person.call.subscribe(person.peer, to: other.video)))
          hearing.append((person.call, person.call.subscribe(person.peer, to: other.sound)))
        }
      }
    }

    func clocks(at call: Call) throws -> Set<UInt64> {
      let pipe = try #require(call.worker.directory.pipes[room.pipe])
      return Set(call.worker.ends.pipes[pipe].publishers)
    }
  }

  @Test(arguments: [CodecProfile.vp8, .h264ConstrainedBaseline, .av1])
  func bothPublishAndBothWatch(codec: CodecProfile) throws {
    let meeting = try Meeting(codec: codec)
    let room = meeting.room
    defer { room.end() }
    room.run(.seconds(4))
    #expect(meeting.watching.count == 12 && meeting.hearing.count == 12)
    for (call, consumer) in meeting.watching {
      let stream = try #require(call.stream(consumer))
      #expect(
        stream.problems == [] && stream.frames.count > 90 && room.age(of: consumer, at: call) < .milliseconds(200))
    }
    for (call, consumer) in meeting.hearing {
      let stream = try #require(call.stream(consumer))
      #expect(stream.problems == [] && stream.frames.count > 150)
    }
    #expect(room.copies == 0 && room.there.repeats == 0 && room.back.repeats == 0)
    #expect(room.there.asked == 0 && room.back.asked == 0)
    // One copy crosses for the two who watch.
    for way in [room.there, room.back] {
      #expect(Set(way.packets.map(\.track)).count == 4 && way.packets.count > 500 && way.packets.count < 750)
    }
    for call in [room.near, room.far] {
      for reason in [DropReason.unknownStream, .malformed, .duplicate] {
        #expect(call.worker.counters.drops[reason] == 0)
      }
      #expect(call.worker.counters.staleCommands == 0)
    }
    for person in meeting.people { #expect(person.peer.nackedByServer == 0) }
  }

  @Test func bothRepairWhatTheyHaveLost() throws {
    let meeting = try Meeting()
    let room = meeting.room
    defer { room.end() }
    room.run(.seconds(1))
    var (dice, others) = (SplitMix64(seed: 9), SplitMix64(seed: 10))
    room.loses = { !$0.isRepeat && dice.next() % 20 == 0 }
    room.changeBack(isStopped: false) { !$0.isRepeat && others.next() % 20 == 0 }
    room.run(.seconds(3))
    room.loses = { _ in false }
    room.changeBack(isStopped: false) { _ in false }
    room.run(.seconds(1))
    #expect(room.there.repeats > 5 && room.back.repeats > 5 && room.copies == 0)
    for (call, consumer) in meeting.watching {
      let stream = try #require(call.stream(consumer))
      #expect(stream.problems == [] && stream.frames.count > 140)
    }
    for person in meeting.people { #expect(person.peer.nackedByServer == 0) }
  }

  /// Each end knows the clocks of those whose tracks it brings, and not of those whose tracks it sends.
  @Test func bothHaveClocksOfTheOther() throws {
    let meeting = try Meeting()
    let room = meeting.room
    defer { room.end() }
    room.run(.seconds(7))
    for (call, consumer) in meeting.watching + meeting.hearing {
      let error = try #require(call.stream(consumer)?.captureError())
      #expect(error < .milliseconds(20))
    }
    let keys = { (call: Call) in Set(meeting.people.filter { $0.call === call }.map(\.peer.key.value)) }
    #expect(try meeting.clocks(at: room.near) == keys(room.far))
    #expect(try meeting.clocks(at: room.far) == keys(room.near))
    // Who goes at one worker takes nothing along of the other's.
    let gone = meeting.people[0]
    for track in [gone.video, gone.sound] {
      gone.call.stopPublishing(track)
      room.far.apply(.removeProducer(track))
    }
    #expect(try meeting.clocks(at: room.near) == keys(room.far))
    #expect(try meeting.clocks(at: room.far) == [meeting.people[2].peer.key.value])
  }

  /// Speakers at both workers are known at both.
  @Test func whoSpeaksIsKnownAtBoth() throws {
    let meeting = try Meeting()
    let room = meeting.room
    defer { room.end() }
    // One at each worker speaks.
    for person in meeting.people.suffix(2) { person.call.track(person.sound) { $0.level = 80 } }
    room.run(.seconds(3))
    let speaking = meeting.people.prefix(2).map(\.sound.value)
    for call in [room.near, room.far] { #expect(Set(call.lastSpeakers ?? []).isSuperset(of: speaking)) }
  }
}
