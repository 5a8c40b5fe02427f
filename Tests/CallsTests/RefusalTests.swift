// A request that is refused changes nothing: for each request and each error that it can end with, the whole state of the
// switchboard before and after is the same, and nobody hears anything. `Board.send` asks the same of every other refusal.

import Basics
import RoostProtocol
import Testing

@testable import Calls

@Suite struct RefusalTests {
  @Test(arguments: Refusal.all) func aRequestThatIsRefusedChangesNothing(_ refusal: Refusal) throws {
    let scene = try Scene()
    let (phone, request) = try refusal.make(scene)
    for phone in scene.board.phones.values { _ = phone.take() }
    let before = scene.board.board.tables
    #expect(scene.board.code(phone, request) == refusal.code)
    #expect(scene.board.board.tables == before)
    #expect(scene.board.phones.values.allSatisfy { $0.take().isEmpty })
  }

  @Test func aTakeoverWithoutTheTokenChangesNothing() throws {
    let scene = try Scene()
    let (other, now) = (scene.board.phone("a", "d2"), scene.board.now)
    let before = scene.board.board.tables
    let join = CallJoinParams(callId: scene.group, takeover: true)
    let accept = CallAcceptParams(callId: scene.group, takeover: true)
    #expect(throws: ErrorObject.self) {
      try scene.board.board.join(join, from: other.id, mayTakeOver: false, at: now)
    }
    #expect(throws: ErrorObject.self) {
      try scene.board.board.accept(accept, from: other.id, mayTakeOver: false, at: now)
    }
    #expect(scene.board.board.tables == before)
    #expect(scene.board.code(other, .call(.join(join))) == nil, "with the token it is granted")
  }

  @Test func anOperatorWhoIsRefusedChangesNothing() throws {
    let scene = try Scene()
    let (over, now) = (try scene.ended(), scene.board.now)
    let before = scene.board.board.tables
    for (callId, code) in [("x", ErrorCode.callNotFound), (over, .callEnded)] {
      #expect(refused { () throws(ErrorObject) in try scene.board.board.stop(callId, at: now) } == code)
      #expect(refused { () throws(ErrorObject) in try scene.board.board.remove("a", from: callId, at: now) } == code)
    }
    for user in ["e", "nobody"] {
      let remove = { () throws(ErrorObject) in try scene.board.board.remove(user, from: scene.group, at: now) }
      #expect(refused(remove) == .userNotFound)
    }
    #expect(scene.board.board.tables == before)
  }

  private func refused<T>(_ body: () throws(ErrorObject) -> T) -> ErrorCode? {
    do throws(ErrorObject) {
      _ = try body()
      return nil
    } catch { return error.code }
  }
}

/// A group of a and b that rings for c, while e and f are by themselves.
struct Scene {
  let board: Board
  let a: Phone
  let b: Phone
  let c: Phone
  let e: Phone
  let f: Phone
  /// A device that has never said hello.
  let stranger = Phone("z", "d1", DeviceID(999), isCallable: true)
  let group: String

  init() throws {
    board = Board {
      ($0.videoSeats, $0.audioSeats, $0.maxMembers, $0.maxCalls) = (4, 6, 7, 3)
      ($0.hasPush, $0.keepsCalls) = (true, true)
    }
    (a, b, c) = (board.phone("a"), board.phone("b"), board.phone("c"))
    (e, f) = (board.phone("e"), board.phone("f"))
    group = try board.start(a, ["b", "c"], .group) { $0.clientCallId = "mine" }.call.callId
    try board.accept(b, group)
    board.mediaUp(a, b)
  }

  /// A call of e and f that is over.
  func ended() throws -> String {
    let id = try board.start(e, ["f"]) { $0.clientCallId = "over" }.call.callId
    try board.accept(f, id)
    _ = board.code(e, .call(.hangup(CallHangupParams(callId: id))))
    return id
  }

  /// A call of e that f's first device has answered or rejected, and f's second device.
  func decided(answers: Bool) throws -> (call: String, other: Phone) {
    let other = board.phone("f", "d2")
    // Where one is declined and another is asked, the call goes on.
    let id = try board.start(e, ["f", "g"], .oneToMany) { $0.rejectPolicy = .ignore }.call.callId
    if answers {
      try board.accept(f, id)
    } else {
      _ = board.code(f, .call(.reject(CallRejectParams(callId: id))))
    }
    return (id, other)
  }

