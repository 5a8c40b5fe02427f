// rooms.yaml to `ServerConfiguration`: which keys there are, of which kind, within which bounds.
import Basics
import Crypto
import Glibc
import RoostProtocol

extension ServerConfiguration {
  /// Reads a file. Throws everything that is wrong with it for this machine: the files it names (TLS) must serve, and media
  /// must have an address here.
  public static func load(file: String) throws(InvalidConfiguration) -> ServerConfiguration {
    try loadWithLocations(file: file).configuration
  }

  /// As above, with the locations of the keys.
  public static func loadWithLocations(
    file: String
  ) throws(InvalidConfiguration) -> (configuration: ServerConfiguration, locations: ConfigurationLocations) {
    let report = ConfigurationReport(file: file, interfaces: interfaceAddresses())
    let configuration = try valid(readFile(file), report)
    return (configuration, ConfigurationLocations(file: file, marks: report.locations))
  }

  /// Reads the text of a file; `file` is its name for error messages and the place where relative paths start.
  /// `interfaces`: the addresses of the machine it is for; nil where no machine is to be looked at.
  public static func parse(
    _ bytes: [UInt8], file: String, interfaces: [SocketAddress]? = nil
  ) throws(InvalidConfiguration) -> ServerConfiguration {
    try valid(bytes, ConfigurationReport(file: file, interfaces: interfaces))
  }

  private static func valid(
    _ bytes: [UInt8], _ report: ConfigurationReport
  ) throws(InvalidConfiguration) -> ServerConfiguration {
    let configuration = parse(bytes, report: report)
    guard report.issues.isEmpty else {
      let inOrder = report.issues.sorted { ($0.line, $0.column, $0.key) < ($1.line, $1.column, $1.key) }
      throw InvalidConfiguration(issues: inOrder)
    }
    return configuration
  }

  /// As above; what is wrong ends up in the report, and the rest is taken.
  static func parse(_ bytes: [UInt8], report: ConfigurationReport) -> ServerConfiguration {
    var configuration = ServerConfiguration()
    do {
      var root = Section(root: try parseYAML(bytes), report: report)
      configuration.read(&root)
      root.finish()
    } catch {
      report.complain(error.mark, "", error.message)
    }
    return configuration
  }

  private mutating func read(_ root: inout Section) {
    root.section("listen") { listen.read(&$0) }
    let listening = listen.address.port
    root.section("flashphoner") { flashphoner.read(&$0, besides: listen) }
    root.section("media") { media.read(&$0) }
    readRooms(&root)
    root.section("chat") { chat.read(&$0) }
    root.section("messages") { messages.read(&$0) }
    // What is left out stands beside the file as well.
    storage.path = storage.path.map { resolve($0, besides: root.report.file) }
    root.section("storage") {
      $0.read("path", .fileToWrite, &storage.path)
      $0.read("call_records", .duration(hour...(hour * 24 * 3660)), &storage.callRecords)
      $0.read("most_call_records", .integer(100...10_000_000), &storage.mostCallRecords)
      $0.read("call_records_per_user", .integer(1...100_000), &storage.callRecordsPerUser)
    }
    root.section("webhooks") { webhooks.read(&$0) }
    root.section("hooks") { hooks.read(&$0) }
    readRealms(&root)
    root.section("limits") { limits.read(&$0) }
    root.section("sessions") { sessions.read(&$0) }
    calls.resumeGrace = sessions.resumeGrace
    root.section("calls") { calls.read(&$0) }
    root.section("log") {
      $0.read("level", .choice, &log.level)
      $0.read("format", .choice, &log.format)
    }
    root.read("ice_servers", .list(of: .iceServer, atMost: 16), &iceServers)
    access.read(&root, realms: realmNames)
    let others = [("the port of listen", listening)] + (flashphoner.port.map { [("flashphoner.port", $0)] } ?? [])
    root.section("admin") { admin.read(&$0, besides: others) }
    let ports = others + (admin.port.map { [("admin.port", $0)] } ?? [])
    root.section("api") { api.read(&$0, besides: ports, realms: realmNames) }
  }
}

func readFile(_ path: String) throws(InvalidConfiguration) -> [UInt8] {
  func failure(_ message: String) -> InvalidConfiguration {
    InvalidConfiguration(issues: [ConfigurationIssue(file: path, line: 0, column: 0, key: "", message: message)])
  }
  let fd = open(path, O_RDONLY | O_CLOEXEC)
  guard fd >= 0 else { throw failure("cannot be read: " + String(cString: strerror(errno))) }
  defer { close(fd) }
  var bytes = [UInt8](repeating: 0, count: YAMLBounds.bytes + 1)  // one more, so that a larger file shows
  var length = 0
  while length < bytes.count {
    let count = bytes.withUnsafeMutableBytes { read(fd, $0.baseAddress.map { $0 + length }, $0.count - length) }
    guard count >= 0 else { throw failure("cannot be read: " + String(cString: strerror(errno))) }
    if count == 0 { break }
    length += count
  }
  return Array(bytes[..<length])
}

