// A user who does anything with calls, until the server is gone, and writes down what he is told.
import Foundation
import RoostClient
import RoostProtocol

struct CrashUser: Sendable {
  let name: String
  let session: RoostSession
  let ledger: Ledger
  /// Whom he may call.
  let others: [String]
  private let reader: Task<Void, Never>

  init(_ session: RoostSession, _ name: String, others: [String], _ ledger: Ledger) async {
    (self.session, self.name, self.others, self.ledger) = (session, name, others, ledger)
    let events = await session.events()
    reader = Task {
      for await event in events { if case .event(let message) = event { ledger.hear(message.event, name) } }
    }
  }

  /// He is in a call from the start.
  func sits(in callId: String) { ledger.sits(name, in: callId) }

  /// Returns when the server is gone and all that it had said is written down.
  func wander() async {
    while await act() { try? await Task.sleep(for: .milliseconds(Int.random(in: 0...12))) }
    await session.close()
    await reader.value
  }

  /// One thing of many. False when the server is gone.
  private func act() async -> Bool {
    if let callId = ledger.seat(of: name) { return await actInside(callId) }
    let ring = ledger.rings(of: name).randomElement()
    switch (Int.random(in: 0..<10), ring) {
    case (0..<5, let ring?): return await accept(ring)
    case (5, let ring?): return await look(.call(.ringing(CallParams(callId: ring))))
    case (6, let ring?): return await decline(ring, .everywhere)
    case (7, let ring?): return await decline(ring, .thisDevice)
    case (0..<3, nil): return await join()
    default: return await start(replace: false)
    }
  }

  private func actInside(_ callId: String) async -> Bool {
    switch Int.random(in: 0..<20) {
    case 0..<5: return await invite(callId)
    case 5..<10: return await chat(callId)
    case 10..<13: return await leave(.call(.hangup(CallHangupParams(callId: callId, text: "bye"))))
    case 13: return await leave(.call(.cancel(CallCancelParams(callId: callId))))
    case 14:
      ledger.endsForAll(callId)
      return await leave(.call(.end(CallParams(callId: callId))))
    case 15: return await start(replace: true)
    case 16:
      let change = MediaChangeParams(callId: callId, action: .request, media: Bool.random() ? .audio : .video)
      return await look(.call(.mediaChange(change)))
    case 17: return await look(.call(.cancelInvite(CallCancelInviteParams(callId: callId, users: others.shuffled()))))
    default:
      guard let ring = ledger.rings(of: name).randomElement() else {
        return await look(.call(.get(.init(callId: callId))))
      }
      return await accept(ring)
    }
  }

  // MARK: - Commands

  private func start(replace: Bool) async -> Bool {
    let kind = CallKind.allCases.randomElement() ?? .group
    let count = kind == .oneToOne ? 1 : Int.random(in: 1...4)
    var params = CallStartParams(to: Array(others.shuffled().prefix(count)), kind: kind, media: .audio)
    params.busyPolicy = Bool.random() ? .ring : nil
    params.rejectPolicy = kind == .oneToMany && Bool.random() ? .ignore : nil
    params.replace = replace
    return await enter(.call(.start(params)))
  }

  private func accept(_ callId: String) async -> Bool {
    ledger.answered(callId, by: name)
    return await enter(.call(.accept(CallAcceptParams(callId: callId))))
  }

  private func join() async -> Bool {
    guard let callId = ledger.known.suffix(12).randomElement() else { return await start(replace: false) }
    return await enter(.call(.join(CallJoinParams(callId: callId))))
  }

  private func decline(_ callId: String, _ scope: RejectScope) async -> Bool {
    ledger.answered(callId, by: name)
    return await look(.call(.reject(CallRejectParams(callId: callId, text: "no", scope: scope))))
  }

  private func invite(_ callId: String) async -> Bool {
    let users = Array(others.shuffled().prefix(Int.random(in: 1...3)))
    guard await look(.call(.invite(CallInviteParams(callId: callId, users: users)))) else { return false }
    return await look(.call(.get(CallParams(callId: callId))))
  }

  private func chat(_ callId: String) async -> Bool {
    let (room, position) = ("call:\(callId)", ledger.position)
    let text = "\(name) at \(position)"
    guard let reply = await ask(.chat(.send(ChatSendParams(room: room, text: text)))) else { return false }
    if case .success(.chatSent(let sent)) = reply, sent.stored {
      ledger.stored(Message(msgId: sent.msgId, room: room, ts: sent.ts, from: name, text: text), sentAt: position)
    }
    return true
  }

  // MARK: - Answers

  /// A command that gives him a seat. False when the server is gone.
  private func enter(_ request: Request) async -> Bool {
    ledger.ask(name)
    switch await ask(request) {
    case .success(.callStarted(let result)): took(result.call)
    case .success(.callRoom(let result)): took(result.call)
    case .success: break
    case .failure: ledger.refused(name)
    case nil: return false
    }
    return true
  }

  private func took(_ call: Call) {
    ledger.shows(call)
    ledger.sits(name, in: call.callId)
  }

  /// A command that takes his seat. False when the server is gone.
  private func leave(_ request: Request) async -> Bool {
    ledger.ask(name)
    switch await ask(request) {
    case .success(.call(let result)):
      ledger.shows(result.call)
      ledger.sits(name, in: nil)
    case .success: break
    case .failure: ledger.refused(name)
    case nil: return false
    }
    return true
  }

  /// A command that leaves his seat alone. False when the server is gone.
  private func look(_ request: Request) async -> Bool {
    guard let reply = await ask(request) else { return false }
    if case .success(.call(let result)) = reply { ledger.shows(result.call) }
    return true
  }

  /// Nil when there was no answer.
  private func ask(_ request: Request) async -> Result<Reply, ErrorObject>? {
    do {
      return .success(try await session.request(request))
    } catch {
      return error.refusal.map { .failure($0) }
    }
  }
}
