// Rooms in which the loudest alone are heard.

import Basics
import Forwarding
import RTP
import Testing

@testable import Media

struct LoudestTests {
  /// Six people with open microphones, and Lena who only listens. Level 80 is a quiet room.
  private struct Room {
    let call: Call
    let sounds: [ProducerKey]
    let subscriptions: [ConsumerKey]

    init(loudest: Int?) throws {
      let made = try Call()
      made.loudest = loudest
      var (published, subscribed): ([ProducerKey], [ConsumerKey]) = ([], [])
      let speakers = try (0..<6).map { try made.join("speaker \($0)") }
      let lena = try made.join("lena")
      for speaker in speakers { published.append(made.publish(speaker, .audio)) }
      for sound in published { subscribed.append(made.subscribe(lena, to: sound)) }
      (call, sounds, subscriptions) = (made, published, subscribed)
      for index in 0..<6 { setLevel(index, 80) }
      made.run(.seconds(2))
    }

    func setLevel(_ speaker: Int, _ level: UInt8) { call.track(sounds[speaker]) { $0.level = level } }

    func stream(_ speaker: Int) throws -> ReceivedStream { try #require(call.stream(subscriptions[speaker])) }

    /// Who was heard in the last time.
    func heard(last duration: TimeDelta) throws -> [Int] {
      try (0..<6).filter { speaker in
        try stream(speaker).packets.values.contains { $0.arrival > call.now - duration }
      }
    }
  }

  @Test func silenceCostsNothing() throws {
    let room = try Room(loudest: 2)
    #expect(try room.heard(last: .seconds(2)) == [])
    #expect(room.call.worker.counters.drops[.notLoudest] > 400)
    // The control: without the rule all of it is sent.
    #expect(try Room(loudest: nil).heard(last: .seconds(1)) == [0, 1, 2, 3, 4, 5])
  }

  /// Who is moved to another room leaves their place to those who stay, and has the places of that room to themselves.
  @Test func whoIsMovedIsHeardInTheOtherRoom() throws {
    let room = try Room(loudest: 1)
    for (speaker, level) in [(0, 30), (1, 30), (2, 30)] as [(Int, UInt8)] { room.setLevel(speaker, level) }
    room.call.run(.seconds(2))
    let before = try room.heard(last: .seconds(1))
    #expect(before.count == 2, "one, and one more for who speaks themselves")
    let moved = try #require(before.first)
    room.call.apply(.moveTransport(room.call.peers[moved].key, room: RoomKey(2), loudest: 1))
    room.call.run(.seconds(2))
    #expect(try room.heard(last: .seconds(1)) == [0, 1, 2], "two in the one room, and one in the other")
    #expect(try room.stream(moved).problems == [])
  }

  /// Who begins to speak is heard within a fifth of a second, from the first packet on, and the numbers go on from last time.
  @Test func whoBeginsToSpeakIsHeardFromTheFirstWordOn() throws {
    let room = try Room(loudest: 2)
    for round in 0..<3 {
      let begun = room.call.now
      room.setLevel(4, 25)
      room.call.run(.milliseconds(700))
      let packets = try room.stream(4).ordered.filter { ($0.stamp?.capture ?? 0) >= begun.nanoseconds }
      let first = try #require(packets.first)
      #expect(first.arrival - begun < .milliseconds(200))
      #expect((first.stamp?.capture ?? 0) - begun.nanoseconds <= 20_000_000, "round \(round): the first packet")
      #expect(packets.count >= 33)
      room.setLevel(4, 80)
      room.call.run(.seconds(4))
      #expect(try room.heard(last: .seconds(1)) == [], "and nothing more a while after the last word")
    }
    let stream = try room.stream(4)
    #expect(stream.problems == [] && stream.duplicates == 0)
    #expect(stream.packets.count < 450)
  }

