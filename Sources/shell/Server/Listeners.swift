// The web servers of the process: the page and its doors, the one for Flashphoner's apps, the one for operators, and that of the API.

import API
import Admin
import Configuration
import Logging
import DoorKit
import RoostProtocol
import Threads
import WebSockets

/// All of them, while they serve.
struct Listeners: Sendable {
  /// What they serve.
  struct Content {
    var doors: [any ClientDoor]
    var readiness: ReadinessState
    var metrics: MetricsCollector
    var conference: Mailbox<ConferenceInput>
    var outside: Outside
    var log: Logger
  }

  let web: WebServer
  /// Those that doors have for themselves, by name.
  let own: [(name: String, server: WebServer)]
  /// For operators, where they do not come to the port of the page.
  let admin: WebServer?
  /// For an application's own servers, where there is one.
  let api: WebServer?

  /// Starts them. Where one cannot, none is left.
  init(_ configuration: ServerConfiguration, _ content: Content) throws(StartError) {
    var started: [WebServer] = []
    do throws(StartError) {
      var own: [(name: String, server: WebServer)] = []
      for door in content.doors {
        guard let listener = door.listener else { continue }
        own.append((listener.name, try Self.start(listener, of: door, configuration, content)))
        started = own.map(\.server)
      }
      self.own = own
      admin = try Self.startAdmin(configuration, content)
      if let admin { started.append(admin) }
      api = try Self.startAPI(configuration, content)
      if let api { started.append(api) }
      web = try Self.startWeb(configuration, content)
    } catch {
      for server in started { server.stop() }
      throw error
    }
  }

  /// WebSockets open now.
  var webSocketsOpen: Int { own.reduce(web.statistics.webSocketsOpen) { $0 + $1.server.statistics.webSocketsOpen } }

  /// The counters of those that clients come to. It keeps no server.
  var figures: @Sendable () -> [ListenerFigures] {
    struct Weak: Sendable { weak let server: WebServer? }
    let servers = [(name: String?.none, server: Weak(server: web))] + own.map { ($0.name, Weak(server: $0.server)) }
    return {
      servers.compactMap { name, weak in
        weak.server.map { ListenerFigures(name: name, statistics: $0.statistics) }
      }
    }
  }

  /// Closes everything.
  func stop() {
    web.stop()
    for listener in own { listener.server.stop() }
    admin?.stop()
    api?.stop()
  }

  // MARK: Starting

  private static func startWeb(
    _ configuration: ServerConfiguration, _ content: Content
  ) throws(StartError) -> WebServer {
    let admin = adminRoutes(configuration, content) { _ in false }
    let own =
      configuration.admin.port == nil
      ? admin.routes + operatorRoutes(configuration, content) : admin.healthRoutes + AdminRoutes.noRoutes
    var server = WebServerConfiguration(configuration)
    server.tellRefusals(configuration, content.log)
    let doors = content.doors.filter { $0.listener == nil }
    let routes = own + doors.flatMap(\.routes) + [RoostServer.pageRoute()]
    do throws(WebSocketError) {
      return try WebServer.start(server, routes: routes) { handler(of: doors, $0) }
    } catch {
      throw StartError("\(error)", key: error.key)
    }
  }

  private static func start(
    _ listener: DoorListener, of door: any ClientDoor, _ configuration: ServerConfiguration, _ content: Content
  ) throws(StartError) -> WebServer {
    var server = listener.server
    server.tellRefusals(configuration, content.log)
    do throws(WebSocketError) {
      return try WebServer.start(server, routes: door.routes) { handler(of: [door], $0) }
    } catch {
      throw StartError("\(error)", key: error.key(of: listener.name))
    }
  }

  /// Gives doors their web server, and its WebSockets to the one that hears of them.
  private static func handler(of doors: [any ClientDoor], _ sender: WebSocketSender)
    -> @Sendable (WebSocketEvent) -> Void
  {
    let handlers = doors.compactMap { $0.serve(sender) }
    precondition(handlers.count <= 1, "two doors want the WebSockets of one server")
    return handlers.first ?? { _ in }
  }

  private static func startAdmin(
    _ configuration: ServerConfiguration, _ content: Content
  ) throws(StartError) -> WebServer? {
    guard var server = WebServerConfiguration.admin(configuration) else { return nil }
    server.tellRefusals(configuration, content.log)
    let audience = MetricsAudience(configuration.admin.metrics)
    let routes =
      adminRoutes(configuration, content, mayReadReasons: audience.admits).routes
      + operatorRoutes(configuration, content)
    do throws(WebSocketError) {
      // It has no WebSockets, so nothing is to be heard.
      return try WebServer.start(server, routes: routes) { _ in }
    } catch {
      throw StartError("\(error)", key: error.key(of: "admin"))
    }
  }

  /// Whoever shows the operators' token may read reasons, and beside them whom `mayReadReasons` admits.
  private static func adminRoutes(
    _ configuration: ServerConfiguration, _ content: Content, mayReadReasons: @escaping @Sendable (HTTPRequest) -> Bool
  ) -> AdminRoutes {
    let (readiness, metrics) = (content.readiness, content.metrics)
    let token = configuration.admin.token.map { OperatorToken($0, log: content.log) }
    return AdminRoutes(
      readiness: { readiness.value }, metrics: { metrics.collect($0) },
      mayReadMetrics: MetricsAudience(configuration.admin.metrics).admits,
      mayReadReasons: { request in
        // Balancers ask often and show nothing: that is no wrong token.
        mayReadReasons(request) || (request.authorization != nil && token?.permission(of: request) == .granted)
      })
  }

