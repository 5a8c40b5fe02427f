// Rooms over three workers in which anything happens in any order, with the state of each worker: everybody is sent what they are to be sent, where
// they are, and what is brought there is what somebody there is sent.

import Basics
import Crypto
import Members
import Testing

@testable import Media
@testable import MediaControl

/// Takes what waits at one end of a pipe, to hand it to the other. No packets cross here.
private struct Said: PipeSink {
  var messages: [PipeMessage] = []
  mutating func write(_ packet: PipedPacket, _ bytes: Span<UInt8>) -> Bool { true }
  mutating func write(_ message: PipeMessage) { messages.append(message) }
}

/// A worker that is told things and gets no packets.
private final class Site {
  var state: WorkerState

  init(_ certificate: Certificate, seed: UInt64) { state = WorkerState(certificate: certificate, seed: seed) }

  func tell(_ commands: [WorkerCommand]) { for command in commands { state.apply(command, at: .zero) } }

  func say(through pipe: PipeKey, to other: Site) {
    var said = Said()
    state.drainPipe(pipe, into: &said)
    for message in said.messages { other.state.receive(message, through: pipe, at: .zero) }
  }

  /// What a subscription is sent; nil where the worker does not have it.
  func shown(_ key: ConsumerKey) -> ProducerKey?? {
    guard let id = state.directory.consumers[key] else { return nil }
    return .some(state.forwarder.consumers[id].producer.map { state.tracks.producers[$0].key })
  }

  func isMirror(_ key: ProducerKey) -> Bool {
    state.directory.producers[key].map { state.tracks.producers[$0].isMirror } ?? false
  }

  var mirrors: Set<ProducerKey> { Set(state.directory.producers.keys.filter(isMirror)) }

  var muted: Set<ProducerKey> {
    Set(state.directory.producers.filter { state.tracks.producers[$0.value].isMuted }.keys)
  }
}

@Suite struct SpreadModelTests {
  private static let certificate = try? Certificate(wallMilliseconds: 1_760_000_000_000)

  /// What is wrong at the end of a turn.
  private static func faults(_ rooms: RandomRooms, _ sites: [Site]) -> [String] {
    let director = rooms.desk.director
    var faults: [String] = []
    var wanted: [Set<ProducerKey>] = sites.map { _ in [] }
    for subscription in rooms.desk.subscriptions.values where subscription.isAgreed {
      guard let connection = director.connections[subscription.connectionKey] else { continue }
      let shown = sites[connection.worker].shown(subscription.consumer)
      if shown != .some(subscription.producer) {
        faults.append(
          "\(subscription.id) is sent \(String(describing: shown)), not \(String(describing: subscription.track))")
      }
      guard let track = subscription.track, let entry = director.tracks[track] else { continue }
      if entry.worker != connection.worker { wanted[connection.worker].insert(ProducerKey(track.rawValue)) }
    }
    let muted = director.tracks.filter(\.value.isMuted).map { ProducerKey($0.key.rawValue) }
    for (worker, site) in sites.enumerated() {
      if site.mirrors != wanted[worker] { faults.append("worker \(worker) has \(site.mirrors), not \(wanted[worker])") }
      let own = Set(muted).intersection(site.state.directory.producers.keys)
      if site.muted != own { faults.append("worker \(worker) has muted \(site.muted), not \(own)") }
    }
    return faults
  }

  /// Runs a script over so many workers. `order` is what they do with the commands of a turn.
  private static func run(
    _ seed: UInt64, workers: Int, order: (Site, [WorkerCommand]) -> [WorkerCommand] = { $1 }
  ) throws -> (faults: [String], stale: UInt64, mirrors: Int, left: Int) {
    let certificate = try #require(certificate)
    let rooms = RandomRooms(Desk(workers: workers, spread: .always), seed: seed)
    let sites = (0..<workers).map { Site(certificate, seed: UInt64($0)) }
    var (faults, most, pipes): ([String], Int, [PipeOrder]) = ([], 0, [])
    func turn() {
      let changes = rooms.desk.director.pollPipes()
      pipes += changes.opened
      for pipe in changes.opened { for end in [pipe.first, pipe.second] { sites[end].tell([.openPipe(pipe.key)]) } }
      for (worker, commands) in rooms.desk.turn() { sites[worker].tell(order(sites[worker], commands)) }
      for pipe in changes.closed { for end in [pipe.first, pipe.second] { sites[end].tell([.closePipe(pipe.key)]) } }
      pipes.removeAll(where: changes.closed.contains)
      for pipe in pipes {
        sites[pipe.first].say(through: pipe.key, to: sites[pipe.second])
        sites[pipe.second].say(through: pipe.key, to: sites[pipe.first])
      }
      most = max(most, sites.map(\.mirrors.count).reduce(0, +))
      if faults.count < 5 { faults += Self.faults(rooms, sites) }
    }
    for step in 0..<400 {
      try rooms.step()
      if step % 3 == 0 { try rooms.desk.answerAll() }
      if step % 4 != 1 { turn() }
    }
    try rooms.empty()
    turn()
    let counters = sites.map { $0.state.counters }
    let spread = rooms.desk.director.spread
    let left =
      counters.reduce(0) { $0 + $1.transports + $1.producers + $1.consumers } + pipes.count
      + (spread.mirrors.isEmpty ? 0 : 1) + (spread.pipes.isEmpty ? 0 : 1)
    return (faults, counters.reduce(0) { $0 + $1.staleCommands }, most, left)
  }

  @Test(arguments: 1...6 as ClosedRange<UInt64>) func everybodyIsSentWhatTheyAreToBeSent(seed: UInt64) throws {
    let spread = try Self.run(seed, workers: 3)
    #expect(spread.faults == [] && spread.left == 0)
    #expect(spread.mirrors > 3, "the control: something was brought")
    // What names something gone would name it on one worker too.
    let one = try Self.run(seed, workers: 1)
    #expect(one.faults == [] && one.mirrors == 0 && one.left == 0)
    #expect(spread.stale == one.stale)
  }

  /// The control: where mirrors end before views are led elsewhere, these are lost.
  @Test func aMirrorThatEndsTooEarlyTakesAlongWhoWatches() throws {
    let faults = try (1...4).flatMap { seed in
      try Self.run(seed, workers: 3) { site, commands in
        func ends(_ command: WorkerCommand) -> Bool {
          if case .removeProducer(let key) = command { site.isMirror(key) } else { false }
        }
        return commands.filter(ends) + commands.filter { !ends($0) }
      }.faults
    }
    #expect(!faults.isEmpty)
  }
}
