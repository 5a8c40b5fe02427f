// Names of the rooms of calls.

import RoostProtocol

/// A call's room is hidden and named `call:<callId>`.
package enum CallRoom {
  /// Whether this is the name of a call's room.
  package static func isName(_ room: String) -> Bool { room.begins(with: ProtocolLimits.callRoomPrefix) }

  /// The name of the room of a call.
  package static func name(_ callId: String) -> String { ProtocolLimits.callRoomPrefix + callId }

  /// The call whose room has this name.
  package static func callId(_ room: String) -> String {
    String(decoding: room.utf8.dropFirst(ProtocolLimits.callRoomPrefix.utf8.count), as: UTF8.self)
  }

  /// Rooms of calls are not to be looked at or entered by name.
  /// - Throws: 1005.
  package static func checkNamed(_ room: String) throws(ErrorObject) {
    guard !isName(room) else { throw ErrorObject(.forbidden) }
  }
}
