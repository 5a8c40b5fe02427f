// RFC 3339 time stamps in UTC without Foundation.

/// Wall-clock times as people and log readers write them.
public enum Timestamp {
  /// `2026-01-31T12:00:00.000Z` for a time in milliseconds since 1970-01-01 UTC (RFC 3339 §5.6). Years outside
  /// 0000–9999 are clamped.
  public static func rfc3339(wallMilliseconds: Int64) -> String {
    let bounded = min(max(wallMilliseconds, -62_167_219_200_000), 253_402_300_799_999)
    let (days, rest) = floorDivide(bounded, 86_400_000)
    let (year, month, day) = civil(daysSince1970: days)
    let seconds = rest / 1000
    return pad(year, 4) + "-" + pad(month, 2) + "-" + pad(day, 2) + "T" + pad(seconds / 3600, 2) + ":"
      + pad(seconds / 60 % 60, 2) + ":" + pad(seconds % 60, 2) + "." + pad(rest % 1000, 3) + "Z"
  }

  private static func floorDivide(_ value: Int64, _ by: Int64) -> (Int64, Int64) {
    let (quotient, remainder) = value.quotientAndRemainder(dividingBy: by)
    return remainder < 0 ? (quotient - 1, remainder + by) : (quotient, remainder)
  }

  /// The proleptic Gregorian date of a day. Years begin in March here, so that the leap day is the year's last day.
  private static func civil(daysSince1970: Int64) -> (Int64, Int64, Int64) {
    let (era, dayOfEra) = floorDivide(daysSince1970 + 719_468, 146_097)
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shifted = (5 * dayOfYear + 2) / 153
    let day = dayOfYear - (153 * shifted + 2) / 5 + 1
    let month = shifted < 10 ? shifted + 3 : shifted - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
  }

  private static func pad(_ value: Int64, _ width: Int) -> String {
    let digits = String(value)
    return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
  }
}
