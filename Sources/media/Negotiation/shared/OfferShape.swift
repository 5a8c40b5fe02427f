// What the server looks at first in any offer of a client, whoever of the two wants to send: lines that keep their places,
// one bundle, one transport (RFC 3264 §8, RFC 8829 §5.2.2, RFC 8843 §7.3).

import Basics
import RTP
import SDP

enum OfferShape {
  /// A media line of the round before, by its position.
  struct Line {
    var mid: String
    var type: MediaType
    var isRejected: Bool
  }

  /// Lines have tags, never go away and never change places. At most so many are `live`: all others are there because lines never go away.
  static func check(
    _ offer: SessionDescription, before: [Line], most: Int, live: (Direction) -> Bool
  ) throws(NegotiationError) {
    let count = offer.media.count { !$0.isRejected && live(offer.direction(of: $0)) }
    guard count <= most else {
      throw NegotiationError(
        "The offer has \(count) media lines in use; the server takes \(most).", limit: most, count: count)
    }
    guard offer.media.count >= before.count else {
      throw NegotiationError(
        "The offer has \(offer.media.count) media lines where the last one had \(before.count); "
          + "lines may end but not disappear.")
    }
    let places = Dictionary(
      before.enumerated().filter { !$0.element.isRejected }.map { ($0.element.mid, $0.offset) },
      uniquingKeysWith: min)
    for (index, line) in offer.media.enumerated() {
      guard let mid = line.mid else {
        throw NegotiationError("Media line \(index + 1) (\(line.type.token)) has no a=mid.")
      }
      guard mid.utf8.count <= 64 else {
        throw NegotiationError("Media line \(index + 1) has an a=mid beyond 64 bytes.")
      }
      guard let old = places[mid] else { continue }
      guard old == index else {
        throw NegotiationError("Media line \(mid) has changed its place in the offer.", mid: mid)
      }
      guard before[old].type == line.type else {
        throw NegotiationError("Media line \(mid) was \(before[old].type.token) before.", mid: mid)
      }
    }
  }

  /// Why the server does not take a line, whatever its codecs; nil where it may. `isFirst`: no line before was taken.
  static func refusal(of line: MediaDescription, in offer: SessionDescription, isFirst: Bool) -> String? {
    guard MediaKind(line.type) != nil, line.isRTP else {
      return "The server takes audio and video over RTP only, not \(line.type.token) (\(line.protocolName))."
    }
    if let bundle = offer.bundle {
      return bundle.mids.contains(line.mid ?? "") ? nil : "The line is not in the offer's BUNDLE group."
    }
    return isFirst ? nil : "The offer has no BUNDLE group, and the server takes one transport: only the first line."
  }

  /// One port for RTP and RTCP.
  static func checkMux(_ line: MediaDescription) throws(NegotiationError) {
    guard line.transport.rtcpMux || line.transport.rtcpMuxOnly else {
      let mid = line.mid ?? ""
      throw NegotiationError("Media line \(mid) has no a=rtcp-mux; the server requires it.", mid: mid)
    }
  }

  /// Positions of taken lines, the one that carries the bundle first.
  static func bundleOrder(_ taken: [Int], of offer: SessionDescription) -> [Int] {
    guard let bundle = offer.bundle else { return taken }
    let rank = Dictionary(bundle.mids.enumerated().map { ($1, $0) }, uniquingKeysWith: min)
    return taken.sorted {
      rank[offer.media[$0].mid ?? "", default: .max] < rank[offer.media[$1].mid ?? "", default: .max]
    }
  }

  /// The server's DTLS role. actpass leaves it to us, and waiting is what a server does (RFC 8842 §5.3). Once agreed on, the role
  /// stays.
  static func role(for setup: SetupRole?, agreed current: DTLSRole?) throws(NegotiationError) -> DTLSRole {
    switch setup ?? .actpass {
    case .actpass: return current ?? .server
    case .active where current != .client: return .server
    case .passive where current != .server: return .client
    case .holdconn: throw NegotiationError("The offer says a=setup:holdconn, which WebRTC does not use.")
    case .active, .passive: throw NegotiationError("The offer changes the DTLS role agreed on (a=setup).")
    }
  }
}

extension DTLSRole {
  /// How an answer of the server says its role.
  var answered: SetupRole { self == .client ? .active : .passive }
}
