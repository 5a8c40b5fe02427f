// How what operators are told is written: each answer is one JSON object (RFC 8259). Values come from the conference, which knows none of it.

import Calls
import Members
import RoostProtocol

extension OperatorAnswer: Encodable {
  private enum Key: CodingKey {
    case removed, moved, locked, media, limit, bans, blocks, lifted, revoked, narrowed, grants, call, seen, next
  }

  /// `{"rooms": […], "calls": […]}`, `{"removed": 2}`, `{"moved": 1}`, `{"locked": true}`, `{"locked": false, "lifted": ["lobby"]}`, `{"media": "audio", "limit": 32}`, `{"bans": […], "next": 2}`, `{"count": 9, "limit": 50000, "users": […]}`,
  /// `{"blocks": […]}`, `{"lifted": 1}`, `{"revoked": […]}`, `{"narrowed": 1}`, `{"grants": […]}` `{"call": {…}}` or the result of `call.invite`.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    switch self {
    case .overview(let overview): try overview.encode(to: encoder)
    // What this door asks nothing of.
    case .moderated, .definition, .definitions, .outdated: break
    case .said(let result): try result.encode(to: encoder)
    case .sent(let result): try result.encode(to: encoder)
    case .removed(let count): try container.encode(count, forKey: .removed)
    case .moved(let count): try container.encode(count, forKey: .moved)
    case .locked(let isLocked, let lifted):
      try container.encode(isLocked, forKey: .locked)
      if !lifted.isEmpty { try container.encode(lifted.map(\.rawValue), forKey: .lifted) }
    case .media(let media, let limit):
      try container.encode(media, forKey: .media)
      try container.encode(limit, forKey: .limit)
    case .bans(let bans, let addresses, let next):
      var list = container.nestedUnkeyedContainer(forKey: .bans)
      for ban in bans { try list.encode(ban) }
      for ban in addresses { try list.encode(ban) }
      try container.encodeIfPresent(next, forKey: .next)
    case .blockCounts(let counts, let next):
      try counts.encode(to: encoder)
      try container.encodeIfPresent(next, forKey: .next)
    case .blocks(let blocks): try container.encode(blocks, forKey: .blocks)
    case .lifted(let count): try container.encode(count, forKey: .lifted)
    case .revoked(let tokens, let next):
      try container.encode(tokens, forKey: .revoked)
      try container.encodeIfPresent(next, forKey: .next)
    case .narrowed(let count): try container.encode(count, forKey: .narrowed)
    case .narrowings(let narrowings, let next):
      try container.encode(narrowings, forKey: .grants)
      try container.encodeIfPresent(next, forKey: .next)
    case .ended(let call), .call(let call): try container.encode(call, forKey: .call)
    case .user(let presence, _, _): try presence.encode(to: encoder)
    case .history(let result): try result.encode(to: encoder)
    case .seen(let count): try container.encode(count, forKey: .seen)
    case .invited(let result): try result.encode(to: encoder)
    }
  }
}

// MARK: - Rooms and calls

extension OperatorOverview: Encodable {
  private enum Key: CodingKey { case rooms, calls }

  /// `{"rooms": […], "calls": […]}`.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(rooms, forKey: .rooms)
    try container.encode(calls, forKey: .calls)
  }
}

extension OperatorOverview.Room: Encodable {
  private enum Key: CodingKey {
    case room, kind, media, limit, locked, lobby, chatDisabled, waiting, participants
  }

  /// `{"room": "demo", "kind": "group", "media": "video", "limit": 16, "locked": false, …}`.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(room, forKey: .room)
    try container.encode(kind, forKey: .kind)
    try container.encode(media, forKey: .media)
    try container.encode(limit, forKey: .limit)
    try container.encode(locked, forKey: .locked)
    try container.encode(lobby, forKey: .lobby)
    try container.encode(chatDisabled, forKey: .chatDisabled)
    try container.encode(waiting, forKey: .waiting)
    try container.encode(participants, forKey: .participants)
  }
}

extension OperatorOverview.Person: Encodable {
  private enum Key: CodingKey { case door }

  /// The participant's fields and `door`: `{"door": "whip", "participantId": "p1", …}`.
  public func encode(to encoder: any Encoder) throws {
    try participant.encode(to: encoder)
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(entrance.rawValue, forKey: .door)
  }
}

// MARK: - What is taken from whom

extension KeptBan: Encodable {
  private enum Key: CodingKey { case room, user, until, by }

  /// `{"room": "demo", "user": "carl", "until": 1795254604185, "by": "anna"}`; without `until` it does not end by itself.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(room, forKey: .room)
    try container.encode(user, forKey: .user)
    try container.encodeIfPresent(until, forKey: .until)
    try container.encode(by, forKey: .by)
  }
}

extension KeptAddressBan: Encodable {
  private enum Key: CodingKey { case address, by, room, until, user }

  /// `{"address": "203.0.113.7", "by": "anna", "room": "demo", "until": 1795254604185, "user": "carl"}`. Without `room` it is of all
  /// rooms, without `by` and `user` an operator's.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(subject.address.description, forKey: .address)
    try container.encodeIfPresent(by, forKey: .by)
    try container.encodeIfPresent(subject.room, forKey: .room)
    try container.encode(until, forKey: .until)
    try container.encodeIfPresent(subject.user, forKey: .user)
  }
}

extension KeptRevocation: Encodable {
  private enum Key: CodingKey { case jti, until }

  /// `{"jti": "t1", "until": 1795254604185}`.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(tokenID, forKey: .jti)
    try container.encode(until, forKey: .until)
  }
}

extension KeptNarrowing: Encodable {
  private enum Key: CodingKey { case user, room, grants, at, until }

  /// `{"user": "anna", "room": "demo", "grants": ["join"], "at": 1795250000000, "until": …}`.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(subject.user, forKey: .user)
    try container.encodeIfPresent(subject.room, forKey: .room)
    try container.encode(rights.grants.map(\.rawValue), forKey: .grants)
    try container.encode(at, forKey: .at)
    try container.encode(until, forKey: .until)
  }
}

// MARK: - Blocks

extension KeptBlock: Encodable {
  private enum Key: CodingKey { case user, blocked }

  /// `{"user": "anna", "blocked": "ben"}`.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(user, forKey: .user)
    try container.encode(blocked, forKey: .blocked)
  }
}

extension BlockCounts: Encodable {
  private enum Key: CodingKey { case count, limit, users }

  /// `{"count": 9, "limit": 50000, "users": […]}`.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(count, forKey: .count)
    try container.encode(limit, forKey: .limit)
    try container.encode(users, forKey: .users)
  }
}

extension BlockCounts.User: Encodable {
  private enum Key: CodingKey { case user, blocks }

  /// `{"user": "anna", "blocks": 3}`.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(user, forKey: .user)
    try container.encode(blocks, forKey: .blocks)
  }
}
