// What a web server is told at its start, and what can be wrong with it.
import Basics

/// Where a server listens, and its limits.
public struct WebServerConfiguration: Sendable {
  /// The addresses to listen on; port 0 lets the system choose. `[::]` serves IPv4 too, unless an IPv4 address is listed.
  public var addresses: [SocketAddress]
  /// Certificate and key, nil for plain HTTP.
  public var tls: TLSFiles?
  /// For how long browsers are told to come by TLS alone (RFC 6797), in seconds; nil: they are told nothing. Never said without TLS.
  public var strictTransportSeconds: Int?
  /// The path of the WebSocket end point; nil: there is none.
  public var webSocketPath: String?
  /// Which pages may open WebSockets.
  public var origins: OriginPolicy
  /// By which names the server may be asked for anything.
  public var hosts = HostPolicy()
  /// Told of a name that was refused, once for each of the first 64, on the service thread.
  public var hostRefused: @Sendable (_ name: String, _ peer: SocketAddress?) -> Void = { _, _ in }
  /// Who is believed whom they bring: their requests are those of the client that they name.
  public var proxies = TrustedProxies()
  /// Whether each connection begins with a PROXY header. Then only those proxies can connect.
  public var takesProxyHeaders = false
  /// Told of a proxy that sent none, or one that is none, once a minute at most, on the service thread.
  public var proxyHeaderMissing: @Sendable (_ peer: SocketAddress?) -> Void = { _ in }
  /// Told of a trusted proxy whose request did not say whom it brings (`X-Forwarded-For`), once an hour at most, on the service thread.
  public var forwardedForMissing: @Sendable (_ proxy: SocketAddress) -> Void = { _ in }
  /// Whether a request is refused with 403 that came through a proxy that is not believed, or that brings somebody from elsewhere. For
  /// servers that are open to whoever is on this machine: behind a proxy everybody seems to be.
  public var refusesProxied = false
  /// Told of the first request that was refused so, and then once a minute at most, on the service thread.
  public var proxyRefused: @Sendable (_ header: String, _ peer: SocketAddress?) -> Void = { _, _ in }
  /// Limits of each WebSocket.
  public var limits: WebSocketLimits
  /// TCP connections at once, HTTP and WebSocket together; more are closed as soon as they are accepted.
  public var maximumConnections: Int
  /// TCP connections at once from one IPv4 address or one IPv6 network of 64 bits, so that one cannot take all.
  public var maximumConnectionsPerAddress: Int
  /// Requests of HTTP that are answered at once after a pause for one IPv4 address or one IPv6 network of 64 bits; more get 429.
  public var maximumRequestsPerAddress = 2_000
  /// The same a second in the long run. A page is some twenty of them. Raise it, and one address can take more of the thread.
  public var requestsPerSecondPerAddress = 200.0
  /// Seconds in which an address may open again as many connections as it may have at once; so many it may open after a pause. Lower it,
  /// and one address can take more of the thread, and its tokens come by more connections than are looked at.
  static let secondsForAllConnections = 50.0
  /// What takes the place of that: connections that an address may open a second in the long run. For programs, of whose requests each that
  /// changes something ends its connection.
  public var connectionsPerSecondPerAddress: Double?
  /// So many connections an address may open after a pause, however few it may have at once.
  static let leastConnections = 200
  /// Seconds that TLS and the request's headers may take in all, then its content, and an HTTP client may take to read on.
  public var handshakeSeconds: Int
  /// Bytes that the contents of all requests that are being read may have together; a request beyond them is refused with 503.
  public var maximumContentBytes = 16 << 20
  /// The same of the requests from one IPv4 address or one IPv6 network of 64 bits, so that one cannot take all. It is what is announced
  /// that counts: an offer of WHIP has some kilobytes.
  public var maximumContentBytesPerAddress = 1 << 20
  /// What messages that have begun may be until they are whole.
  public var messages = MessageBounds()
  /// Bytes that may wait for all WebSockets of one IPv4 address or one IPv6 network of 64 bits that do not read, in steps of 16 KiB each.
  /// Where it is more, the one for whom the most waits is cut off.
  public var maximumQueuedBytesPerAddress = 128 << 20
  /// Bytes of text messages from one IPv4 address or one IPv6 network of 64 bits at once, as long as their connections are not admitted
  /// (`WebSocketSender.admit`). What is more is thrown away before anybody reads it (`WebSocketEvent.unread`).
  public var strangersBytesAtOnce = 8 << 20
  /// The same a second in the long run.
  public var strangersBytesPerSecond = 1 << 20
  /// Streams of server-sent events at once; a further one is refused with 503.
  public var maximumEventStreams = 1024
  /// The same of the readers at one IPv4 address or one IPv6 network of 64 bits.
  public var maximumEventStreamsPerAddress = 256
  /// Bytes of events that may wait for a reader; one that is further behind is cut off.
  public var maximumStreamBytes = 64 << 10
  /// How often a reader for whom nothing waits is sent a comment, so that proxies keep its connection.
  public var streamCommentInterval = TimeDelta.seconds(15)
  /// Commands that may wait for the service thread. When it is full, the socket whose command did not fit is dropped.
  public var mailboxCapacity: Int

