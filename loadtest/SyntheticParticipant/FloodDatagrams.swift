// What somebody can throw at the server's UDP port by the thousand: datagrams of strangers, who know at most what an unprotected
// signalling path shows, and of somebody who is in.

import Basics
import Crypto
import DTLS
import STUN

/// A kind of datagram.
public enum FloodKind: String, Sendable, CaseIterable, Codable {
  /// Random bytes.
  case random
  /// A connectivity check for a transport that is there, whose FINGERPRINT is wrong.
  case fingerprint
  /// The same with the right FINGERPRINT and the wrong MESSAGE-INTEGRITY.
  case integrity
  /// A connectivity check with which nothing is wrong.
  case check
  /// SRTP of an SSRC that somebody sends, from another address.
  case srtp
  /// DTLS ClientHellos.
  case hello
}

/// What somebody knows of a transport.
public struct FloodTarget: Sendable {
  /// Where the server listens.
  public var server: SocketAddress
  /// The user name of checks: the server's fragment and the client's.
  public var username: String
  /// The password that the server has told. Strangers do not know it.
  public var password: String
  /// A stream that its owner sends.
  public var ssrc: UInt32

  /// All of it.
  public init(server: SocketAddress, username: String, password: String, ssrc: UInt32) {
    (self.server, self.username, self.password, self.ssrc) = (server, username, password, ssrc)
  }
}

extension FloodKind {
  /// Some hundreds of such datagrams, each another.
  public func datagrams(_ target: FloodTarget, seed: UInt64 = 1) -> [[UInt8]] {
    var random = SplitMix64(seed: seed)
    return (0..<256).compactMap { number in
      switch self {
      case .random: bytes(200, &random)
      case .fingerprint: check(target, nil, &random).map { $0.dropLast() + [$0[$0.count - 1] ^ 0xff] }
      case .integrity: check(target, nil, &random)
      case .check: check(target, target.password, &random)
      case .srtp: srtp(target, number, &random)
      case .hello: Self.clientHello()
      }
    }
  }

  private func bytes(_ count: Int, _ random: inout SplitMix64) -> [UInt8] {
    (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) }
  }

  private func srtp(_ target: FloodTarget, _ number: Int, _ random: inout SplitMix64) -> [UInt8] {
    var packet: [UInt8] = [0x80, 96]
    packet.append(bigEndian: UInt16(number))
    packet.append(bigEndian: UInt32(number))
    packet.append(bigEndian: target.ssrc)
    return packet + bytes(1_100, &random)
  }

  /// A check as a browser's, signed with a password; nil for one that is not the transport's.
  private func check(_ target: FloodTarget, _ password: String?, _ random: inout SplitMix64) -> [UInt8]? {
    var buffer = [UInt8](repeating: 0, count: MessageWriter.maximumLength)
    var span = buffer.mutableSpan
    let key = password.map { Array($0.utf8) } ?? bytes(24, &random)
    var hmac = HMACSHA1(key: key.span)
    do throws(STUNError) {
      let id = TransactionID(high: UInt32(truncatingIfNeeded: random.next()), low: random.next())
      var writer = try MessageWriter(MessageType(binding: .request), id, into: &span)
      try writer.appendUsername(Array(target.username.utf8).span, to: &span)
      try writer.appendPriority(1_853_824_767, to: &span)
      try writer.appendControlling(tieBreaker: random.next(), to: &span)
      try writer.appendIntegrity(to: &span) { header, body in
        hmac.reset()
        hmac.update(header)
        hmac.update(body)
        return hmac.finish()
      }
      try writer.appendFingerprint(to: &span)
      return Array(buffer[..<writer.length])
    } catch {
      return nil
    }
  }

  private static let certificate = try? Certificate(wallMilliseconds: 1_760_000_000_000)

  private static func clientHello() -> [UInt8]? {
    guard let certificate, var client = try? DTLSConnection(role: .client, certificate: certificate) else { return nil }
    client.poll(at: .zero)
    return client.nextDatagram()
  }
}
