// From the control plane's keys, ICE user names and source addresses to the worker's handles.

import Basics
import Forwarding
import ICE

/// Look-up tables of one worker. Used once a command or datagram; below that only handles are passed on.
struct Directory {
  var transports: [TransportKey: TransportID] = [:]
  var rooms: [RoomKey: RoomID] = [:]
  var producers: [ProducerKey: ProducerID] = [:]
  var consumers: [ConsumerKey: ConsumerID] = [:]
  var taps: [TapKey: TapID] = [:]
  var pipes: [PipeKey: PipeID] = [:]
  /// Paths that a transport has validated by an authenticated STUN check.
  var paths: [Path: TransportID] = [:]
  /// Local ICE user name fragment → transport.
  private var fragments: [UfragKey: TransportID] = [:]

  mutating func add(fragment: String, _ id: TransportID) {
    if let key = UfragKey(fragment) { fragments[key] = id }
  }

  mutating func remove(fragment: String, of id: TransportID) {
    guard let key = UfragKey(fragment), fragments[key] == id else { return }
    fragments[key] = nil
  }

  /// A transport holds a room from now on, which may be its first. `loudest` as with `WorkerCommand.openTransport`.
  mutating func enter(_ room: RoomKey, loudest: Int?, _ slots: inout SlotMap<RoomSlot>) -> RoomID {
    let id = rooms[room] ?? slots.insert(RoomSlot(key: room))
    rooms[room] = id
    slots[id].loudest.most = loudest
    slots[id].holders += 1
    return id
  }

  /// A transport of a room has ended, or a mirror: the last one takes the room along.
  mutating func leave(_ id: RoomID, _ slots: inout SlotMap<RoomSlot>) {
    slots[id].holders -= 1
    guard slots[id].holders == 0 else { return }
    rooms[slots[id].key] = nil
    _ = slots.remove(id)
  }

  /// The layer of a track that has this place in SDP.
  func encoding(at place: Int, of track: ProducerKey, _ tracks: borrowing Tracks) -> EncodingID? {
    guard let id = producers[track], tracks.producers[id].declared.indices.contains(place) else { return nil }
    return tracks.producers[id].declared[place]
  }

  func transport(fragment key: UfragKey) -> TransportID? { fragments[key] }

  /// Whether checks to this fragment are for that transport.
  func leads(_ fragment: String, to id: TransportID) -> Bool { UfragKey(fragment).map { fragments[$0] == id } ?? false }

  /// Fragments that lead somewhere.
  var fragmentCount: Int { fragments.count }
}

/// What a worker has done since it started; for metrics.
public struct WorkerCounters: Sendable {
  /// Datagrams and bytes as they came from the socket.
  public var packetsIn: UInt64 = 0
  /// Bytes of these datagrams.
  public var bytesIn: UInt64 = 0
  /// Datagrams handed to the socket.
  public var packetsOut: UInt64 = 0
  /// Bytes of these datagrams.
  public var bytesOut: UInt64 = 0
  /// Media packets sent for the first time.
  public var forwarded: UInt64 = 0
  /// Media packets sent again because a receiver asked.
  public var retransmitted: UInt64 = 0
  /// Missing packets of publishers that were restored from the redundancy of later ones.
  public var restored: UInt64 = 0
  /// Earlier packets of sound that went along with others.
  public var redundant: UInt64 = 0
  /// Packets that receivers asked for again.
  public var nacksReceived: UInt64 = 0
  /// Packets that publishers were asked for again.
  public var nacksSent: UInt64 = 0
  /// Keyframe requests of receivers.
  public var keyframeRequestsReceived: UInt64 = 0
  /// Keyframe requests to publishers.
  public var keyframeRequestsSent: UInt64 = 0
  /// Media packets copied for other workers of their room.
  public var piped: UInt64 = 0
  /// Media packets that came from other workers.
  public var crossed: UInt64 = 0
  /// Sends; with segmentation fewer than packets. Those of a turn share system calls.
  public var sends: UInt64 = 0
  /// Sends by how many datagrams they carried: 1, 2, 3–4, 5–8, 9–16, 17–32, 33–64.
  public var sendsBySegments = InlineArray<7, UInt64>(repeating: 0)
  /// How the loop around it is.
  public var loop = LoopCounters()
  /// Commands that named something gone.
  public var staleCommands: UInt64 = 0
  /// Dropped packets by reason.
  public var drops = DropCounters()
  /// Bytes of padding sent, which only measure receivers' lines.
  public var padding: UInt64 = 0
  /// How receivers' lines are; not filled in by `WorkerState.counters`, since it takes a look at each.
  public var lines = LineReport()
  /// Transports, producers and consumers that live now.
  public var transports = 0
  /// Published tracks that live now.
  public var producers = 0
  /// Subscriptions that live now.
  public var consumers = 0

  /// All zero.
  public init() {}
}
