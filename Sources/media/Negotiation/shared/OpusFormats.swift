// The format of Opus in descriptions (RFC 7587 §6.1, §7): read from a publisher's offer, answered within what the room
// allows, and said to receivers. Values that are out of their range are as if they were not there, as in browsers.

import RTP
import SDP

extension OpusFormat {
  /// As a client offers it.
  init(offered format: FormatParameters) {
    self.init()
    isStereo = format["stereo"] == "1" || format["sprop-stereo"] == "1"
    pausesInSilence = format["usedtx"].flatMap(Self.flag)
    isConstantRate = format["cbr"] == "1"
    maxBitsPerSecond = format["maxaveragebitrate"].flatMap { Int($0) }.flatMap { rate in
      rate > 0 ? min(max(rate, Self.bitRates.lowerBound), Self.bitRates.upperBound) : nil
    }
    hasFEC = format["useinbandfec"].flatMap(Self.flag) ?? true
    minPacketMilliseconds = format["minptime"].flatMap { Int($0) }.flatMap { (3...120).contains($0) ? $0 : nil } ?? 10
    // Firefox offers `stereo=1` for every microphone.
    isMusic = format["sprop-stereo"] == "1" || isStereo && maxBitsPerSecond != nil
  }

  private static func flag(_ text: String) -> Bool? {
    switch text {
    case "0": false
    case "1": true
    default: nil
    }
  }

  /// The same within a bound, in bits per second. A bound above what encoders send by themselves is not said where the client said
  /// none: Chromium takes it for what it shall send.
  func bounded(by limit: Int) -> OpusFormat {
    var result = self
    if let offered = maxBitsPerSecond {
      result.maxBitsPerSecond = min(offered, limit)
    } else if limit < usualBitsPerSecond {
      result.maxBitsPerSecond = limit
    }
    return result
  }

  /// As an answer tells a publisher how to send. Where it did not say whether it pauses in silence, `dtx` decides, and music never does.
  func answered(dtx: Bool) -> FormatParameters {
    var said = self
    if pausesInSilence == nil, dtx, !isMusic { said.pausesInSilence = true }
    return FormatParameters(said.text(isSent: false))
  }

  /// As a description tells a receiver what it is sent.
  var sent: FormatParameters { FormatParameters(text(isSent: true)) }

  private func text(isSent: Bool) -> String {
    var parts = ["minptime=\(minPacketMilliseconds)", "useinbandfec=\(hasFEC ? 1 : 0)"]
    if isStereo { parts.append("stereo=1") }
    if isStereo && isSent { parts.append("sprop-stereo=1") }
    if let maxBitsPerSecond { parts.append("maxaveragebitrate=\(maxBitsPerSecond)") }
    if let pausesInSilence { parts.append("usedtx=\(pausesInSilence ? 1 : 0)") }
    if isConstantRate { parts.append("cbr=1") }
    return parts.joined(separator: ";")
  }
}
