// What an application is asked, as JSON (docs/hooks.md).

import Members
import Names
import RoostProtocol

/// The body of a question.
struct HookBody: Encodable {
  private enum Key: String, CodingKey {
    case id, type, hook, realm, time, user, device, displayName, isVerified, door, room, callId
    case callable, media, metadata, tracks, to, kind, extra, users
  }

  /// What is said of a track that is to be published.
  private struct Track: Encodable {
    let kind: TrackKind
    let source: TrackSource?
    let label: String?
  }

  let id: String
  let question: Question
  let realm: Realm
  /// Milliseconds since 1970 UTC.
  let time: Int64

  func encode(to encoder: any Encoder) throws {
    var fields = encoder.container(keyedBy: Key.self)
    try fields.encode(id, forKey: .id)
    try fields.encode("hook", forKey: .type)
    try fields.encode(question.kind.rawValue, forKey: .hook)
    try fields.encode(realm.name, forKey: .realm)
    try fields.encode(time, forKey: .time)
    try fields.encode(question.user, forKey: .user)
    try fields.encodeIfPresent(question.device, forKey: .device)
    try fields.encode(question.displayName, forKey: .displayName)
    try fields.encode(question.isVerified, forKey: .isVerified)
    try fields.encode(question.entrance.rawValue, forKey: .door)
    try fields.encodeIfPresent(question.room, forKey: .room)
    try fields.encodeIfPresent(question.call, forKey: .callId)
    try encode(question.wish, to: &fields)
  }

  private func encode(_ wish: Question.Wish, to fields: inout KeyedEncodingContainer<Key>) throws {
    switch wish {
    case .hello(let params): try fields.encodeIfPresent(params.callable, forKey: .callable)
    case .join(let params):
      try fields.encodeIfPresent(params.media, forKey: .media)
      try fields.encodeIfPresent(params.metadata, forKey: .metadata)
    case .publish(let tracks):
      try fields.encode(tracks.map { Track(kind: $0.kind, source: $0.source, label: $0.label) }, forKey: .tracks)
    case .callStart(let params):
      try fields.encode(params.to, forKey: .to)
      try fields.encode(params.kind, forKey: .kind)
      try fields.encode(params.media, forKey: .media)
      try fields.encodeIfPresent(params.extra, forKey: .extra)
      try fields.encodeIfPresent(params.metadata, forKey: .metadata)
    case .callInvite(let params):
      try fields.encode(params.users, forKey: .users)
      try fields.encodeIfPresent(params.extra, forKey: .extra)
    case .callAccept(let params):
      try fields.encodeIfPresent(params.media, forKey: .media)
      try fields.encodeIfPresent(params.metadata, forKey: .metadata)
    }
  }
}
