// A client's offer of one stream: which of its lines send, or want to receive. Whether the server takes them is for negotiation to say.
import RoostProtocol
import SDP

/// An offer that was looked at.
struct Offer: Sendable {
  let sdp: String
  /// The lines that matter, at most one of a kind.
  let lines: [(mid: String, kind: TrackKind)]

  /// Reads the offer of somebody who publishes, or who plays.
  /// - Throws: 4005 where it is no SDP, or no line goes the right way, or more than one of a kind.
  init(_ sdp: String, isPublished: Bool) throws(ErrorObject) {
    guard sdp.utf8.count <= ProtocolLimits.sdpBytes else {
      throw .tooLarge("sdp", limit: ProtocolLimits.sdpBytes, count: sdp.utf8.count)
    }
    let description: SessionDescription
    do throws(SDPError) {
      description = try SessionDescription.parse(sdp)
    } catch {
      throw ErrorObject(.negotiationFailed, "The offer is not valid SDP: \(error).")
    }
    let lines = description.media.compactMap { line -> (mid: String, kind: TrackKind)? in
      let direction = description.direction(of: line)
      guard let mid = line.mid, let kind = line.kind, !line.isRejected,
        isPublished ? direction.sends : direction.receives
      else { return nil }
      return (mid, kind)
    }
    guard !lines.isEmpty else {
      throw ErrorObject(.negotiationFailed, "The offer \(isPublished ? "sends" : "receives") neither audio nor video.")
    }
    guard Set(lines.map(\.kind)).count == lines.count else {
      throw ErrorObject(.negotiationFailed, "The offer has more than one line of a kind; a stream has one of each.")
    }
    (self.sdp, self.lines) = (sdp, lines)
  }

  /// The tracks of a stream of this name.
  func tracks(name: String, isScreen: Bool) -> [AnnouncedTrack] {
    lines.map { line in
      let source: TrackSource =
        switch line.kind {
        case .audio: isScreen ? .screenAudio : .microphone
        case .video: isScreen ? .screen : .camera
        }
      return AnnouncedTrack(mid: line.mid, kind: line.kind, label: name, source: source)
    }
  }
}

extension MediaDescription {
  fileprivate var kind: TrackKind? {
    switch type {
    case .audio: .audio
    case .video: .video
    case .application, .other: nil
    }
  }
}
