// One flood of forged tokens: who forges, who pings meanwhile, and who comes with a good token.

import Basics
import Glibc
import Threads

final class TokenFloodRun: Sendable {
  private let port: UInt16
  private let flashphonerPort: UInt16
  private let door: TokenFloods.Door
  private let forgery: [UInt8]
  private let good: @Sendable (String) -> String
  private let isOver = Locked(false)

  /// Milliseconds of what did not come.
  private static let never = 1e6
  private static let there = SocketAddress(v4: 0x7f00_0001, port: 0)
  private static let elsewhere = SocketAddress(v4: 0x7f00_0002, port: 0)

  init(port: UInt16, flashphonerPort: UInt16, _ door: TokenFloods.Door, _ signer: TokenFloods.Signer) {
    (self.port, self.flashphonerPort, self.door) = (port, flashphonerPort, door)
    forgery = Self.message(door, signer.forged)
    // Signed here, so that signing costs nobody time.
    let tokens = Locked<[String: String]>([:])
    good = { user in
      tokens.withLock { tokens in
        let token = tokens[user] ?? signer.token(user)
        tokens[user] = token
        return token
      }
    }
  }

  private static func message(_ door: TokenFloods.Door, _ token: String) -> [UInt8] {
    switch door {
    case .native:
      SignallingSocket.frame(
        #"{"jsonrpc":"2.0","id":1,"method":"session.hello","params":{"user":"mallory","token":"\#(token)"}}"#)
    case .whip:
      Array("GET /whip/demo HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer \(token)\r\n\r\n".utf8)
    case .flashphoner:
      SignallingSocket.frame(
        #"{"message":"connection","data":[{"appKey":"defaultApp","login":"mallory","custom":{"token":"\#(token)"}}]}"#)
    }
  }

  /// Makes it; returns when all have ended.
  func measure(_ row: inout TokenFloods.Row) {
    let pings = [Self.there, Self.elsewhere].map { address in
      let times = Locked<[Double]>([])
      return (times, OwnerThread(name: "ping") { [self] in ping(from: address, times) })
    }
    // Those who come later are connected by now: connections of an address have a bound of their own.
    let waiting = (0..<TokenFloods.hellos).compactMap { _ in
      SignallingSocket(port: port, from: Self.there, path: "/rtc").map(Held.init)
    }
    let floods = (0..<2).map { _ in OwnerThread(name: "forge") { [self] in forge() } }
    OwnerThread.sleep(milliseconds: 1_000)
    let start = MonotonicClock.now()
    let hellos = Locked<[Double]>([])
    let newcomers = waiting.enumerated().map { index, held in
      OwnerThread(name: "hello") { [self] in arrive("good\(index)", held.socket, since: start, hellos) }
    }
    let others = Locked<[Double]>([])
    while MonotonicClock.now() - start < .seconds(TokenFloods.seconds) {
      let before = MonotonicClock.now()
      if let socket = SignallingSocket(port: port, from: Self.elsewhere, path: "/rtc") {
        arrive("else\(before.nanoseconds)", socket, since: before, others)
      }
      OwnerThread.sleep(milliseconds: 300)
    }
    isOver.withLock { $0 = true }
    for thread in floods + newcomers + pings.map(\.1) { thread.join() }
    row.pingThere = Self.slowOfHundred(pings[0].0.withLock { $0 })
    row.pingElsewhere = Self.slowOfHundred(pings[1].0.withLock { $0 })
    (row.letIn, row.helloThere) = hellos.withLock { ($0.count, $0.max() ?? Self.never) }
    row.helloElsewhere = others.withLock { $0.max() ?? Self.never }
  }

  /// A socket that another thread goes on with.
  private struct Held: @unchecked Sendable { let socket: SignallingSocket }

  private static func slowOfHundred(_ times: [Double]) -> Double {
    guard times.count >= 100 else { return Self.never }
    return times.sorted()[times.count * 99 / 100]
  }

  private var isDone: Bool { isOver.withLock { $0 } }

  private func hello(_ user: String) -> String {
    #"{"jsonrpc":"2.0","id":7,"method":"session.hello","params":{"user":"\#(user)","token":"\#(good(user))"}}"#
  }

  /// Pings fifty times a second.
  private func ping(from address: SocketAddress, _ times: Locked<[Double]>) {
    guard let socket = SignallingSocket(port: port, from: address, path: "/rtc"),
      socket.ask(hello("ping\(address.low & 255)"), until: #""id":7"#) != nil
    else { return }
    while !isDone {
      let before = MonotonicClock.now()
      guard socket.ask(#"{"jsonrpc":"2.0","id":8,"method":"ping"}"#, until: #""id":8"#) != nil else { return }
      let took = (MonotonicClock.now() - before).seconds * 1_000
      times.withLock { $0.append(took) }
      OwnerThread.sleep(milliseconds: 20)
    }
  }

  /// Says hello until it is let in, and heeds what it is told.
  private func arrive(_ user: String, _ socket: SignallingSocket, since start: Instant, _ times: Locked<[Double]>) {
    while let answer = socket.ask(hello(user), until: #""id":7"#) {
      if answer.contains(#""result""#) {
        let took = (MonotonicClock.now() - start).seconds * 1_000
        return times.withLock { $0.append(took) }
      }
      guard let wait = Self.wait(in: answer), MonotonicClock.now() - start < .seconds(20) else { return }
      OwnerThread.sleep(milliseconds: Int(wait))
    }
  }

  private static func wait(in answer: String) -> Int64? {
    guard let start = answer.index(after: #""retryAfterMs":"#) else { return nil }
    return Int64(answer[start...].prefix { $0.isNumber })
  }

  /// Shows forged tokens as often as a connection may, and connects again where the server ends one.
  private func forge() {
    let port = door == .flashphoner ? flashphonerPort : port
    let path = door == .whip ? nil : door == .native ? "/rtc" : "/"
    var sockets = (0..<(TokenFloods.sockets / 2)).map { _ in SignallingSocket(port: port, from: Self.there, path: path)
    }
    while !isDone {
      for index in sockets.indices where !isDone {
        if sockets[index]?.discard() != true {
          sockets[index] = SignallingSocket(port: port, from: Self.there, path: path)
        }
        sockets[index]?.write(forgery)
      }
      OwnerThread.sleep(milliseconds: 200)
    }
  }
}

extension String {
  /// Where what comes after `mark` begins; nil where there is none.
  fileprivate func index(after mark: String) -> Index? {
    let (bytes, wanted) = (Array(utf8), Array(mark.utf8))
    guard bytes.count >= wanted.count else { return nil }
    for start in 0...(bytes.count - wanted.count) where bytes[start..<(start + wanted.count)].elementsEqual(wanted) {
      return utf8.index(utf8.startIndex, offsetBy: start + wanted.count)
    }
    return nil
  }
}