// MARK: - Where it listens

extension ServerConfiguration.Listen {
  fileprivate mutating func read(_ keys: inout Section) {
    var (host, port) = (address, Int(address.port))
    keys.read("address", .boundAddress, &host)
    keys.read("port", .integer(1...65_535), &port)
    address = SocketAddress(high: host.high, low: host.low, port: UInt16(truncatingIfNeeded: port))
    let hasTLS = keys.mark(of: "tls") != nil
    keys.section("tls") { tls = ServerConfiguration.TLSFiles(&$0, isGiven: hasTLS) }
    keys.read("hsts", .duration(.zero...(hour * 24 * 3660)), &strictTransport)
    keys.read("allowed_origins", .list(of: .origin, atMost: 256), &allowedOrigins)
    keys.read("hosts", .list(of: .hostName, atMost: 256), &hosts)
    keys.read("trusted_proxies", .list(of: .addressRange, atMost: 64), &trustedProxies)
    keys.readProxyProtocol(&proxyProtocol, from: trustedProxies)
  }
}

extension ServerConfiguration.Flashphoner {
  /// `listen` has a port that it cannot have, and its proxies.
  fileprivate mutating func read(_ keys: inout Section, besides listen: ServerConfiguration.Listen) {
    port = keys.value("port", .integer(1...65_535)).map { UInt16(truncatingIfNeeded: $0) }
    if let port, port == listen.address.port {
      keys.complain("port", "\(port) is the port of listen; the listener for Flashphoner's apps needs one of its own")
    }
    let hasTLS = keys.mark(of: "tls") != nil
    keys.section("tls") { tls = ServerConfiguration.TLSFiles(&$0, isGiven: hasTLS) }
    keys.readProxyProtocol(&proxyProtocol, from: listen.trustedProxies)
    keys.read("app_keys", .list(of: .text(128, bytes: 128), atLeast: 1, atMost: 64), &appKeys)
  }
}

extension Section {
  fileprivate mutating func readProxyProtocol(_ isOn: inout Bool, from proxies: [AddressRange]) {
    read("proxy_protocol", .boolean, &isOn)
    if isOn, proxies.isEmpty {
      complain("proxy_protocol", "then nobody could connect: name the proxies in listen.trusted_proxies")
    }
  }
}

extension ServerConfiguration.TLSFiles {
  init?(_ keys: inout Section, isGiven: Bool) {
    let certificate = keys.value("certificate", .readableFile)
    let key = keys.value("key", .readableFile)
    for name in ["certificate", "key"] where isGiven && keys.mark(of: name) == nil {
      keys.complain(name, "TLS needs both: the path of a certificate and of its key")
    }
    guard let certificate, let key else { return nil }
    self.init(certificate: certificate, key: key)
    if keys.report.interfaces != nil { check(&keys) }
  }

  /// Looks into the files with the eyes of a TLS server. Whether the certificate is valid today is `roost doctor`'s to say:
  /// a server that is started again serves as before.
  private func check(_ keys: inout Section) {
    do {
      _ = try inspectTLSFiles(certificate: certificate, key: key, wallMilliseconds: 0)
    } catch .certificate {
      let expected = "expected a PEM file that begins with the server's own"
      keys.complain("certificate", "\(certificate) holds no certificate; \(expected)")
    } catch .key {
      keys.complain("key", "\(key) holds no private key; expected a PEM file without a pass phrase")
    } catch {
      keys.complain("key", "\(key) is not the key of \(certificate); expected the one that it was requested with")
    }
  }
}

extension ServerConfiguration.Media {
  fileprivate mutating func read(_ keys: inout Section) {
    var first = Int(port)
    keys.read("port", .integer(1...65_535), &first)
    keys.read("workers", .integer(0...256), &workers)
    keys.read("cpus", .list(of: .integer(0...1_023), atMost: 256), &cpus)
    port = UInt16(truncatingIfNeeded: first)
    if let problem = portProblem(ofWorkers: workers) { keys.complain("port", problem) }
    keys.read("addresses", .list(of: .boundAddress, atLeast: 1), &addresses)
    readAdvertised(&keys)
    keys.read("max_bitrate", .bitrate(50_000...100_000_000), &maxBitsPerSecond)
    keys.read(
      "cut_above", .integer(0...1_000).unless { (1..<100).contains($0) ? "0, or from 100 to 1000" : nil }, &cutAbove)
    keys.read("checks_per_second", .integer(0...1_000), &checksPerSecond)
    keys.read("video_codecs", .list(of: .choice, atLeast: 1), &videoCodecs)
    keys.read("receive_buffer", .bytes((64 << 10)...(256 << 20)), &receiveBufferBytes)
    keys.read("send_buffer", .bytes((64 << 10)...(256 << 20)), &sendBufferBytes)
    keys.section("coalesce") {
      $0.read("video", .duration(.zero...longestHold), &coalesceVideo)
      $0.read("audio", .duration(.zero...longestHold), &coalesceAudio)
      $0.read("audience", .duration(.zero...longestAudienceHold), &coalesceAudience)
    }
    keys.read("full_above", .integer(1...100), &fullAbove)
    keys.read("srtp", .choice, &srtp)
  }

