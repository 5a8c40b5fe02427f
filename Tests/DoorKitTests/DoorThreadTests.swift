// What is posted to a door: done on its thread, in order, so much of it, and nothing that anybody waits for.

import Basics
import Members
import RoostProtocol
import TestSupport
import Testing
import Threads
import WebSockets

@testable import DoorKit

/// Sessions that write down what they are given, and on which thread.
private final class Sessions: DoorSessions {
  let thread = DoorThread()
  private let heard = Locked<[String]>([])
  private let threads = Locked<Set<UInt>>([])

  var all: [String] { heard.withLock { $0 } }
  var seenOn: Set<UInt> { threads.withLock { $0 } }

  private func note(_ text: String) {
    heard.withLock { $0.append(text) }
    threads.withLock { _ = $0.insert(OwnerThread.currentNumber) }
  }

  func apply(_ effect: ClientEffect) {
    switch effect {
    case .reply(let connection, let id, _): note("\(connection) reply \(id)")
    case .setWaiting(let connection, _): note("\(connection) waits")
    case .closeConnection(let connection, _): note("\(connection) close")
    case .broadcast(let receivers, _, _): note("to \(receivers.count)")
    case .event, .stream: note("other")
    }
  }
  func overflowed(_ connection: ConnectionID) { note("\(connection) overflowed") }
  func keepHouse() { note("house") }

  func post(_ number: Int, to connection: UInt64 = 1) {
    thread.post(.reply(ConnectionID(connection), .number(Int64(number)), .success(.empty)), to: self)
  }
}

/// A web server whose thread can be held.
private final class Held: Sendable {
  let sessions = Sessions()
  private let server: WebServer
  private let release = Promise<Void>()
  let isHeld = Locked(false)

  init() throws {
    let (sessions, release, isHeld) = (sessions, release, isHeld)
    server = try WebServer.start(
      WebServerConfiguration(addresses: [SocketAddress(v4: 0x7f00_0001, port: 0)]),
      makeHandler: { sender in
        sessions.thread.attach(sender)
        sender.wake {
          isHeld.withLock { $0 = true }
          release.take()
        }
        return { _ in }
      })
  }
  deinit { server.stop() }

  func letGo() { release.give(()) }
  func stop() { server.stop() }
}

@Suite(.timeLimit(.minutes(2))) struct DoorThreadTests {
  /// Whoever posts goes on at once, while the thread is busy; then all of it comes, in order, on that one thread.
  @Test func whatIsPostedComesInOrderOnTheThreadOfTheServer() async throws {
    let held = try Held()
    #expect(await eventually { held.isHeld.withLock { $0 } })
    let sessions = held.sessions
    for number in 0..<3_000 { sessions.post(number, to: UInt64(number % 3)) }
    sessions.thread.keepHouse(of: sessions)
    sessions.thread.keepHouse(of: sessions)
    sessions.thread.run(for: sessions) { sessions.post(3_000) }
    #expect(!sessions.thread.isCurrent && sessions.all.isEmpty)
    held.letGo()
    #expect(await eventually { sessions.all.count == 3_002 })
    let replies = sessions.all.filter { $0 != "house" }
    #expect(replies == (0...2_999).map { "\($0 % 3) reply \($0)" } + ["1 reply 3000"])
    #expect(sessions.all.count { $0 == "house" } == 1, "asked for twice, done once")
    #expect(sessions.seenOn.count == 1 && sessions.seenOn != [OwnerThread.currentNumber])
    // Between turns the thread does other things: what is kept house of is not the last.
    #expect(sessions.all.firstIndex(of: "house") == DoorThread.messagesOfTurn)
  }

  /// A thread that stands still costs so much memory. Whose effect does not fit has to end, and nobody else.
  @Test func aFullQueueEndsThoseWhoseEffectsDidNotFit() async throws {
    let held = try Held()
    #expect(await eventually { held.isHeld.withLock { $0 } })
    let sessions = held.sessions
    let fitting = DoorThread.capacity - 2
    for number in 0..<fitting { sessions.post(number) }
    let message = Message(msgId: "m", room: "r", ts: 0, from: "a", text: "t")
    func tell(_ connections: ClosedRange<UInt64>) {
      let receivers = connections.map { EventReceiver(ConnectionID($0), seq: 1) }
      sessions.thread.post(.broadcast(receivers, serverTime: 0, .chatMessage(message)), to: sessions)
    }
    // The control: until here all has fitted, and sixteen receivers count as two.
    tell(1...16)
    sessions.post(2, to: 7)
    sessions.post(3, to: 7)
    tell(8...8)
    held.letGo()
    #expect(await eventually { sessions.all.count == fitting + 3 })
    #expect(Set(sessions.all.prefix(2)) == ["7 overflowed", "8 overflowed"])
    #expect(sessions.all.suffix(2) == ["1 reply \(fitting - 1)", "to 16"])
    sessions.post(4, to: 1)
    #expect(await eventually { sessions.all.last == "1 reply 4" }, "there is room again")
  }

  @Test func nothingIsKeptForAServerThatHasStopped() async throws {
    let held = try Held()
    held.letGo()
    held.sessions.post(1)
    #expect(await eventually { held.sessions.all.count == 1 })
    held.stop()
    for number in 0..<10 { held.sessions.post(number) }
    #expect(held.sessions.all.count == 1 && !held.sessions.thread.keeps)
  }

  /// Without a server: at once. What is posted meanwhile comes next, and not in between.
  @Test func withoutAServerItIsDoneAtOnce() {
    let sessions = Sessions()
    sessions.thread.run(for: sessions) {
      sessions.post(1)
      sessions.post(2)
    }
    #expect(sessions.all == ["1 reply 1", "1 reply 2"])
  }
}
