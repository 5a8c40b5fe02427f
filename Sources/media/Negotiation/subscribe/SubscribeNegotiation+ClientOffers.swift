// The subscribe half where the client offers and the server answers (WHEP, RFC 3264 §6). Subscriptions wait as they do for an
// offer of the server; an offer's lines that want to receive are given them in order, and the other lines stay inactive.
//
//   add ─▶ waiting ─answer(offer:)─▶ sending, with parameters ─remove─▶ ending ─the next answer says inactive─▶ idle

import Basics
import RTP
import SDP

extension SubscribeNegotiation {
  /// An answer to the client's offer, and what it has changed.
  public struct Answered: Sendable, Hashable {
    /// The answer.
    public var sdp: String
    /// What begins, changes and ends. `transport` is never nil.
    public var applied: Applied
  }

  /// Answers an offer of the client. Each line that wants to receive is given one of the subscriptions that wait, in their
  /// order. Those for which no line is left go on waiting for the next offer.
  ///
  /// - Parameter freshCredentials: called once if the offer restarts ICE.
  /// - Throws: 4003 for too many lines, 4004 when no line has a codec that the server sends, 4005 for everything else. Nothing has
  ///   changed then.
  public mutating func answer(
    offer text: String, using random: inout some RandomNumberGenerator, freshCredentials: () -> ICECredentials
  ) throws(NegotiationError) -> Answered {
    guard offerer == .client else { throw NegotiationError("On this connection the server offers.") }
    let before = lines.map { OfferShape.Line(mid: $0.mid, type: $0.kind.mediaType, isRejected: $0.isRejected) }
    let offer = try ClientOffer(text, before: before, options: options, most: maxLines)
    let transport = try agree(on: offer.remote, freshCredentials)
    (agreed, credentials) = (transport, transport.local)
    var applied = Applied(transport: transport)
    for index in offer.lines.indices { renew(index, offer, &applied) }
    assign(offer, &applied, &random)
    let sdp = describe(offer, transport)
    for index in lines.indices {
      if case .ending = lines[index].state { lines[index].state = .idle }
    }
    return Answered(sdp: sdp, applied: applied)
  }

  private func agree(
    on remote: RemoteTransport, _ freshCredentials: () -> ICECredentials
  ) throws(NegotiationError) -> AgreedTransport {
    try remote.check(against: agreed)
    let role = try OfferShape.role(for: remote.setup, agreed: agreed?.role)
    let isRestart = agreed.map { $0.remote != remote.credentials } ?? false
    return AgreedTransport(
      local: isRestart ? freshCredentials() : credentials, remote: remote.credentials,
      fingerprints: remote.fingerprints, role: role, isICERestart: isRestart, nominatesAll: remote.nominatesAll)
  }

  // MARK: Lines

  /// Brings a line up to the offer: it may be new, or carry a subscription that the client now takes otherwise or not at all.
  private mutating func renew(_ index: Int, _ offer: ClientOffer, _ applied: inout Applied) {
    let mid = offer.description.media[index].mid ?? ""
    guard let line = offer.lines[index] else {
      let kind = index < lines.count ? lines[index].kind : .video
      return replace(index, SubscribeLine(kind: kind, mid: mid, state: .rejected), &applied)
    }
    guard index < lines.count, lines[index].mid == mid, lines[index].kind == line.kind, !lines[index].isRejected else {
      return replace(index, SubscribeLine(kind: line.kind, mid: mid), &applied)
    }
    guard case .sending(let assignment) = lines[index].state else { return }
    let payloads = line.payloads(assignment.subscription.codecs)
    if !line.receives {
      end(index, .negotiationFailed, "The client does not want to receive on media line \(mid) any more.", &applied)
    } else if payloads.isEmpty {
      end(index, .noCommonCodec, "The client takes no codec of the track on media line \(mid) any more.", &applied)
    } else {
      start(assignment, on: index, line, payloads, &applied)
    }
  }

