// How soon people who are moved to another room see those who are there: thirty people of one room to five others and back, and again.

import Basics
import RoostProtocol
import SyntheticParticipant

struct Moves: Encodable, Sendable {
  /// Of 95 of 100 moves: from the operator's request, or that for whom one sees, until their first whole picture, in milliseconds.
  static let bar = 250.0
  static let people = 30
  static let rooms = 5
  static let usualRounds = 10
  /// What an operator shows.
  static let token = "moves-1b7d40c9e65f"
  /// Where all of them are first; it sends the video of four.
  static let hall = "hall"

  /// One direction of all rounds.
  struct Row: Encodable, Sendable {
    var name: String
    /// Of each move, until the first picture of anybody.
    var waits: [Double] = []
    /// Moves after which nothing was seen within some seconds.
    var unseen = 0
    @Nullable var milliseconds: Percentiles?
  }

  private(set) var out = Row(name: "to five rooms")
  private(set) var back = Row(name: "and back")
  /// Moves beyond the seats of a room that were let through.
  private(set) var beyond = 0
  /// Peer connections that were made anew.
  private(set) var anew = 0
  /// What else went wrong.
  private(set) var problems: [String] = []

  var passed: Bool {
    [out, back].allSatisfy { $0.unseen == 0 && ($0.milliseconds?.p95 ?? .infinity) <= Self.bar } && beyond == 0
      && anew == 0 && problems.isEmpty
  }

  var table: String {
    let rows = [out, back].map { row in
      [row.name, "\(row.waits.count)"]
        + [row.milliseconds?.p50, row.milliseconds?.p95, row.milliseconds?.max].map { $0.map(rounded) ?? "-" }
        + ["\(row.unseen)"]
    }
    let head = ["moved", "moves", "first picture p50, ms", "p95", "worst", "never"]
    return aligned([head] + rows)
      + "\nbeyond a room's seats: \(beyond); connected anew: \(anew)" + problems.map { "\n\($0)" }.joined()
  }

  /// Starts a server and people, and moves them.
  static func measure(_ program: String, rounds: Int) async throws -> Moves {
    let folder = try ServerFolder(forMoves: people / rooms)
    let server = try await ServerProcess.start(program, in: folder)
    let driver = MediaDriver(threads: 1)
    var moves = Moves()
    do {
      let group = try await Group(port: folder.webPort, driver)
      for _ in 0..<rounds {
        moves.add(try await go(group) { "room\($0 % rooms)" }, \.out)
        if try await group.move(0, to: "room1") == 200 { moves.beyond += 1 }
        moves.add(try await go(group) { _ in hall }, \.back)
      }
      moves.anew = await group.renewals
      moves.problems = await group.problems
      await group.leave()
    } catch {
      driver.stop()
      await server.stop()
      folder.remove()
      throw error
    }
    driver.stop()
    await server.stop()
    folder.remove()
    moves.out.milliseconds = Percentiles(moves.out.waits)
    moves.back.milliseconds = Percentiles(moves.back.waits)
    return moves
  }

  private mutating func add(
    _ found: (waits: [Double], problems: [String]), _ row: WritableKeyPath<Moves, Row>
  ) {
    self[keyPath: row].waits += found.waits
    self[keyPath: row].unseen += Self.people - found.waits.count
    problems += found.problems
  }

  /// Moves everybody, one after the other, and waits until they see somebody.
  private static func go(
    _ group: Group, _ room: (Int) -> String
  ) async throws -> (waits: [Double], problems: [String]) {
    var problems: [String] = []
    for person in 0..<people {
      let status = try await group.move(person, to: room(person))
      if status != 200 { problems.append("person \(person) to \(room(person)): status \(status)") }
    }
    let waits = await group.firstPictures(within: .seconds(5))
    // Encoders and estimates settle.
    try? await Task.sleep(for: .seconds(1))
    return (waits, problems)
  }
}

/// Those who are moved.
private actor Group {
  private let port: UInt16
  private let people: [SyntheticParticipant]
  private var places: [String]
  private var moved: [Instant]
  private(set) var problems: [String] = []

  init(port: UInt16, _ driver: MediaDriver) async throws {
    self.port = port
    var people: [SyntheticParticipant] = []
    for number in 0..<Moves.people {
      var plan = SyntheticConfiguration(url: "ws://127.0.0.1:\(port)/rtc", room: Moves.hall, user: "p\(number)")
      plan.video = [VideoPlan()]
      plan.video[0].framesPerSecond = 15
      plan.video[0].layers = [VideoLayer(packetsPerFrame: 2, packetsPerKeyframe: 8, packetBytes: 900)]
      plan.audio = nil
      let person = try SyntheticParticipant(plan, driver: driver)
      _ = try await person.join()
      people.append(person)
    }
    for person in people where await !person.waitUntilConnected() {
      throw SyntheticError.state("not everybody was connected")
    }
    self.people = people
    places = Array(repeating: Moves.hall, count: people.count)
    moved = Array(repeating: .zero, count: people.count)
    try? await Task.sleep(for: .seconds(3))
  }

  /// Asks the server for it; the status of the answer.
  func move(_ person: Int, to room: String) async throws -> Int {
    let now = MediaDriver.now
    let answer = try await PlainHTTP.ask(
      "PUT", "http://127.0.0.1:\(port)/admin/people?room=\(places[person])&user=p\(person)&to=\(room)",
      ["Authorization": "Bearer \(Moves.token)"], "")
    if answer.status == 200 { (places[person], moved[person]) = (room, now) }
    return answer.status
  }

  /// For each who sees somebody by then, how long that took: since both were in the room.
  func firstPictures(within time: Duration) async -> [Double] {
    let end = ContinuousClock.now + time
    var found: [Int: Double] = [:]
    while found.count < people.count, ContinuousClock.now < end {
      for person in people.indices where found[person] == nil { found[person] = await firstPicture(of: person) }
      try? await Task.sleep(for: .milliseconds(50))
    }
    return Array(found.values)
  }

  private func firstPicture(of person: Int) async -> Double? {
    await people[person].statistics.received.compactMap { stream -> Double? in
      guard stream.isActive, let first = stream.firstFrameAt, first > moved[person],
        let number = stream.user.flatMap({ Int($0.dropFirst()) }), places[number] == places[person]
      else { return nil }
      return (first - max(moved[person], moved[number])).seconds * 1_000
    }.min()
  }

  /// Connections beyond the two that each has made first.
  var renewals: Int {
    get async {
      var count = 0
      for person in people {
        count += await max(0, person.incidents.count { if case .connected = $0.kind { true } else { false } } - 2)
        problems += await person.problems
      }
      return count
    }
  }

  func leave() async { for person in people { await person.leave() } }
}
