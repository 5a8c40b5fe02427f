// The peer connections of all seats. A client of the room protocol has two; other front doors open what they need.

import Basics
import Media
import Members
import Negotiation

/// Names a media connection among those of all seats.
struct ConnectionKey: Hashable, Comparable, Sendable {
  let seat: SeatID
  let id: MediaConnectionID

  static func < (a: ConnectionKey, b: ConnectionKey) -> Bool { (a.seat, a.id) < (b.seat, b.id) }
}

/// What a media connection is for, seen from the client.
struct Directions: OptionSet, Sendable {
  let rawValue: UInt8
  static let publish = Directions(rawValue: 1)
  static let subscribe = Directions(rawValue: 2)
}

/// A peer connection: one transport on the seat's worker, and an SDP session for each direction.
struct MediaConnection {
  let key: ConnectionKey
  var room: Members.RoomKey
  let worker: Int
  /// Replaced when the client makes a new DTLS association.
  var transport: TransportKey
  /// The server's ICE credentials, which both directions share.
  var credentials: ICECredentials
  /// The client's offers of what it sends; nil where it does not publish.
  var publish: PublishNegotiation?
  /// Published tracks by their media lines.
  var published: [String: TrackID] = [:]
  /// What the client is sent; nil where it does not subscribe.
  var subscribe: SubscribeNegotiation?

  /// Whether both directions live on its transport, so that neither may replace it.
  var isShared: Bool { publish != nil && subscribe != nil }
}

/// All media connections, by name and by transport.
struct ConnectionTable {
  private var all: [ConnectionKey: MediaConnection] = [:]
  /// Which connection a transport belongs to.
  private(set) var transports: [TransportKey: ConnectionKey] = [:]
  private var lastTransport: UInt64 = 0

  /// A connection, to be read and changed in place; nil when it is gone. A new one comes in by this too.
  subscript(_ key: ConnectionKey) -> MediaConnection? {
    get { all[key] }
    _modify { yield &all[key] }
  }

  /// A transport for a connection, under a key that was never used.
  mutating func makeTransport(for connection: ConnectionKey) -> TransportKey {
    lastTransport += 1
    let key = TransportKey(lastTransport)
    transports[key] = connection
    return key
  }

  /// The transport leads to no connection any more.
  mutating func forget(_ transport: TransportKey) { transports[transport] = nil }

  /// Takes a connection out, with its transport.
  mutating func remove(_ key: ConnectionKey) -> MediaConnection? {
    guard let connection = all.removeValue(forKey: key) else { return nil }
    forget(connection.transport)
    return connection
  }
}