  /// A call between e and f, in which f has another device.
  func talk(_ media: MediaClass = .video) throws -> (call: String, other: Phone) {
    let other = board.phone("f", "d2")
    return (try board.talk(e, f, media), other)
  }

  /// Fills the group to its last seat.
  func fill() throws {
    let d = board.phone("d")
    _ = try board.send(a, .call(.invite(CallInviteParams(callId: group, users: ["d"]))))
    try board.accept(d, group)
  }
}

/// A request, the state in which it is refused, and the error.
struct Refusal: Sendable, CustomTestStringConvertible {
  let name: String
  let code: ErrorCode
  let make: @Sendable (Scene) throws -> (Phone, Request)

  init(
    _ name: String, _ code: ErrorCode, _ make: @escaping @Sendable (Scene) throws -> (Phone, Request)
  ) {
    (self.name, self.code, self.make) = (name, code, make)
  }

  var testDescription: String { "\(name) \(code)" }

  static var all: [Refusal] {
    start + named + ring + enter + decided + leave + invite + mediaChange + strangers + unknown + over
  }

  private static func starting(
    _ to: [String], _ kind: CallKind = .group, _ fill: (inout CallStartParams) -> Void = { _ in }
  ) -> Request {
    var params = CallStartParams(to: to, kind: kind, media: .video)
    fill(&params)
    return .call(.start(params))
  }

  private static let start: [Refusal] = [
    Refusal("start to oneself", .cannotCallSelf) { ($0.e, starting(["e"])) },
    Refusal("start one_to_one to two", .invalidParams) { ($0.e, starting(["f", "g"], .oneToOne)) },
    Refusal("start with another answer policy", .invalidParams) {
      ($0.e, starting(["f"]) { $0.answerPolicy = .firstWins })
    },
    Refusal("start with another reject policy", .invalidParams) {
      ($0.e, starting(["f"]) { $0.rejectPolicy = .anyEnds })
    },
    Refusal("start while draining", .draining) { scene in
      scene.board.drain()
      return (scene.e, starting(["f"]))
    },
    Refusal("start to too many", .tooManyInvitees) { ($0.e, starting(["f", "g", "h", "i"])) },
    Refusal("start in a call", .selfBusy) { ($0.a, starting(["f"])) },
    Refusal("start of one call too many", .overloaded) { scene in
      for name in ["s", "t"] { _ = try scene.board.start(scene.board.phone(name), ["v", "w"], .group) }
      return (scene.e, starting(["f"]))
    },
  ]

  /// A start under a name that is taken.
  private static let named: [Refusal] = [
    Refusal("start of a call that is over", .callEnded) { scene in
      _ = try scene.ended()
      return (scene.e, starting(["f"]) { $0.clientCallId = "over" })
    },
    Refusal("start again on another device", .alreadyJoined) { scene in
      (scene.board.phone("a", "d2"), starting(["b"]) { $0.clientCallId = "mine" })
    },
    Refusal("start again after leaving", .notInCall) { scene in
      _ = scene.board.code(scene.a, .call(.hangup(CallHangupParams())))
      return (scene.a, starting(["b"]) { $0.clientCallId = "mine" })
    },
  ]

  /// Of one who is in it, where there is nothing to answer.
  private static let ring: [Refusal] = [
    Refusal("ringing of one who is in", .invalidState) { ($0.b, .call(.ringing(call($0.group)))) },
    Refusal("reject of one who is in", .invalidState) { ($0.b, .call(.reject(CallRejectParams(callId: $0.group)))) },
    Refusal("cancel by a callee", .forbidden) { ($0.b, .call(.cancel(CallCancelParams(callId: $0.group)))) },
    Refusal("cancel of an answered call", .invalidState) { ($0.a, .call(.cancel(CallCancelParams(callId: $0.group)))) },
  ]

