// Params, results and events of `pc.*`, `track.*`, `subscription.*` and `media.*`.

// MARK: - Publishing

/// A track announced beside an offer.
public struct AnnouncedTrack: Codable, Hashable, Sendable {
  /// Its media line.
  public var mid: String
  /// Audio or video, as on the line.
  public var kind: TrackKind
  /// What to call it, in words for people or for one's own program; at most 128 bytes.
  public var label: String?
  /// What it comes from: `camera`, `microphone`, `screen`, `screen_audio` (the sound of a shared screen). A client that
  /// shows a screen larger than people goes by this; of a track without it, by the label `screen`.
  public var source: TrackSource?
  /// Which of a device's views it is, 0 to 255.
  public var viewIndex: Int?
  /// How one picture holds several views: any JSON up to 4 KiB.
  public var split: JSONValue?
  /// Names of the layers that are sent: `low`, `standard`, `high`.
  public var definitions: [Definition]?
  /// Lines of the picture in each layer, lowest first: `[180, 360, 720]`; 1 to 16,384 each. It counts where there is
  /// one for each layer.
  public var heights: [Int]?
  /// Whether it starts muted; false when absent.
  public var muted: Bool?
  /// Whether the client does what `track.layers` tells; without it that event never comes.
  public var pausesLayers: Bool?

  /// All fields, in the order of the protocol.
  public init(
    mid: String, kind: TrackKind, label: String? = nil, source: TrackSource? = nil, viewIndex: Int? = nil,
    split: JSONValue? = nil, definitions: [Definition]? = nil, heights: [Int]? = nil, muted: Bool? = nil,
    pausesLayers: Bool? = nil
  ) {
    self.mid = mid
    self.kind = kind
    self.label = label
    self.source = source
    self.viewIndex = viewIndex
    self.split = split
    self.definitions = definitions
    self.heights = heights
    self.muted = muted
    self.pausesLayers = pausesLayers
  }
}

/// Params of `pc.offer`.
public struct PublishOfferParams: Codable, Hashable, Sendable {
  /// `publish`; `subscribe` from clients with the capability `clientOffers`: for all others the server offers there.
  public var pc: PeerConnection
  /// The offer.
  public var sdp: String  // text, at most sdpBytes
  /// Tracks that begin with it; those published before may be named again or left out.
  public var tracks: [AnnouncedTrack]?  // rule

  /// All fields, in the order of the protocol.
  public init(pc: PeerConnection, sdp: String, tracks: [AnnouncedTrack]? = nil) {
    self.pc = pc
    self.sdp = sdp
    self.tracks = tracks
  }
}

/// A media line and the track it carries.
public struct PublishedLine: Codable, Hashable, Sendable {
  /// The line.
  public var mid: String
  /// The track.
  public var trackId: String

  /// All fields, in the order of the protocol.
  public init(mid: String, trackId: String) {
    self.mid = mid
    self.trackId = trackId
  }
}

/// A media line, or one line of the description's text, that was not taken although the rest was.
public struct DeclinedLine: Codable, Hashable, Sendable {
  /// The media line; empty for what belongs to none.
  public var mid: String
  /// Where a line of the text alone was left out, what it is, such as `a=extmap`: the media line was taken.
  public var attribute: String?
  /// Why.
  public var error: ErrorObject

  /// All fields, in the order of the protocol.
  public init(mid: String, attribute: String? = nil, error: ErrorObject) {
    self.mid = mid
    self.attribute = attribute
    self.error = error
  }
}

/// Result of `pc.offer`.
public struct PublishResult: Codable, Hashable, Sendable {
  /// The answer.
  public var sdp: String
  /// All tracks that one publishes now.
  public var tracks: [PublishedLine]
  /// Lines that were not taken, and what was left out of lines that were (their mid is in `tracks`); absent when all was taken.
  public var declined: [DeclinedLine]?
  /// The media lines of `declined` that were not taken.
  public var refused: [DeclinedLine] {
    (declined ?? []).filter { line in line.attribute == nil && !tracks.contains { $0.mid == line.mid } }
  }

