// Who else is in a room, and their tracks as streams. The protocol knows people by login and streams by name; a stream is a sound and
// a picture at most. Clients of Flashphoner say the name of their stream in the labels of its tracks; for all others one is made up:
// <room>-<login>-<4 hex>[-<what>].
import Basics
import Names
import RoostProtocol

/// A stream of somebody.
struct PublishedStream: Equatable, Sendable {
  let name: String
  var tracks: [TrackKind: Track]

  var trackIDs: Set<String> { Set(tracks.values.map(\.trackId)) }
  /// What of it is muted.
  var muted: [TrackKind: Bool] { tracks.mapValues(\.muted) }
}

/// Somebody else in the room.
struct Person: Sendable {
  let id: String
  let user: String
  let login: String
  var tracks: [Track]
  /// What others were told of.
  var streams: [PublishedStream] = []
}

/// Everybody else in a room, in the order in which they came.
struct People: Sendable {
  let room: String
  private(set) var all: [Person] = []
  /// How many streams have a name, for those names that any has. Kept by differences: everybody in a room looks at each track that comes.
  private(set) var names: [String: Int] = [:]

  init(room: String) { self.room = room }

  /// What changed for those who watch.
  enum Change: Equatable, Sendable {
    case joined(String)
    case left(String)
    case published(login: String, PublishedStream)
    case unpublished(login: String, name: String)
    /// The stream goes on with other tracks.
    case changed(PublishedStream)
  }

  /// Logins are what others are shown, which is of any form.
  subscript(login login: String) -> Person? { all.first { $0.login.isExactly(login) } }

  subscript(user user: String) -> Person? { all.first { $0.user == user } }

  /// The stream of this name.
  func stream(named name: String) -> PublishedStream? {
    all.lazy.flatMap(\.streams).first { $0.name == name }
  }

  /// The stream that a track is part of.
  func stream(of track: String) -> PublishedStream? {
    all.lazy.flatMap(\.streams).first { $0.tracks.values.contains { $0.trackId == track } }
  }

  /// Somebody is there, as they are now.
  mutating func update(_ participant: Participant) -> [Change] {
    var changes: [Change] = []
    if let known = all.first(where: { $0.id == participant.participantId }) {
      if known.login.isExactly(participant.displayName) {
        return change(known.id) { $0 = participant.tracks }
      }
      changes += remove(known.id)
    }
    all.append(
      Person(id: participant.participantId, user: participant.user, login: participant.displayName, tracks: []))
    changes.append(.joined(participant.displayName))
    return changes + change(participant.participantId) { $0 = participant.tracks }
  }

  mutating func remove(_ id: String) -> [Change] {
    guard let index = all.firstIndex(where: { $0.id == id }) else { return [] }
    let person = all.remove(at: index)
    forget(person.streams)
    return person.streams.map { .unpublished(login: person.login, name: $0.name) } + [.left(person.login)]
  }

  /// Changes somebody's tracks.
  mutating func change(_ id: String, _ tracks: (inout [Track]) -> Void) -> [Change] {
    guard let index = all.firstIndex(where: { $0.id == id }) else { return [] }
    let old = all[index].tracks
    tracks(&all[index].tracks)
    if old.elementsEqual(all[index].tracks, by: { $0.trackId == $1.trackId }) {
      // A mute, or nothing: the names stay as they are. To look at them anew is work for each who watches.
      all[index].refreshStreams()
      return []
    }
    let before = all[index].streams
    forget(before)
    let now = all[index].grouped(in: room, taken: names)
    for stream in now { names[stream.name, default: 0] += 1 }
    all[index].streams = now
    let login = all[index].login
    let gone = before.filter { old in !now.contains { $0.name == old.name } }
    let other = now.filter { new in before.contains { $0.name == new.name && $0.trackIDs != new.trackIDs } }
    let new = now.filter { stream in !before.contains { $0.name == stream.name } }
    return gone.map { .unpublished(login: login, name: $0.name) } + other.map { .changed($0) }
      + new.map { .published(login: login, $0) }
  }

  private mutating func forget(_ streams: [PublishedStream]) {
    for stream in streams {
      guard let count = names[stream.name] else { continue }
      names[stream.name] = count > 1 ? count - 1 : nil
    }
  }
}

extension Person {
  /// The streams have the same tracks as before, as these are now.
  fileprivate mutating func refreshStreams() {
    for track in tracks {
      for index in streams.indices where streams[index].tracks[track.kind]?.trackId == track.trackId {
        streams[index].tracks[track.kind] = track
      }
    }
  }

  /// Their tracks as streams, oldest first.
  fileprivate func grouped(in room: String, taken: [String: Int]) -> [PublishedStream] {
    var streams: [PublishedStream] = []
    for track in tracks {
      let name = name(of: track, in: room, taken)
      let index = streams.firstIndex { $0.name == name }
      if let index, streams[index].tracks[track.kind] == nil {
        streams[index].tracks[track.kind] = track
      } else {
        let own = index == nil ? name : "\(made(in: room))-\(track.trackId)"
        streams.append(PublishedStream(name: own, tracks: [track.kind: track]))
      }
    }
    return streams
  }

  private func name(of track: Track, in room: String, _ taken: [String: Int]) -> String {
    // Nobody has a stream in another's name, nor in one that is equal to it by other bytes.
    let isStream = track.label.isExactly(room) || track.label.begins(with: "\(room)-\(login)-")
    if isStream, NameForm.accepts(track.label), taken[track.label] == nil { return track.label }
    let made = made(in: room)
    let name = track.isScreen || track.source == .screenAudio ? "\(made)-screen" : made
    return taken[name] != nil ? "\(made)-\(track.trackId)" : name
  }

  private func made(in room: String) -> String {
    let number = id.utf8.reduce(into: UInt16(0)) { $0 = $0 &* 31 &+ UInt16($1) }
    let digits = String(number, radix: 16)
    // Clients say it as a name, and what others are shown of people is of any form.
    return NameForm.composed("\(room)-\(login)-\(String(repeating: "0", count: 4 - digits.count))\(digits)")
  }
}
