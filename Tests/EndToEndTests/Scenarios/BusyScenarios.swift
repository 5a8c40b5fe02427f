// Scenarios 25, 26 and 35: who is busy, and that nobody stays it.

import Basics
import RoostClient
import RoostProtocol
import TestSupport
import Testing

extension EndToEnd.CallScenarios {
  @Test func scenario25OneWhoTalksIsBusyAtOnce() async throws {
    try await TestServer.calls { server in
      let four = try await server.phones(["anna", "ben", "carl", "dora"])
      let (anna, ben, carl) = (four[0], four[1], four[2])
      let talk = try await carl.start(["dora"]).call.callId
      try await four[3].rings(talk)
      try await four[3].accept(talk)

      let started = try await anna.start(["carl"]) { $0.busyPolicy = .reject }
      let id = started.call.callId
      #expect(started.busy == [BusyUser(user: "carl")] && started.unreachable == [])
      // At once: nothing is waited for but what is on its way.
      try await anna.settle()
      #expect(await anna.heard(\.busy, of: id).map(\.member.user) == ["carl"])
      #expect(await anna.heard(\.busy, of: id).first?.member.state == .busy)
      #expect(await anna.heard(\.ended, of: id).map(\.code) == [6002])
      #expect(await anna.heard(\.ended, of: id).first?.reason == .busy)
      #expect(try await carl.hears(\.missed, of: id).why == .busy)
      try await four.settle()
      #expect(await carl.heard(\.incoming).isEmpty, "no ring")
      let record = try await carl.record(of: id)
      #expect(record?.result == .missed && record?.why == .busy)
      #expect(try await carl.current()?.callId == talk)
      #expect(try await anna.start(["ben"]).busy == [], "anna is free again")
      _ = try await ben.hears(\.incoming)
    }
  }

  /// Every way in which a call between ben and carl can end; then anna's call rings.
  @Test func scenario26NobodyStaysBusyHoweverHisCallEnds() async throws {
    try await TestServer.calls({
      $0.calls.resumeGrace = .milliseconds(300)
      $0.calls.callerGrace = .milliseconds(300)
      $0.sessions.resumeGrace = .milliseconds(300)
    }) { server in
      let anna = try await server.phone("anna")
      for way in WayOut.allCases {
        try await afterwards(way, anna, server)
      }
      try await theBusyAreThoseWithALiveLeg(server)
    }
  }

  private enum WayOut: CaseIterable {
    case peerHangsUp, hangsUp, bye, cleanClose, killed, peerKilled, killedWhileRinging, rejects, cancelled
  }

