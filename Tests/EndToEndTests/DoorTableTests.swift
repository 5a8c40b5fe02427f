// Scenarios 1 to 10 of docs/scenarios.md through each door: no rule lives in a door, so what one door's client may do another's may,
// and those inside hear the same of it. The table says where a door has no word for what a scenario is about.

import Configuration
import Foundation
import RoostClient
import RoostProtocol
import SyntheticParticipant
import TestSupport
import Testing

/// Whether a scenario is played through a door.
enum DoorCell: Sendable, Equatable {
  case played
  /// Why it says nothing there.
  case no(String)
}

/// The scenarios in their order, each with its cells.
enum DoorTable {
  static let rows: [(scenario: Int, about: String, cells: [WayIn: DoorCell])] = [
    (1, "the one too many is refused, and nobody hears", all),
    (2, "many at once, and one gets the seat", all),
    (3, "a freed seat can be taken", all),
    (
      4, "a cut connection keeps its seat for the grace",
      onlySockets("a session has no connection of its own to be cut")
    ),
    (5, "one more than the cap is refused", all),
    (6, "a late joiner sees what is published", but(.whep, "players publish nothing")),
    (7, "leaving twice is heard once", all),
    (8, "a name that is taken is refused", all),
    (9, "a mute is seen by all", onlySockets("there is no word for a mute: what is sent is sent")),
    (10, "chat goes to whom it is for", onlySockets("there is no word for chat")),
  ]

  private static let all = Dictionary(uniqueKeysWithValues: WayIn.allCases.map { ($0, DoorCell.played) })
  private static func but(_ door: WayIn, _ why: String) -> [WayIn: DoorCell] { all.merging([door: .no(why)]) { $1 } }
  private static func onlySockets(_ why: String) -> [WayIn: DoorCell] {
    all.merging([.whip: .no(why), .whep: .no(why)]) { $1 }
  }

  /// What is to be played.
  static let played = rows.flatMap { row in
    WayIn.allCases.filter { row.cells[$0] == .played }.map { Play(scenario: row.scenario, door: $0) }
  }

  struct Play: Sendable, Hashable, CustomTestStringConvertible {
    let scenario: Int
    let door: WayIn
    var testDescription: String { "scenario \(scenario) by \(door.rawValue)" }
  }
}

extension EndToEnd {
  @Suite struct EveryDoor {
    /// A server with one who watches and hears, natively, and one who publishes, by WHIP: players need something to play.
    struct Scene: Sendable {
      let server: TestServer
      let door: WayIn
      let driver: MediaDriver
      let flashphonerPort: UInt16
      let anna: Client
      let ben: HTTPComer

      func comer(_ name: String, sound: Bool = false, through port: UInt16? = nil) async throws -> any Comer {
        switch door {
        case .native:
          let url = port.map { "ws://127.0.0.1:\($0)/rtc" } ?? server.url
          return try await NativeComer(name, url: url, driver: driver)
        case .whip, .whep: return HTTPComer(name, door, server, sound: sound)
        case .flashphoner: return try await FlashphonerComer(name, port: port ?? flashphonerPort)
        }
      }

      /// What anna has heard of who is there; tracks are another matter.
      func hears(_ story: [String], of room: String = "demo") async throws {
        #expect(await eventually { await people(room).count >= story.count })
        try await anna.settle()
        #expect(await people(room) == story, "by \(door.rawValue)")
      }

      private func people(_ room: String) async -> [String] {
        await anna.heard.story(of: room).filter { !$0.contains("published") }
      }
    }

    private static func with(
      _ door: WayIn, room: String = "demo", sound: Bool = false,
      _ change: @escaping (inout ServerConfiguration) -> Void = { _ in }, _ body: (Scene) async throws -> Void
    ) async throws {
      let port = try freePort()
      try await TestServer.with({
        $0.flashphoner.port = port
        change(&$0)
      }) { server in
        let driver = MediaDriver()
        let anna = try await Client(server.url, "a", name: "anna")
        let ben = HTTPComer("ben", .whip, server, sound: sound)
        let scene = Scene(server: server, door: door, driver: driver, flashphonerPort: port, anna: anna, ben: ben)
        _ = try await anna.session.join(room: room)
        #expect(try await ben.join(room) == nil)
        try await body(scene)
        await anna.session.close()
        driver.stop()
      }
    }

