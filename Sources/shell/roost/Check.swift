// `roost check`: what a valid configuration means, in words.
import Basics
import Configuration
import Names

func check(_ loaded: Loaded) throws -> Int32 {
  try loaded.checkAccess()
  print("configuration: \(loaded.source.described)")
  for line in summary(loaded.configuration, interfaces: interfaceAddresses()) { print(line) }
  for advice in loaded.advice { print("warning:       \(advice.key): \(advice.message)") }
  return 0
}

/// What would be served, one fact a line.
func summary(_ configuration: ServerConfiguration, interfaces: [SocketAddress]) -> [String] {
  let media = configuration.media
  // Names as they are: what they stand for is for the start to find out, and for `roost doctor`.
  let told =
    media.advertise.isEmpty
    ? configuration.advertisedAddresses(interfaces: interfaces).map(\.host) : media.advertise.map(\.described)
  let last = media.port(ofWorker: media.workers - 1)
  let ports =
    media.workers == 0
    ? "from \(media.port) on, one per CPU" : media.workers == 1 ? "\(media.port)" : "\(media.port)–\(last)"
  var lines = [
    "web:           \(configuration.listen.url)",
    "media:         UDP \(ports) on \(media.addresses.map(\.host).joined(separator: ", "))"
      + (media.isForThisMachine ? ", from this machine alone" : ""),
    "clients use:   \(told.isEmpty ? "no address" : told.joined(separator: ", "))",
    "codecs:        \(media.videoCodecs.map(\.rawValue).joined(separator: ", ")), opus",
  ]
  if let port = configuration.flashphoner.port {
    let isSecure = (configuration.flashphoner.tls ?? configuration.listen.tls) != nil
    let keys = configuration.flashphoner.appKeys.joined(separator: ", ")
    lines.append("flashphoner:   \(isSecure ? "wss" : "ws") on port \(port), for the applications \(keys)")
  }
  lines.append("storage:       \(configuration.storage.path ?? "none: nothing outlives the process")")
  for told in configuration.webhookEndpoints {
    lines.append("webhooks:      \(told.key.replacing("webhooks.", with: "")) to \(told.endpoint.url)")
  }
  lines.append("access:        \(configuration.accessDescribed)")
  if !configuration.listen.trustedProxies.isEmpty {
    let proxies = configuration.listen.trustedProxies.map(\.description).joined(separator: ", ")
    lines.append("proxies:       believed whom they bring: \(proxies)")
  }
  let place = configuration.admin.ownAddress.map { " at \($0)" } ?? ""
  if configuration.admin.token != nil, configuration.api.port == nil {
    lines.append("operators:     /admin\(place), for whoever shows admin.token")
  }
  if let address = configuration.api.ownAddress {
    let names = configuration.api.keys.map(\.name) + (configuration.admin.token == nil ? [] : ["admin.token"])
    lines.append(
      "api:           /api/v1 at \(address), for \(names.isEmpty ? "nobody" : names.joined(separator: ", "))")
  }
  if !place.isEmpty { lines.append("metrics:       /metrics\(place), for \(configuration.admin.metrics.rawValue)") }
  return lines + configuration.realmNames.flatMap { roomLines($0, configuration) }
}

/// The rooms of a realm, and what becomes of other names.
private func roomLines(_ realm: Realm, _ configuration: ServerConfiguration) -> [String] {
  let settings = configuration.settings(of: realm)
  var lines = configuration.realmNames.count == 1 ? [] : ["realm:         \(realm)"]
  for (name, room) in settings.rooms.sorted(by: { $0.key < $1.key }) {
    lines.append("room:          \(name): \(room.described)")
  }
  switch settings.unknownRooms {
  case .refuse: lines.append("other names:   refused")
  case .create(let kind):
    lines.append("other names:   \(configuration.kinds[kind]?.described ?? kind)")
  }
  return lines
}

extension Loaded {
  /// - Throws: why a server must not start as it is, with its place in the file.
  func checkAccess() throws {
    guard let problem = configuration.accessProblem else { return }
    guard let locations else { throw CommandFailure(message: problem) }
    throw locations.issue("access", problem)
  }
}

extension ServerConfiguration {
  /// Who may come in.
  fileprivate var accessDescribed: String {
    if access.isOpen { return "open: whoever reaches the server, under any name" }
    if access.keys.isEmpty { return "whoever is on this machine, under any name" }
    let keys = access.keys.map { "\($0.kid ?? "one without a name") (\($0.algorithm.rawValue))" }
    return "who shows a token of \(keys.joined(separator: ", "))"
  }
}

extension RoomSettings {
  /// `group, 16 with video, 32 with audio only, the first to join decides`.
  var described: String {
    let seats =
      switch media {
      case .video: "\(videoLimit) seats, video"
      case .audio: "\(audioLimit) seats, audio only"
      case .firstJoiner: "\(videoLimit) seats with video or \(audioLimit) with audio only, as the first to join wants"
      }
    return "\(kind), \(seats)" + (publishers.map { ", \($0) may publish" } ?? "")
  }
}
