// Why an offer or answer was refused, in words for the person who writes the client.

import RTP
import SDP

/// A refused offer or answer. Whatever threw it has changed nothing.
public struct NegotiationError: Error, Equatable, Sendable, CustomStringConvertible {
  /// What kind of refusal it is; the raw value is the code of the signalling protocol.
  public enum Code: Int, Sendable, Hashable {
    /// More tracks or lines than the server takes.
    case tooManyTracks = 4003
    /// No codec that both ends know.
    case noCommonCodec = 4004
    /// Everything else.
    case negotiationFailed = 4005
  }

  /// A bound and what went beyond it.
  public struct Excess: Equatable, Sendable {
    /// How many there may be.
    public var limit: Int
    /// How many there would be.
    public var count: Int
  }

  /// What kind of refusal it is.
  public var code: Code
  /// A sentence for people.
  public var message: String
  /// The media line it is about, where it is about one.
  public var mid: String?
  /// The bound that was reached and how many there would be, where it is about a number.
  public var excess: Excess?
  /// The client's certificate differs from the one this transport was agreed with: it made a new peer connection, and
  /// needs a new transport and a new negotiation.
  public var isNewPeerConnection = false

  init(_ code: Code, _ message: String, mid: String? = nil) {
    self.code = code
    self.message = message
    self.mid = mid
  }

  init(_ message: String, mid: String? = nil) {
    self.init(.negotiationFailed, message, mid: mid)
  }

  /// More than the server takes.
  init(_ message: String, limit: Int, count: Int) {
    self.init(.tooManyTracks, message)
    excess = Excess(limit: limit, count: count)
  }

  /// The sentence.
  public var description: String { message }
}

/// A media line, or one line of the text, that was not taken although the rest was, or what of a line was left out that was taken.
public struct DeclinedLine: Equatable, Sendable {
  /// The line's identification tag.
  public var mid: String
  /// What the line carries; nil for neither audio nor video.
  public var kind: MediaKind?
  /// What kind of refusal it is.
  public var code: NegotiationError.Code
  /// A sentence for people.
  public var reason: String
  /// Only this line of the text was left out, such as `a=extmap`, and the media line goes on without it; nil: the media line was not
  /// taken.
  public var attribute: String?
}

extension DeclinedLine {
  /// What was passed over in an offer.
  static func passedOver(in offer: SessionDescription) -> [DeclinedLine] {
    offer.passedOver.lines.map { line in
      let media = line.media.map { offer.media[$0] }
      return DeclinedLine(
        mid: media?.mid ?? "", kind: media.flatMap { MediaKind($0.type) }, code: .negotiationFailed,
        reason: "Line \(line.number) (\(line.name)) is \(line.problem); it was left out.", attribute: line.name)
    }
  }
}

extension MediaKind {
  init?(_ type: MediaType) {
    switch type {
    case .audio: self = .audio
    case .video: self = .video
    case .application, .other: return nil
    }
  }

  var mediaType: MediaType { self == .audio ? .audio : .video }
}
