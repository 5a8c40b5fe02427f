// What the media director remembers, and the bridges between the vocabularies of signalling, negotiation and workers.

import Basics
import Conference
import Media
import Negotiation
import RTP
import RoostProtocol

/// The media of one seat: two peer connections.
struct SeatMedia {
  let room: Conference.RoomKey
  let participant: ParticipantID
  let worker: Int
  var publish: PublishNegotiation
  var publishTransport: TransportKey
  var publishCredentials: ICECredentials
  /// Tracks by their media lines.
  var published: [String: TrackID] = [:]
  var subscribe: SubscribeNegotiation
  var subscribeTransport: TransportKey
  var subscribeCredentials: ICECredentials
}

/// A published track.
struct DirectedTrack {
  let seat: SeatID
  var parameters: ReceiveParameters
  let layers: TrackLayers

  /// What it may send, best first.
  var codecs: [CodecProfile] { parameters.payloads.map(\.codec) }
}

/// A subscription; it runs once the client has accepted its line.
struct DirectedSubscription {
  let seat: SeatID
  var track: TrackID
  var wish: SubscriptionWish
  var isRunning = false
}

/// An answer that has been worked out but not committed.
struct PreparedPublish {
  let seat: SeatID
  let prepared: PublishNegotiation.Prepared
  /// Layers of the tracks that begin, by their lines.
  let layers: [String: TrackLayers]
  /// Set when the client has made a new peer connection.
  let replacement: (negotiation: PublishNegotiation, credentials: ICECredentials)?
}

extension AgreedTransport {
  var media: RemoteTransport { RemoteTransport(credentials: remote, fingerprints: fingerprints, role: role) }
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
      let names = announced.first { $0.mid == track.mid }?.definitions ?? []
      layers[track.mid] = TrackLayers(announced: names, count: track.encodings.count)
    }
    return layers
  }
}

extension PublishChange {
  /// What the conference has to know of a prepared answer; `ending` are lines that end besides.
  init(_ prepared: PublishNegotiation.Prepared, _ layers: [String: TrackLayers], ending: [String]) {
    self.init(
      answer: prepared.answer,
      added: prepared.added.map {
        Line(mid: $0.mid, kind: $0.kind.track, definitions: layers[$0.mid]?.definitions ?? [])
      },
      removed: prepared.removed + ending,
      declined: prepared.declined.map { line in
        RoostProtocol.DeclinedLine(
          mid: line.mid, error: ErrorObject(ErrorCode(rawValue: line.code.rawValue) ?? .negotiationFailed, line.reason))
      })
    isNewConnection = prepared.replacesTransport
  }
}
