// What the negotiation tests share: recordings, a repeatable random source, a server end, and ways to bend SDP.

import Basics
import Foundation
import Negotiation
import RTP
import SDP
import TestSupport

enum Fixture {
  static func text(_ name: String) throws -> String {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    let data = try Data(contentsOf: folder.appendingPathComponent("Fixtures/sdp/\(name).sdp"))
    return String(decoding: data, as: UTF8.self)
  }

  static func parsed(_ name: String) throws -> SessionDescription { try SessionDescription.parse(try text(name)) }
}

enum Server {
  static let credentials = ICECredentials(ufrag: "srv1", password: "serverserverserverserver1")
  static let fresh = ICECredentials(ufrag: "srv2", password: "serverserverserverserver2")
  static let transport = LocalTransport(
    credentials: credentials, fingerprint: .filled(with: 0x5a),
    addresses: [
      SocketAddress(v4: 0xc000_0201, port: 40_000), SocketAddress(high: 0x2001_0db8_0000_0000, low: 1, port: 40_000),
      SocketAddress(v4: 0xcb00_7105, port: 50_000),
    ])

  static var allAtOnce: SubscribeOptions {
    var options = SubscribeOptions()
    options.beginsWithOneOfEachKind = false
    return options
  }

  static func publish(_ options: PublishOptions = PublishOptions()) -> PublishNegotiation {
    PublishNegotiation(options: options, transport: transport, sessionID: 77)
  }

  /// All lines in the first offer, unless `options` say otherwise: most tests are about lines, and not about when they come.
  static func subscribe(_ options: SubscribeOptions = allAtOnce) -> SubscribeNegotiation {
    SubscribeNegotiation(options: options, transport: transport, sessionID: 78)
  }
}

/// A client that offers, built by hand: lines can be bent before they are sent.
struct Offerer {
  var credentials = ICECredentials(ufrag: "clnt", password: "clientclientclientclient1")
  var fingerprint = CertificateFingerprint.filled(with: 0x11)
  var setup = SetupRole.actpass
  var lines: [MediaDescription] = []

  var transport: TransportAttributes {
    TransportAttributes(credentials: credentials, fingerprint: fingerprint, setup: setup)
  }

  static let midExtension = HeaderExtension(id: 4, uri: "urn:ietf:params:rtp-hdrext:sdes:mid")

  mutating func audio(_ mid: String, _ direction: Direction = .sendOnly) {
    lines.append(.audio(mid: mid, direction, transport, [.opus(111)]))
  }

  mutating func video(_ mid: String, _ direction: Direction = .sendOnly, codecs: [Codec]? = nil) {
    var line = MediaDescription.video(mid: mid, direction, transport, codecs ?? Codec.video(96, "VP8", rtx: 97))
    line.rtp.extensions = [Self.midExtension]
    lines.append(line)
  }

  /// Audio 0 and video 1.
  static var usual: Offerer {
    var offerer = Offerer()
    offerer.audio("0")
    offerer.video("1")
    return offerer
  }

  var description: SessionDescription {
    var offer = SessionDescription(origin: Origin(sessionID: 5))
    for line in lines {
      var line = line
      if line.transport.iceUfrag != nil {
        let mux = line.transport.rtcpMux
        line.transport = transport
        line.transport.rtcpMux = mux
      }
      offer.add(line)
    }
    return offer
  }

  var text: String { description.serialized() }
}

let both = [AnnouncedTrack(mid: "0", kind: .audio), AnnouncedTrack(mid: "1", kind: .video)]

extension PublishNegotiation {
  /// Prepares and commits.
  mutating func take(_ offer: String, _ tracks: [AnnouncedTrack] = []) throws(NegotiationError) -> Prepared {
    let prepared = try prepare(offer: offer, tracks: tracks) { Server.fresh }
    commit(prepared)
    return prepared
  }

  /// The refusal of an offer; nil when it is taken.
  func refusal(_ offer: String, _ tracks: [AnnouncedTrack] = []) -> NegotiationError? {
    do throws(NegotiationError) {
      _ = try prepare(offer: offer, tracks: tracks) { Server.fresh }
      return nil
    } catch {
      return error
    }
  }
}

extension PublishNegotiation.Prepared {
  func parsed() throws -> SessionDescription { try SessionDescription.parse(answer) }
}

extension SubscribeNegotiation {
  struct NothingToOffer: Error {}

  /// The next offer, which there must be.
  mutating func newOffer(seed: UInt64 = 1) throws -> Offer {
    var random = SplitMix64(seed: seed)
    guard let offer = makeOffer(using: &random) else { throw NothingToOffer() }
    return offer
  }

  /// Whether there is no offer to make.
  var offersNothing: Bool {
    var copy = self
    var random = SplitMix64(seed: 0)
    return copy.makeOffer(using: &random) == nil
  }

  /// The refusal of an answer; nil when it would be taken. Changes nothing either way.
  func refusal(_ answer: String, _ id: UInt64) -> NegotiationError? {
    var copy = self
    do throws(NegotiationError) {
      _ = try copy.handle(answer: answer, offerID: id)
      return nil
    } catch {
      return copy.outstanding == outstanding ? error : nil
    }
  }
}

/// A client that answers the server's offers as browsers do, with hooks to bend the answer.
struct Answerer {
  var credentials = ICECredentials(ufrag: "clnt", password: "clientclientclientclient1")
  var fingerprint = CertificateFingerprint.filled(with: 0x11)
  var setup = SetupRole.active

  func answer(_ offer: String, _ bend: (inout MediaDescription, Int) -> Void = { _, _ in }) throws -> String {
    try description(offer, bend).serialized()
  }

  func description(
    _ offer: String, _ bend: (inout MediaDescription, Int) -> Void = { _, _ in }
  ) throws -> SessionDescription {
    description(try SessionDescription.parse(offer), bend)
  }

  func description(
    _ offer: SessionDescription, _ bend: (inout MediaDescription, Int) -> Void = { _, _ in }
  ) -> SessionDescription {
    var answer = SessionDescription(origin: Origin(sessionID: 6))
    for (index, offered) in offer.media.enumerated() {
      var line = offered
      line.direction = offered.direction?.reversed
      line.streams = StreamAttributes()
      line.transport = TransportAttributes(
        credentials: credentials, fingerprint: fingerprint, setup: setup)
      if offered.isRejected { line = .rejection(of: offered) }
      bend(&line, index)
      answer.add(line)
    }
    return answer
  }
}

func subscription(
  _ id: UInt64, _ kind: MediaKind, stream: String = "alice", codecs: [CodecProfile] = []
) -> Subscription {
  Subscription(id: id, kind: kind, trackID: "t\(id)", streamID: stream, codecs: codecs)
}
