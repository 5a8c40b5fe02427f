// The examples of docs/api.md in Swift, word for word, so that they compile. DocumentedExamplesTests compares.
import Foundation
import RoostAdmin
import RoostProtocol

private func example(file: String) async throws {
  let secret = try String(contentsOfFile: file, encoding: .utf8)
  let roost = AdminClient(at: "http://127.0.0.1:9091", secret: secret)
  for entry in try await roost.listRooms().rooms where !entry.locked { print(entry.room, entry.participants.count) }
  let made = try await roost.makeRoom(RoomWish(room: "standup", kind: "group", videoLimit: 8), once: "lesson-4711-made")
  // 412, if somebody was faster.
  let settings = RoomSettings(kind: "group", videoLimit: 12)
  try await roost.replaceSettings(room: made.room, settings, ifMatch: .version(made.version))
  let call = try await roost.startCall(CallWish(from: "anna", to: ["ben"], media: .audio), once: "order-17")
  print(call.callId, call.state.rawValue)
  do {
    try await roost.moveParticipant(room: "demo", user: "anna", MoveWish(to: "group-2"))
  } catch {
    guard error.problem?.status == 404 else { throw error }
    print("she is not there")
  }
}