  /// A configuration with the defaults that suit a small server.
  public init(
    addresses: [SocketAddress], tls: TLSFiles? = nil, webSocketPath: String? = "/rtc",
    origins: OriginPolicy = .sameHost(allowing: []), limits: WebSocketLimits = WebSocketLimits(),
    maximumConnections: Int = 4096, maximumConnectionsPerAddress: Int = 4096, handshakeSeconds: Int = 10,
    mailboxCapacity: Int = 65_536
  ) {
    self.addresses = addresses
    self.tls = tls
    self.webSocketPath = webSocketPath
    self.origins = origins
    self.limits = limits
    self.maximumConnections = maximumConnections
    self.maximumConnectionsPerAddress = maximumConnectionsPerAddress
    self.handshakeSeconds = handshakeSeconds
    self.mailboxCapacity = mailboxCapacity
  }
}

extension WebServerConfiguration {
  /// What all of its answers have.
  var ownHeaders: [HTTPHeader] {
    guard tls != nil, let seconds = strictTransportSeconds else { return [] }
    return [HTTPHeader("strict-transport-security", "max-age=\(seconds)")]
  }
}

/// PEM files of a TLS server.
public struct TLSFiles: Sendable, Hashable {
  /// The path of the certificate chain, the server's own first.
  public var certificate: String
  /// The path of the private key.
  public var privateKey: String

  /// The files at these paths.
  public init(certificate: String, privateKey: String) {
    self.certificate = certificate
    self.privateKey = privateKey
  }
}

/// Which pages may open a WebSocket. Requests without an `Origin` header do not come from a page and are always let in:
/// the header protects a browser's user from foreign pages, not the server from programs.
public enum OriginPolicy: Sendable, Hashable {
  /// Pages of the host that the request itself names, and of the listed origins: `https://example.org`, those of apps such as
  /// `capacitor://localhost`, `null`, and `https://*.example.org` for all names below one.
  case sameHost(allowing: [String])
  /// The same, whatever the page's port: for a listener whose pages always come from another.
  case sameName(allowing: [String])
  /// Every page.
  case any

  /// Whether a page of `origin` may connect to `host` (the `Host` header, with its port).
  public func allows(origin: String?, host: String?) -> Bool {
    guard let origin = origin?.lowercased() else { return true }
    switch self {
    case .any: return true
    case .sameName(let allowed):
      if Self.lists(allowed, origin) { return true }
      guard let scheme = ["https://", "http://"].first(where: { origin.hasPrefix($0) }), let host else { return false }
      return Self.name(String(origin.dropFirst(scheme.count))) == Self.name(host.lowercased())
    case .sameHost(let allowed):
      if Self.lists(allowed, origin) { return true }
      guard let scheme = ["https://", "http://"].first(where: { origin.hasPrefix($0) }), let host else { return false }
      let implied = scheme == "https://" ? ":443" : ":80"
      return Self.strip(implied, from: String(origin.dropFirst(scheme.count)))
        == Self.strip(implied, from: host.lowercased())
    }
  }

  private static func lists(_ allowed: [String], _ origin: String) -> Bool {
    allowed.contains { matches($0.lowercased(), origin) }
  }

  /// Whether an origin is this one, or is of a name below it where it has `*.` before its name. A port must be the same.
  private static func matches(_ allowed: String, _ origin: String) -> Bool {
    let parts = allowed.split(separator: "://*.", maxSplits: 1)
    guard parts.count == 2 else { return allowed == origin }
    let (scheme, domain) = (parts[0] + "://", "." + parts[1])
    guard origin.begins(with: scheme), origin.utf8.suffix(domain.utf8.count).elementsEqual(domain.utf8) else {
      return false
    }
    let below = origin.utf8.dropFirst(scheme.utf8.count).dropLast(domain.utf8.count)
    return !below.isEmpty && below.first != UInt8(ascii: ".") && below.last != UInt8(ascii: ".")
      && below.allSatisfy { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "@") && $0 != UInt8(ascii: ":") }
  }

  /// A host without its port. By bytes: it may be of any length, and any characters.
  private static func name(_ host: String) -> Substring {
    let bytes = host.utf8
    guard let colon = bytes.lastIndex(of: UInt8(ascii: ":")), colon > bytes.startIndex else { return host[...] }
    let port = bytes[bytes.index(after: colon)...]
    let before = bytes[..<colon]
    let isWhole =
      before.first == UInt8(ascii: "[") ? before.last == UInt8(ascii: "]") : !before.contains(UInt8(ascii: ":"))
    return isWhole && port.allSatisfy { (0x30...0x39).contains($0) } ? host[..<colon] : host[...]
  }

  private static func strip(_ suffix: String, from host: String) -> String {
    host.hasSuffix(suffix) ? String(host.dropLast(suffix.count)) : host
  }
}

