// Requests of clients to each other that wait for their answers (`message.request`). Each ends once: by the answer, when its time is over, or
// when one of the two leaves the room.

import Basics
import Members
import RoostProtocol

/// What waits for an answer.
struct OpenQuestions: Sendable {
  /// Answers that one user may wait for at once, with all sessions together.
  static let mostOfUser = 16
  /// How long an answer may take when the client does not say, in milliseconds.
  static let usualMilliseconds = 10_000

  /// One that waits.
  struct Question: Sendable {
    /// The request that is answered.
    let key: RequestKey
    let user: ClaimedUser
    let asker: SeatID
    let asked: SeatID
  }

  private var all: [UInt64: Question] = [:]
  private var ends = Deadlines<UInt64>()
  private var ofUser: [ClaimedUser: Int] = [:]
  /// Those that end with a seat: its own, and those to it.
  private(set) var ofSeat: [SeatID: Set<UInt64>] = [:]

  /// When the first of them is over; nil where none waits.
  var nextEnd: Instant? { ends.next }
  /// How many wait.
  var count: Int { all.count }
  /// Whether nothing is kept of any of them.
  var isClean: Bool { all.isEmpty && ends.count == 0 && ofUser.isEmpty && ofSeat.isEmpty }

  /// - Throws: 1006 where a user waits for as many as they may.
  func check(_ user: ClaimedUser) throws(ErrorObject) {
    guard ofUser[user, default: 0] >= Self.mostOfUser else { return }
    throw ErrorObject(.rateLimited, "\(Self.mostOfUser) of your requests wait for their answers.") {
      $0.retryAfterMs = 1000
    }
  }

  /// Keeps one until then.
  mutating func keep(_ question: Question, _ number: UInt64, until end: Instant) {
    all[number] = question
    ends.set(number, at: end)
    ofUser[question.user, default: 0] += 1
    for seat in [question.asker, question.asked] { ofSeat[seat, default: []].insert(number) }
  }

  /// Whether this seat was asked it.
  func isAsked(_ number: UInt64, of seat: SeatID) -> Bool { all[number]?.asked == seat }

  /// Takes out the one that this seat was asked.
  mutating func take(_ number: UInt64, askedOf seat: SeatID) -> Question? {
    guard all[number]?.asked == seat else { return nil }
    return remove(number)
  }

  /// Takes out all that end with a seat, the oldest first.
  mutating func take(of seat: SeatID) -> [Question] {
    guard let numbers = ofSeat[seat] else { return [] }
    return numbers.sorted().compactMap { remove($0) }
  }

  /// Takes out one whose time is over.
  mutating func takeDue(at now: Instant) -> Question? { ends.popDue(at: now).flatMap { remove($0) } }

  private mutating func remove(_ number: UInt64) -> Question? {
    guard let question = all.removeValue(forKey: number) else { return nil }
    ends.cancel(number)
    let left = ofUser[question.user, default: 1] - 1
    ofUser[question.user] = left > 0 ? left : nil
    for seat in [question.asker, question.asked] {
      ofSeat[seat]?.remove(number)
      if ofSeat[seat]?.isEmpty == true { ofSeat[seat] = nil }
    }
    return question
  }
}

extension DataMessages {
  /// What a question is called on the wire.
  private static func name(_ number: UInt64) -> String { "q\(number)" }

  /// Asks somebody in the room; the reply waits for the answer.
  /// - Throws: as `send`; 3008 for who is not there, 1006 for one that waits too many.
  mutating func ask(
    _ params: MessageRequestParams, _ key: RequestKey, _ table: RoomTable, _ step: inout Step
  ) throws(ErrorObject) {
    let seat = try Self.writer(key.session, params.room, params.callId, table)
    guard let asked = table.seat(ofUser: params.to, in: seat.room), asked.id != seat.id else {
      throw ErrorObject(.userNotFound, "This user is not there.")
    }
    let user = ClaimedUser(seat.member.identity)
    try questions.check(user)
    let place = Self.place(of: seat, table)
    let texts = [place.room ?? place.callId, seat.user, seat.displayName, params.topic]
    try paces.take(MessageWeight.of(texts, params.data), times: 1, in: seat.room, at: step.now.instant)
    let milliseconds = params.timeoutMs ?? OpenQuestions.usualMilliseconds
    let number = step.makeNumber()
    questions.keep(
      OpenQuestions.Question(key: key, user: user, asker: seat.id, asked: asked.id), number,
      until: step.now.instant + .milliseconds(milliseconds))
    let event = MessageRequested(
      requestId: Self.name(number), room: place.room, callId: place.callId, from: seat.user,
      displayName: seat.displayName, topic: params.topic, data: params.data,
      expiresAt: step.now.wallMilliseconds + Int64(milliseconds), remainingMs: Int64(milliseconds))
    step.tell(.messageRequested(event), to: asked.session)
    step.count(.dataMessage)
  }

  /// Answers what one was asked: the one who asked has it as the reply.
  /// - Throws: 2005, 2006 without a seat, 1005 for who may not write there, 3003 where nobody waits for it, 1006 where the room is told
  /// too much: it may be sent again then.
  mutating func answer(
    _ params: MessageAnswerParams, _ session: SessionID, _ table: RoomTable, _ step: inout Step
  ) throws(ErrorObject) -> Reply {
    let seat = try table.seat(of: session)
    try Access.checkChat(seat, table)
    try Access.checkChatOpen(seat, table)
    guard let number = wireNumber(params.requestId, prefix: "q"), questions.isAsked(number, of: seat.id) else {
      throw ErrorObject(.invalidState, "Nobody waits for this answer.")
    }
    try paces.take(MessageWeight.of([seat.user], params.data), times: 1, in: seat.room, at: step.now.instant)
    if let question = questions.take(number, askedOf: seat.id) {
      step.answer(question.key, .success(.messageAnswered(MessageAnswered(from: seat.user, data: params.data))))
    }
    return .empty
  }

  /// A seat goes: what it has asked is over, and whoever has asked it something hears that.
  mutating func left(_ seat: SeatID, _ step: inout Step) {
    for question in questions.take(of: seat) {
      let error = question.asker == seat ? ErrorObject(.notJoined) : .unanswered("left")
      step.answer(question.key, .failure(error))
    }
  }

  /// The time of one is over.
  mutating func endDue(_ step: inout Step) {
    guard let question = questions.takeDue(at: step.now.instant) else { return }
    step.answer(question.key, .failure(.unanswered("timeout")))
  }
}

extension ErrorObject {
  fileprivate static func unanswered(_ reason: String) -> ErrorObject {
    ErrorObject(.noAnswer) { $0.reason = reason }
  }
}