    @Test func theTableIsWhole() {
      #expect(DoorTable.rows.map(\.scenario) == Array(1...10))
      for row in DoorTable.rows {
        #expect(Set(row.cells.keys) == Set(WayIn.allCases) && row.cells[.native] == .played, "\(row.scenario)")
        for case .no(let why) in row.cells.values { #expect(why.count > 10) }
      }
      #expect(DoorTable.played.count == 33, "40 cells, 7 of which say nothing")
    }

    @Test(arguments: DoorTable.played)
    func play(_ play: DoorTable.Play) async throws {
      switch play.scenario {
      case 1: try await Self.oneTooMany(play.door)
      case 2: try await Self.manyAtOnce(play.door)
      case 3: try await Self.aFreedSeat(play.door)
      case 4: try await Self.aCutConnection(play.door)
      case 5: try await Self.theCap(play.door)
      case 6: try await Self.aLateJoiner(play.door)
      case 7: try await Self.leavingTwice(play.door)
      case 8: try await Self.aTakenName(play.door)
      case 9: try await Self.aMute(play.door)
      case 10: try await Self.chat(play.door)
      default: Issue.record("there is no scenario \(play.scenario)")
      }
    }

    private static func oneTooMany(_ door: WayIn) async throws {
      try await with(door) { scene in
        let (carl, dora) = (try await scene.comer("carl"), try await scene.comer("dora"))
        #expect(try await carl.join("demo") == nil)
        #expect(try await dora.join("demo") == "ROOM_FULL")
        if DoorTable.rows[9].cells[door] == .played {
          #expect(try await dora.say("let me in", to: []) == false, "who has no seat says nothing")
        }
        try await scene.hears(["ben joined", "carl joined"])
        let info = try await scene.anna.info("demo")
        #expect(info.count == 3 && info.limit == 3)
        for one in [carl, dora] { await one.close() }
      }
    }

    private static func manyAtOnce(_ door: WayIn) async throws {
      try await with(door) { scene in
        var crowd: [any Comer] = []
        for number in 0..<20 { crowd.append(try await scene.comer("u\(number)")) }
        let refusals = try await withThrowingTaskGroup(of: String?.self) { group in
          for one in crowd { group.addTask { try await one.join("demo") } }
          return try await group.reduce(into: [String?]()) { $0.append($1) }
        }
        #expect(refusals.count { $0 == nil } == 1 && refusals.count { $0 == "ROOM_FULL" } == 19, "\(refusals)")
        #expect(try await scene.anna.info("demo").count == 3)
        #expect(await eventually { await scene.anna.heard.count(\.isJoined) == 2 })
        try await scene.anna.settle()
        #expect(await scene.anna.heard.count(\.isJoined) == 2, "ben and one more")
        for one in crowd { await one.close() }
      }
    }

    private static func aFreedSeat(_ door: WayIn) async throws {
      try await with(door) { scene in
        let (carl, dora) = (try await scene.comer("carl"), try await scene.comer("dora"))
        #expect(try await carl.join("demo") == nil)
        #expect(try await dora.join("demo") == "ROOM_FULL")
        #expect(try await carl.leave())
        #expect(try await dora.join("demo") == nil)
        try await scene.hears(["ben joined", "carl joined", "carl left", "dora joined"])
        for one in [carl, dora] { await one.close() }
      }
    }

    private static func aCutConnection(_ door: WayIn) async throws {
      try await with(door) { scene in
        let proxy = try CuttableProxy(to: door == .native ? scene.server.server.port : scene.flashphonerPort)
        defer { proxy.stop() }
        let carl = try await scene.comer("carl", through: proxy.port)
        let dora = try await scene.comer("dora")
        #expect(try await carl.join("demo") == nil)
        proxy.cut()
        try await scene.hears(["ben joined", "carl joined", "carl reconnecting"])
        #expect(try await dora.join("demo") == "ROOM_FULL", "the seat is kept")
        #expect(try await eventually { try await dora.join("demo") == nil }, "and free when the grace is over")
        try await scene.hears(["ben joined", "carl joined", "carl reconnecting", "carl lost", "dora joined"])
        for one in [carl, dora] { await one.close() }
      }
    }

    private static func theCap(_ door: WayIn) async throws {
      for (cap, isSound) in [(3, false), (16, false), (32, true)] {
        try await with(
          door, room: "hall", sound: isSound,
          {
            var hall = RoomSettings.group
            if isSound { hall.media = .audio } else { (hall.media, hall.videoLimit) = (.video, cap) }
            $0.rooms["hall"] = hall
          }
        ) { scene in
          var comers: [any Comer] = []
          for number in 3...cap + 1 {
            let one = try await scene.comer("u\(number)", sound: isSound)
            #expect(try await one.join("hall") == (number > cap ? "ROOM_FULL" : nil), "\(number) of \(cap)")
            comers.append(one)
          }
          let info = try await scene.anna.info("hall")
          #expect(info.count == cap && info.limit == cap)
          for one in comers { await one.close() }
        }
      }
    }

    /// Whatever door the publisher came by, the late joiner finds one of sound and one of pictures, and hears nothing of them besides.
    private static func aLateJoiner(_ door: WayIn) async throws {
      try await with(door) { scene in
        let carl = try await scene.comer("carl")
        #expect(try await carl.join("demo") == nil)
        try await carl.publish()
        let kinds: Set<TrackKind> = [.audio, .video]
        #expect(await eventually { await scene.tracks(of: "carl", seenBy: scene.anna.session).count == 2 })
        await scene.ben.close()
        let late = try await Client(scene.server.url, "late")
        let snapshot = try await late.enter("demo")
        let tracks = snapshot.participants.first { $0.user == "carl" }?.tracks ?? []
        #expect(tracks.count == 2 && Set(tracks.map(\.kind)) == kinds && tracks.allSatisfy { !$0.muted })
        try await late.hears([])
        await late.session.close()
        // And by the same door: whose streams there are is told to who comes.
        if door == .flashphoner, let other = try await scene.comer("other") as? FlashphonerComer {
          #expect(try await eventually { try await other.join("demo") == nil }, "the seat is free")
          #expect(await eventually { await other.state() == ["carl"] })
          await other.close()
        }
        await carl.close()
      }
    }

    private static func leavingTwice(_ door: WayIn) async throws {
      try await with(door) { scene in
        let carl = try await scene.comer("carl")
        #expect(try await carl.join("demo") == nil)
        #expect(try await carl.leave())
        // The native door forgives it; of the others one has no session any more (404), the other says that one is not in.
        #expect(try await carl.leave() == (door == .native))
        try await scene.hears(["ben joined", "carl joined", "carl left"])
        #expect(try await scene.anna.info("demo").count == 2)
        await carl.close()
      }
    }

    private static func aTakenName(_ door: WayIn) async throws {
      try await with(door) { scene in
        for name in ["anna", "ANNA"] {
          let other = try await scene.comer(name)
          #expect(try await other.join("demo") == "NAME_TAKEN", "\(name)")
          await other.close()
        }
        let other = try await scene.comer("annabel")
        #expect(try await other.join("demo") == nil)
        try await scene.hears(["ben joined", "annabel joined"])
        await other.close()
      }
    }

    private static func aMute(_ door: WayIn) async throws {
      try await with(door, { $0.rooms["demo"] = .group }) { scene in
        let carl = try await scene.comer("carl")
        #expect(try await carl.join("demo") == nil)
        try await carl.publish()
        #expect(await eventually { await scene.tracks(of: "carl", seenBy: scene.anna.session).count == 2 })
        for isMuted in [true, false] {
          try await carl.setMuted(isMuted)
          #expect(
            await eventually {
              await scene.tracks(of: "carl", seenBy: scene.anna.session).allSatisfy {
                $0.muted == (isMuted && $0.kind == .audio)
              }
            }, "muted: \(isMuted)")
          let late = try await Client(scene.server.url, "late\(isMuted)")
          let seen = try await late.enter("demo").participants.first { $0.user == "carl" }?.tracks ?? []
          #expect(seen.count == 2 && seen.allSatisfy { $0.muted == (isMuted && $0.kind == .audio) })
          await late.session.close()
        }
        await carl.close()
      }
    }