  /// After `addresses`: what is told has a socket.
  private mutating func readAdvertised(_ keys: inout Section) {
    var bound = keys.report.interfaces.map { bindAddresses(interfaces: $0) } ?? addresses
    if bound.isEmpty {
      if !addresses.isEmpty { keys.complain("addresses", "this machine has none of these addresses") }
      bound = Self().addresses
    }
    keys.read("advertise", .list(of: .advertised(bound: bound)), &advertise)
    for case let (described, port?) in advertise.map({ ($0.described, $0.port) }) where Int(port) + workers > 65_536 {
      keys.complain(
        "advertise", "\(described) leads to worker 0 of \(workers), and the ports after it end at 65535")
    }
  }
}

extension ValueKind where Value == ServerConfiguration.ICEServer {
  fileprivate static var iceServer: Self {
    Self { node, context in
      var keys = Section(element: node, context)
      let urls = keys.value("urls", .list(of: .iceURL, atLeast: 1, atMost: 16))
      let username = keys.value("username", .text())
      let credential = keys.value("credential", .secret(atLeast: 1))
      keys.finish()
      if urls == nil, keys.mark(of: "urls") == nil {
        context.complain(node, "needs urls: a list of stun: or turn: URLs")
      }
      if (username == nil) != (credential == nil) {
        context.complain(node, "needs username and credential, or neither")
      }
      if let urls, urls.contains(where: isTURN), keys.mark(of: "username") == nil, keys.mark(of: "credential") == nil {
        context.complain(node, "needs username and credential: browsers take no TURN server without")
      }
      return urls.map { ServerConfiguration.ICEServer(urls: $0, username: username, credential: credential) }
    }
  }
}

// MARK: - Limits and timers

extension ServerConfiguration.Chat {
  fileprivate mutating func read(_ keys: inout Section) {
    keys.read("text_bytes", .bytes(1...ProtocolLimits.textBytes), &textBytes)
    keys.read("messages_per_second", .integer(1...10_000), &messagesPerSecond)
    keys.read("burst", .integer(1...100_000), &burst)
  }
}

extension ServerConfiguration.Messages {
  fileprivate mutating func read(_ keys: inout Section) {
    keys.read("per_second", .integer(1...10_000), &perSecond)
    keys.read("burst", .integer(1...100_000), &burst)
  }
}

extension ServerConfiguration.Webhooks {
  mutating func read(_ keys: inout Section) {
    keys.section("push") { push = Endpoint(&$0) }
    keys.section("events") {
      events = Endpoint(&$0)
      $0.read("chat", .boolean, &tellsChat)
    }
    keys.section("keep") {
      $0.read("time", .duration(shortest...(hour * 24 * 365)), &keep.time)
      $0.read("size", .bytes((1 << 20)...(1 << 40)), &keep.size)
    }
    keys.read("timeout", .duration(.milliseconds(100)...TimeDelta.seconds(300)), &timeout)
    keys.read("give_up_after", .duration(shortest...(hour * 24 * 30)), &giveUpAfter)
    keys.read("waiting", .integer(1...1_000_000), &waiting)
    keys.read("at_once", .integer(1...1000), &atOnce)
  }
}

extension ServerConfiguration.Webhooks.Endpoint {
  /// Nil without a URL.
  init?(_ keys: inout Section) {
    let url = keys.value("url", .httpURL)
    let secrets = keys.value("secret", .secrets(atMost: Self.mostSecrets, atLeast: 16))
    if keys.mark(of: "url") != nil, keys.mark(of: "secret") == nil {
      keys.complain("url", "needs a secret beside it, so that the receiver can tell who sends")
    }
    guard let url, let secrets else { return nil }
    self.init(url: url, secrets: secrets)
  }
}

