// What flows on a media line: msid (RFC 8830), ssrc and ssrc-group (RFC 5576), rid (RFC 8851), simulcast (RFC 8853).

/// Streams, sources and simulcast layers of a media line.
public struct StreamAttributes: Sendable, Hashable {
  /// `a=msid` lines.
  public var msids: [MediaStreamID] = []
  /// One entry per SSRC, in order of first mention.
  public var sources: [Source] = []
  /// `a=ssrc-group` lines.
  public var sourceGroups: [SourceGroup] = []
  /// `a=rid` lines.
  public var rids: [RestrictionID] = []
  /// The `a=simulcast` line.
  public var simulcast: Simulcast?

  /// Nothing said.
  public init() {}
}

/// An `a=msid` line.
public struct MediaStreamID: Sendable, Hashable {
  /// Which MediaStream the track belongs to; `-` for none.
  public var stream: String
  /// The track; nil where the line leaves it out.
  public var track: String?

  /// A track within a stream.
  public init(stream: String, track: String? = nil) {
    self.stream = stream
    self.track = track
  }
}

/// All `a=ssrc` lines of one SSRC.
public struct Source: Sendable, Hashable {
  /// The synchronization source.
  public var ssrc: UInt32
  /// Its attributes, such as `cname`.
  public var attributes: [Attribute]

  /// A source.
  public init(ssrc: UInt32, attributes: [Attribute] = []) {
    self.ssrc = ssrc
    self.attributes = attributes
  }
}

/// An `a=ssrc-group` line (RFC 5576 §4.2).
public struct SourceGroup: Sendable, Hashable {
  /// `FID` (media, retransmission), `SIM` (simulcast, lowest first), `FEC-FR` …
  public var semantics: String
  /// The sources, in the order that the semantics gives meaning to.
  public var ssrcs: [UInt32]

  /// A group of sources.
  public init(semantics: String, ssrcs: [UInt32]) {
    self.semantics = semantics
    self.ssrcs = ssrcs
  }
}

/// An `a=rid` line (RFC 8851).
public struct RestrictionID: Sendable, Hashable {
  /// The restriction identifier.
  public var id: String
  /// Whether the author sends (true) or receives (false) it.
  public var sends: Bool
  /// `pt=` restriction; empty for none.
  public var payloadTypes: [UInt8]
  /// Other restrictions such as `max-width`, in order.
  public var restrictions: [Attribute]

  /// A restriction identifier.
  public init(id: String, sends: Bool, payloadTypes: [UInt8] = [], restrictions: [Attribute] = []) {
    self.id = id
    self.sends = sends
    self.payloadTypes = payloadTypes
    self.restrictions = restrictions
  }
}

/// An `a=simulcast` line (RFC 8853 §5.1). Streams stand in the author's order of preference.
public struct Simulcast: Sendable, Hashable {
  /// One of the alternatives for a stream.
  public struct Alternative: Sendable, Hashable {
    /// The restriction identifier.
    public var rid: String
    /// `~`: not sent for now.
    public var isPaused: Bool

    /// A layer.
    public init(rid: String, isPaused: Bool = false) {
      self.rid = rid
      self.isPaused = isPaused
    }
  }

  /// Streams the author sends; each a list of alternatives, best first.
  public var send: [[Alternative]] = []
  /// Streams the author receives.
  public var receive: [[Alternative]] = []

  /// Streams in both directions.
  public init(send: [[Alternative]] = [], receive: [[Alternative]] = []) {
    self.send = send
    self.receive = receive
  }
}
