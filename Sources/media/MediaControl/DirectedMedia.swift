// What the media director remembers, and the bridges between the vocabularies of signalling, negotiation and workers.

import Basics
import Media
import Members
import Negotiation
import RTP
import RoostProtocol

/// The media of one seat.
struct DirectedSeat {
  var room: Members.RoomKey
  let participant: ParticipantID
  /// What its room says of sound.
  var sound: SoundRules
  let worker: Int
  /// What its client says of itself.
  let capabilities: Set<ClientCapability>
  /// Its media connections, oldest first.
  var connections: [MediaConnectionID] = []

  /// Whose its tracks are.
  var publisher: Publisher { Publisher(participant.rawValue, canonicalName: participant.description) }
}

/// A published track.
struct DirectedTrack {
  /// The connection that it arrives on.
  let connection: ConnectionKey
  /// The worker that it arrives at.
  let worker: Int
  var parameters: ReceiveParameters
  let layers: TrackLayers
  let isScreen: Bool
  var isMuted = false

  var seat: SeatID { connection.seat }

  /// What it may send, best first.
  var codecs: [CodecProfile] { parameters.payloads.map(\.codec) }
}

extension Members.Subscription {
  /// The connection that it is sent on.
  var connectionKey: ConnectionKey { ConnectionKey(seat: seat, id: connection) }

  /// Its name on the worker.
  var consumer: ConsumerKey { ConsumerKey(id.rawValue) }

  /// What it is sent, by its name there.
  var producer: ProducerKey? { track.map { ProducerKey($0.rawValue) } }
}

/// An offer of the server for one of the connections.
struct DirectedOffer {
  let connection: ConnectionKey
  let offer: ServerOffer

  var seat: SeatID { connection.seat }
}

/// What a client has made of the lines that it was offered, for the conference to hear.
struct AnsweredLines {
  /// Subscriptions for which it has accepted a line.
  var accepted: [SubscriptionID] = []
  /// Subscriptions that cannot be.
  var refused: [(id: SubscriptionID, reason: SubscriptionReason)] = []

  /// The same for the conference.
  var commands: [Command] {
    accepted.map { .subscription($0, .accepted) } + refused.map { .subscription($0.id, .ended($0.reason)) }
  }
}

/// An answer that has been worked out but not committed.
struct PreparedPublish {
  let connection: ConnectionKey
  let prepared: PublishNegotiation.Prepared
  /// Layers of the tracks that begin, by their lines.
  let layers: [String: TrackLayers]
  /// Set when the client has made a new peer connection.
  let replacement: (negotiation: PublishNegotiation, credentials: ICECredentials)?
}

extension AgreedTransport {
  var media: RemoteTransport {
    RemoteTransport(credentials: remote, fingerprints: fingerprints, role: role, nominatesAll: nominatesAll)
  }
}

extension OfferBounds {
  /// What an application has left of an offer, where the server takes these codecs.
  init(_ limits: PublishLimits, of codecs: [CodecProfile]) {
    let left = limits.codecs.map { names in codecs.filter { names.contains(PublishLimits.Codec($0)) } }
    self.init(codecs: left, encodings: limits.layers, bitsPerSecond: limits.maxBitrate)
  }
}

extension PublishLimits.Codec {
  /// The name of a profile's codec.
  fileprivate init(_ profile: CodecProfile) {
    switch profile {
    case .opus: self = .opus
    case .vp8: self = .vp8
    case .vp9Profile0, .vp9Profile2: self = .vp9
    case .av1: self = .av1
    case .h264ConstrainedBaseline, .h264ConstrainedBaselineMode0, .h264Baseline, .h264BaselineMode0, .h264Main,
      .h264MainMode0, .h264High, .h264HighMode0:
      self = .h264
    }
  }
}

extension RoostProtocol.AnnouncedTrack {
  /// What negotiation has to know of it.
  var negotiated: Negotiation.AnnouncedTrack { Negotiation.AnnouncedTrack(mid: mid, kind: kind.media) }
}

extension TrackKind {
  var media: MediaKind { self == .audio ? .audio : .video }
}

extension MediaKind {
  var track: TrackKind { self == .audio ? .audio : .video }
}

extension ErrorObject {
  /// A refused description, with the media line where one is to blame.
  init(_ error: NegotiationError) {
    self.init(ErrorCode(rawValue: error.code.rawValue) ?? .negotiationFailed, error.message) {
      $0.mid = error.mid
      $0.limit = error.excess?.limit
      $0.count = error.excess?.count
    }
  }
}

extension PublishNegotiation.Prepared {
  /// The layers of the tracks that begin, under the names that were announced for them.
  func layers(_ announced: [RoostProtocol.AnnouncedTrack]) -> [String: TrackLayers] {
    var layers: [String: TrackLayers] = [:]
    for track in added {
      let one = announced.first { $0.mid == track.mid }
      layers[track.mid] = TrackLayers(
        announced: one?.definitions ?? [], count: track.encodings.count, heights: one?.heights ?? [],
        canPause: one?.pausesLayers ?? false)
    }
    return layers
  }
}

extension PublishChange {
  /// What the conference has to know of a prepared answer; `ending` are lines that end besides, `recoded` those that go
  /// on with other codecs.
  init(
    _ prepared: PublishNegotiation.Prepared, _ layers: [String: TrackLayers], ending: [String] = [],
    recoded: [String] = []
  ) {
    self.init(
      answer: prepared.answer,
      added: prepared.added.map {
        Line(mid: $0.mid, kind: $0.kind.track, definitions: layers[$0.mid]?.definitions ?? [])
      },
      removed: prepared.removed + ending, recoded: recoded,
      declined: prepared.declined.map { line in
        RoostProtocol.DeclinedLine(
          mid: line.mid, attribute: line.attribute,
          error: ErrorObject(ErrorCode(rawValue: line.code.rawValue) ?? .negotiationFailed, line.reason))
      })
    isNewConnection = prepared.replacesTransport
  }
}
