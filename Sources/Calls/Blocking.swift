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
struct BlockTable: Equatable, Sendable {
  /// Users whom one user may block. Raising it lets one user fill so much more of the table.
  static let mostOfUser = 500
  /// Blocks of all users. Raising it costs memory.
  static let most = KeptBlock.most

  private var lists: [String: Set<String>] = [:]
  private(set) var count = 0

  /// Whether `user` has blocked the other.
  func has(_ user: String, blocked other: String) -> Bool { lists[user]?.contains(other) ?? false }

  /// Whom a user has blocked, in the order of their names.
  func list(of user: String) -> [String] { lists[user]?.sorted() ?? [] }

  /// - Throws: 1010 where there is no space for one more.
  func checkSpace(for other: String, of user: String) throws(ErrorObject) {
    guard !has(user, blocked: other) else { return }
    let own = lists[user]?.count ?? 0
    guard own < Self.mostOfUser else { throw .tooLarge("user", limit: Self.mostOfUser, count: own + 1) }
    guard count < Self.most else { throw .tooLarge("user", limit: Self.most, count: count + 1) }
  }

  /// The block with the user's name as it is kept of the first; nil where it was so already.
  mutating func insert(_ block: KeptBlock) -> KeptBlock? {
    guard lists[block.user, default: []].insert(block.blocked).inserted else { return nil }
    count += 1
    return KeptBlock(user: lists.index(forKey: block.user).map { lists.keys[$0] } ?? block.user, blocked: block.blocked)
  }

  /// The block as it is spelled where it is kept, for names that differ may be equal (`é` is one letter or two); nil where there was none.
  mutating func remove(_ block: KeptBlock) -> KeptBlock? {
    guard let index = lists.index(forKey: block.user), let blocked = lists.values[index].remove(block.blocked) else {
      return nil
    }
    let removed = KeptBlock(user: lists.keys[index], blocked: blocked)
    if lists.values[index].isEmpty { lists.remove(at: index) }
    count -= 1
    return removed
  }

  /// Takes what an earlier process kept.
  mutating func restore(_ blocks: [KeptBlock]) { for block in blocks.prefix(Self.most) { _ = insert(block) } }
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
      if let kept = tables.blocks.insert(block) { step.emit(.keepBlock(kept, true)) }
    } else if let removed = tables.blocks.remove(block) {
      step.emit(.keepBlock(removed, false))
    }
    step.reply(.done)
  }
}
