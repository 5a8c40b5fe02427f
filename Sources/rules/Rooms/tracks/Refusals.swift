// What a client has described of its media and the server cannot use. Operators read why, in the words that the client is told.

import Basics
import Members
import RoostProtocol

extension Step {
  /// Leaves a warning about an offer or an answer that is refused, or about one media line of it.
  /// - Parameters:
  ///   - event: `publish_refused`, `line_refused`, `attribute_left_out` or `subscribe_refused`.
  ///   - seat: of whom.
  ///   - mid: the line, where it is about one.
  mutating func warn(
    _ event: String, _ error: ErrorObject, of seat: Seat, line mid: String? = nil, _ table: RoomTable
  ) {
    let fields = [
      ("room", table.name(of: seat.room)), ("user", seat.user), ("code", error.code.name),
      ("why", error.message),
    ]
    log(event, fields + (mid.map { [("mid", $0)] } ?? []), level: .warning)
  }

  /// Leaves one where what a client described of its receiving is refused, and it has its seat still.
  mutating func warn<T>(ifRefused result: Result<T, ErrorObject>, of seat: SeatID?, _ table: RoomTable) {
    guard case .failure(let error) = result, let seat = seat.flatMap({ table.seats[$0] }) else { return }
    warn("subscribe_refused", error, of: seat, table)
  }
}