  private static let enter: [Refusal] = [
    Refusal("accept while draining", .draining) { scene in
      scene.board.drain()
      return (scene.c, .call(.accept(CallAcceptParams(callId: scene.group))))
    },
    Refusal("join while draining", .draining) { scene in
      scene.board.drain()
      return (scene.c, .call(.join(CallJoinParams(callId: scene.group))))
    },
    Refusal("accept of the leg's other device", .answeredElsewhere) { scene in
      let (id, other) = try scene.talk()
      return (other, .call(.accept(CallAcceptParams(callId: id))))
    },
    Refusal("join of the leg's other device", .alreadyJoined) { scene in
      let (id, other) = try scene.talk()
      return (other, .call(.join(CallJoinParams(callId: id))))
    },
    Refusal("join of a full group", .callFull) { scene in
      _ = scene.board.code(scene.c, .call(.reject(CallRejectParams(callId: scene.group))))
      try scene.fill()
      let s = scene.board.phone("s")
      _ = try scene.board.send(scene.a, .call(.invite(CallInviteParams(callId: scene.group, users: ["s"]))))
      try scene.board.accept(s, scene.group)
      return (scene.c, .call(.join(CallJoinParams(callId: scene.group))))
    },
    Refusal("accept of a full group", .callFull) { scene in
      _ = scene.board.code(scene.c, .call(.reject(CallRejectParams(callId: scene.group))))
      try scene.fill()
      _ = try scene.board.send(scene.a, .call(.invite(CallInviteParams(callId: scene.group, users: ["s"]))))
      return (scene.c, .call(.accept(CallAcceptParams(callId: scene.group))))
    },
    Refusal("join of one who was taken back", .notInvited) { scene in
      _ = try scene.board.send(scene.a, .call(.cancelInvite(CallCancelInviteParams(callId: scene.group, users: ["c"]))))
      return (scene.c, .call(.join(CallJoinParams(callId: scene.group))))
    },
  ]

  /// What has been answered or rejected already.
  private static let decided: [Refusal] =
    [true, false].flatMap { answers in
      let code: ErrorCode = answers ? .answeredElsewhere : .rejectedElsewhere
      let make = { @Sendable (request: @escaping @Sendable (String) -> Request) in
        { @Sendable (scene: Scene) throws -> (Phone, Request) in
          let (id, other) = try scene.decided(answers: answers)
          return (other, request(id))
        }
      }
      return [
        Refusal("ringing of", code, make { .call(.ringing(call($0))) }),
        Refusal("accept of", code, make { .call(.accept(CallAcceptParams(callId: $0))) }),
        Refusal("reject of", code, make { .call(.reject(CallRejectParams(callId: $0))) }),
      ]
    } + [
      Refusal("accept after one's own reject", .invalidState) { scene in
        let (id, _) = try scene.decided(answers: false)
        return (scene.f, .call(.accept(CallAcceptParams(callId: id))))
      },
      Refusal("join of a call that is no group", .invalidState) { scene in
        let (id, _) = try scene.decided(answers: false)
        return (scene.f, .call(.join(CallJoinParams(callId: id))))
      },
    ]

  private static let leave: [Refusal] = [
    Refusal("hangup without a call", .notInCall) { ($0.e, .call(.hangup(CallHangupParams()))) },
    Refusal("hangup of another device's leg", .answeredElsewhere) { scene in
      let (id, other) = try scene.talk()
      return (other, .call(.hangup(CallHangupParams(callId: id))))
    },
    Refusal("end by a callee", .forbidden) { ($0.b, .call(.end(call($0.group)))) },
  ]

  private static let invite: [Refusal] = [
    Refusal("invite of one who is only rung", .notInCall) {
      ($0.c, .call(.invite(CallInviteParams(callId: $0.group, users: ["e"]))))
    },
    Refusal("invite while draining", .draining) { scene in
      scene.board.drain()
      return (scene.a, .call(.invite(CallInviteParams(callId: scene.group, users: ["e"]))))
    },
    Refusal("invite without seats", .callFull) {
      ($0.a, .call(.invite(CallInviteParams(callId: $0.group, users: ["e", "f"]))))
    },
    Refusal("invite of one member too many", .tooManyInvitees) { scene in
      _ = scene.board.code(scene.c, .call(.reject(CallRejectParams(callId: scene.group))))
      for name in ["g", "h", "i", "j"] {
        let phone = scene.board.phone(name)
        _ = try scene.board.send(scene.a, .call(.invite(CallInviteParams(callId: scene.group, users: [name]))))
        _ = scene.board.code(phone, .call(.reject(CallRejectParams(callId: scene.group))))
      }
      return (scene.a, .call(.invite(CallInviteParams(callId: scene.group, users: ["e"]))))
    },
    Refusal("cancelInvite of one who is only rung", .notInCall) {
      ($0.c, .call(.cancelInvite(CallCancelInviteParams(callId: $0.group, users: ["c"]))))
    },
    Refusal("cancelInvite of another's invitee", .forbidden) {
      ($0.b, .call(.cancelInvite(CallCancelInviteParams(callId: $0.group, users: ["c"]))))
    },
  ]

