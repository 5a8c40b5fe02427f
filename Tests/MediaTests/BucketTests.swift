// Lines that let some kilobytes through at once after a pause, as token buckets do: a short probe finds them wider than they are.

import Basics
import Testing

struct BucketTests {
  /// As `tbf` in `Tests/browser/badnet`.
  private static let bucket = 3_100

  /// The line falls, and is probed two seconds and a half later. At no time is that a reason to go up to what it does not carry; and when
  /// it comes back, it shows the control: the highest layer is seen, and soon.
  @Test(arguments: 0..<8) func aProbeThroughABucketIsNoReasonToGoUp(_ phase: Int) throws {
    let room = try LineRoom(bert: 3_000_000, likeABrowser: true, inTime: true)
    room.bert.downlink.bucket = Self.bucket
    room.call.run(.seconds(8) + .milliseconds(37 * phase))
    #expect(room.layers(try room.stream(room.bert), last: .seconds(2)) == [2])
    room.bert.downlink.rate = 600_000
    room.call.run(.seconds(2))
    #expect(room.longestGap(try room.stream(room.bert), last: .seconds(2)) < .milliseconds(700))
    room.call.run(.seconds(8))
    #expect(room.layers(try room.stream(room.bert), last: .seconds(8)).isSubset(of: [0, 1]))
    #expect(room.longestGap(try room.stream(room.bert), last: .seconds(8)) < .milliseconds(400))
    room.bert.downlink.rate = 3_000_000
    room.call.run(.seconds(8))
    #expect(room.layers(try room.stream(room.bert), last: .seconds(2)) == [2])
  }
}