  /// Another line stands at a position; what the old one carried has ended.
  private mutating func replace(_ index: Int, _ line: SubscribeLine, _ applied: inout Applied) {
    guard index < lines.count else { return lines.append(line) }
    end(index, .negotiationFailed, "The client has ended media line \(lines[index].mid).", &applied)
    lines[index] = line
  }

  private mutating func end(
    _ index: Int, _ code: NegotiationError.Code, _ reason: String, _ applied: inout Applied
  ) {
    guard let id = lines[index].assignment?.subscription.id else { return }
    applied.rejected.append(Rejected(subscriptionID: id, code: code, reason: reason))
    lines[index].state = .idle
  }

  /// Gives lines that are free and receive what waits for them, as far as the codecs fit.
  private mutating func assign(
    _ offer: ClientOffer, _ applied: inout Applied, _ random: inout some RandomNumberGenerator
  ) {
    var left: [Subscription] = []
    for subscription in waiting {
      let candidates = offer.lines.indices.filter {
        offer.lines[$0].map { $0.receives && $0.kind == subscription.kind } ?? false
      }
      let fitting = candidates.filter { offer.lines[$0]?.payloads(subscription.codecs).isEmpty == false }
      if let index = fitting.first(where: { lines[$0].isIdle }), let line = offer.lines[index] {
        let assignment = SubscribeLine.Assignment(
          subscription: subscription, source: makeSource(subscription.kind, &random))
        start(assignment, on: index, line, line.payloads(subscription.codecs), &applied)
      } else if fitting.isEmpty && offer.wants(subscription.kind) {
        applied.rejected.append(
          Rejected(
            subscriptionID: subscription.id, code: .noCommonCodec,
            reason: "No media line of the offer takes a codec of the track."))
      } else {
        left.append(subscription)
      }
    }
    waiting = left
  }

  private mutating func start(
    _ assignment: SubscribeLine.Assignment, on index: Int, _ line: PlayableLine, _ payloads: [PayloadMapping],
    _ applied: inout Applied
  ) {
    let hasNack = line.codecs(payloads).contains { $0.feedback.contains(.nack) }
    let parameters = sendParameters(
      lines[index], assignment, .init(payloads: payloads, extensions: line.extensions.ids, nack: hasNack))
    var running = assignment
    running.parameters = parameters
    lines[index].state = .sending(running)
    guard parameters != assignment.parameters else { return }
    let started = Started(subscriptionID: assignment.subscription.id, parameters: parameters)
    if assignment.parameters == nil { applied.started.append(started) } else { applied.changed.append(started) }
  }

  // MARK: Answer

  private mutating func describe(_ offer: ClientOffer, _ transport: AgreedTransport) -> String {
    description.origin.sessionVersion += 1
    description.isICELite = true
    description.extmapAllowMixed = offer.description.extmapAllowMixed
    description.groups = []
    if offer.description.bundle != nil {
      description.groups = [
        Group(semantics: "BUNDLE", mids: offer.order.compactMap { offer.description.media[$0].mid })
      ]
    }
    description.media = offer.lines.indices.map { index in
      guard let line = offer.lines[index] else {
        return local.rejection(of: offer.description.media[index], transport.local, setup: transport.role.answered)
      }
      var media = lines[index].answer(line)
      media.transport = local.attributes(
        transport.local, setup: transport.role.answered, carriesBundle: index == offer.order.first)
      return media
    }
    return description.serialized()
  }
}

extension SubscribeLine {
  /// The line as an answer to the client's offer has it, without transport.
  fileprivate func answer(_ line: PlayableLine) -> MediaDescription {
    var media = line.answer
    guard let assignment, let parameters = assignment.parameters else {
      media.direction = .inactive
      media.rtp.codecs = line.codecs(line.payloads([]))
      return media
    }
    media.direction = .sendOnly
    media.rtp.codecs = line.codecs(parameters.payloads, opus: assignment.subscription.opus)
    describeSource(of: assignment, rtxSSRC: parameters.rtxSSRC, in: &media)
    return media
  }
}