/// What one WebSocket may cost. The same for the server's and the client's end.
public struct WebSocketLimits: Sendable, Hashable {
  /// The largest text message taken in, in bytes of UTF-8.
  public var maximumMessageBytes: Int
  /// The same before `WebSocketSender.admit`.
  public var strangersMessageBytes: Int
  /// Bytes that may wait for a peer that does not read.
  public var maximumQueuedBytes: Int
  /// Messages that may wait for a peer that does not read.
  public var maximumQueuedMessages: Int
  /// How often a ping is sent.
  public var pingInterval: TimeDelta
  /// How long nothing at all may come before the socket is given up.
  public var silenceLimit: TimeDelta
  /// For how long it may owe the answer to a ping before `WebSocketEvent.overdue` says so.
  public var answerLimit = TimeDelta.seconds(5)
  /// How often a ping is sent to one that only waits (`WebSocketSender.setWaiting`). It is given up after three times as long.
  public var idlePingInterval: TimeDelta
  /// Pings and pongs that a client may send to the server at once. Each ping is answered by the thread that serves all.
  public var controlFramesAtOnce = 100
  /// The same a second in the long run.
  public var controlFramesPerSecond = 50.0

  /// The limits of the protocol: 512 KiB messages, a ping every 5 s, dead after 15 s; of those who wait every 30 s, dead after 90 s.
  public init(
    maximumMessageBytes: Int = 512 * 1024, strangersMessageBytes: Int = .max, maximumQueuedBytes: Int = 1 << 20,
    maximumQueuedMessages: Int = 4096,
    pingInterval: TimeDelta = .milliseconds(5000), silenceLimit: TimeDelta = .milliseconds(15_000),
    idlePingInterval: TimeDelta = .milliseconds(30_000)
  ) {
    self.maximumMessageBytes = maximumMessageBytes
    self.strangersMessageBytes = strangersMessageBytes
    self.maximumQueuedBytes = maximumQueuedBytes
    self.maximumQueuedMessages = maximumQueuedMessages
    self.pingInterval = pingInterval
    self.silenceLimit = silenceLimit
    self.idlePingInterval = idlePingInterval
  }

  /// What a socket's pings go by. One that waits is dead after three pings.
  func pace(_ wish: PingWish) -> PingPace {
    switch wish {
    case .busy: return PingPace(interval: pingInterval, silence: silenceLimit, answer: answerLimit)
    case .waiting(let interval):
      let interval = max(interval ?? idlePingInterval, pingInterval)
      return PingPace(
        interval: interval, silence: max(interval + interval + interval, silenceLimit), answer: answerLimit)
    }
  }
}

/// Why a server or client could not be started. The description is one sentence for the operator.
public enum WebSocketError: Error, Equatable, CustomStringConvertible {
  /// No address can be listened on: the list is empty.
  case noAddress
  /// The address could not be bound or listened on; `reason` is the system's.
  case cannotListen(SocketAddress, reason: String)
  /// A TLS file cannot be read; `reason` is the system's.
  case unreadableFile(path: String, reason: String)
  /// The files can be read, and make no usable certificate and key; `reason` is the TLS library's.
  case unusableCertificate(TLSFiles, reason: String)
  /// A client's address is not `ws://host[:port]/path` or `wss://…`.
  case badURL(String)
  /// The library or the system has no means left: memory, threads, descriptors.
  case exhausted(String)

  /// One sentence for the operator.
  public var description: String {
    switch self {
    case .noAddress: "there is no address to listen on"
    case .cannotListen(let address, let reason): "cannot listen on \(address): \(reason)"
    case .unreadableFile(let path, let reason): "cannot read the TLS file \(path): \(reason)"
    case .unusableCertificate(let files, let reason):
      "the certificate \(files.certificate) and key \(files.privateKey) cannot be used: \(reason)"
    case .badURL(let url): "\"\(url)\" is not a WebSocket URL (ws://host[:port]/path or wss://host[:port]/path)"
    case .exhausted(let what): "the system has run out of means: \(what)"
    }
  }
}
