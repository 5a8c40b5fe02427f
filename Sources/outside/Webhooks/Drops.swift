// Which events a web server did not want (410), said in the next message that it takes.

/// An event that was dropped.
public struct DroppedDelivery: Hashable, Sendable {
  /// Its name.
  public var id: String
  /// Its number; nil without a record file.
  public var number: Int64?

  /// This one.
  public init(id: String, number: Int64?) { (self.id, self.number) = (id, number) }
}

/// What has yet to be said of drops. Pure.
public struct Drops: Sendable {
  /// Drops that are remembered. Older ones are told no more; more make a message longer.
  public static let most = 100

  private var untold: [DroppedDelivery] = []
  /// Drops that a message on its way tells of, by its name.
  private var carried: [String: [DroppedDelivery]] = [:]

  /// None.
  public init() {}

  /// One more.
  public mutating func add(_ drop: DroppedDelivery) {
    guard !untold.contains(drop) else { return }
    untold.append(drop)
    if untold.count > Self.most { untold.removeFirst() }
  }

  /// The body of a message that is sent now: with `dropped`, where there is something to say.
  public mutating func body(of delivery: Delivery) -> [UInt8] {
    guard !untold.isEmpty, delivery.body.first == UInt8(ascii: "{") else { return delivery.body }
    carried[delivery.id] = untold
    let list = untold.map { drop in
      "{\"id\":\"\(drop.id)\"" + (drop.number.map { ",\"number\":\($0)" } ?? "") + "}"
    }
    untold = []
    return Array("{\"dropped\":[\(list.joined(separator: ","))],".utf8) + delivery.body.dropFirst()
  }

  /// What came of it: those that the web server has been told of.
  public mutating func finished(_ id: String, isTaken: Bool) -> [DroppedDelivery] {
    guard let drops = carried.removeValue(forKey: id) else { return [] }
    if isTaken { return drops }
    untold = Array((drops + untold).suffix(Self.most))
    return []
  }
}
