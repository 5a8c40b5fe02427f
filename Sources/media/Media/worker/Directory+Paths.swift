// Which paths lead to which transport: those that it has validated, and the one where media went when consent ran out.

import Basics

extension Directory {
  /// Media from this path is the transport's from now on.
  mutating func claim(_ path: Path, for id: TransportID, _ ends: inout Ends, _ turn: inout Turn) {
    if let owner = paths[path], owner != id, ends.transports.contains(owner) { seize(path, from: owner, &ends, &turn) }
    if let evicted = ends.transports[id].remember(path), paths[evicted] == id { paths[evicted] = nil }
    paths[path] = id
  }

  /// A path is another's from now on. Where media went there the transport is lost, until its peer checks again.
  private mutating func seize(_ path: Path, from owner: TransportID, _ ends: inout Ends, _ turn: inout Turn) {
    let wasUsed = ends.transports[owner].path == path
    ends.transports[owner].forget(path)
    guard wasUsed else { return }
    ends.transports[owner].expireConsent()
    releasePaths(of: owner, &ends)
    // One that is over has been told of.
    if ends.transports[owner].security.hasFailed { return }
    turn.tell(.transportLost(ends.transports[owner].key))
  }

  /// The transport's paths lead nowhere until they are checked again.
  mutating func releasePaths(of id: TransportID, _ ends: inout Ends) {
    if let lost = ends.transports[id].foundLostPath() { release(lost, of: id, &ends) }
    for path in ends.transports[id].paths { release(path, of: id, &ends) }
  }

  /// Consent has run out. What the peer sends from where it was last is still taken, as it may be all that it has to say.
  mutating func loseConsent(of id: TransportID, _ ends: inout Ends, _ turn: inout Turn) {
    for path in ends.transports[id].paths where path != ends.transports[id].lostPath { release(path, of: id, &ends) }
    ends.transports[id].disown()
    turn.tell(.transportLost(ends.transports[id].key))
  }

  /// Consent is back, by a check or by media.
  mutating func recovered(_ id: TransportID, on path: Path, _ ends: inout Ends, _ turn: inout Turn) {
    if let lost = ends.transports[id].foundLostPath(), lost != path { release(lost, of: id, &ends) }
    // No check brings back what the peer has closed.
    if ends.transports[id].security.hasFailed { return }
    turn.tell(.transportRecovered(ends.transports[id].key))
  }

  private mutating func release(_ path: Path, of id: TransportID, _ ends: inout Ends) {
    if paths[path] == id { paths[path] = nil }
    ends.transports[id].forget(path)
  }
}
