// Bytes of HTTP and WebSocket into a running web server with the front door and a conference behind it, over loopback; beside
// them somebody whose requests are answered.
import Basics
import Conference
import DoorKit
import Glibc
import Logging
import Members
import NativeDoor
import RoostProtocol
import TestSupport
import Threads
import WebSockets

@Sendable func runDoor(_ input: Span<UInt8>) {
  guard let door = RunningDoor.shared else { preconditionFailure("a server can listen on loopback") }
  var script = Script(input)
  guard let choice = script.next() else { return }
  door.check(DoorVisitor(port: door.port).say(choice, &script))
}

/// What comes of bytes at a door.
enum DoorGoal: String, CaseIterable {
  case served, refused, upgraded, requestGranted, requestRefused, closedWithAReason

  /// What an answer shows. Behind an upgrade come frames of the server, which are not masked.
  static func shown(by answer: [UInt8]) -> [DoorGoal] {
    let text = String(decoding: answer, as: UTF8.self)
    guard text.hasPrefix("HTTP/1.1 101") else {
      return text.hasPrefix("HTTP/1.1 2") ? [.served] : text.hasPrefix("HTTP/1.1 4") ? [.refused] : []
    }
    var shown: [DoorGoal] = [.upgraded]
    if text.contains("\"result\":") { shown.append(.requestGranted) }
    if text.contains("\"error\":") { shown.append(.requestRefused) }
    if endsWithAReason(answer) { shown.append(.closedWithAReason) }
    return shown
  }

  /// Whether the frames behind the head go on to a close frame with a code, RFC 6455 §5.5.1.
  private static func endsWithAReason(_ answer: [UInt8]) -> Bool {
    guard let head = answer.firstRange(of: Array("\r\n\r\n".utf8)) else { return false }
    var frames = answer[head.upperBound...]
    while frames.count >= 2 {
      let isClose = frames.removeFirst() == 0x88
      var length = Int(frames.removeFirst())
      if length >= 126 {
        let bytes = length == 126 ? 2 : 8
        guard frames.count >= bytes else { return false }
        length = frames.prefix(bytes).reduce(0) { $0 << 8 & 0xff_ffff | Int($1) }
        frames = frames.dropFirst(bytes)
      }
      if isClose { return length >= 2 && frames.count >= 2 }
      frames = frames.dropFirst(length)
    }
    return false
  }
}

let doorGoals = Goals<DoorGoal>()

/// A server, started once.
private final class RunningDoor: Sendable {
  static let shared = try? RunningDoor()
  private let server: WebServer
  private let core: Locked<ConferenceCore>
  private let honest: Locked<HonestVisitor>
  var port: UInt16 { server.port }

  init() throws {
    let core = Locked(ConferenceCore(rules: ConferenceRules(), random: SplitMix64(seed: 1)))
    let out = Locked<FrontDoor?>(nil)
    let front = FrontDoor(log: .disabled) { command in
      let now = Now(instant: MonotonicClock.now(), wallMilliseconds: 1_700_000_000_000)
      let effects = core.withLock { $0.apply(command, at: now) + $0.poll(at: now) }
      for case .client(let effect) in effects { out.withLock { $0 }?.carryOut(effect) }
    }
    out.withLock { $0 = front }
    var configuration = WebServerConfiguration(addresses: [SocketAddress(v4: 0x7f00_0001, port: 0)])
    configuration.handshakeSeconds = 1
    // All of them come from one address, as often as they can.
    configuration.maximumConnectionsPerAddress = 1 << 20
    (configuration.maximumRequestsPerAddress, configuration.strangersBytesAtOnce) = (1 << 30, 1 << 30)
    // The honest one answers no pings.
    configuration.limits.silenceLimit = .seconds(3_600)
    let routes: [HTTPRoute] = [
      .get("/healthz") { _ in .text(200, "ok") },
      HTTPRoute(.path("/echo"), methods: [.post, .get, .options], contentLimit: 256) { request, answer in
        answer(HTTPResponse(contentType: "application/octet-stream", body: request.content))
      },
    ]
    server = try WebServer.start(configuration, routes: routes, makeHandler: front.handler)
    self.core = core
    honest = Locked(HonestVisitor(port: server.port))
  }

