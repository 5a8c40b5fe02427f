// A message for a web server outside, from the step that made it to the queue and the outbox. Each thread that needs it as
// JSON writes it itself: the conference thread, which makes it, has no time for that.

import Basics
import Calls
import Configuration
import Names
import RoostProtocol
import Storage
import Webhooks

/// A message for one of the two web servers.
struct WebhookMessage: Sendable {
  /// Which web server, by its key in `rooms.yaml`.
  enum Endpoint: String, CaseIterable, Sendable { case push, events }

  private enum Content: Sendable {
    case push(PushNotice)
    case event(WebhookEvent)
  }

  /// A phone that was woken late hears a moment longer that its ring is over.
  private static let cancelSlack: Int64 = 60_000

  /// Names it for the receiver.
  let id: String
  let endpoint: Endpoint
  let lane: String
  let part: Delivery.Part
  let expiresAt: Int64
  /// Where it has happened.
  let realm: Realm
  private let content: Content

  /// For whoever wakes phones.
  init(_ notice: PushNotice, of realm: Realm = .default, giveUpAfter: TimeDelta, wallMilliseconds now: Int64) {
    (id, endpoint, content, self.realm) = (.randomName(), .push, .push(notice), realm)
    lane = Self.lane(callId: notice.callId, user: notice.to)
    (part, expiresAt) =
      switch notice.type {
      case .ring: (.ring, notice.expiresAt)
      case .cancel: (.cancel, max(notice.expiresAt, now) + Self.cancelSlack)
      case .missed: (.plain, now + giveUpAfter.milliseconds)
      }
  }

  /// For whoever follows what happens.
  init(_ event: WebhookEvent, of realm: Realm = .default, giveUpAfter: TimeDelta, wallMilliseconds now: Int64) {
    (id, endpoint, content, self.realm) = (.randomName(), .events, .event(event), realm)
    (lane, part, expiresAt) = (event.room ?? "", .plain, now + giveUpAfter.milliseconds)
  }

  /// What everything about one user's phones in one call is in order with.
  static func lane(callId: String, user: String) -> String { "\(callId) \(user)" }

  /// As it is sent. Nil where it cannot be written as JSON, which no message is known to do.
  var delivery: Delivery? {
    let bytes: [UInt8]?
    switch content {
    case .push(let notice): bytes = try? JSONText.bytes(of: InRealm(notice, realm))
    case .event: bytes = eventBody.map { Array("{\"id\":\"\(id)\",".utf8) + $0.dropFirst() }
    }
    return bytes.map { Delivery(id: id, lane: lane, part: part, body: $0, expiresAt: expiresAt) }
  }

  /// Nil for what is no event.
  private var eventBody: [UInt8]? {
    guard case .event(let event) = content else { return nil }
    return try? JSONText.bytes(of: InRealm(event, realm))
  }

  /// As the record file gives it a number. Nil for what is no event.
  var newEvent: NewEvent? {
    guard case .event(let event) = content, let body = eventBody else { return nil }
    return NewEvent(
      id: id, lane: lane, at: event.at, body: String(decoding: body, as: UTF8.self), realm: realm)
  }

  /// As it is kept for the next process. Nil for a ring, which is over when the process is.
  var stored: StoredDelivery? {
    guard part != .ring, let delivery else { return nil }
    return StoredDelivery(
      id: id, endpoint: endpoint.rawValue, lane: lane, part: part.rawValue,
      body: String(decoding: delivery.body, as: UTF8.self), expiresAt: expiresAt, realm: realm)
  }
}
