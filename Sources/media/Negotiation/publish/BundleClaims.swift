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

  /// What was left out of one line of one kind of attribute.
  struct LeftOut {
    /// Sentences that are said of one line and kind: one may have a thousand.
    private static let mostSaid = 8

    /// Such as `a=extmap`.
    let attribute: String
    private var sentences: [String] = []
    private var more = 0

    init(_ attribute: String) { self.attribute = attribute }

    mutating func add(_ sentence: String) {
      if sentences.count < Self.mostSaid { sentences.append(sentence) } else { more += 1 }
    }

    /// For people.
    var reason: String {
      sentences.joined(separator: " ") + (more > 0 ? " Of \(attribute), \(more) more are left out." : "")
    }
  }

  private var extensions: [UInt16: KnownExtension] = [:]
  private var identifiers: [KnownExtension: UInt16] = [:]
  private var payloadTypes: [UInt8: Meaning] = [:]
  private var sources: Set<UInt32> = []
  /// What of the line in hand was left out.
  private(set) var leftOut: [LeftOut] = []

  /// Begins another line.
  mutating func begin() { leftOut.removeAll() }

  /// Whether a line may mean this extension by this identifier. One extension has one identifier in the bundle: the server looks
  /// for no other.
  mutating func claim(_ known: KnownExtension, _ identifier: UInt16) -> Bool {
    if let other = extensions[identifier], other != known {
      leave(out: "a=extmap", "a=extmap:\(identifier) stands for \(other.uri) in this bundle: \(known.uri) is left out.")
      return false
    }
    if let other = identifiers[known], other != identifier {
      leave(out: "a=extmap", "\(known.uri) is a=extmap:\(other) in this bundle: a=extmap:\(identifier) is left out.")
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
    leave(
      out: "a=rtpmap",
      "Payload type \(payloadType) means something else on another line of this bundle: it is left out.")
    return false
  }

  /// Whether an SSRC is a line's own.
  mutating func claim(source: UInt32) -> Bool {
    if sources.insert(source).inserted { return true }
    leave(
      out: "a=ssrc",
      "SSRC \(source) is declared twice in this bundle: its second line goes by MID, RID or payload type.")
    return false
  }
  private mutating func leave(out attribute: String, _ sentence: String) {
    let known = leftOut.firstIndex { $0.attribute == attribute }
    if known == nil { leftOut.append(LeftOut(attribute)) }
    leftOut[known ?? leftOut.count - 1].add(sentence)
  }
}
