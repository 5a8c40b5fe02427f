// Which of a stream's layers a receiver is to be sent, as allocation says it.

/// The highest spatial and temporal layer within one encoding. What is above is left out.
public struct LayerLimit: Sendable, Hashable {
  /// 0 … 7.
  public var spatial: UInt8
  /// 0 … 7.
  public var temporal: UInt8

  /// Up to these layers; 7 and more stand for all there are.
  public init(spatial: UInt8 = 7, temporal: UInt8 = 7) {
    self.spatial = min(spatial, 7)
    self.temporal = min(temporal, 7)
  }

  /// Nothing is left out.
  public static var all: LayerLimit { LayerLimit() }

  /// Whether a packet of these layers is within it.
  func includes(spatial: UInt8, temporal: UInt8) -> Bool { spatial <= self.spatial && temporal <= self.temporal }

  /// What both allow.
  func intersection(_ other: LayerLimit) -> LayerLimit {
    LayerLimit(spatial: min(spatial, other.spatial), temporal: min(temporal, other.temporal))
  }
}
