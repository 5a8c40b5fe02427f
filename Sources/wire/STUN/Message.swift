// The vocabulary of STUN (RFC 8489 §5, §14; ICE attributes RFC 8445 §16.1).

import Basics

/// The 96 bits that tie a response to its request.
public struct TransactionID: Hashable, Sendable {
  /// The first 32 bits.
  public var high: UInt32
  /// The other 64 bits.
  public var low: UInt64

  /// From its two parts.
  @inlinable public init(high: UInt32, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// A random one (RFC 8489 §5: it must not be guessed).
  public static func random(using generator: inout some RandomNumberGenerator) -> TransactionID {
    TransactionID(high: UInt32(truncatingIfNeeded: generator.next()), low: generator.next())
  }
}

/// What a message is in its exchange.
public enum MessageClass: UInt8, Sendable, Equatable {
  case request = 0, indication = 1, success = 2, error = 3
}

/// Class and method of a message (RFC 8489 §5, figure 3).
public struct MessageType: Hashable, Sendable {
  /// The method of connectivity checks.
  public static let binding: UInt16 = 1

  /// The 14 bits on the wire.
  public let rawValue: UInt16

  /// From the wire; the two highest bits are ignored.
  @inlinable public init(rawValue: UInt16) { self.rawValue = rawValue & 0x3fff }

  /// A binding message of this class.
  @inlinable public init(binding messageClass: MessageClass) {
    let bits = UInt16(messageClass.rawValue)
    rawValue = Self.binding | (bits & 2) << 7 | (bits & 1) << 4
  }

  /// What the message is in its exchange.
  @inlinable public var messageClass: MessageClass {
    MessageClass(rawValue: UInt8(rawValue >> 7 & 2 | rawValue >> 4 & 1)) ?? .request
  }

  /// The 12-bit method.
  @inlinable public var method: UInt16 { rawValue & 0xf | rawValue >> 1 & 0x70 | rawValue >> 2 & 0xf80 }
}

/// Attribute types that are understood.
public enum AttributeType {
  static let mappedAddress: UInt16 = 0x0001
  static let username: UInt16 = 0x0006
  static let messageIntegrity: UInt16 = 0x0008
  static let errorCode: UInt16 = 0x0009
  static let unknownAttributes: UInt16 = 0x000a
  static let realm: UInt16 = 0x0014
  static let nonce: UInt16 = 0x0015
  static let messageIntegritySHA256: UInt16 = 0x001c
  static let xorMappedAddress: UInt16 = 0x0020
  static let priority: UInt16 = 0x0024
  static let useCandidate: UInt16 = 0x0025
  static let software: UInt16 = 0x8022
  static let fingerprint: UInt16 = 0x8028
  static let iceControlled: UInt16 = 0x8029
  static let iceControlling: UInt16 = 0x802a

  /// Whether a message with an unknown attribute of this type must be refused (RFC 8489 §14).
  @inlinable public static func isComprehensionRequired(_ type: UInt16) -> Bool { type < 0x8000 }
}

/// Attribute types of a message that had to be understood and were not: the first eight.
public struct UnknownAttributes: Sendable {
  /// Most that are remembered.
  public static let capacity = 8
  /// How many are remembered.
  public private(set) var count = 0
  private var types = InlineArray<8, UInt16>(repeating: 0)

  /// None.
  public init() {}

  /// The type at `index`, 0 ..< `count`.
  public subscript(index: Int) -> UInt16 { types[index] }

  /// Remembers one more, unless it is there already or there is no room.
  public mutating func append(_ type: UInt16) {
    for index in 0..<count where types[index] == type { return }
    guard count < Self.capacity else { return }
    types[count] = type
    count += 1
  }
}