  /// All fields, in the order of the protocol.
  public init(sdp: String, tracks: [PublishedLine], declined: [DeclinedLine]? = nil) {
    self.sdp = sdp
    self.tracks = tracks
    self.declined = declined
  }
}

// MARK: - Subscribe connection

/// Params of `pc.answer`.
public struct SubscribeAnswerParams: Codable, Hashable, Sendable {
  /// The offer it answers.
  public var offerId: Int
  /// The answer.
  public var sdp: String  // text, at most answerBytes

  /// All fields, in the order of the protocol.
  public init(offerId: Int, sdp: String) {
    self.offerId = offerId
    self.sdp = sdp
  }
}

/// Params of `pc.restart`.
public struct RestartParams: Codable, Hashable, Sendable {
  /// Always `subscribe`: for the other one the client offers.
  public var pc: PeerConnection

  /// All fields, in the order of the protocol.
  public init(pc: PeerConnection) {
    self.pc = pc
  }
}

/// A line of a subscribe offer that carries media.
public struct OfferedTrack: Codable, Hashable, Sendable {
  /// The line.
  public var mid: String
  /// The subscription.
  public var subscriptionId: String
  /// The track.
  public var trackId: String
  /// Who publishes it.
  public var participantId: String
  /// Audio or video.
  public var kind: TrackKind

  /// All fields, in the order of the protocol.
  public init(mid: String, subscriptionId: String, trackId: String, participantId: String, kind: TrackKind) {
    self.mid = mid
    self.subscriptionId = subscriptionId
    self.trackId = trackId
    self.participantId = participantId
    self.kind = kind
  }
}

/// Params of event `pc.offer`: the client must answer with `pc.answer`.
public struct SubscribeOffer: Codable, Hashable, Sendable {
  /// Names the offer in the answer.
  public var offerId: Int
  /// The offer.
  public var sdp: String
  /// Every line that carries a track, not only new ones.
  public var tracks: [OfferedTrack]
  /// Every line that carries a view; absent where one has none.
  public var views: [OfferedView]?

  /// All fields, in the order of the protocol.
  public init(offerId: Int, sdp: String, tracks: [OfferedTrack], views: [OfferedView]? = nil) {
    self.offerId = offerId
    self.sdp = sdp
    self.tracks = tracks
    self.views = views
  }
}

// MARK: - Tracks and subscriptions

/// Params of `track.unpublish`, `track.mute` and `track.unmute`.
public struct TrackParams: Codable, Hashable, Sendable {
  /// One's own track.
  public var trackId: String  // id

  /// All fields, in the order of the protocol.
  public init(trackId: String) {
    self.trackId = trackId
  }
}

/// Result of `track.mute` and `track.unmute`.
public struct MuteResult: Codable, Hashable, Sendable {
  /// The state it is in now.
  public var muted: Bool

  /// All fields, in the order of the protocol.
  public init(muted: Bool) {
    self.muted = muted
  }
}

/// Params of `track.subscribe`.
public struct SubscribeParams: Codable, Hashable, Sendable {
  /// A track of the room.
  public var trackId: String  // id
  /// The layer wished for; `auto` when absent.
  public var definition: Definition?
  /// Where the client shows it, 0 to 255. Nothing of it is kept or done by the server, which has one subscription a track.
  public var view: Int?  // 0...smallNumber
  /// Which of several matters more, 0 to 255; 0 when absent.
  public var priority: Int?  // 0...smallNumber
  /// Of video: the height at which it is shown, in pixels of the device, 0 to 16,384; 0 while it is not shown.
  public var maxHeight: Int?  // 0...pictureLines

  /// All fields, in the order of the protocol.
  public init(
    trackId: String, definition: Definition? = nil, view: Int? = nil, priority: Int? = nil, maxHeight: Int? = nil
  ) {
    self.trackId = trackId
    self.definition = definition
    self.view = view
    self.priority = priority
    self.maxHeight = maxHeight
  }
}

/// Result of `track.subscribe`.
public struct SubscribeResult: Codable, Hashable, Sendable {
  /// Names the subscription.
  public var subscriptionId: String

  /// All fields, in the order of the protocol.
  public init(subscriptionId: String) {
    self.subscriptionId = subscriptionId
  }
}

