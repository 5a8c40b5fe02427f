// What the lines of one bundle mean by numbers that all of them share: identifiers of header extensions (RFC 8285 §5), payload types
// (RFC 8843 §9.1) and SSRCs (RFC 3550 §8). A packet need not say which line it is of, so a number means one thing in the bundle.

import RTP
import SDP

/// Who was first to use which number. What another line means otherwise by it is left out of the answer.
struct BundleClaims {
  /// What a payload type stands for.
  enum Meaning: Hashable {
    case media(CodecProfile)
    /// Retransmissions of that payload type.
    case retransmissions(of: UInt8)
    /// That payload type with earlier packets inside.
    case redundancy(of: UInt8)
  }

  private var extensions: [UInt16: KnownExtension] = [:]
  private var identifiers: [KnownExtension: UInt16] = [:]
  private var payloadTypes: [UInt8: Meaning] = [:]
  private var sources: Set<UInt32> = []
  /// What of the line in hand was left out, in sentences.
  private(set) var leftOut: [String] = []

  /// Begins another line.
  mutating func begin() { leftOut.removeAll() }

  /// Whether a line may mean this extension by this identifier. One extension has one identifier in the bundle: the server looks
  /// for no other.
  mutating func claim(_ known: KnownExtension, _ identifier: UInt16) -> Bool {
    if let other = extensions[identifier], other != known {
      leftOut.append("a=extmap:\(identifier) stands for \(other.uri) in this bundle: \(known.uri) is left out.")
      return false
    }
    if let other = identifiers[known], other != identifier {
      leftOut.append("\(known.uri) is a=extmap:\(other) in this bundle: a=extmap:\(identifier) is left out.")
      return false
    }
    (extensions[identifier], identifiers[known]) = (known, identifier)
    return true
  }

  /// Whether a line may mean this by a payload type.
  mutating func claim(_ meaning: Meaning, _ payloadType: UInt8) -> Bool {
    let other = payloadTypes[payloadType, default: meaning]
    payloadTypes[payloadType] = other
    if other == meaning { return true }
    leftOut.append("Payload type \(payloadType) means something else on another line of this bundle: it is left out.")
    return false
  }

  /// Whether an SSRC is a line's own.
  mutating func claim(source: UInt32) -> Bool {
    if sources.insert(source).inserted { return true }
    leftOut.append("SSRC \(source) is declared twice in this bundle: its second line goes by MID, RID or payload type.")
    return false
  }
}
