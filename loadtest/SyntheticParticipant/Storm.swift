// What a participant with keys can throw at the server, for tests of its bounds: well sealed, so that all of it gets in.

import Basics
import RTP

/// One kind of storm.
public enum Storm: Sendable, Hashable, CaseIterable {
  /// NACK for the latest 250 packets of each stream, which came.
  case lossClaims
  /// NACK as long as a datagram takes, for numbers of anywhere.
  case wildClaims
  /// PLI and FIR about each stream and about streams of nobody.
  case keyframeRequests
  /// Compounds whose second packet is random bytes.
  case brokenRTCP
  /// Packets of unknown streams, and padding longer than the packet.
  case brokenRTP
  /// STUN from the right address: cut off, lying about its length, or signed with nothing.
  case brokenSTUN
}

/// How a datagram of a storm goes out.
enum StormDatagram {
  case rtp([UInt8])
  case rtcp([UInt8])
  case plain([UInt8])
}

/// Makes the datagrams of storms.
struct StormMaker {
  /// A stream that is received, and its newest number.
  struct Target {
    var ssrc: UInt32
    var newest: UInt16
  }

  /// What fits a datagram beside the tag.
  private static let longest = 1_150
  private var random: SplitMix64

  init(seed: UInt64) { random = SplitMix64(seed: seed) }

  mutating func make(_ storm: Storm, about targets: [Target], from sender: UInt32) -> StormDatagram {
    let target = targets.randomElement(using: &random) ?? Target(ssrc: word(), newest: 0)
    switch storm {
    case .lossClaims: return .rtcp(lossClaims(target, sender))
    case .wildClaims: return .rtcp(wildClaims(target, sender))
    case .keyframeRequests: return .rtcp(keyframeRequests(target, sender))
    case .brokenRTCP: return .rtcp(brokenRTCP(sender))
    case .brokenRTP: return .rtp(brokenRTP())
    case .brokenSTUN: return .plain(brokenSTUN())
    }
  }

  private func lossClaims(_ target: Target, _ sender: UInt32) -> [UInt8] {
    let numbers = (0..<250).map { target.newest &- 249 &+ UInt16($0) }
    var compound: [UInt8] = []
    RTCPBuilder.appendNACK(to: &compound, sender: sender, media: target.ssrc, numbers: numbers.span)
    return compound
  }

  /// Seventeen numbers an item: what costs a server that looks each of them up the most.
  private mutating func wildClaims(_ target: Target, _ sender: UInt32) -> [UInt8] {
    let items = (Self.longest - 12) / 4
    var compound: [UInt8] = [0x81, 205]
    compound.append(bigEndian: UInt16(truncatingIfNeeded: 2 + items))
    compound.append(bigEndian: sender)
    compound.append(bigEndian: target.ssrc)
    let start = UInt16(truncatingIfNeeded: random.next())
    for item in 0..<items {
      compound.append(bigEndian: start &+ UInt16(truncatingIfNeeded: 17 * item))
      compound.append(bigEndian: 0xffff as UInt16)
    }
    return compound
  }

  private mutating func keyframeRequests(_ target: Target, _ sender: UInt32) -> [UInt8] {
    var compound: [UInt8] = []
    while compound.count < Self.longest - 32 {
      let media = compound.count % 3 == 0 ? word() : target.ssrc
      RTCPBuilder.appendPictureLoss(to: &compound, sender: sender, media: media)
      RTCPBuilder.appendFullIntraRequest(
        to: &compound, sender: sender, media: target.ssrc, number: UInt8(truncatingIfNeeded: random.next()))
    }
    return compound
  }

  private mutating func brokenRTCP(_ sender: UInt32) -> [UInt8] {
    var compound: [UInt8] = [0x80, 201, 0, 1]
    compound.append(bigEndian: sender)
    // Version 2 and a known type every other time, so that more than the first look is tried.
    if random.next() & 1 == 0 { compound += [0x80 | UInt8(random.next() & 0x3f), 200 + UInt8(random.next() & 7)] }
    return compound + random.bytes(atMost: Self.longest - 16)
  }

  private mutating func brokenRTP() -> [UInt8] {
    let lies = random.next() & 1 == 0
    var packet: [UInt8] = [lies ? 0xa0 : 0x80, 96]
    packet.append(bigEndian: UInt16(truncatingIfNeeded: random.next()))
    packet.append(bigEndian: word())
    // Few streams: a receiver remembers as many as it may, and these are not what this storm is about.
    packet.append(bigEndian: UInt32(random.next() & 15))
    packet += random.bytes(atMost: 60)
    return packet + [lies ? 255 : 0]
  }

  private mutating func brokenSTUN() -> [UInt8] {
    let claimed = UInt16(truncatingIfNeeded: random.next() & 0xfc)
    var message: [UInt8] = [0, 1]
    message.append(bigEndian: claimed)
    message.append(bigEndian: 0x2112_a442 as UInt32)
    let rest = random.bytes(atMost: 80)
    return message + (random.next() & 1 == 0 ? rest : random.bytes(count: 12 + Int(claimed)))
  }

  private mutating func word() -> UInt32 { UInt32(truncatingIfNeeded: random.next()) }
}

extension SplitMix64 {
  fileprivate mutating func bytes(count: Int) -> [UInt8] {
    (0..<count).map { _ in UInt8(truncatingIfNeeded: next()) }
  }

  fileprivate mutating func bytes(atMost most: Int) -> [UInt8] { bytes(count: Int(next() % UInt64(most + 1))) }
}
