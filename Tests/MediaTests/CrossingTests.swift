// What happens while a track crosses a pipe.

import Basics
import Forwarding
import RTP
import Testing

@testable import Media

struct CrossingTests {
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