    private static func chat(_ door: WayIn) async throws {
      try await with(door, { $0.rooms["demo"] = .group }) { scene in
        let (carl, dora) = (try await scene.comer("carl"), try await Client(scene.server.url, "dora"))
        #expect(try await carl.join("demo") == nil)
        _ = try await dora.session.join(room: "demo")
        #expect(try await carl.say("to all", to: []))
        #expect(try await carl.say("to dora", to: ["dora"]))
        #expect(try await carl.say("to all again", to: []))
        try await dora.hears(["carl: to all", "carl: to dora", "carl: to all again"])
        try await scene.hears(
          ["ben joined", "carl joined", "dora joined", "carl: to all", "carl: to all again"])
        let answer = ChatSendParams(room: "demo", text: "to carl", to: ["carl"])
        _ = try await dora.session.request(.chat(.send(answer)))
        #expect(await eventually { await carl.heard() == ["dora: to carl"] }, "and nothing of one's own")
        let history = try await scene.anna.history("demo").map(\.text)
        #expect(history == ["to all", "to all again"])
        await carl.close()
        await dora.session.close()
      }
    }
  }
}

extension EndToEnd.EveryDoor.Scene {
  /// Tracks of somebody as a session sees them now.
  fileprivate func tracks(of user: String, seenBy session: RoostSession) async -> [Track] {
    await session.snapshot(of: "demo")?.participants.first { $0.user == user }?.tracks ?? []
  }
}
