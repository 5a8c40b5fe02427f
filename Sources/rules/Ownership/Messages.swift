// What goes into a node's ownership, and what comes of it.

/// What a node hears.
public enum OwnershipInput: Hashable, Sendable {
  /// The connection that was asked for is there.
  case connected
  /// The connection has ended, unasked.
  case broken
  /// The store has answered, on the connection that there is. Answers on earlier ones are not handed on.
  case answered(QuestionID, StoreAnswer)
  /// Somebody needs the owner of this. Where the node has no row or no connection, has it already, or has much to ask, nothing follows and
  /// nothing is kept: whoever still needs it asks again.
  case want(LeaseName)
  /// Nobody is left to decide about; the caller has stopped deciding.
  case giveBack(LeaseName)
  /// Effects of a commit that was made under this were thrown away, so what is kept here is not what others were told. It may be told for
  /// each commit of a turn: the node begins anew once.
  case threwAway(Permit)
}

/// What follows for the process around it.
public enum OwnershipEffect: Hashable, Sendable {
  /// Send this on the connection.
  case ask(QuestionID, StoreStatement)
  /// Connect to the store.
  case connect
  /// Drop the connection, or the attempt; nothing more of it is to be handed on.
  case disconnect
  /// The node has this lease, and decides under it unless it is frozen.
  case holds(Lease)
  /// Another node has it; nil where nobody has.
  case elsewhere(LeaseName, NodeEpoch?)
  /// The node has this no more.
  case lost(LeaseName)
  /// Its time is over, and it decides nothing.
  case frozen
  /// It has time again. Until it knows what it holds it still decides nothing: `Ownership.verdict` says whether it may, effects do not.
  case thawed
  /// All that it held is over. It asks for another epoch, and is frozen until `thawed`, without a `frozen`.
  case beginAnew
}

/// What a node may say about a lease now.
public enum Verdict: Hashable, Sendable {
  /// It decides.
  case decides(LeaseEpoch)
  /// It may not decide about anything.
  case frozen
  /// Another node decides, as far as is known.
  case elsewhere(NodeEpoch?)
}

/// What a commit is made under. It is looked at again before the commit's effects leave.
public struct Permit: Hashable, Sendable {
  /// What is decided about.
  public let name: LeaseName
  /// Who decides.
  public let node: NodeEpoch
  /// Under which epoch of the lease.
  public let epoch: LeaseEpoch
}
