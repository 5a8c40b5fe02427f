// What the simulator has to find: a store that does not do what it is there for. No server asks for these: a test reads the sources.

/// Ways in which a store may be wrong.
package struct StoreFlaws: OptionSet, Hashable, Sendable {
  package let rawValue: UInt8
  package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Gives a lease to whoever asks, though its holder is active.
  package static let acquiresFromLiving = StoreFlaws(rawValue: 1)
  /// Takes beats and questions of a node that was put out.
  package static let thawsAfterFence = StoreFlaws(rawValue: 2)
}