  /// What the visitor got is HTTP, and the honest one is served.
  func check(_ answer: [UInt8]) {
    if !answer.isEmpty { precondition(answer.starts(with: Array("HTTP/1.".utf8)), "an answer is one of HTTP") }
    for goal in DoorGoal.shown(by: answer) { doorGoals.note(goal) }
    honest.withLock { $0.ask() }
    precondition(core.withLock { $0.gauges.sessions } <= 5_000)
  }
}

/// Somebody who says whatever the script wants.
struct DoorVisitor {
  private let socket: Int32

  init(port: UInt16) {
    guard let socket = try? Loopback.connect(port) else { preconditionFailure("the server listens") }
    self.socket = socket
    // The server itself waits five seconds for the answer to its close frame, counted in whole ones, and libFuzzer ten for an input.
    var patience = timeval(tv_sec: 8, tv_usec: 0)
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
  }

  static let upgrade =
    "GET /rtc HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"

  /// `choice`: 1 bytes as they are, in pieces of its higher bits; else frames behind an upgrade, and with 2 the replies are waited for:
  /// who hangs up at once hears none. Returns what was answered.
  func say(_ choice: UInt8, _ script: inout Script) -> [UInt8] {
    defer { close(socket) }
    var heard: [UInt8] = []
    if choice & 1 != 0 {
      while case let piece = script.take(Int(choice >> 1) * 4 + 1), !piece.isEmpty { write(piece) }
    } else {
      write(Array(Self.upgrade.utf8))
      while let first = script.next() { write(script.webSocketFrame(first)) }
      if choice & 2 != 0 { heard = readWhatComes() }
    }
    shutdown(socket, Int32(SHUT_WR))
    return heard + readAll()
  }

  private func write(_ bytes: [UInt8]) {
    _ = bytes.withUnsafeBytes { bytes in
      uninterrupted { send(socket, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL)) }
    }
  }

  /// Until nothing has come for some milliseconds, which is long on loopback.
  private func readWhatComes() -> [UInt8] {
    var one = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
    var all: [UInt8] = []
    while all.count < 1 << 20, uninterrupted({ Int(poll(&one, 1, 4)) }) == 1 {
      let more = readSome()
      if more.isEmpty { break }
      all += more
    }
    return all
  }

  /// Until the server has closed: it does so when nothing more can come.
  private func readAll() -> [UInt8] {
    var all: [UInt8] = []
    while case let more = readSome(), !more.isEmpty {
      all += more
      precondition(all.count < 1 << 20, "what is answered is bounded")
    }
    return all
  }

  /// What has come next; nothing when the server has closed.
  private func readSome() -> [UInt8] {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    let count = uninterrupted { read(socket, &buffer, buffer.count) }
    precondition(count >= 0 || errno == ECONNRESET, "who says no more is let go")
    return Array(buffer[..<max(count, 0)])
  }
}

extension Script {
  /// RFC 6455 §5.2. `first` is the first byte as it is; the next says how the length is written, and whether it is true.
  fileprivate mutating func webSocketFrame(_ first: UInt8) -> [UInt8] {
    let shape = next() ?? 0
    let payload = take(Int(shape & 0x1f) * 8)
    let mask: [UInt8] = [1, 2, 3, 4]
    let isMasked: UInt8 = shape & 0x80 == 0 ? 0x80 : 0
    var frame = [first]
    switch shape >> 5 & 3 {
    case 0 where payload.count < 126: frame.append(isMasked | UInt8(payload.count))
    case 0, 1: frame += [isMasked | 126, UInt8(payload.count >> 8), UInt8(truncatingIfNeeded: payload.count)]
    case 2:
      frame += [isMasked | 127, 0, 0, 0, 0, 0, 0, UInt8(payload.count >> 8), UInt8(truncatingIfNeeded: payload.count)]
    default: frame += [isMasked | 127] + (0..<8).map { _ in next() ?? 0xff }
    }
    if isMasked == 0 { return frame + payload }
    return frame + mask + payload.enumerated().map { $1 ^ mask[$0 & 3] }
  }
}

/// A call on a socket, again where a signal came between: libFuzzer sends one every few seconds.
func uninterrupted(_ call: () -> Int) -> Int {
  while true {
    let result = call()
    if result >= 0 || errno != EINTR { return result }
  }
}
