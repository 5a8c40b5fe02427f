// What the rules cost without sockets and media: one conference, and the same action again and again.
//
//   rules-bench join|call|hello [ROUNDS]    scripts/rules-cost counts the instructions of one round
//
// A round: somebody joins a room in which thirty people sit, and leaves it (join); two people call each other, talk and hang up (call);
// somebody says hello and bye (hello).

import Basics
import Calls
import Conference
import Glibc
import Members
import RoostProtocol

/// A conference in which everybody may ask for as much as they want.
struct Bench {
  private static let inside: UInt64 = 30
  private var core: ConferenceCore
  private var now = Now(instant: .zero, wallMilliseconds: 1_700_000_000_000)
  private var lastRequest: Int64 = 0

  init() {
    var rules = ConferenceRules()
    (rules.userRequestsPerSecond, rules.userRequestBurst) = (1_000_000, 1_000_000)
    (rules.networkRequestsPerSecond, rules.networkRequestBurst) = (1_000_000, 1_000_000)
    (rules.calls.ringsPerCaller, rules.calls.ringsPerCallee, rules.calls.ringsPerPair) = (0, 0, 0)
    var hall = RoomRules(kind: "hall")
    (hall.media, hall.audioSeats) = (.audio, Int(Self.inside) + 2)
    rules.rooms = ["hall": hall]
    core = ConferenceCore(rules: rules)
    for number in 0..<Self.inside {
      hello(number)
      join(number)
    }
  }

  mutating func round(_ action: String, _ number: Int) {
    now = now.advanced(by: .milliseconds(10))
    switch action {
    case "join":
      if number == 0 { hello(100) }
      join(100)
      request(100, .room(.leave(RoomParams(room: "hall"))))
    case "call":
      if number == 0 { for user: UInt64 in [100, 101] { hello(user) } }
      call(100, 101)
    case "hello":
      hello(100)
      request(100, .session(.bye))
    default:
      print("usage: rules-bench join|call|hello [ROUNDS]")
      exit(2)
    }
  }

  private mutating func call(_ caller: UInt64, _ callee: UInt64) {
    let start = CallStartParams(to: ["user\(callee)"], kind: .oneToOne, media: .video)
    var callId = ""
    for case .client(.reply(_, _, .success(.callStarted(let result)))) in request(caller, .call(.start(start))) {
      callId = result.call.callId
    }
    request(callee, .call(.accept(CallAcceptParams(callId: callId))))
    for user in [caller, callee] {
      guard let seat = core.seat(of: ConnectionID(user)) else { fail("there was no call") }
      _ = core.apply(.media(seat, .subscribe, .connected), at: now)
    }
    request(caller, .call(.hangup(CallHangupParams(callId: callId))))
  }

  private mutating func hello(_ number: UInt64) {
    let params = HelloParams(user: "user\(number)", deviceId: "d")
    let identity = Identity(
      user: "user\(number)", device: "d", displayName: "User \(number)", rights: .all, isVerified: true)
    lastRequest += 1
    check(core.apply(.hello(ConnectionID(number), .number(lastRequest), params, identity), at: now))
  }

  private mutating func join(_ number: UInt64) {
    request(number, .room(.join(RoomJoinParams(room: "hall", displayName: "User \(number)"))))
  }

  @discardableResult
  private mutating func request(_ number: UInt64, _ request: Request) -> [Effect] {
    lastRequest += 1
    let effects = core.apply(.request(ConnectionID(number), .number(lastRequest), request), at: now)
    check(effects)
    return effects
  }

  /// Every action is to be done: a refusal would be measured as one that is cheap.
  private func check(_ effects: [Effect]) {
    var answered = false
    for case .client(.reply(_, _, let result)) in effects {
      answered = true
      if case .failure(let error) = result { fail("\(error.code): \(error.message)") }
    }
    if !answered { fail("a request got no reply") }
  }

  private func fail(_ what: String) -> Never {
    print("rules-bench: \(what)")
    exit(1)
  }
}

let arguments = CommandLine.arguments
var bench = Bench()
for number in 0..<(arguments.count > 2 ? Int(arguments[2]) ?? 1 : 1) {
  bench.round(arguments.count > 1 ? arguments[1] : "", number)
}
