// What the log says of operators: one line for each of their actions, whatever came of it, with who and from where.

import Basics
import Calls
import Members
import RoostProtocol

extension OperatorAction {
  /// What a line says of an action.
  struct Audit {
    /// What it is called.
    let name: String
    /// Whether it changes nothing.
    let isLook: Bool
    /// What it is about.
    let about: [(String, String)]

    fileprivate static func look(_ name: String, _ about: KeyValuePairs<String, String?> = [:]) -> Audit {
      Audit(name: name, isLook: true, about: known(about))
    }

    fileprivate static func change(_ name: String, _ about: KeyValuePairs<String, String?>) -> Audit {
      Audit(name: name, isLook: false, about: known(about))
    }

    private static func known(_ about: KeyValuePairs<String, String?>) -> [(String, String)] {
      about.compactMap { name, value in value.map { (name, $0) } }
    }
  }

  /// Each has one: whoever adds a case says what the log says of it.
  var audit: Audit {
    switch self {
    case .look: .look("look")
    case .lookAt(let room): .look("look", ["room": room])
    case .makeRoom(let room, let plan, let locked, let lobby):
      .change("room.make", ["room": room, "kind": plan.kind, "locked": "\(locked)", "lobby": "\(lobby)"])
    case .settings(let room): .look("settings", ["room": room])
    case .allSettings(let page): .look("settings", ["page": "\(page)"])
    case .replaceSettings(let room, let plan, _): .change("room.settings", ["room": room, "kind": plan.kind])
    case .takeBackSettings(let room, _): .change("room.unmake", ["room": room])
    case .closeRoom(let room): .change("room.close", ["room": room])
    case .setLocked(let isLocked, let room): .change(isLocked ? "room.lock" : "room.unlock", ["room": room])
    case .change(let room, let media, let isLocked):
      .change("room.change", ["room": room, "media": media?.rawValue, "locked": isLocked.map { "\($0)" }])
    case .setMedia(let media, let room): .change("room.media", ["room": room, "media": media.rawValue])
    case .moderate(let params):
      .change("room.\(params.action.rawValue)", ["room": params.room, "user": params.user])
    case .say(_, let name, let room, _): .change("chat.send", ["room": room, "name": name])
    case .send(let params, let name):
      .change("message.send", ["room": params.room, "call": params.callId, "topic": params.topic, "name": name])
    case .remove(let user, let room): .change("room.remove", ["room": room, "user": user])
    case .move(let user, let room, let to): .change("room.move", ["room": room, "user": user, "to": to])
    case .bans(let room, let page): .look("bans", ["room": room, "page": "\(page)"])
    case .liftBan(let user, let room): .change("ban.lift", ["room": room, "user": user])
    case .banAddress(let address, let room, let until):
      .change("address.ban", ["address": "\(address)", "room": room, "until": until.map { "\($0)" }])
    case .banAddressOf(let user, let room, let until):
      .change("address.ban", ["room": room, "user": user, "until": until.map { "\($0)" }])
    case .liftAddress(let address, let room): .change("address.lift", ["address": "\(address)", "room": room])
    case .blockCounts(let page): .look("blocks", ["page": "\(page)"])
    case .blocks(let user): .look("blocks", ["user": user])
    case .liftBlocks(let user, let blocked): .change("blocks.lift", ["user": user, "blocked": blocked])
    case .revoke(let id): .change("token.revoke", ["jti": id])
    case .revoked(let page): .look("revoked", ["page": "\(page)"])
    case .liftRevocation(let id): .change("token.restore", ["jti": id])
    case .narrow(let user, let rights, let room):
      .change(
        "grants.narrow",
        ["user": user, "room": room, "grants": rights.grants.map(\.rawValue).joined(separator: " ")])
    case .narrowings(let user, let page): .look("grants", ["user": user, "page": "\(page)"])
    case .liftNarrowings(let user, let room): .change("grants.restore", ["user": user, "room": room])
    case .user(let user): .look("user", ["user": user])
    case .history(let user, let before): .look("call.history", ["user": user, "before": before])
    case .see(let user): .change("call.see", ["user": user])
    case .call(let call): .look("call", ["call": call])
    case .startCall(let params, let caller):
      .change("call.start", ["caller": caller, "to": params.to.joined(separator: " ")])
    case .invite(let params, let user):
      .change(
        "call.invite", ["call": params.callId, "inviter": user, "users": params.users.joined(separator: " ")])
    case .withdraw(let user, let call): .change("call.withdraw", ["call": call, "user": user])
    case .removeFromCall(let user, let call): .change("call.remove", ["call": call, "user": user])
    case .endCall(let call): .change("call.end", ["call": call])
    }
  }

  /// Leaves the line, behind all that has come of it. Who looks fills no log: that is for whoever debugs, unless it was refused.
  func leaveLine(by who: Operator, _ answer: Result<OperatorAnswer, ErrorObject>, _ step: inout Step) {
    let audit = audit
    var fields = [("action", audit.name), ("by", who.name)] + audit.about
    var level: LogEntry.Level = audit.isLook ? .debug : .info
    let refusal: String? =
      switch answer {
      case .failure(let error): error.code.name
      case .success(.outdated): "OUTDATED"
      case .success: nil
      }
    if let refusal {
      fields.append(("code", refusal))
      level = .warning
    }
    step.log("operator_action", fields, level: level)
  }
}
