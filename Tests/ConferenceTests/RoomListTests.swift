// room.list: page by page, by name.

import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

struct RoomListTests {
  @Test func pagesHaveEveryRoomOnce() {
    var names = SortedNames()
    let all = (0..<250).map { "room \($0)" }
    for name in all.shuffled() { names.insert(name) }
    names.insert("room 7")
    var (seen, after, pages) = ([String](), String?.none, 0)
    repeat {
      let page = names.page(after: after, limit: 100)
      seen += page.names
      after = page.next
      pages += 1
    } while after != nil && pages < 10
    #expect(seen == all.sorted())
    #expect(pages == 3)
  }

  @Test func aFullLastPageHasNoNext() {
    var names = SortedNames()
    for name in ["a", "b", "c", "d"] { names.insert(name) }
    #expect(names.page(after: "b", limit: 2).next == nil)
    #expect(Array(names.page(after: "b", limit: 2).names) == ["c", "d"])
    #expect(names.page(after: "d", limit: 2).names.isEmpty)
    #expect(names.page(after: nil, limit: 3).next == "c")
  }

  /// The name that a page ended with may be gone when the next one is asked for.
  @Test func aRoomThatIsGoneStillSaysWhereToGoOn() {
    var names = SortedNames()
    for name in ["a", "b", "c", "d"] { names.insert(name) }
    names.remove("b")
    names.remove("nobody")
    #expect(Array(names.page(after: "b", limit: 9).names) == ["c", "d"])
  }

  @Test func roomsThatComeAndGoAreInTheList() throws {
    let scene = Scene()
    let anna = scene.client("anna")
    let list = {
      let session = scene.core.sessions.table[on: anna.connection].flatMap { scene.core.sessions.table.facts(of: $0) }
      return RoomListResult(RoomListParams(), for: session, in: scene.core.rooms.table).rooms.map(\.name)
    }
    let before = list()
    _ = try scene.join(anna, "kitchen").get()
    #expect(list() == (before + ["kitchen"]).sorted())
    scene.request(anna, .room(.leave(RoomParams(room: "kitchen"))))
    #expect(list() == before)
  }

  @Test(arguments: [(0, false), (1, true), (100, true), (101, false)])
  func limitsOfAPage(limit: Int, fits: Bool) throws {
    let request = Request.room(.list(RoomListParams(limit: limit)))
    if fits { try request.validate() } else { #expect(throws: ErrorObject.self) { try request.validate() } }
  }
}
