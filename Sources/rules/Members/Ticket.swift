// Names of what is waited for beyond the conference: the disk, the application, later other nodes.

/// Names something that is on its way and comes back.
public struct Ticket: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The number.
  public let rawValue: UInt64
  /// The ticket with this number.
  public init(_ rawValue: UInt64) { self.rawValue = rawValue }
  /// Older tickets are smaller.
  public static func < (a: Ticket, b: Ticket) -> Bool { a.rawValue < b.rawValue }
  /// The number, for logs.
  public var description: String { String(rawValue) }
}
