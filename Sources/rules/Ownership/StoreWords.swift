// What a node asks the store, and what that answers. Each statement is one transaction.

/// Names a question, so that its answer is known again. A process never uses one twice.
public struct QuestionID: Hashable, Comparable, Sendable {
  /// The number.
  public let rawValue: UInt64
  /// The question of this number.
  public init(_ rawValue: UInt64) { self.rawValue = rawValue }
  /// Asked earlier.
  public static func < (a: QuestionID, b: QuestionID) -> Bool { a.rawValue < b.rawValue }
}

/// Who asks, and what it knows of the store. A store that has gone back knows less, and refuses.
public struct Asker: Hashable, Sendable {
  /// Which node it is.
  public let node: NodeEpoch
  /// Which process it is: a row of another one's is not its own.
  public let process: ProcessNumber
  /// The last of its beats that was answered.
  public let beat: UInt64
  /// The store that it means.
  public let mark: StoreMark

  /// A node under a mark.
  public init(_ node: NodeEpoch, of process: ProcessNumber, beat: UInt64, under mark: StoreMark) {
    (self.node, self.process, self.beat, self.mark) = (node, process, beat, mark)
  }
}

/// One transaction. Whatever it depends on is compared in it, so it may be carried out late or never.
public enum StoreStatement: Hashable, Sendable {
  /// Makes a row for a process, with an epoch above `above` and all that were given before.
  case enter(name: String, boot: String, process: ProcessNumber, above: NodeEpoch)
  /// Raises the node's beat where its row is active, and notes the newest node that it has seen. Reads all active rows.
  case beat(Asker, knows: NodeEpoch)
  /// Puts a node out, where its beat is still this.
  case fence(NodeEpoch, at: UInt64, by: Asker)
  /// Takes a lease that no active node holds, with the next epoch.
  case acquire(LeaseName, by: Asker)
  /// Gives a lease back that is held under this epoch.
  case giveBack(LeaseName, LeaseEpoch, by: Asker)
  /// Writes a lease again that is decided about, into a store that has gone back. Its epoch there has to be `seen`; the next one is above
  /// that and above `above`. An active holder under this mark keeps it, unless that is `instead`: the same node's earlier row.
  case register(LeaseName, seen: LeaseEpoch, above: LeaseEpoch, instead: NodeEpoch, by: Asker)
  /// Reads what a node holds.
  case held(by: Asker)
  /// Reads who holds a lease.
  case holder(LeaseName)
}

/// What came of a statement. That no answer came is none of these: then nobody knows whether it was carried out.
public enum StoreAnswer: Hashable, Sendable {
  /// The new row, all active ones, and the store's mark.
  case entered(NodeRow, [NodeRow], StoreMark)
  /// All active rows, by their epochs.
  case beaten([NodeRow])
  /// That node is out, now or before.
  case fenced(NodeEpoch)
  /// The lease, as it is now.
  case lease(Lease)
  /// What the node holds, by name.
  case leases([Lease])
  /// It was given back.
  case done
  /// Nothing was changed.
  case refused(StoreRefusal)
}

/// Why a statement has changed nothing.
public enum StoreRefusal: Hashable, Sendable {
  /// The store is another than the node thinks.
  case mark(StoreMark)
  /// The row of who asks is fenced.
  case notActive
  /// There is no such row: it was fenced long ago, or the store has gone back.
  case gone
  /// The row of who asks has a lower beat than was answered, or is another process's: the store has gone back.
  case wentBack
  /// The node that was to be fenced has beaten meanwhile.
  case beatMoved
  /// An active node holds the lease.
  case held(Lease)
  /// The lease is not held by who asks under that epoch; nil where nobody has ever had it.
  case moved(Lease?)
  /// All epochs of nodes have been given.
  case noneLeft
}
