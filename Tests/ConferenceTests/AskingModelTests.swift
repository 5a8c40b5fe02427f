// People who do anything in any order while the application is asked, and answers when and what it likes. Each request has one reply, nothing
// is left waiting, and no offer comes to another seat than its own.

import Basics
import Calls
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

@Suite struct AskingModelTests {
  @Test func whateverIsAskedComesToAnEnd() throws {
    var kinds: Set<Question.Kind> = []
    var (published, moved, late, silences) = (0, 0, 0, 0)
    for seed in [1, 2, 6] {
      let model = AskingModel(seed: UInt64(seed))
      for _ in 0..<1_500 { model.step() }
      model.end()
      let core = model.scene.core
      #expect(core.asking.isEmpty && core.storing.waiters.isEmpty, "seed \(seed)")
      for (client, id, _) in model.sent {
        let count = client.replies[id]?.count ?? 0
        let method = client.requests[id]?.method.rawValue ?? ""
        #expect(count == 1, "seed \(seed), \(client.user)/\(client.device): \(method) has \(count) replies")
      }
      #expect(model.repeated < model.sent.count / 10, "most were answered")
      kinds.formUnion(model.scene.questions.map(\.question.kind))
      (published, moved) = (published + model.published, moved + model.movedOffers)
      (late, silences) = (late + (model.refused[.rateLimited] ?? 0), silences + model.scene.silenceQuestions)
    }
    // Enough of everything has really happened.
    #expect(kinds == [.join, .publish, .callStart, .callInvite, .callAccept])
    #expect(published > 3)
    #expect(moved > 0)
    #expect(late > 10)
    #expect(silences > 0)
  }
}

/// Random requests and answers.
private final class AskingModel {
  let here: Asked
  var scene: Scene { here.scene }
  /// All requests, and the seat that their client had then.
  private(set) var sent: [(client: Client, id: RequestID, seat: SeatID?)] = []
  /// Offers that were published, and those refused as their seat was gone.
  private(set) var (published, movedOffers) = (0, 0)
  private(set) var refused: [ErrorCode: Int] = [:]
  private(set) var repeated = 0
  private var clients: [Client] = []
  private var lost: [Client] = []
  private var answered = 0
  private var pending: [Int] = []
  private var unseen: [Int] = []
  private var random: SplitMix64

  init(seed: UInt64) {
    random = SplitMix64(seed: seed)
    here = Asked([.join, .publish, .callStart, .callInvite, .callAccept], allowsUnanswered: seed % 2 == 0) {
      $0.resumeGrace = .seconds(3_600)
      $0.calls.resumeGrace = .seconds(3_600)
      ($0.requestWindow, $0.replayEvents) = (100_000, 100_000)
    }
    Asked.move(scene)
    (scene.beliefInterval, scene.refusalInterval) = (50, 1_000_000)
    clients = ["B", "C"].flatMap { user in ["d1", "d2"].map { scene.client(user, $0) } } + [here.anna]
  }

  private func any<T>(_ all: [T]) -> T { all[Int.random(in: 0..<all.count, using: &random)] }

