// What a room is to be like where the API says it and not rooms.yaml, and which of that there may be.

import Basics
import RoostProtocol

/// What a room is to be like: a kind, and what differs from it, as in rooms.yaml.
public struct RoomPlan: Codable, Hashable, Sendable {
  /// What a room carries.
  public enum Media: String, Codable, Hashable, Sendable {
    case video, audio
    /// What the first to join the empty room brings.
    case firstJoiner = "first_joiner"
  }

  /// Messages that such a room may keep, unless its kind keeps more.
  public static let mostHistory = 1_000
  /// How many days ahead a room may end.
  public static let longestDays = 366

  /// The name of a kind.
  public var kind: String
  /// Seats while it carries video.
  public var videoLimit: Int?
  /// Seats while it carries audio only.
  public var audioLimit: Int?
  /// What it carries.
  public var media: Media?
  /// How many participants may publish at once.
  public var publishers: Int?
  /// How many of those who only play may come in beside the seats.
  public var players: Int?
  /// Whose video is sent: that of so many who spoke last.
  public var videoLastN: Int?
  /// Tracks that one participant may publish.
  public var tracksPerParticipant: Int?
  /// How many others everybody hears at once.
  public var audioLoudest: Int?
  /// Bits per second that one track of sound is asked to stay below.
  public var audioBitrate: Int?
  /// Chat messages kept for those who join later.
  public var chatHistory: Int?
  /// When these settings are taken back, in milliseconds since 1970 UTC; nil: not by themselves.
  public var until: Int64?

  /// A room that is like its kind.
  public init(kind: String) { self.kind = kind }

  /// All that these rules say; nothing is left to the kind.
  public init(_ rules: RoomRules) {
    kind = rules.kind
    (videoLimit, audioLimit) = (rules.videoSeats, rules.audioSeats)
    media =
      switch rules.media {
      case .video: .video
      case .audio: .audio
      case nil: .firstJoiner
      }
    (publishers, players, videoLastN) = (rules.publishers, rules.players, rules.videoLastN)
    (tracksPerParticipant, chatHistory) = (rules.tracksPerParticipant, rules.chatHistory)
    (audioLoudest, audioBitrate) = (rules.sound.loudest, rules.sound.maxBitsPerSecond)
  }

  /// The rules that the kind and these settings make.
  /// - Parameter configured: what rooms.yaml says of this room, where it does.
  /// - Throws: −32602 with the field: a kind that there is none of, a number out of its range, more publishers than seats.
  public func rules(of kinds: [String: RoomRules], configured: RoomRules?) throws(ErrorObject) -> RoomRules {
    guard var rules = kinds[kind] else {
      throw .parameter("kind", expected: "one of " + kinds.keys.sorted().joined(separator: ", "))
    }
    try setSeats(of: &rules)
    try setMedia(of: &rules)
    let most = Self.mostHistory(of: rules, configured)
    rules.chatHistory = try Self.value(chatHistory, "chatHistory", 0...most) ?? rules.chatHistory
    return rules
  }

  /// The same settings for kinds that may have become smaller since: no more publishers than seats, and no more chat than such a room may keep.
  /// What else cannot be is left as it is.
  public func narrowed(to kinds: [String: RoomRules], configured: RoomRules?) -> RoomPlan {
    guard let kind = kinds[kind] else { return self }
    var plan = self
    plan.chatHistory = chatHistory.map { min($0, Self.mostHistory(of: kind, configured)) }
    plan.publishers = nil
    var seats = kind
    seats.publishers = nil
    guard (try? plan.setSeats(of: &seats)) != nil else { return self }
    let most = Self.seats(of: seats)
    plan.publishers = (publishers ?? kind.publishers).map { $0 > most } == true ? most : publishers
    return plan
  }

  private static func mostHistory(of kind: RoomRules, _ configured: RoomRules?) -> Int {
    max(mostHistory, kind.chatHistory, configured?.chatHistory ?? 0)
  }

  /// The most people that can be in a room at once.
  private static func seats(of rules: RoomRules) -> Int {
    rules.media.map { rules.seats($0) } ?? max(rules.videoSeats, rules.audioSeats)
  }

  private func setSeats(of rules: inout RoomRules) throws(ErrorObject) {
    let seats = 1...100_000
    rules.videoSeats = try Self.value(videoLimit, "videoLimit", seats) ?? rules.videoSeats
    rules.audioSeats = try Self.value(audioLimit, "audioLimit", seats) ?? rules.audioSeats
    switch media {
    case .video: rules.media = .video
    case .audio: rules.media = .audio
    case .firstJoiner: rules.media = nil
    case nil: break
    }
    rules.publishers = try Self.value(publishers, "publishers", seats) ?? rules.publishers
    rules.players = try Self.value(players, "players", seats) ?? rules.players
    let most = Self.seats(of: rules)
    if let publishers = rules.publishers, publishers > most {
      throw .parameter("publishers", expected: "no more than the \(most) seats")
    }
  }

  private func setMedia(of rules: inout RoomRules) throws(ErrorObject) {
    rules.videoLastN = try Self.value(videoLastN, "videoLastN", 1...100_000) ?? rules.videoLastN
    let tracks = try Self.value(tracksPerParticipant, "tracksPerParticipant", 1...256)
    rules.tracksPerParticipant = tracks ?? rules.tracksPerParticipant
    rules.sound.loudest = try Self.value(audioLoudest, "audioLoudest", 1...64) ?? rules.sound.loudest
    let bitrate = try Self.value(audioBitrate, "audioBitrate", 6_000...510_000)
    rules.sound.maxBitsPerSecond = bitrate ?? rules.sound.maxBitsPerSecond
  }

  /// - Throws: −32602 `until` that is over, or too far ahead.
  public func checkUntil(at wallMilliseconds: Int64) throws(ErrorObject) {
    guard let until else { return }
    let last = wallMilliseconds.saturating(adding: .seconds(Self.longestDays * 86_400))
    guard until > wallMilliseconds, until <= last else {
      throw .parameter("until", expected: "a time in milliseconds since 1970, at most \(Self.longestDays) days ahead")
    }
  }

  private static func value(_ given: Int?, _ field: String, _ range: ClosedRange<Int>) throws(ErrorObject) -> Int? {
    guard let given, !range.contains(given) else { return given }
    throw .parameter(field, expected: "\(range.lowerBound) to \(range.upperBound)")
  }
}
