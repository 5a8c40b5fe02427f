// Session descriptions as what they mean: an offer of what somebody publishes, an answer about what he is sent.
import Basics
import Negotiation
import RTP
import SDP

private let server: LocalTransport = {
  guard let fingerprint = CertificateFingerprint(algorithm: .sha256, bytes: Array(repeating: 0x5a, count: 32)) else {
    preconditionFailure("SHA-256 has 32 bytes")
  }
  return LocalTransport(
    credentials: ICECredentials(ufrag: "srv1", password: "serverserverserverserver1"), fingerprint: fingerprint,
    addresses: [SocketAddress(v4: 0xc000_0201, port: 40_000)])
}()

@Sendable func negotiateOffer(_ input: Span<UInt8>) {
  let text = String(decoding: input.bytes(), as: UTF8.self)
  guard let offer = try? SessionDescription.parse(text) else { return }
  publish(text, offer)
  play(text, offer)
}

private func publish(_ text: String, _ offer: SessionDescription) {
  let tracks = offer.media.prefix(8).compactMap { line -> AnnouncedTrack? in
    guard let mid = line.mid, line.type == .audio || line.type == .video else { return nil }
    return AnnouncedTrack(mid: mid, kind: line.type == .audio ? .audio : .video)
  }
  var negotiation = PublishNegotiation(transport: server, sessionID: 1)
  for _ in 0..<2 {
    guard let prepared = try? negotiation.prepare(offer: text, tracks: tracks, freshCredentials: { server.credentials })
    else { return }
    guard let answer = try? SessionDescription.parse(prepared.answer) else {
      preconditionFailure("an answer can be read")
    }
    precondition(answer.media.map(\.mid) == offer.media.map(\.mid), "an answer has the offer's lines")
    precondition(negotiation.commit(prepared), "nothing came between")
    precondition(negotiation.tracks.count <= PublishOptions().maxTracks, "tracks are bounded")
  }
}

/// The same offer as that of somebody who wants to be sent media.
private func play(_ text: String, _ offer: SessionDescription) {
  var random = SplitMix64(seed: 1)
  var negotiation = SubscribeNegotiation(transport: server, sessionID: 1, offerer: .client)
  for id in 0..<6 as Range<UInt64> {
    let subscription = Subscription(
      id: id, kind: id % 2 == 0 ? .audio : .video, trackID: "t\(id)", streamID: "s\(id)", codecs: [])
    do { try negotiation.add(subscription) } catch { preconditionFailure("\(error)") }
  }
  for round in 0..<3 as Range<UInt64> {
    guard let answered = try? negotiation.answer(offer: text, using: &random, freshCredentials: { server.credentials })
    else { return }
    guard let answer = try? SessionDescription.parse(answered.sdp) else {
      preconditionFailure("an answer can be read")
    }
    precondition(answer.media.map(\.mid) == offer.media.map(\.mid), "an answer has the offer's lines")
    for (mine, theirs) in zip(answer.media, offer.media) where answer.direction(of: mine).sends && !mine.isRejected {
      precondition(offer.direction(of: theirs).receives && !mine.rtp.codecs.isEmpty, "only what is received is sent")
    }
    precondition(answered.applied.transport != nil, "there is a transport")
    precondition(answered.applied.started.isEmpty || round != 1, "what waits is begun at once")
    if round == 1 { negotiation.remove(0) }
  }
}

@Sendable func negotiateAnswer(_ input: Span<UInt8>) {
  var random = SplitMix64(seed: 1)
  var negotiation = SubscribeNegotiation(transport: server, sessionID: 1)
  for (id, codecs) in [[.opus], [.vp8, .vp9Profile0], [CodecProfile.vp8]].enumerated() {
    let subscription = Subscription(
      id: UInt64(id), kind: id == 0 ? .audio : .video, trackID: "t\(id)", streamID: "s\(id)", codecs: codecs)
    do { try negotiation.add(subscription) } catch { preconditionFailure("\(error)") }
  }
  guard let offer = negotiation.makeOffer(using: &random) else { preconditionFailure("there is something to offer") }
  let text = String(decoding: input.bytes(), as: UTF8.self)
  guard (try? negotiation.handle(answer: text, offerID: offer.id)) != nil else { return }
  precondition((try? negotiation.handle(answer: text, offerID: offer.id)) == nil, "an offer is answered once")
  negotiation.remove(0)
  _ = negotiation.makeOffer(using: &random)
}
