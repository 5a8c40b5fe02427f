// Made by scripts/wire of Operations.swift and Objects.swift: make wire.

extension APIOperation {
  /// Where it is, and what it may say.
  var route: APIRoute {
    switch self {
    case .listRooms:
      APIRoute(method: "GET", path: "/rooms", query: ["page"], body: nil)
    case .readRoom:
      APIRoute(method: "GET", path: "/rooms/{room}", query: [], body: nil)
    case .changeRoom:
      APIRoute(method: "PATCH", path: "/rooms/{room}", query: [], body: ["locked", "media"])
    case .endRoom:
      APIRoute(method: "DELETE", path: "/rooms/{room}", query: [], body: nil)
    case .listSettings:
      APIRoute(method: "GET", path: "/settings", query: ["page"], body: nil)
    case .makeRoom:
      APIRoute(
        method: "POST", path: "/rooms", query: [],
        body: [
          "room", "kind", "videoLimit", "audioLimit", "media", "publishers", "players", "videoLastN",
          "tracksPerParticipant", "audioLoudest", "audioBitrate", "chatHistory", "until", "locked", "lobby",
        ],
        status: 201)
    case .readSettings:
      APIRoute(method: "GET", path: "/rooms/{room}/settings", query: [], body: nil)
    case .replaceSettings:
      APIRoute(
        method: "PUT", path: "/rooms/{room}/settings", query: [],
        body: [
          "kind", "videoLimit", "audioLimit", "media", "publishers", "players", "videoLastN", "tracksPerParticipant",
          "audioLoudest", "audioBitrate", "chatHistory", "until",
        ],
        condition: .required)
    case .takeBackSettings:
      APIRoute(method: "DELETE", path: "/rooms/{room}/settings", query: [], body: nil, condition: .allowed)
    case .removeParticipant:
      APIRoute(method: "DELETE", path: "/rooms/{room}/participants/{user}", query: [], body: nil)
    case .moveParticipant:
      APIRoute(method: "POST", path: "/rooms/{room}/participants/{user}/move", query: [], body: ["to"])
    case .moderate:
      APIRoute(
        method: "POST", path: "/rooms/{room}/moderation", query: [],
        body: ["action", "user", "kind", "role", "until", "hold", "address", "media"])
    case .say:
      APIRoute(method: "POST", path: "/rooms/{room}/messages", query: [], body: ["text", "displayName", "to"])
    case .sendMessage:
      APIRoute(method: "POST", path: "/rooms/{room}/data", query: [], body: ["topic", "data", "to", "displayName"])
    case .liftBan:
      APIRoute(method: "DELETE", path: "/rooms/{room}/bans/{user}", query: [], body: nil)
    case .listBans:
      APIRoute(method: "GET", path: "/bans", query: ["page", "room"], body: nil)
    case .banAddress:
      APIRoute(method: "POST", path: "/bans", query: [], body: ["address", "user", "room", "until"])
    case .liftAddress:
      APIRoute(method: "DELETE", path: "/bans/{address}", query: ["room"], body: nil)
    case .listBlocks:
      APIRoute(method: "GET", path: "/blocks", query: ["page"], body: nil)
    case .readUser:
      APIRoute(method: "GET", path: "/users/{user}", query: [], body: nil)
    case .readHistory:
      APIRoute(method: "GET", path: "/users/{user}/calls", query: ["before"], body: nil)
    case .seeMissed:
      APIRoute(method: "DELETE", path: "/users/{user}/missed", query: [], body: nil)
    case .readBlocks:
      APIRoute(method: "GET", path: "/users/{user}/blocks", query: [], body: nil)
    case .liftBlocks:
      APIRoute(method: "DELETE", path: "/users/{user}/blocks", query: [], body: nil)
    case .liftBlock:
      APIRoute(method: "DELETE", path: "/users/{user}/blocks/{blocked}", query: [], body: nil)
    case .listRevoked:
      APIRoute(method: "GET", path: "/revoked", query: ["page"], body: nil)
    case .revokeToken:
      APIRoute(method: "PUT", path: "/revoked/{jti}", query: [], body: nil)
    case .restoreToken:
      APIRoute(method: "DELETE", path: "/revoked/{jti}", query: [], body: nil)
    case .listGrants:
      APIRoute(method: "GET", path: "/grants", query: ["page"], body: nil)
    case .readGrants:
      APIRoute(method: "GET", path: "/users/{user}/grants", query: ["page"], body: nil)
    case .narrowGrants:
      APIRoute(method: "PUT", path: "/users/{user}/grants", query: [], body: ["grants", "room"])
    case .restoreGrants:
      APIRoute(method: "DELETE", path: "/users/{user}/grants", query: ["room"], body: nil)
    case .listCalls:
      APIRoute(method: "GET", path: "/calls", query: ["page"], body: nil)
    case .readCall:
      APIRoute(method: "GET", path: "/calls/{call}", query: [], body: nil)
    case .startCall:
      APIRoute(
        method: "POST", path: "/calls", query: [],
        body: ["from", "to", "kind", "media", "ringTimeoutMs", "rejectPolicy", "busyPolicy", "extra", "push"],
        status: 201)
    case .invite:
      APIRoute(
        method: "POST", path: "/calls/{call}/invitations", query: [],
        body: ["users", "from", "busyPolicy", "ringTimeoutMs", "extra", "push"])
    case .withdrawInvitation:
      APIRoute(method: "DELETE", path: "/calls/{call}/invitations/{user}", query: [], body: nil)
    case .endCall:
      APIRoute(method: "DELETE", path: "/calls/{call}", query: [], body: nil)
    case .removeFromCall:
      APIRoute(method: "DELETE", path: "/calls/{call}/participants/{user}", query: [], body: nil)
    case .sendCallMessage:
      APIRoute(method: "POST", path: "/calls/{call}/data", query: [], body: ["topic", "data", "to", "displayName"])
    case .listEvents:
      APIRoute(method: "GET", path: "/events", query: ["after"], body: nil)
    }
  }
}