  func step() {
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<70: ask()
    case 70..<90: answer()
    case 90..<94: scene.advance(.milliseconds(Int.random(in: 0...6_000, using: &random)))
    case 94..<97: breakOff()
    default: comeBack()
    }
    look()
  }

  private func ask() {
    guard !clients.isEmpty else { return }
    let client = any(clients)
    let seat = scene.core.seat(of: client.connection)
    // Some say much at once.
    for _ in 0..<any([1, 1, 1, 1, 1, 1, 1, 20]) {
      let request = request(of: client)
      let id = client.makeID()
      sent.append((client, id, seat))
      unseen.append(sent.count - 1)
      here.send(request, id: id, from: client)
      if scene.core.seat(of: client.connection) != seat { break }
    }
  }

  private func request(of client: Client) -> Request {
    let room = any(["demo", "hall", "voice"])
    let calls =
      scene.core.calls.available(to: client.user, at: scene.now).map(\.callId)
      + scene.core.calls.ringing(for: client.user, on: client.device, at: scene.now).map(\.callId)
    let current =
      Int.random(in: 0..<3, using: &random) > 0 ? scene.core.calls.current(of: client.user, at: scene.now)?.callId : nil
    let call = current ?? (calls.isEmpty ? "none" : any(calls))
    let other = any(["A", "B", "C"])
    switch Int.random(in: 0..<16, using: &random) {
    case 0, 1:
      let (name, takeover) = (any([client.user, client.device, nil]), any([true, nil]))
      return .room(.join(RoomJoinParams(room: room, displayName: name, takeover: takeover)))
    case 2: return .room(.leave(RoomParams(room: room)))
    case 3: return .room(.info(RoomParams(room: room)))
    case 4, 5, 6: return Asked.offer
    case 7: return .view(.open(ViewOpenParams(count: 1)))
    case 8:
      let name = any([nil, "mine"])
      let kind: CallKind = any([.oneToOne, .group])
      return .call(.start(CallStartParams(to: [other], kind: kind, media: .audio, clientCallId: name)))
    case 9:
      let metadata: RawJSON? = any([nil, ["x": 1], ["x": 2]])
      return .call(.accept(CallAcceptParams(callId: call, takeover: any([true, nil]), metadata: metadata)))
    case 10: return .call(.join(CallJoinParams(callId: call, takeover: any([true, nil]))))
    case 11: return .call(.hangup(CallHangupParams(callId: any([call, nil]))))
    case 12: return .call(.invite(CallInviteParams(callId: call, users: [other])))
    case 13: return .call(.reject(CallRejectParams(callId: call)))
    case 14: return .call(.end(CallParams(callId: call)))
    default: return .peerConnection(.restart(RestartParams(pc: .subscribe)))
    }
  }

  private func answer() {
    pending += Array(answered..<scene.questions.count)
    answered = scene.questions.count
    guard !pending.isEmpty else { return }
    let index = pending.remove(at: Int.random(in: 0..<pending.count, using: &random))
    var changes = QuestionChanges()
    if case .join = scene.questions[index].question.wish {
      changes.grants = any([[.subscribe], [.publishAudio, .chat], .all])
    }
    let yes: QuestionAnswer = changes == QuestionChanges() ? .yes : .changed(changes)
    here.answer(any([.yes, .yes, yes, .no(code: "unpaid"), .nothing]), index)
  }

  private func breakOff() {
    guard clients.count > 2 else { return }
    let client = clients.remove(at: Int.random(in: 0..<clients.count, using: &random))
    scene.cut(client)
    lost.append(client)
  }

  private func comeBack() {
    guard !lost.isEmpty else { return }
    let client = lost.remove(at: Int.random(in: 0..<lost.count, using: &random))
    _ = scene.resume(client)
    clients.append(client)
  }

  /// An offer of one who had a seat is published there, or nowhere.
  private func look() {
    unseen.removeAll { index in
      let (client, id, seat) = sent[index]
      guard let reply = client.replies[id]?.last else { return false }
      if let error = reply.error { refused[error.code, default: 0] += 1 }
      guard case .peerConnection(.offer)? = client.requests[id] else { return true }
      if let seat, case .success(.published(let result)) = reply {
        published += 1
        for line in result.tracks {
          let track = TrackID(wire: line.trackId).flatMap { scene.core.rooms.media.tracks[$0] }
          #expect(track == nil || track?.seat == seat, "\(client.user) publishes on another seat")
        }
      }
      if seat != nil, reply.error?.code == .notJoined { movedOffers += 1 }
      return true
    }
  }

  /// All are back and ask again for what they have heard nothing of: replies of while they were gone. Nobody answers any more.
  func end() {
    while !lost.isEmpty { comeBack() }
    for _ in 0..<40 { scene.advance(.seconds(5)) }
    look()
    #expect(here.isQuiet)
    for (client, id, _) in sent where client.replies[id] == nil {
      guard let request = client.requests[id] else { continue }
      repeated += 1
      here.send(request, id: id, from: client)
    }
    for _ in 0..<40 { scene.advance(.seconds(5)) }
  }
}
