import Basics
import RTP
import Testing

@Suite struct MediaTimeTests {
  @Test(
    arguments: [(0, 2_208_988_800 << 32), (500, 2_208_988_800 << 32 | 0x8000_0000), (-5, 2_208_988_800 << 32)]
      as [(Int64, UInt64)])
  func wallClockToNTP(milliseconds: Int64, ntp: UInt64) {
    #expect(NTPTime(wallMilliseconds: milliseconds).value == ntp)
  }

  @Test(arguments: [1_700_000_000_123, 1_999_999_999_999, 1, 999] as [Int64])
  func wallClockSurvivesToTheMillisecond(milliseconds: Int64) {
    #expect(NTPTime(wallMilliseconds: milliseconds).wallMilliseconds == milliseconds)
  }

  @Test func extremesDoNotTrap() {
    #expect(NTPTime(wallMilliseconds: .max).value != 0)
    #expect(NTPTime(value: .max).wallMilliseconds > 0)
    #expect(NTPTime(value: 0).wallMilliseconds < 0)
  }

  @Test(
    arguments: [
      (TimeDelta.zero, 0), (.milliseconds(500), 32_768), (.milliseconds(1_500), 98_304), (.milliseconds(-1), 0),
      (TimeDelta(nanoseconds: .max), UInt32.max),
    ] as [(TimeDelta, UInt32)])
  func shortTimes(delta: TimeDelta, value: UInt32) { #expect(ShortNTP.value(delta) == value) }

  @Test func roundTripIsWhatTheEchoLeaves() {
    let sent: UInt32 = 0xffff_f000
    let now = sent &+ ShortNTP.value(.milliseconds(1_125))
    let roundTrip = ShortNTP.roundTrip(now: now, lastReport: sent, delay: ShortNTP.value(.milliseconds(1_000)))
    #expect(roundTrip == .milliseconds(125))
    #expect(ShortNTP.roundTrip(now: now, lastReport: 0, delay: 0) == nil)
    #expect(ShortNTP.roundTrip(now: 5, lastReport: 6, delay: 0) == nil)
    #expect(ShortNTP.roundTrip(now: 5, lastReport: 5, delay: 0) == nil)
  }

  @Test(
    arguments: [
      (0, 0), (1_000_000_000, 1 << 18), (500_000_000, 1 << 17), (64_000_000_000, 0), (65_000_000_000, 1 << 18),
    ] as [(Int64, UInt32)])
  func absoluteSendTimeWrapsEverySixtyFourSeconds(nanoseconds: Int64, value: UInt32) {
    #expect(AbsoluteSendTime.value(at: Instant(nanoseconds: nanoseconds)) == value)
    #expect(AbsoluteSendTime.value(at: Instant(nanoseconds: .max)) <= 0xff_ffff)
    #expect(AbsoluteSendTime.value(at: Instant(nanoseconds: -1)) <= 0xff_ffff)
  }
}
