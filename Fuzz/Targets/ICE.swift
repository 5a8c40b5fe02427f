// The ICE-lite agent (and, in it, STUN behind the integrity check) under a script: each input is a list of steps, some of
// which a peer who knows the password takes, others somebody who does not.
import Basics
import ICE
import STUN

@Sendable func runICEAgent(_ input: Span<UInt8>) {
  var script = Script(input)
  var scene = ICEScene()
  while let step = script.next() {
    switch step & 3 {
    case 0: scene.check(flags: script.next() ?? 0, source: script.next() ?? 0)
    case 1: scene.receive(script.take(Int(step >> 2)), source: script.next() ?? 0)
    case 2: scene.wait(TimeDelta.milliseconds(Int(script.next() ?? 0) * 100))
    default: scene.restart()
    }
  }
}

private struct ICEScene: ~Copyable {
  private var agent = ICELiteAgent(local: ICECredentials(ufrag: "local0", password: "password000000000000000000"))
  private var now = Instant.zero
  private var generation = 0

  private static func password(_ generation: Int) -> String { "password00000000000000000\(generation % 10)" }

  mutating func restart() {
    generation += 1
    agent.restart(local: ICECredentials(ufrag: "local\(generation)", password: Self.password(generation)))
    if generation % 2 == 0 { agent.setRemote(ufrag: "peer") }
  }

  mutating func wait(_ delta: TimeDelta) {
    now += delta
    guard let event = agent.poll(at: now, carryingSince: .zero) else { return }
    precondition(event == .consentExpired && agent.selected == nil)
    precondition(agent.nextDeadline > now, "what is done is not due any more")
  }

  /// A check by somebody who knows the password, unless the flags say otherwise.
  mutating func check(flags: UInt8, source: UInt8) {
    let id = TransactionID(high: UInt32(flags), low: UInt64(bitPattern: now.nanoseconds))
    let spoken = max(0, generation - Int(flags & 1))  // the generation before is still good until the new one is used
    let check = makeCheck(
      CheckFlags(rawValue: flags), id, username: "local\(spoken):peer", password: Self.password(spoken))
    receive(check, source: source)
  }

  mutating func receive(_ message: [UInt8], source: UInt8) {
    let address = SocketAddress(v4: 0x7f00_0000 | UInt32(source), port: 9)
    let before = agent.selected
    var reply = [UInt8](repeating: 0, count: ICELiteAgent.replyCapacity)
    var span = reply.mutableSpan
    switch agent.handle(
      message.span, from: address, isKnown: agent.isValidated(address, at: now), at: now, reply: &span)
    {
    case .ignored: precondition(agent.selected == before, "who proves nothing moves nothing")
    case .refused(let length, _):
      precondition(agent.selected == before, "who is refused moves nothing")
      checkReply(reply, length)
    case .reply(let length, let event):
      checkReply(reply, length)
      if event == nil { precondition(agent.selected == before) } else { precondition(agent.selected == address) }
    }
  }

  private func checkReply(_ reply: [UInt8], _ length: Int) {
    let answer = reply.span.extracting(first: length)
    guard let view = try? MessageView.parse(answer) else { preconditionFailure("our answers can be read") }
    precondition(view.fingerprintHolds(answer))
  }
}
