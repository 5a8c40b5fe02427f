// How much custom messages weigh, and how many a room is told: one sender is bounded by the budget of their user, many by that of the room.

import Basics
import Members
import RoostProtocol

/// As how many messages one counts: its bytes on the wire, in units of 2 KiB.
package enum MessageWeight {
  /// Bytes that count as one message. Lower it and what is told stays below what listeners' queues hold, in a room where many write at once.
  static let bytesEach = 2048
  /// The words, numbers and marks of an event around what clients fill in.
  private static let wordBytes = 256

  /// What a client's message weighs for its user and address.
  package static func of(_ request: MessageRequest, from identity: Identity) -> Int {
    let names = [identity.user, identity.displayName]
    return switch request {
    case .send(let params):
      of([params.room ?? params.callId, params.topic] + names + (params.to ?? []), params.data)
    // With one more for the answer: whoever is asked pays nothing.
    case .request(let params): 1 + of([params.room ?? params.callId, params.topic, params.to] + names, params.data)
    case .answer(let params): of([params.requestId] + names, params.data)
    }
  }

  /// What one weighs with these texts and this in it.
  static func of(_ texts: [String?], _ data: RawJSON) -> Int {
    let bytes = texts.reduce(wordBytes + data.encodedSize) {
      $0 + ($1.map { JSONValue.string($0).encodedSize } ?? 0)
    }
    return (bytes + bytesEach - 1) / bytesEach
  }
}

/// What the people of each room are told by custom messages, of all senders together.
struct RoomPaces: Sendable {
  /// A user in a room.
  private struct Member: Hashable {
    let room: RoomKey
    let user: ClaimedUser
  }

  /// By weight: what each of them hears.
  private var heard: KeyedBuckets<RoomKey>
  /// By weight for each who hears it: what the server sends.
  private var sent: KeyedBuckets<RoomKey>
  /// The same of one user there: half of what passes at once, and a quarter of what does in the long run. So nobody keeps others out alone.
  private var shares: KeyedBuckets<Member>

  init(_ rules: ConferenceRules) {
    // What comes at once must leave a reader who stops for a moment their connection.
    let burst = min(rules.roomDataBurst, rules.outbox / 5 * 4 / MessageWeight.bytesEach)
    heard = KeyedBuckets(burst: burst, perSecond: rules.roomDataPerSecond, most: 4 * rules.maxSessions)
    sent = KeyedBuckets(burst: rules.dataSendBurst, perSecond: rules.dataSendsPerSecond, most: 4 * rules.maxSessions)
    shares = KeyedBuckets(
      burst: max(rules.dataSendBurst / 2, 1), perSecond: rules.dataSendsPerSecond / 4, most: 4 * rules.maxSessions)
  }

  /// Takes a message of a user to so many listeners; where there are none it takes nothing. One that alone is more than passes at once is let in when nothing else has been taken.
  /// - Throws: 1006 with the time to wait. What is refused has taken nothing.
  mutating func take(
    _ weight: Int, times listeners: Int, of user: ClaimedUser, in room: RoomKey, at now: Instant
  ) throws(ErrorObject) {
    guard listeners > 0 else { return }
    let (member, sends) = (Member(room: room, user: user), weight * listeners)
    let waits = [
      heard.wait(of: room, for: weight, at: now), sent.wait(of: room, for: sends, at: now),
      shares.wait(of: member, for: sends, at: now),
    ]
    if let wait = waits.compactMap({ $0 }).max() {
      throw ErrorObject(.rateLimited, "This room is told too much at once; try again later.") {
        $0.retryAfterMs = wait
      }
    }
    _ = heard.take(room, weight, at: now)
    _ = sent.take(room, sends, at: now)
    _ = shares.take(member, sends, at: now)
  }
}
