// What a switchboard knows calls and devices by.

import Basics

/// One call, for ever: a UUID (RFC 9562, version 4) as text.
public struct CallID: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The UUID, in lower case.
  public let text: String

  /// The call of this name; nothing says that there is one.
  public init(_ text: String) { self.text = text }

  /// A new name. `random` should be the system's, as knowing a name is the first half of asking about a call.
  public init(using random: inout some RandomNumberGenerator) {
    let high = random.next() & ~0xf000 | 0x4000
    let low = random.next() & ~(0xc000 << 48) | (0x8000 << 48)
    let digits = high.hexadecimal + low.hexadecimal
    var text = ""
    for (index, digit) in digits.enumerated() {
      if [8, 12, 16, 20].contains(index) { text.append("-") }
      text.append(digit)
    }
    self.text = text
  }

  /// By the text.
  public static func < (a: CallID, b: CallID) -> Bool { a.text < b.text }
  /// The UUID.
  public var description: String { text }
}

/// One device of a user: what the conference calls a session, by its number.
public struct DeviceID: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The number.
  public let rawValue: UInt64
  /// The device with this number.
  public init(_ rawValue: UInt64) { self.rawValue = rawValue }
  /// Older sessions are smaller.
  public static func < (a: DeviceID, b: DeviceID) -> Bool { a.rawValue < b.rawValue }
  /// The number, for logs.
  public var description: String { String(rawValue) }
}

/// A name that a user has given a call, so that asking for it twice starts one call.
struct ClientCall: Codable, Hashable, Sendable {
  var user: String
  var clientCallId: String

  /// Names of one call by those who called back: more than it has people at once. Raising it lets those who leave and are asked anew
  /// make the server remember more of each call.
  static let mostGlares = 64

  /// The names of a call: the caller's, and those of callees who called back while it rang for them.
  static func all(by caller: String, _ clientCallId: String?, _ glareNames: [Self]) -> [Self] {
    [clientCallId.map { Self(user: caller, clientCallId: $0) }].compactMap(\.self) + glareNames
  }

  /// What it takes in memory, about.
  var bytesInMemory: Int { 128 + user.utf8.count + clientCallId.utf8.count }
}
