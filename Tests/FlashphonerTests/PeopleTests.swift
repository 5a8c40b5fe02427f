// Everybody in a room keeps who else is there: what one track costs them all must not grow with the room.

import Basics
import CAllocationCounter
import Names
import RoostProtocol
import Testing

@testable import Flashphoner

@Suite struct PeopleTests {
  private func track(_ id: String, label: String = "") -> Track {
    Track(trackId: id, kind: .audio, label: label, source: nil, muted: false, definitions: [])
  }

  private func person(_ id: Int, _ tracks: [Track]) -> Participant {
    Participant(
      participantId: "p\(id)", user: "user \(id)", displayName: "user \(id)", state: .joined, metadata: .emptyObject,
      tracks: tracks)
  }

  /// Streams and logins are those of the bytes: nobody has another's by an equal name, and what is made up is in form C.
  @Test func namesAreComparedByTheirBytes() {
    func kim(_ login: String, _ label: String) -> Participant {
      Participant(
        participantId: "p1", user: "kim", displayName: login, state: .joined, metadata: .emptyObject,
        tracks: [track("t1", label: label)])
    }
    func name(_ login: String, _ label: String, in room: String = "Room") -> String? {
      var people = People(room: room)
      return people.update(kim(login, label)).compactMap {
        if case .published(_, let stream) = $0 { stream.name } else { nil }
      }.first
    }
    #expect(name("Kim", "Room-Kim-1") == "Room-Kim-1" && name("Kim", "Room") == "Room")
    for label in ["Room-\u{212a}im-1", "Room-Kim-\u{212a}"] {
      #expect(name("Kim", label).map { Array($0.utf8) } == name("Kim", "").map { Array($0.utf8) }, "\(label)")
    }
    #expect(name("Kim", "\u{212a}", in: "K")?.contains("K-Kim-") == true)
    #expect(name("Rene\u{301}", "").map { NameForm.accepts($0) } == true)
    var people = People(room: "Room")
    _ = people.update(kim("\u{212a}im", ""))
    #expect(people[login: "Kim"] == nil && people[login: "\u{212a}im"]?.user == "kim")
  }

  /// How often memory is allocated while somebody in a room of so many publishes a track and ends it.
  private func allocations(people count: Int) -> UInt {
    var people = People(room: "r")
    for id in 0..<count { _ = people.update(person(id, [track("t\(id)")])) }
    let new = track("new")
    func change() {
      #expect(people.change("p1") { $0.append(new) }.count == 1)
      #expect(people.change("p1") { $0.removeLast() }.count == 1)
    }
    change()
    let before = roost_thread_allocations()
    let published = people.change("p1") { $0.append(new) }
    let ended = people.change("p1") { $0.removeLast() }
    let counted = roost_thread_allocations() - before
    #expect(published.count == 1 && ended.count == 1)
    return counted
  }

  @Test func aTrackCostsAsMuchAmongManyAsAmongFew() {
    let (few, many) = (allocations(people: 4), allocations(people: 1_000))
    #expect(many <= few + 4, "\(few) among four, \(many) among a thousand")
    #expect(few > 0 || roost_counts_allocations() == 0, "the control: they are counted")
  }

  /// People come, go and publish, some under labels that others have: the names are those of the streams that there are.
  @Test func namesAreThoseOfTheStreamsThatThereAre() {
    var (people, dice) = (People(room: "r"), SplitMix64(seed: 7))
    var (next, most) = (0, 0)
    for step in 0..<3_000 {
      let id = Int.random(in: 0..<12, using: &dice)
      switch Int.random(in: 0..<6, using: &dice) {
      case 0: _ = people.remove("p\(id)")
      case 1: _ = people.update(person(id, [track("a\(step)", label: "r"), track("b\(step)", label: "r")]))
      case 2: _ = people.change("p\(id)") { $0.removeAll() }
      case 3: _ = people.change("p\(id)") { if !$0.isEmpty { $0.removeFirst() } }
      default:
        next += 1
        let label = ["", "r", "r-user \(id)-1"].randomElement(using: &dice) ?? ""
        _ = people.change("p\(id)") { if $0.count < 6 { $0.append(track("t\(next)", label: label)) } }
      }
      let streams = people.all.flatMap(\.streams)
      most = max(most, streams.count)
      #expect(people.names == Dictionary(streams.map { ($0.name, 1) }, uniquingKeysWith: +))
    }
    #expect(most > 12)
    for id in 0..<12 { _ = people.remove("p\(id)") }
    #expect(people.names.isEmpty)
  }
}
