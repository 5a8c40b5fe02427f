// How long it takes to set up a call beside a crowd that came by another door, and without it: `make call-beside`.

import Basics
import Configuration
import Foundation
import Logging
import RoostProtocol
import TestSupport
import Testing
import Threads
import WebSockets

@testable import Server

/// Two people at the native door who call each other, one call after the other.
private final class Pair: Sendable {
  private struct State {
    var anna: WebSocketClient?
    var ben: WebSocketClient?
    var said = 0
    var began = Instant(nanoseconds: 0)
    var done: (@Sendable (TimeDelta) -> Void)?
  }
  private let state = Locked(State())

  init(_ server: RoostServer) async throws {
    let url = try WebSocketURL("ws://127.0.0.1:\(server.port)/rtc")
    let greeted = Locked(0)
    for name in ["anna", "ben"] {
      let client = try WebSocketClient.connect(to: url) { [weak self] event in
        guard case .text(_, let bytes) = event else { return }
        let text = String(decoding: bytes, as: UTF8.self)
        if text.contains("resumeToken") { greeted.withLock { $0 += 1 } }
        self?.heard(text)
      }
      state.withLock { if name == "anna" { $0.anna = client } else { $0.ben = client } }
      say(client, "session.hello", #"{"user":"\#(name)"}"#)
    }
    #expect(await eventually { greeted.withLock { $0 } == 2 })
  }

  /// From the wish to call until the caller hears that it was answered.
  func call() async -> TimeDelta {
    await withCheckedContinuation { continuation in
      let anna = state.withLock { state in
        state.began = MonotonicClock.now()
        state.done = { continuation.resume(returning: $0) }
        return state.anna
      }
      say(anna, "call.start", #"{"to":["ben"],"kind":"one_to_one","media":"audio","replace":true}"#)
    }
  }

  private func say(_ client: WebSocketClient?, _ method: String, _ params: String) {
    let id = state.withLock { state in
      state.said += 1
      return state.said
    }
    client?.send(Array(#"{"jsonrpc":"2.0","id":\#(id),"method":"\#(method)","params":\#(params)}"#.utf8))
  }

  private func heard(_ text: String) {
    if text.contains(#""method":"call.incoming""#) {
      let id = text.split(separator: "\"").drop { $0 != "callId" }.dropFirst(2).first ?? ""
      say(state.withLock { $0.ben }, "call.accept", #"{"callId":"\#(id)","replace":true}"#)
    } else if text.contains(#""method":"call.accepted""#) {
      let (done, began) = state.withLock { state in
        defer { state.done = nil }
        return (state.done, state.began)
      }
      done?(MonotonicClock.now() - began)
    }
  }
}

/// Clients of Flashphoner's SDKs in one room, of whom some write to all now and then.
private final class Crowd: Sendable {
  private let clients = Locked<[WebSocketClient]>([])
  private let accepted = Locked(0)
  private let isOver = Locked(false)
  let heard = Locked(0)

  init(_ count: Int, _ server: RoostServer) async throws {
    let url = try WebSocketURL("ws://127.0.0.1:\(try #require(server.port(of: "flashphoner")))/")
    let (accepted, heard) = (accepted, heard)
    for number in 0..<count {
      let client = try WebSocketClient.connect(to: url) { event in
        guard case .text(_, let bytes) = event else { return }
        heard.withLock { $0 += 1 }
        if bytes.count < 200, String(decoding: bytes, as: UTF8.self).contains("ACCEPTED") {
          accepted.withLock { $0 += 1 }
        }
      }
      clients.withLock { $0.append(client) }
      let wish = #"{"appKey":"roomApp","mediaProviders":["WebRTC"],"custom":{"login":"u\#(number)"}}"#
      say(client, #"{"message":"connection","data":[\#(wish)]}"#)
      say(client, Self.data(#"{"command":"join","options":{"name":"crowd"}}"#))
      if number % 20 == 19 { #expect(await eventually { accepted.withLock { $0 } == number + 1 }) }
    }
    #expect(await eventually { accepted.withLock { $0 } == count })
  }

  /// Has one of them write to all, twice a second.
  func talk() -> Task<Void, Never> {
    let clients = clients.withLock { $0 }
    return Task.detached {
      var turn = 0
      while !Task.isCancelled {
        let options = #"{"roomConfig":{"name":"crowd"},"text":"hello"}"#
        self.say(clients[turn % clients.count], Self.data(#"{"command":"sendMessage","options":\#(options)}"#))
        turn += 1
        try? await Task.sleep(for: .milliseconds(500))
      }
    }
  }

  private static func data(_ payload: String) -> String {
    #"{"message":"sendData","data":[{"operationId":"o","payload":\#(payload)}]}"#
  }
  private func say(_ client: WebSocketClient, _ text: String) { client.send(Array(text.utf8)) }
}

@Suite(
  .serialized, .timeLimit(.minutes(10)), .enabled(if: ProcessInfo.processInfo.environment["ROOST_CALL_BESIDE"] != nil))
struct CallBesideCrowdTests {
  /// The most that the slowest hundredth of calls may take beside the crowd, by what it takes without.
  private static let most = 1.2
  private static let people = 500
  private static let rounds = 7
  private static let calls = 200

  private func start() throws -> RoostServer {
    var configuration = ServerConfiguration()
    configuration.listen.address = SocketAddress(v4: 0x7f00_0001, port: 0)
    configuration.media.port = 0
    configuration.media.addresses = [SocketAddress(v4: 0x7f00_0001, port: 0)]
    configuration.storage.path = nil
    configuration.flashphoner.port = 0
    var room = RoomSettings(kind: "crowd")
    (room.videoLimit, room.audioLimit) = (Self.people, Self.people)
    configuration.rooms["crowd"] = room
    (configuration.limits.connections, configuration.limits.connectionsPerAddress) = (4_000, 4_000)
    (configuration.limits.sessions, configuration.limits.sessionsPerAddress) = (4_000, 4_000)
    (configuration.limits.requestsPerSecond, configuration.limits.requestBurst) = (100_000, 100_000)
    (configuration.limits.userRequestsPerSecond, configuration.limits.userRequestBurst) = (100_000, 100_000)
    (configuration.limits.addressRequestsPerSecond, configuration.limits.addressRequestBurst) = (1_000_000, 1_000_000)
    (configuration.calls.ringsPerCaller, configuration.calls.ringsPerCallee) = (0, 0)
    configuration.calls.ringsPerPair = 0
    return try RoostServer.start(configuration, log: .disabled)
  }

  /// Two servers, of which one has the crowd. Calls at both take turns, so that what the machine does besides meets them alike.
  @Test func aCallIsSetUpAsSoonBesideACrowdAtAnotherDoor() async throws {
    let (empty, full) = (try start(), try start())
    defer {
      empty.stop()
      full.stop()
    }
    let crowd = try await Crowd(Self.people, full)
    let (without, beside) = (try await Pair(empty), try await Pair(full))
    let talk = crowd.talk()
    defer { talk.cancel() }
    let before = crowd.heard.withLock { $0 }
    var ratios: [Double] = []
    for round in 0..<Self.rounds {
      var times: (without: [TimeDelta], beside: [TimeDelta]) = ([], [])
      for _ in 0..<Self.calls {
        times.without.append(await without.call())
        times.beside.append(await beside.call())
      }
      let (a, b) = (Self.p99(times.without), Self.p99(times.beside))
      ratios.append(Double(b.nanoseconds) / Double(a.nanoseconds))
      print("round \(round): p99 without \(a.microseconds) µs, beside \(b.microseconds) µs")
    }
    #expect(crowd.heard.withLock { $0 } > before + Self.people, "they talk meanwhile")
    let ratio = ratios.sorted()[ratios.count / 2]
    print("median of ratios: \(ratio)")
    #expect(ratio <= Self.most, "\(ratios)")
  }

  private static func p99(_ times: [TimeDelta]) -> TimeDelta { times.sorted()[times.count * 99 / 100] }
}
