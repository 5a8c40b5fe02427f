// user.block, user.unblock, user.blocked: whom a user does not want to be rung by. Who is blocked is not told: their calls ring nowhere,
// and end as if nobody had looked at the phone.

import Basics
import RoostProtocol

/// A user who is blocked by another, as it is kept.
public struct KeptBlock: Hashable, Sendable {
  /// Blocks of all users that are kept.
  public static let most = 50_000

  /// Who does not want to be rung.
  public var user: String
  /// By whom.
  public var blocked: String

  /// A block.
  public init(user: String, blocked: String) { (self.user, self.blocked) = (user, blocked) }
}

/// Whom users have blocked.
///
/// All share one table. Where it is full, whoever has the most blocks makes space for those who have fewer: so nobody can fill it for all
/// others, however many names they say.
struct BlockTable: Equatable, Sendable {
  /// Users whom one user may block. Raising it lets one user fill so much more of the table.
  static let mostOfUser = 500

  /// Blocks of all users. Raising it costs memory.
  let most: Int
  /// By user and whom they have blocked. Numbers say what was blocked first.
  private var lists: [String: [String: UInt64]] = [:]
  /// How many users have blocked so many: who has the most is found without looking at all, but where one of theirs is to go.
  private var usersOfSize = [Int](repeating: 0, count: mostOfUser + 1)
  private var lastNumber: UInt64 = 0
  private(set) var count = 0

  /// An empty table for so many blocks of all users.
  init(most: Int = KeptBlock.most) { self.most = most }

  /// Whether `user` has blocked the other.
  func has(_ user: String, blocked other: String) -> Bool { lists[user]?[other] != nil }

  /// Whom a user has blocked, in the order of their names.
  func list(of user: String) -> [String] { lists[user]?.keys.sorted() ?? [] }

  /// How many each user has blocked, those with the most first.
  var byUser: [(user: String, count: Int)] {
    lists.map { ($0.key, $0.value.count) }.sorted { ($1.count, $0.user) < ($0.count, $1.user) }
  }

  /// The most that one user has.
  private var largest: Int { usersOfSize.lastIndex { $0 > 0 } ?? 0 }

  /// - Throws: 1010 where there is no space for one more: the user has as many as one may, or the table is full and nobody has more than
  ///   this user would have.
  func checkSpace(for other: String, of user: String) throws(ErrorObject) {
    guard !has(user, blocked: other) else { return }
    let own = lists[user]?.count ?? 0
    guard own < Self.mostOfUser else { throw .tooLarge("user", limit: Self.mostOfUser, count: own + 1) }
    guard count < most || largest > own + 1 else {
      throw ErrorObject(
        .tooLarge, "The server keeps \(most) blocks of all users, and with one more nobody would have more than you."
      ) {
        ($0.field, $0.limit, $0.count) = ("user", most, count + 1)
      }
    }
  }

  /// The block with the user's name as it is kept of the first, and where the table was full the one that made space; nil where it was
  /// so already. `checkSpace` has been asked.
  mutating func insert(_ block: KeptBlock) -> (kept: KeptBlock, dropped: KeptBlock?)? {
    guard !has(block.user, blocked: block.blocked) else { return nil }
    let dropped = count < most ? nil : dropOldestOfLargest()
    lastNumber += 1
    let size = lists[block.user]?.count ?? 0
    lists[block.user, default: [:]][block.blocked] = lastNumber
    resize(from: size, to: size + 1)
    return (block, dropped)
  }

  /// Of those who have the most, the one whose first block is the oldest loses it.
  private mutating func dropOldestOfLargest() -> KeptBlock? {
    let largest = largest
    let oldest = lists.lazy.filter { $0.value.count == largest }
      .compactMap { user, list in
        list.min { $0.value < $1.value }.map { (user: user, blocked: $0.key, number: $0.value) }
      }
      .min { $0.number < $1.number }
    return oldest.flatMap { remove(KeptBlock(user: $0.user, blocked: $0.blocked)) }
  }

  /// The block that is gone; nil where there was none.
  mutating func remove(_ block: KeptBlock) -> KeptBlock? {
    guard let index = lists.index(forKey: block.user), let at = lists.values[index].index(forKey: block.blocked) else {
      return nil
    }
    let size = lists.values[index].count
    let removed = KeptBlock(user: lists.keys[index], blocked: lists.values[index].remove(at: at).key)
    if size == 1 { lists.remove(at: index) }
    resize(from: size, to: size - 1)
    return removed
  }

  /// A user has so many now; those without any are not counted.
  private mutating func resize(from old: Int, to new: Int) {
    if old > 0 { usersOfSize[old] -= 1 }
    if new > 0 { usersOfSize[new] += 1 }
    count += new - old
  }

  /// Takes what an earlier process kept, oldest first.
  mutating func restore(_ blocks: [KeptBlock]) {
    for block in blocks.prefix(most) where lists[block.user]?.count ?? 0 < Self.mostOfUser { _ = insert(block) }
  }
}

extension Switchboard {
  /// Takes whom users have blocked, as an earlier process left it.
  public mutating func restore(_ blocks: [KeptBlock]) { tables.blocks.restore(blocks) }

  /// Serves a request about whom a user has blocked. What rings already rings on.
  /// - Throws: 1003; −32602 for oneself; 1010 where there is no space for one more.
  public mutating func perform(_ request: BlockRequest, from device: DeviceID, at now: Now) throws(ErrorObject)
    -> [CallEffect]
  {
    let user = try tables.devices.user(of: device)
    switch request {
    case .add(let params):
      guard params.user != user else { throw .parameter("user", expected: "somebody else") }
      try tables.blocks.checkSpace(for: params.user, of: user)
      return serve(BlockChange(block: KeptBlock(user: user, blocked: params.user), adds: true), from: device, at: now)
    case .remove(let params):
      return serve(BlockChange(block: KeptBlock(user: user, blocked: params.user), adds: false), from: device, at: now)
    case .list: return serve(Answered(reply: .blocked(tables.blocks.list(of: user))), from: device, at: now)
    }
  }
}

/// `user.block` and `user.unblock`.
private struct BlockChange: Plan {
  let block: KeptBlock
  let adds: Bool

  func commit(_ tables: inout Tables, _ step: inout Step) {
    if adds {
      if let (kept, dropped) = tables.blocks.insert(block) {
        if let dropped { step.emit(.keepBlock(dropped, false)) }
        step.emit(.keepBlock(kept, true))
      }
    } else if let removed = tables.blocks.remove(block) {
      step.emit(.keepBlock(removed, false))
    }
    step.reply(.done)
  }
}