/// Params of `track.unsubscribe`.
public struct SubscriptionParams: Codable, Hashable, Sendable {
  /// One's own subscription.
  public var subscriptionId: String  // id

  /// All fields, in the order of the protocol.
  public init(subscriptionId: String) {
    self.subscriptionId = subscriptionId
  }
}

/// Params of `track.update`; what is absent stays as it is.
public struct SubscriptionUpdateParams: Codable, Hashable, Sendable {
  /// One's own subscription.
  public var subscriptionId: String  // id
  /// The layer wished for.
  public var definition: Definition?
  /// Whether to send nothing for now.
  public var paused: Bool?
  /// Which of several matters more, 0 to 255.
  public var priority: Int?  // 0...smallNumber
  /// Of video: the height at which it is shown, in pixels of the device, 0 to 16,384; 0 while it is not shown.
  public var maxHeight: Int?  // 0...pictureLines

  /// All fields, in the order of the protocol.
  public init(
    subscriptionId: String, definition: Definition? = nil, paused: Bool? = nil, priority: Int? = nil,
    maxHeight: Int? = nil
  ) {
    self.subscriptionId = subscriptionId
    self.definition = definition
    self.paused = paused
    self.priority = priority
    self.maxHeight = maxHeight
  }
}

/// Params of `subscription.swap`: each shows the other's track from now on.
public struct SwapParams: Codable, Hashable, Sendable {
  /// One's own subscription.
  public var a: String  // id
  /// Another of the same kind.
  public var b: String  // id

  /// All fields, in the order of the protocol.
  public init(a: String, b: String) {
    self.a = a
    self.b = b
  }
}

/// The layer that is forwarded.
public struct Layer: Codable, Hashable, Sendable {
  /// Its name.
  public var definition: Definition?
  /// The encoding's name in SDP.
  public var rid: String?
  /// Spatial layer within the encoding.
  public var spatial: Int?
  /// Highest temporal layer forwarded.
  public var temporal: Int?
  /// Width of the picture.
  public var width: Int?
  /// Height of the picture.
  public var height: Int?

  /// All fields, in the order of the protocol.
  public init(
    definition: Definition? = nil, rid: String? = nil, spatial: Int? = nil, temporal: Int? = nil, width: Int? = nil,
    height: Int? = nil
  ) {
    self.definition = definition
    self.rid = rid
    self.spatial = spatial
    self.temporal = temporal
    self.width = width
    self.height = height
  }
}

/// Params of `subscription.started`, `paused`, `resumed`, `layer` and `ended`.
public struct SubscriptionEvent: Codable, Hashable, Sendable {
  /// Which.
  public var subscriptionId: String
  /// Why.
  public var reason: SubscriptionReason?
  /// Of `no_media`: what is missing.
  public var step: SubscriptionStep?
  /// What is forwarded now.
  public var layer: Layer?

  /// All fields, in the order of the protocol.
  public init(
    subscriptionId: String, reason: SubscriptionReason? = nil, step: SubscriptionStep? = nil, layer: Layer? = nil
  ) {
    self.subscriptionId = subscriptionId
    self.reason = reason
    self.step = step
    self.layer = layer
  }
}

/// Params of `track.layers`.
public struct TrackLayersEvent: Codable, Hashable, Sendable {
  /// Which of the client's own tracks.
  public var trackId: String
  /// The simulcast layers to send, counted from 0 for the lowest, which is always one of them. The others are to be paused.
  public var layers: [Int]

  /// All fields, in the order of the protocol.
  public init(trackId: String, layers: [Int]) {
    self.trackId = trackId
    self.layers = layers
  }
}

/// Params of `media.connected` and `media.failed`.
public struct MediaEvent: Codable, Hashable, Sendable {
  /// Which peer connection.
  public var pc: PeerConnection
  /// Where it failed.
  public var step: MediaStep?
  /// A sentence for people.
  public var reason: String?

  /// All fields, in the order of the protocol.
  public init(pc: PeerConnection, step: MediaStep? = nil, reason: String? = nil) {
    self.pc = pc
    self.step = step
    self.reason = reason
  }
}
