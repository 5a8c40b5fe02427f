// The names in a request, each with its field. A field that is no name of somebody or something has no part in it: texts, what others
// see of people, labels, and what the server has made itself.

import RoostProtocol

extension Request {
  /// Whether all names in it are of the form that is let in (`NameForm`).
  /// - Throws: −32602 with the field of the first that is not.
  public func checkNames() throws(ErrorObject) {
    switch self {
    case .session(.hello(let params)):
      try NameForm.check(params.user, "user")
      try NameForm.check(params.deviceId, "deviceId")
    case .session(.resume), .session(.token), .session(.bye), .session(.ping): break
    case .userQuery(let params): try NameForm.check(all: params.users, "users")
    case .block(.add(let params)), .block(.remove(let params)): try NameForm.check(params.user, "user")
    case .block(.list): break
    case .room(let request): try request.checkNames()
    case .chat(.send(let params)):
      try NameForm.check(params.room, "room")
      try NameForm.check(all: params.to, "to")
      try NameForm.check(params.clientMsgId, "clientMsgId")
    case .chat(.history(let params)): try NameForm.check(params.room, "room")
    case .call(let request): try request.checkNames()
    case .peerConnection, .track, .subscription, .view: break
    }
  }
}

extension RoomRequest {
  fileprivate func checkNames() throws(ErrorObject) {
    switch self {
    case .join(let params): try NameForm.check(params.room, "room")
    case .leave(let params), .info(let params): try NameForm.check(params.room, "room")
    case .list(let params): try NameForm.check(params.after, "after")
    case .moderate(let params):
      try NameForm.check(params.room, "room")
      try NameForm.check(params.user, "user")
    case .raiseHand(let params): try NameForm.check(params.room, "room")
    }
  }
}

extension CallRequest {
  fileprivate func checkNames() throws(ErrorObject) {
    switch self {
    case .start(let params):
      try NameForm.check(all: params.to, "to")
      try NameForm.check(params.clientCallId, "clientCallId")
    case .invite(let params): try NameForm.check(all: params.users, "users")
    case .cancelInvite(let params): try NameForm.check(all: params.users, "users")
    case .ringing, .accept, .reject, .cancel, .hangup, .join, .get, .current, .available, .history, .mediaChange, .end:
      break
    }
  }
}
