// Each of an operator's actions leaves a line with who, from where, what it was about, and with which code it was refused.

import Basics
import Calls
import RoostProtocol
import Testing

@testable import Conference
@testable import Members

@Suite struct AuditTests {
  private let address: AddressRange

  init() throws { address = try #require(AddressRange("203.0.113.7")) }

  /// All of them, one behind the other: a new one finds no place before it is tried here.
  private func next(after action: OperatorAction?) -> OperatorAction? {
    switch action {
    case nil: .look
    case .look: .lookAt(room: "demo")
    case .lookAt: .moderate(ModerateParams(room: "demo", action: .mute))
    case .moderate: .say("Welcome", as: "House", room: "demo", to: nil)
    case .say: .send(MessageSendParams(room: "demo", topic: "notice", data: 1), as: "House")
    case .send: .change(room: "demo", media: .video, locked: false)
    case .change: .setLocked(true, room: "demo")
    case .setLocked(true, _): .setLocked(false, room: "demo")
    case .setLocked(false, _): .setMedia(.audio, room: "demo")
    case .setMedia: .remove(user: "B", room: "demo")
    case .remove: .bans(room: "demo")
    case .bans: .liftBan(user: "X", room: "demo")
    case .liftBan: .banAddress(address, room: "demo", until: 5)
    case .banAddress: .banAddressOf(user: "A", room: "demo", until: nil)
    case .banAddressOf: .liftAddress(address, room: nil)
    case .liftAddress: .blockCounts(page: 2)
    case .blockCounts: .blocks(of: "A")
    case .blocks: .liftBlocks(of: "A", blocked: nil)
    case .liftBlocks: .revoke("t")
    case .revoke: .revoked()
    case .revoked: .liftRevocation("t")
    case .liftRevocation: .narrow(user: "A", to: [.join, .chat], room: nil)
    case .narrow: .narrowings(of: "A")
    case .narrowings: .liftNarrowings(of: "A", room: nil)
    case .liftNarrowings: .move(user: "A", room: "r1", to: "r2")
    case .move: .user("A")
    case .user: .history(of: "A", before: nil)
    case .history: .see("A")
    case .see: .call("c1")
    case .call: .startCall(CallStartParams(to: ["A", "B"], kind: .oneToOne, media: .video), of: nil)
    case .startCall: .invite(CallInviteParams(callId: "c1", users: ["A"]), as: nil)
    case .invite: .withdraw(user: "A", call: "c1")
    case .withdraw: .removeFromCall(user: "A", call: "c1")
    case .removeFromCall: .endCall("c1")
    case .endCall: .makeRoom("standup", RoomPlan(kind: "pair"), locked: false, lobby: true)
    case .makeRoom: .settings(of: "standup")
    case .settings: .allSettings(page: 2)
    case .allSettings: .replaceSettings(of: "standup", RoomPlan(kind: "group"), .tags(["old"]))
    case .replaceSettings: .takeBackSettings(of: "standup", .any)
    case .takeBackSettings: .closeRoom("demo")
    case .closeRoom: nil
    }
  }

  private func lines(_ scene: Scene, _ action: OperatorAction) -> (
    lines: [LogEntry], answer: Result<OperatorAnswer, ErrorObject>
  ) {
    let (answer, effects) = scene.core.operate(action, from: "203.0.113.9:4711", by: "night shift", at: scene.now)
    let lines = effects.compactMap { if case .operation(.log(let entry)) = $0 { entry } else { nil } }
    return (lines.filter { $0.event == "operator_action" }, answer)
  }

  @Test func everyActionLeavesOneLine() throws {
    let scene = Scene()
    scene.isVerified = true
    _ = try scene.two()
    var (action, count, refused) = (next(after: nil), 0, 0)
    while let one = action {
      let (lines, answer) = lines(scene, one)
      #expect(lines.count == 1, "\(one)")
      let line = try #require(lines.first)
      #expect(line.fields.first?.name == "action" && line.fields.first?.value.isEmpty == false)
      #expect(line.fields.dropFirst().first == LogEntry.Field(name: "by", value: "night shift"))
      #expect(line.fields.last == LogEntry.Field(name: "peer", value: "203.0.113.9:4711"))
      let code = line.fields.first { $0.name == "code" }?.value
      switch answer {
      case .success(.outdated): #expect(code == "OUTDATED" && line.level == .warning, "\(one)")
      case .success: #expect(code == nil && line.level == (one.audit.isLook ? .debug : .info), "\(one)")
      case .failure(let error):
        #expect(code == error.code.name && line.level == .warning, "\(one)")
        refused += 1
      }
      (action, count) = (next(after: one), count + 1)
    }
    #expect(count == 40 && refused > 3 && refused < 14)
  }

  @Test func aLineSaysWhatItWasAbout() throws {
    let scene = Scene()
    _ = try scene.two()
    func about(_ action: OperatorAction) -> [String] {
      lines(scene, action).lines.flatMap(\.fields).dropLast().map { "\($0.name)=\($0.value)" }
    }
    #expect(about(.remove(user: "B", room: "demo")) == ["action=room.remove", "by=night shift", "room=demo", "user=B"])
    let missing = about(.endCall("c1"))
    #expect(missing == ["action=call.end", "by=night shift", "call=c1", "code=CALL_NOT_FOUND"])
    #expect(about(.blocks(of: "A")) == ["action=blocks", "by=night shift", "user=A"])
  }
}
