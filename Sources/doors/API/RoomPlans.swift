// Rooms that are made and changed: what is asked for, and how the settings read.
import Members
import RoostProtocol

extension APIPlan {
  /// - Throws: −32602 with the field that is wrong.
  static func make(_ request: APIRequest) throws(ErrorObject) -> OperatorAction {
    let wish = try request.body(RoomWish.self)
    guard let room = try APIRequest.name(wish.room, "room") else { throw .parameter("room", expected: "a name") }
    return .makeRoom(
      room, try RoomPlan(wish.settings), locked: wish.locked ?? false, lobby: wish.lobby ?? false)
  }

  /// - Throws: −32602 with the field or header that is wrong.
  static func replaceSettings(_ request: APIRequest) throws(ErrorObject) -> OperatorAction {
    let condition = try TagCondition(ifMatch: request.request.header("if-match"))
    let plan = try RoomPlan(try request.body(RoomSettings.self))
    return .replaceSettings(of: try request.segment("room"), plan, condition)
  }

  /// - Throws: −32602 with the header.
  static func takeBackSettings(_ request: APIRequest) throws(ErrorObject) -> OperatorAction {
    let condition = try TagCondition(ifMatch: request.request.header("if-match"))
    return .takeBackSettings(of: try request.segment("room"), condition)
  }

  @Sendable static func definition(_ answer: OperatorAnswer) throws(ErrorObject) -> Result {
    guard case .definition(let room) = answer else { throw ErrorObject(.internalError) }
    return RoomDefinition(room)
  }

  @Sendable static func definitions(_ answer: OperatorAnswer) throws(ErrorObject) -> Result {
    guard case .definitions(let rooms, let next) = answer else { throw ErrorObject(.internalError) }
    return RoomDefinitionPage(rooms: rooms.map { RoomDefinition($0) }, next: next)
  }
}

extension RoomWish {
  fileprivate var settings: RoomSettings {
    RoomSettings(
      kind: kind, videoLimit: videoLimit, audioLimit: audioLimit, media: media, publishers: publishers,
      players: players, videoLastN: videoLastN, tracksPerParticipant: tracksPerParticipant, audioLoudest: audioLoudest,
      audioBitrate: audioBitrate, chatHistory: chatHistory, until: until)
  }
}

extension RoomPlan {
  /// - Throws: −32602 `media` for another word.
  fileprivate init(_ settings: RoomSettings) throws(ErrorObject) {
    self.init(kind: settings.kind)
    if let word = settings.media {
      guard let media = Media(rawValue: word) else {
        throw .parameter("media", expected: "video, audio or first_joiner")
      }
      self.media = media
    }
    (videoLimit, audioLimit) = (settings.videoLimit, settings.audioLimit)
    (publishers, players, videoLastN) = (settings.publishers, settings.players, settings.videoLastN)
    (tracksPerParticipant, chatHistory) = (settings.tracksPerParticipant, settings.chatHistory)
    (audioLoudest, audioBitrate, until) = (settings.audioLoudest, settings.audioBitrate, settings.until)
  }
}

extension RoomSettings {
  fileprivate init(_ plan: RoomPlan) {
    self.init(
      kind: plan.kind, videoLimit: plan.videoLimit, audioLimit: plan.audioLimit, media: plan.media?.rawValue,
      publishers: plan.publishers, players: plan.players, videoLastN: plan.videoLastN,
      tracksPerParticipant: plan.tracksPerParticipant, audioLoudest: plan.audioLoudest,
      audioBitrate: plan.audioBitrate, chatHistory: plan.chatHistory, until: plan.until)
  }
}

extension RoomDefinition {
  fileprivate init(_ room: DefinedRoom) {
    self.init(
      room: room.room, origin: room.origin.rawValue, served: room.isServed, version: room.tag,
      settings: RoomSettings(room.plan))
  }
}