  /// Lena hears two others and one more who speaks themselves; a louder one takes the place of the quietest.
  @Test func theLoudestHaveThePlaces() throws {
    let room = try Room(loudest: 2)
    for (speaker, level) in [(0, 40), (1, 45), (2, 50)] as [(Int, UInt8)] { room.setLevel(speaker, level) }
    room.call.run(.seconds(2))
    #expect(try room.heard(last: .seconds(1)) == [0, 1, 2])
    room.setLevel(3, 52)
    room.call.run(.seconds(3))
    #expect(try room.heard(last: .seconds(2)) == [0, 1, 2], "as loud is not louder")
    room.setLevel(3, 20)
    room.call.run(.milliseconds(300))
    #expect(try room.heard(last: .milliseconds(50)) == [0, 1, 3])
    // Who has been silent for a while has no place.
    room.setLevel(0, 90)
    room.call.run(.seconds(4))
    #expect(try room.heard(last: .milliseconds(500)) == [1, 2, 3])
    room.setLevel(5, 35)
    room.call.run(.seconds(1))
    #expect(try room.heard(last: .milliseconds(500)) == [1, 3, 5])
    for speaker in 0..<6 { #expect(try room.stream(speaker).problems == []) }
  }

  /// Two of three places go back and forth between nobody: four speak, and are as loud as each other in turn.
  @Test func placesDoNotGoBackAndForth() throws {
    let room = try Room(loudest: 2)
    var firsts = [Int](repeating: 0, count: 4)
    for step in 0..<200 {
      for speaker in 0..<4 { room.setLevel(speaker, 30 + UInt8((step + speaker) % 4)) }
      room.call.run(.milliseconds(100))
      for speaker in try room.heard(last: .milliseconds(60)) where speaker < 4 { firsts[speaker] += 1 }
    }
    #expect(firsts.sorted().first == 0 && firsts.sorted()[1] > 190, "\(firsts)")
  }

  /// A mute gives the place away, and nothing said into it is heard.
  @Test func aMuteGivesThePlaceAway() throws {
    let room = try Room(loudest: 1)
    for (speaker, level) in [(0, 15), (1, 25), (2, 34)] as [(Int, UInt8)] { room.setLevel(speaker, level) }
    room.call.run(.seconds(2))
    #expect(try room.heard(last: .seconds(1)) == [0, 1])
    room.call.apply(.setMuted(room.sounds[0], true))
    let muted = room.call.now.nanoseconds
    room.call.run(.seconds(1))
    #expect(try room.heard(last: .milliseconds(500)) == [1, 2])
    room.call.apply(.setMuted(room.sounds[1], true))
    room.call.apply(.setMuted(room.sounds[0], false))
    let unmuted = room.call.now.nanoseconds - 10_000_000
    room.call.run(.seconds(1))
    #expect(try room.heard(last: .milliseconds(500)) == [0, 2])
    let said = try room.stream(0).packets.values.compactMap { $0.stamp?.capture }
    #expect(!said.contains { (muted..<unmuted).contains($0) })
    for speaker in 0..<3 { #expect(try room.stream(speaker).problems == []) }
    room.call.stopPublishing(room.sounds[2])
    room.call.apply(.setMuted(room.sounds[1], false))
    room.call.run(.seconds(1))
    #expect(try room.heard(last: .milliseconds(500)) == [0, 1], "who has gone has no place")
  }

  // MARK: several tracks of one person

  /// Who publishes eight tracks, all as loud as can be, has as many places as nobody else wants, and one where all are wanted.
  @Test func severalTracksOfOneTakeNobodysPlace() throws {
    let room = try Room(loudest: 2)
    let shouted = try room.call.shout(tracks: 8)
    #expect(room.call.heard(shouted, last: .seconds(1)).count == 3, "where there is room, they are heard")
    let begun = room.call.now
    room.setLevel(0, 30)
    room.setLevel(1, 40)
    room.call.run(.milliseconds(300))
    #expect(try room.heard(last: .milliseconds(100)) == [0, 1], "others are heard at once, though they are less loud")
    for speaker in 0..<2 {
      let first = try #require(try room.stream(speaker).ordered.first { ($0.stamp?.capture ?? 0) >= begun.nanoseconds })
      #expect(first.arrival - begun < .milliseconds(200))
    }
    room.call.run(.seconds(3))
    #expect(try room.heard(last: .seconds(2)) == [0, 1], "and stay")
    #expect(room.call.heard(shouted, last: .seconds(2)).count == 1)
    // Whoever speaks quietest of the others gives way to who is 6 dB louder, and the one who shouts keeps what is theirs.
    room.setLevel(2, 20)
    room.call.run(.seconds(1))
    #expect(try room.heard(last: .milliseconds(500)) == [0, 2])
    #expect(room.call.heard(shouted, last: .milliseconds(500)).count == 1)
    for speaker in 0..<6 { #expect(try room.stream(speaker).problems == []) }
    for stream in shouted { #expect(try #require(room.call.stream(stream.subscription)).problems == []) }
  }

  /// A person's microphone and the sound of the screen that they share are both heard where there is room; the less loud of the two makes
  /// room for anybody else, and comes back when that one has stopped.
  @Test func aSecondTrackIsHeardWhereThereIsRoom() throws {
    let room = try Room(loudest: 1)
    let screen = room.call.publish(room.call.peers[0], .audio)
    let subscription = room.call.subscribe(room.call.peers[6], to: screen)
    func isScreenHeard(last duration: TimeDelta) throws -> Bool {
      let stream = try #require(room.call.stream(subscription))
      return stream.packets.values.contains { $0.arrival > room.call.now - duration }
    }
    room.call.track(screen) { $0.level = 35 }
    room.setLevel(0, 25)
    room.call.run(.seconds(2))
    #expect(try room.heard(last: .seconds(1)) == [0] && isScreenHeard(last: .seconds(1)))
    room.setLevel(1, 55)
    room.call.run(.seconds(1))
    #expect(try room.heard(last: .milliseconds(500)) == [0, 1])
    #expect(try !isScreenHeard(last: .milliseconds(500)))
    // Of their own two the louder one is heard, and it takes nothing from the other person.
    room.call.track(screen) { $0.level = 5 }
    room.call.run(.seconds(1))
    #expect(try room.heard(last: .milliseconds(500)) == [1] && isScreenHeard(last: .milliseconds(500)))
    room.setLevel(1, 90)
    room.call.run(.seconds(4))
    #expect(try room.heard(last: .milliseconds(500)) == [0] && isScreenHeard(last: .milliseconds(500)))
    #expect(try #require(room.call.stream(subscription)).problems == [])
    for speaker in 0..<2 { #expect(try room.stream(speaker).problems == []) }
  }

  /// A client that does not say how loud its sound is is heard always: nobody can tell.
  @Test func whoDoesNotSayIsHeard() throws {
    var voice = LoudVoice()
    #expect(!voice.isTold && !voice.speaks(at: .zero))
    let start = Instant.zero + .seconds(1)
    voice.note(30, at: start)
    #expect(voice.isTold && !voice.speaks(at: start), "one packet may be a click")
    voice.note(30, at: start + .milliseconds(20))
    #expect(voice.speaks(at: start + .milliseconds(20)))
    #expect(!voice.isSilent(at: start + .milliseconds(900)) && voice.isSilent(at: start + .milliseconds(1_100)))
    #expect(!voice.speaks(at: start + .milliseconds(300)), "silence may send nothing")
  }
}

extension Call {
  fileprivate typealias Shout = (track: ProducerKey, subscription: ConsumerKey)

  /// Somebody comes who shouts into so many tracks for two seconds, and is listened to by who came before.
  fileprivate func shout(tracks: Int) throws -> [Shout] {
    let listener = try #require(peers.last)
    let shouter = try join("shouter")
    let shouted = (0..<tracks).map { _ in
      let track = publish(shouter, .audio)
      return (track: track, subscription: subscribe(listener, to: track))
    }
    for (track, _) in shouted { self.track(track) { $0.level = 0 } }
    run(.seconds(2))
    return shouted
  }

  fileprivate func heard(_ shouted: [Shout], last duration: TimeDelta) -> [Shout] {
    shouted.filter { stream($0.subscription)?.packets.values.contains { $0.arrival > now - duration } ?? false }
  }
}
