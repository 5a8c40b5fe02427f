// Session descriptions (RFC 8866) as WebRTC uses them (RFC 8829): the model's root. `Parser.swift` reads it,
// `Serializer.swift` writes it, `Builder.swift` makes building one short.

/// A whole session description. Attributes that this model knows are typed fields; all others are kept as they stood.
public struct SessionDescription: Sendable, Hashable {
  /// The `o=` line.
  public var origin: Origin
  /// The `s=` line, `-` where there is nothing to say.
  public var name = "-"
  /// `a=group` lines (RFC 5888), such as BUNDLE (RFC 8843), in order.
  public var groups: [Group] = []
  /// `a=ice-lite` (RFC 8839 §5.3).
  public var isICELite = false
  /// `a=extmap-allow-mixed` for all media (RFC 8285 §6).
  public var extmapAllowMixed = false
  /// `a=sendrecv` and its kin at session level; holds where a media line says nothing.
  public var direction: Direction?
  /// ICE and DTLS attributes that hold where a media line has none of its own.
  public var transport = TransportAttributes()
  /// `a=extmap` at session level; they hold for every media line.
  public var extensions: [HeaderExtension] = []
  /// Session attributes this model has no field for, in order.
  public var otherAttributes: [Attribute] = []
  /// The media lines in order. Their position is their identity for offer and answer (RFC 3264 §6).
  public var media: [MediaDescription] = []
  /// Lines that were passed over because they could not be read, as browsers pass over them.
  public var passedOver = PassedOver()

  /// A description without media.
  public init(origin: Origin) {
    self.origin = origin
  }

  /// The first BUNDLE group; nil where nothing is bundled.
  public var bundle: Group? { groups.first { $0.semantics == "BUNDLE" } }

  /// Position of the media line with this identification tag; nil where there is none.
  public func indexOfMedia(mid: String) -> Int? { media.firstIndex { $0.mid == mid } }

  /// What a media line effectively says about direction: its own, else the session's, else `sendrecv` (RFC 8866 §6.7).
  public func direction(of line: MediaDescription) -> Direction { line.direction ?? direction ?? .sendReceive }

  /// The transport attributes that hold for a media line: its own, with gaps filled from the session.
  public func transport(of line: MediaDescription) -> TransportAttributes { line.transport.falling(back: transport) }
}

/// Lines of a description that were passed over. They are no part of it: descriptions that differ in them alone are equal.
public struct PassedOver: Sendable, Hashable {
  /// One of them.
  public struct Line: Sendable {
    /// Its number in the text, from 1.
    public var number: Int
    /// Position of the media line that it belongs to; nil for the session's.
    public var media: Int?
    /// What it is, such as `a=extmap`.
    public var name: String
    /// What is wrong with it, such as `malformed`.
    public var problem: String
  }

  /// The first of them, at most `SDPLimits.passedOver`.
  public private(set) var lines: [Line] = []
  /// Equal to any other.
  public static func == (_: Self, _: Self) -> Bool { true }
  /// Adds nothing.
  public func hash(into _: inout Hasher) {}

  mutating func add(_ number: Int, media: Int?, _ name: String, _ problem: String) {
    if lines.count < SDPLimits.passedOver {
      lines.append(Line(number: number, media: media, name: name, problem: problem))
    }
  }
}

/// The `o=` line (RFC 8866 §5.2).
public struct Origin: Sendable, Hashable {
  /// User name, `-` as a rule.
  public var username: String
  /// Stays the same for the life of a session.
  public var sessionID: UInt64
  /// Grows with every change of the description.
  public var sessionVersion: UInt64
  /// Address type: `IP4` or `IP6`.
  public var addressType: String
  /// The creator's address; WebRTC hides it.
  public var address: String

  /// An origin; WebRTC's usual blanks unless told otherwise.
  public init(
    sessionID: UInt64, sessionVersion: UInt64 = 1, username: String = "-", addressType: String = "IP4",
    address: String = "127.0.0.1"
  ) {
    self.username = username
    self.sessionID = sessionID
    self.sessionVersion = sessionVersion
    self.addressType = addressType
    self.address = address
  }
}

/// An `a=group` line (RFC 5888 §5).
public struct Group: Sendable, Hashable {
  /// `BUNDLE`, `LS` …
  public var semantics: String
  /// Identification tags of the lines in the group.
  public var mids: [String]

  /// A group of media lines.
  public init(semantics: String, mids: [String]) {
    self.semantics = semantics
    self.mids = mids
  }
}

/// An attribute that the model does not know: `a=name` or `a=name:value`.
public struct Attribute: Sendable, Hashable {
  /// What stands before the colon.
  public var name: String
  /// What stands after the colon; nil for a flag.
  public var value: String?

  /// An attribute; `value` nil for a flag.
  public init(_ name: String, _ value: String? = nil) {
    self.name = name
    self.value = value
  }
}

/// Which way media flows, seen from the author of the description (RFC 8866 §6.7).
public enum Direction: String, Sendable, Hashable, CaseIterable {
  case sendReceive = "sendrecv"
  case sendOnly = "sendonly"
  case receiveOnly = "recvonly"
  case inactive

  /// Whether the author sends.
  public var sends: Bool { self == .sendReceive || self == .sendOnly }
  /// Whether the author receives.
  public var receives: Bool { self == .sendReceive || self == .receiveOnly }
  /// The same flow seen from the other end.
  public var reversed: Direction {
    switch self {
    case .sendOnly: .receiveOnly
    case .receiveOnly: .sendOnly
    case .sendReceive, .inactive: self
    }
  }
}