  private func afterwards(_ way: WayOut, _ anna: Phone, _ server: TestServer) async throws {
    let proxy = try CuttableProxy(to: server.server.port)
    defer { proxy.stop() }
    let url = "ws://127.0.0.1:\(proxy.port)/rtc"
    let name = "\(way)"
    let isBens = way == .killed || way == .killedWhileRinging
    let ben = try await Phone(isBens ? url : server.url, "ben-\(name)")
    let carl = try await Phone(way == .peerKilled ? url : server.url, "carl-\(name)")
    let id = try await carl.start([ben.user]).call.callId
    try await ben.rings(id)
    switch way {
    case .killedWhileRinging, .rejects, .cancelled: break
    default: try await ben.accept(id)
    }
    switch way {
    case .peerHangsUp: try await carl.hangup(id)
    case .hangsUp: try await ben.hangup(id)
    case .bye: await ben.session.close()
    // One who lets go of a session closes its connection cleanly.
    case .cleanClose: try await server.closesCleanly(carl: carl, callId: id)
    case .killed, .killedWhileRinging, .peerKilled: proxy.cut()
    case .rejects: try await ben.reject(id)
    case .cancelled: try await carl.cancel(id)
    }
    #expect(
      try await eventually {
        let presence = try await anna.session.presence(of: [ben.user, carl.user])
        return presence.allSatisfy { !$0.inCall } || way == .killedWhileRinging
      }, "\(way)")
    let again: Phone
    switch way {
    case .bye, .killed, .killedWhileRinging: again = try await server.phone(ben.user, device: "new")
    default: again = ben
    }
    let next = try await anna.start([ben.user])
    #expect(next.busy == [] && next.unreachable == [], "\(way)")
    _ = try await again.hears(\.incoming, of: next.call.callId)
    try await anna.cancel(next.call.callId)
  }

  /// Eight users do what they like; after every step the server's busy set is that of the live legs.
  private func theBusyAreThoseWithALiveLeg(_ server: TestServer) async throws {
    var random = SystemRandomNumberGenerator()
    let users = (0..<8).map { "user\($0)" }
    var phones = try await server.phones(users)
    for _ in 0..<150 {
      let index = phones.indices.randomElement(using: &random) ?? 0
      try await phones[index].doesSomething(with: users, using: &random)
      if Int.random(in: 0..<12, using: &random) == 0 {
        await phones[index].session.close()
        phones[index] = try await server.phone(users[index])
      }
      var live: Set<String> = []
      for phone in phones {
        guard let call = try await phone.current() else { continue }
        #expect(call.state != .ended)
        let own = call.members.first { $0.user == phone.user }
        #expect(
          own.map { [.joined, .connecting, .reconnecting].contains($0.state) } == true, "\(String(describing: own))")
        live.insert(phone.user)
      }
      let presence = try await phones[0].session.presence(of: users)
      #expect(Set(presence.filter(\.inCall).map(\.user)) == live)
    }
  }

  @Test func scenario35ABusyInviteeRingsAndSwitchesCalls() async throws {
    try await TestServer.calls { server in
      let four = try await server.phones(["anna", "ben", "carl", "dora"])
      let (anna, ben, carl, dora) = (four[0], four[1], four[2], four[3])
      let old = try await ben.start(["carl"], .group).call.callId
      try await carl.rings(old)
      try await carl.accept(old)
      let new = try await anna.start(["dora"], .group).call.callId
      try await dora.rings(new)
      try await dora.accept(new)

      let invited = try await anna.invite(new, ["ben"])
      #expect(invited.busy == [BusyUser(user: "ben")] && invited.failed == [])
      let ring = try await ben.rings(new)
      #expect(ring.waiting && ring.inProgress && ring.from == "anna")
      #expect(try await anna.get(new).members.first { $0.user == "ben" }?.state == .busyRinging)
      let switched = try await ben.accept(new)
      #expect(switched.room.room == "call:\(new)")
      let left = try await carl.hears(\.left, of: old)
      #expect(left.member.user == "ben" && left.member.reason == .switchedCall)
      #expect(try await dora.hears(\.accepted, of: new).user == "ben")
      #expect(try await ben.current()?.callId == new)
      #expect(try await carl.get(old).members.first { $0.user == "ben" }?.state == .left)
      #expect(try await carl.get(old).state == .active, "the group goes on")
    }
  }
}

extension TestServer {
  /// Ends carl's side with a close frame and no `session.bye`.
  fileprivate func closesCleanly(carl: Phone, callId: String) async throws {
    let laptop = try RawClient(url)
    try await laptop.open()
    // The newer session of a device takes over; then it goes with code 1001.
    let hello = carl.session
    let own = await hello.hello
    try await laptop.say(
      """
      {"jsonrpc":"2.0","id":1,"method":"session.hello","params":{"user":"\(carl.user)","deviceId":"\(own.deviceId)",\
      "resumeToken":"\(own.resumeToken)"}}
      """)
    _ = try await laptop.reply(to: 1)
    try await laptop.say(#"{"jsonrpc":"2.0","id":2,"method":"call.join","params":{"callId":"\#(callId)"}}"#)
    _ = try await laptop.reply(to: 2)
    laptop.close(code: 1001)
  }
}

extension Phone {
  /// A command that makes sense about as often as not; refusals are part of it.
  func doesSomething(with users: [String], using random: inout SystemRandomNumberGenerator) async throws {
    let others = users.filter { $0 != user }.shuffled(using: &random)
    let known = await log.all { $0.incoming?.call.callId }
    let callId = known.suffix(3).randomElement(using: &random) ?? "none"
    let kinds: [CallKind] = [.oneToOne, .oneToMany, .group]
    let kind = kinds.randomElement(using: &random) ?? .group
    let count = Int.random(in: 1...3, using: &random)
    let choice = Int.random(in: 0..<10, using: &random)
    _ = try await refused {
      switch choice {
      case 0...2: try await start(kind == .oneToOne ? [others[0]] : Array(others.prefix(count)), kind)
      case 3...4: try await accept(callId)
      case 5: try await reject(callId)
      case 6: try await hangup(callId)
      case 7: try await hangup()
      case 8: try await join(callId)
      default:
        guard let current = try await current() else { return }
        try await invite(current.callId, Array(others.prefix(count)))
      }
    }
  }
}
