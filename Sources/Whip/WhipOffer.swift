// What a WHIP client's offer announces (RFC 9725 §4.2): the lines that send, at most one of each kind. Whether the server takes
// them is for negotiation to say.
import Basics
import RoostProtocol
import SDP

/// An offer that was looked at.
struct WhipOffer: Hashable, Sendable {
  /// The offer, as it came.
  let sdp: String
  /// The tracks that begin with it: what stands beside an offer of the room protocol.
  let tracks: [AnnouncedTrack]
  /// Those of the client for ICE; nil where it has none, which negotiation refuses.
  let credentials: ICECredentials?

  init(sdp: String, tracks: [AnnouncedTrack], credentials: ICECredentials?) {
    (self.sdp, self.tracks, self.credentials) = (sdp, tracks, credentials)
  }

  /// Reads the body of a POST.
  /// - Throws: 400 where it is no SDP or sends nothing, 422 where it sends more than one track of a kind.
  init(_ body: [UInt8]) throws(WhipProblem) {
    guard let text = String(validating: body, as: UTF8.self) else {
      throw WhipProblem(.badRequest, "The body is not UTF-8; expected an SDP offer.")
    }
    let description: SessionDescription
    do throws(SDPError) {
      description = try SessionDescription.parse(text)
    } catch {
      throw WhipProblem(.badRequest, "The offer is not valid SDP: \(error).")
    }
    let sending = description.media.filter { !$0.isRejected && description.direction(of: $0).sends }
    let tracks = sending.compactMap { AnnouncedTrack($0) }
    guard !tracks.isEmpty else {
      throw WhipProblem(.badRequest, "The offer sends neither audio nor video; expected a=sendonly on its lines.")
    }
    guard tracks.count(where: { $0.kind == .audio }) <= 1, tracks.count(where: { $0.kind == .video }) <= 1 else {
      throw WhipProblem(.unprocessable, "The offer sends more than one track of a kind; the server takes one of each.")
    }
    sdp = text
    self.tracks = tracks
    credentials = sending.lazy.compactMap { $0.transport.falling(back: description.transport).credentials }.first
  }
}

extension AnnouncedTrack {
  /// The track on a line; nil where the line carries neither audio nor video, or has no name.
  fileprivate init?(_ line: MediaDescription) {
    guard let mid = line.mid else { return nil }
    switch line.type {
    case .audio: self.init(mid: mid, kind: .audio, source: .microphone)
    case .video: self.init(mid: mid, kind: .video, source: .camera)
    case .application, .other: return nil
    }
  }
}