  private static func change(
    _ callId: String?, _ action: MediaChangeAction, _ media: MediaClass? = nil
  ) -> Request {
    .call(.mediaChange(MediaChangeParams(callId: callId, action: action, media: media)))
  }

  private static let mediaChange: [Refusal] = [
    Refusal("mediaChange without a call", .notInCall) { ($0.e, change(nil, .request, .audio)) },
    Refusal("mediaChange of one who is only rung", .notInCall) { ($0.c, change($0.group, .request, .audio)) },
    Refusal("mediaChange to nothing", .invalidParams) { ($0.a, change($0.group, .request)) },
    Refusal("accept of no mediaChange", .invalidState) { ($0.a, change($0.group, .accept)) },
    Refusal("reject of no mediaChange", .invalidState) { ($0.a, change($0.group, .reject)) },
    Refusal("cancel of no mediaChange", .invalidState) { ($0.a, change($0.group, .cancel)) },
    Refusal("mediaChange while one waits", .mediaChangePending) { scene in
      let (id, _) = try scene.talk(.audio)
      _ = try scene.board.send(scene.e, change(id, .request, .video))
      return (scene.f, change(id, .request, .video))
    },
    Refusal("accept of one's own mediaChange", .invalidState) { scene in
      let (id, _) = try scene.talk(.audio)
      _ = try scene.board.send(scene.e, change(id, .request, .video))
      return (scene.e, change(id, .accept))
    },
    Refusal("mediaChange before media is up", .invalidState) { scene in
      let id = try scene.board.start(scene.e, ["f"], .oneToOne, .audio).call.callId
      try scene.board.accept(scene.f, id)
      return (scene.e, change(id, .request, .video))
    },
    Refusal("mediaChange of too many", .callFull) { scene in
      let id = try scene.board.start(scene.e, ["f", "g", "h", "i"], .group, .audio).call.callId
      return (scene.e, change(id, .request, .video))
    },
  ]

  /// Every request about this call.
  private static func requests(_ id: String) -> [(name: String, request: Request)] {
    [
      ("ringing", .call(.ringing(call(id)))), ("accept", .call(.accept(CallAcceptParams(callId: id)))),
      ("join", .call(.join(CallJoinParams(callId: id)))), ("reject", .call(.reject(CallRejectParams(callId: id)))),
      ("cancel", .call(.cancel(CallCancelParams(callId: id)))),
      ("hangup", .call(.hangup(CallHangupParams(callId: id)))),
      ("invite", .call(.invite(CallInviteParams(callId: id, users: ["a"])))),
      ("cancelInvite", .call(.cancelInvite(CallCancelInviteParams(callId: id, users: ["c"])))),
      ("mediaChange", change(id, .request, .audio)), ("end", .call(.end(call(id)))),
    ]
  }

  /// By a user whom the call is none of.
  private static let strangers: [Refusal] = requests("").enumerated().flatMap { index, entry in
    let needsLeg = ["invite", "cancelInvite", "mediaChange"].contains(entry.name)
    return [
      Refusal("\(entry.name) by a stranger", needsLeg ? .notInCall : .notInvited) { scene in
        (scene.e, requests(scene.group)[index].request)
      },
      Refusal("\(entry.name) by nobody", .notLoggedIn) { scene in
        (scene.stranger, requests(scene.group)[index].request)
      },
    ]
  }

  private static let unknown: [Refusal] = requests("x").map { name, request in
    Refusal("\(name) of no call", .callNotFound) { ($0.a, request) }
  }

  /// Of a call that is over; to hang up and to cancel succeeds there.
  private static let over: [Refusal] = requests("").enumerated().compactMap { index, entry in
    if ["hangup", "cancel"].contains(entry.name) { return nil }
    return Refusal("\(entry.name) of a call that is over", .callEnded) { scene in
      let id = try scene.ended()
      return (scene.e, requests(id)[index].request)
    }
  }
}