extension ServerConfiguration.Limits {
  fileprivate mutating func read(_ keys: inout Section) {
    keys.read("rooms", .integer(1...1_000_000), &rooms)
    keys.read("sessions", .integer(1...1_000_000), &sessions)
    keys.read("sessions_per_user", .integer(1...1_000_000), &sessionsPerUser)
    keys.read("sessions_per_address", .integer(1...1_000_000), &sessionsPerAddress)
    keys.read("rooms_per_user", .integer(1...1_000_000), &roomsPerUser)
    keys.read("rooms_per_address", .integer(1...1_000_000), &roomsPerAddress)
    keys.read("connections", .integer(1...1_000_000), &connections)
    keys.read("connections_per_address", .integer(1...1_000_000), &connectionsPerAddress)
    keys.read("message_bytes", .bytes((16 << 10)...(512 << 10)), &messageBytes)
    keys.read("requests_per_second", .integer(1...100_000), &requestsPerSecond)
    keys.read("request_burst", .integer(1...1_000_000), &requestBurst)
    keys.read("user_requests_per_second", .integer(1...100_000), &userRequestsPerSecond)
    keys.read("user_request_burst", .integer(1...1_000_000), &userRequestBurst)
    keys.read("address_requests_per_second", .integer(1...10_000_000), &addressRequestsPerSecond)
    keys.read("address_tokens_per_second", .integer(0...100_000), &addressTokensPerSecond)
    keys.read("address_request_burst", .integer(1...100_000_000), &addressRequestBurst)
    keys.read("outbox_bytes", .bytes((64 << 10)...(256 << 20)), &outboxBytes)
  }
}

private let shortest = TimeDelta.milliseconds(1)
/// More than this would be heard and seen.
private let longestHold = TimeDelta.milliseconds(10)
/// More than this, and a listener's jitter buffer would grow beyond what lips and sound may be apart.
private let longestAudienceHold = TimeDelta.milliseconds(40)
private let hour = TimeDelta.seconds(3_600)

extension ServerConfiguration.Sessions {
  fileprivate mutating func read(_ keys: inout Section) {
    keys.read("hello_timeout", .duration(shortest...hour), &helloTimeout)
    keys.read("resume_grace", .duration(.zero...hour), &resumeGrace)
    keys.read("ping_interval", .duration(shortest...hour), &pingInterval)
    keys.read("dead_after", .duration(shortest...hour), &deadAfter)
    keys.read("idle_ping", .duration(shortest...hour), &idlePing)
    if deadAfter <= pingInterval {
      let named = keys.mark(of: "dead_after") != nil ? "dead_after" : "ping_interval"
      let (dead, ping) = (durationText(deadAfter), durationText(pingInterval))
      keys.complain(named, "dead_after (\(dead)) must be longer than ping_interval (\(ping))")
    }
    if keys.mark(of: "idle_ping") == nil {
      idlePing = max(idlePing, pingInterval)
    } else if idlePing < pingInterval {
      let (idle, ping) = (durationText(idlePing), durationText(pingInterval))
      keys.complain("idle_ping", "idle_ping (\(idle)) must not be shorter than ping_interval (\(ping))")
    }
  }
}

extension ServerConfiguration.Calls {
  fileprivate mutating func read(_ keys: inout Section) {
    keys.read("ring_timeout", .duration(shortest...hour), &ringTimeout)
    keys.read("ring_timeout_min", .duration(shortest...hour), &ringTimeoutMin)
    keys.read("ring_timeout_max", .duration(shortest...hour), &ringTimeoutMax)
    checkRinging(keys)
    keys.read("deliver_timeout", .duration(shortest...hour), &deliverTimeout)
    keys.read("connect_timeout", .duration(shortest...hour), &connectTimeout)
    keys.read("media_timeout", .duration(shortest...hour), &mediaTimeout)
    keys.read("resume_grace", .duration(.zero...hour), &resumeGrace)
    keys.read("caller_grace", .duration(.zero...hour), &callerGrace)
    keys.read("media_change_timeout", .duration(shortest...hour), &mediaChangeTimeout)
    keys.read("alone_timeout", .duration(.zero...(hour * 24)), &aloneTimeout)
    keys.read("tombstone", .duration(.zero...(hour * 24 * 365)), &tombstone)
    keys.read("rings_per_caller", .integer(0...100_000), &ringsPerCaller)
    keys.read("rings_per_callee", .integer(0...100_000), &ringsPerCallee)
    keys.read("rings_per_pair", .integer(0...100_000), &ringsPerPair)
  }

  /// What rings without a wish is between the shortest and the longest that may be wished for.
  private func checkRinging(_ keys: Section) {
    let orders = [
      (("ring_timeout_min", ringTimeoutMin), ("ring_timeout_max", ringTimeoutMax)),
      (("ring_timeout", ringTimeout), ("ring_timeout_max", ringTimeoutMax)),
      (("ring_timeout_min", ringTimeoutMin), ("ring_timeout", ringTimeout)),
    ]
    for (least, most) in orders where least.1 > most.1 {
      let named = keys.mark(of: least.0) != nil ? least.0 : most.0
      let words = "\(least.0) (\(durationText(least.1))) must not be longer than \(most.0) (\(durationText(most.1)))"
      keys.complain(named, words)
      return
    }
  }
}