  /// Where there is an API, it is the one way: who asks at `/admin` is sent there.
  private static func operatorRoutes(_ configuration: ServerConfiguration, _ content: Content) -> [HTTPRoute] {
    if let port = configuration.api.port {
      return configuration.admin.token == nil
        ? []
        : MovedRoutes(
          port: port, isSecure: configuration.api.tls != nil,
          isLoopback: configuration.api.address.isLoopback
        ).routes
    }
    return configuration.admin.token.map { operatorRoutes(token: $0, content.conference, content.log).routes } ?? []
  }
}

/// What a web server has counted.
struct ListenerFigures: Sendable {
  /// nil for that of the page.
  let name: String?
  let statistics: WebServerStatistics
}

extension WebSocketError {
  /// What the operator may want to change.
  fileprivate var key: String? {
    switch self {
    case .noAddress, .cannotListen: "listen"
    case .unreadableFile, .unusableCertificate: "listen.tls"
    case .badURL, .exhausted: nil
    }
  }

  /// The same for a listener beside that of the page.
  fileprivate func key(of listener: String) -> String? {
    key.map { listener + ($0 == "listen.tls" ? ".tls" : ".port") }
  }
}

extension Listeners {
  /// What has come of a wish is written out on a thread of its own kind: the conference has others to serve.
  private static func operatorRoutes(
    token: String, _ mailbox: Mailbox<ConferenceInput>, _ log: Logger
  ) -> OperatorRoutes {
    OperatorRoutes(
      permission: OperatorToken(token, log: log).permission,
      refused: { request, error in
        log.warning(
          "operator_refused",
          [
            "peer": LogValue(request.peer?.description ?? ""),
            "request": LogValue("\(request.method.rawValue) \(request.path)"), "code": LogValue(error.data.name),
            "why": LogValue(error.message),
          ])
      }
    ) { action, realm, peer, answer in
      mailbox.post(.operate(action, in: realm, from: peer) { result in Task { answer(result) } })
    }
  }
}

extension Listeners {
  fileprivate static func startAPI(
    _ configuration: ServerConfiguration, _ content: Content
  ) throws(StartError) -> WebServer? {
    guard var server = WebServerConfiguration.api(configuration) else { return nil }
    server.tellRefusals(configuration, content.log)
    let routes = api(try apiKeys(configuration), content).routes
    do throws(WebSocketError) {
      // It has no WebSockets, so nothing is to be heard.
      return try WebServer.start(server, routes: routes) { _ in }
    } catch {
      throw StartError("\(error)", key: error.key(of: "api"))
    }
  }

  /// Those of `api.keys` for their realms, and the operators' for all.
  private static func apiKeys(_ configuration: ServerConfiguration) throws(StartError) -> [APIKey] {
    var keys = configuration.admin.token.map { [APIKey(name: "admin.token", secret: Array($0.utf8), realm: nil)] } ?? []
    for (index, key) in configuration.api.keys.enumerated() {
      let place = "api.keys[\(index + 1)]"
      let secret: [UInt8]
      do throws(UnusableKey) {
        secret = try key.secret()
      } catch {
        throw StartError(error.message, key: "\(place).\(error.field)")
      }
      if let other = keys.first(where: { $0.secret == secret }) {
        throw StartError(
          "it is the secret of \(other.name); make one with: openssl rand -hex 32", key: "\(place).secret_file")
      }
      keys.append(APIKey(name: key.name, secret: secret, realm: key.realm))
    }
    return keys
  }

  private static func api(_ keys: [APIKey], _ content: Content) -> API {
    let (mailbox, outside, log) = (content.conference, content.outside, content.log)
    return API(
      keys: keys,
      refused: { request, reason in
        log.warning(
          "api_refused",
          [
            "peer": LogValue(request.peer?.description ?? ""),
            "request": LogValue("\(request.method.rawValue) \(request.path)"), "why": LogValue(reason),
          ])
      },
      replay: { outside.replay(after: $0, of: $1, $2) }
    ) { action, realm, key, peer, answer in
      let isTaken = mailbox.post(.operate(action, in: realm, from: peer, by: key) { result in Task { answer(result) } })
      if !isTaken { answer(.failure(ErrorObject(.overloaded))) }
    }
  }
}

extension WebServerConfiguration {
  /// What is refused for the name or the proxy that it came by is logged.
  fileprivate mutating func tellRefusals(_ configuration: ServerConfiguration, _ log: Logger) {
    hostRefused = { name, peer in
      log.warning(
        "host_refused",
        [
          "host": LogValue(name), "peer": LogValue(peer?.description ?? ""),
          "remedy": "if this is a name of the server, add it to listen.hosts in rooms.yaml",
        ])
    }
    proxyHeaderMissing = { peer in
      log.warning(
        "proxy_header_missing",
        [
          "peer": LogValue(peer?.description ?? ""),
          "why":
            "proxy_protocol is true, and this proxy began a connection with something else, or with nothing in time",
          "remedy":
            "have the proxy send the PROXY protocol (send-proxy, proxy_protocol on), or set proxy_protocol: false",
        ])
    }
    forwardedForMissing = { proxy in
      log.warning(
        "forwarded_for_missing",
        [
          "peer": LogValue(proxy.description),
          "why": "this address is in listen.trusted_proxies, and its request does not say whom it brings",
          "effect": "who comes so is never local, and all of them have one limit",
          "remedy":
            "have the proxy add X-Forwarded-For; programs on its machine say X-Forwarded-For: 127.0.0.1",
        ])
    }
    refuseProxied(where: configuration.isOpenByPlace, log)
  }
}
