// What a client's offer announces (RFC 9725 §4.2): the lines that send, or those that receive (WHEP), at most one of each kind.
// Whether the server takes them is for negotiation to say.
import Basics
import RoostProtocol
import SDP

/// An offer that was looked at.
struct WhipOffer: Hashable, Sendable {
  /// What a client wants with its lines.
  enum Purpose { case publishing, playing }

  /// The offer, as it came.
  let sdp: String
  /// The tracks that begin with it: what stands beside an offer of the room protocol. Of a player's, the lines to be filled.
  let tracks: [AnnouncedTrack]
  /// Those of the client for ICE; nil where it has none, which negotiation refuses.
  let credentials: ICECredentials?
  /// The position of the line of video among all; nil without.
  private(set) var videoLine: Int?

  init(sdp: String, tracks: [AnnouncedTrack], credentials: ICECredentials?, videoLine: Int? = nil) {
    (self.sdp, self.tracks, self.credentials, self.videoLine) = (sdp, tracks, credentials, videoLine)
  }

  /// Reads the body of a POST.
  /// - Throws: 400 where it is no SDP, or no line goes the right way, 422 where there is more than one of a kind.
  init(_ body: [UInt8], for purpose: Purpose = .publishing) throws(WhipProblem) {
    guard let text = String(validating: body, as: UTF8.self) else {
      throw WhipProblem.sdp(.badRequest, "The body is not UTF-8; expected an SDP offer.")
    }
    let description: SessionDescription
    do throws(SDPError) {
      description = try SessionDescription.parse(text)
    } catch {
      throw WhipProblem.sdp(.badRequest, "The offer is not valid SDP: \(error).")
    }
    let wanted = description.media.filter { !$0.isRejected && purpose.fits(description.direction(of: $0)) }
    let tracks = wanted.compactMap { AnnouncedTrack($0) }
    guard !tracks.isEmpty else { throw WhipProblem.sdp(.badRequest, purpose.missing) }
    guard tracks.count(where: { $0.kind == .audio }) <= 1, tracks.count(where: { $0.kind == .video }) <= 1 else {
      throw WhipProblem.sdp(.unprocessable, purpose.tooMany)
    }
    sdp = text
    self.tracks = tracks
    credentials = wanted.lazy.compactMap { $0.transport.falling(back: description.transport).credentials }.first
    videoLine = description.media.firstIndex { line in tracks.contains { $0.kind == .video && $0.mid == line.mid } }
  }
}

extension WhipOffer.Purpose {
  fileprivate func fits(_ direction: Direction) -> Bool {
    switch self {
    case .publishing: direction.sends
    case .playing: direction.receives
    }
  }

  fileprivate var missing: String {
    switch self {
    case .publishing: "The offer sends neither audio nor video; expected a=sendonly on its lines."
    case .playing: "The offer receives neither audio nor video; expected a=recvonly on its lines."
    }
  }

  fileprivate var tooMany: String {
    switch self {
    case .publishing: "The offer sends more than one track of a kind; the server takes one of each."
    case .playing: "The offer receives more than one track of a kind; the server sends one of each."
    }
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
