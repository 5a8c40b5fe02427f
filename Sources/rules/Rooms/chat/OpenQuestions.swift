// Requests of clients to each other that wait for their answers (`message.request`). Each ends once: by the answer, when its time is over, or
// when one of the two leaves the room. Who asks pays for both: an application that answers by itself must cost its user nothing.

import Basics
import Members
import RoostProtocol

/// What waits for an answer.
struct OpenQuestions: Sendable {
  /// Answers that one user may wait for at once, with all sessions together.
  static let mostOfUser = 16
  /// Answers that one user may owe at once, to all who ask.
  static let mostToUser = 64
  /// Questions that one user hears a second, of all who ask. Well below `dataPerSecond`.
  static let toUserPerSecond = 50.0
  /// … and at once after a pause.
  static let toUserBurst = 50
  /// Questions that one user hears a second of one other …
  static let toUserOfOnePerSecond = 25.0
  /// … and at once after a pause.
  static let toUserOfOneBurst = 25
  /// How long an answer may take when the client does not say, in milliseconds.
  static let usualMilliseconds = 10_000

  /// One that waits.
  struct Question: Sendable {
    /// The request that is answered.
    let key: RequestKey
    let user: ClaimedUser
    let other: ClaimedUser
    let asker: SeatID
    let asked: SeatID
    let isInCall: Bool
  }

  /// Who asks whom.
  private struct Pair: Hashable {
    let asker: ClaimedUser
    let asked: ClaimedUser
  }

  /// How many of each user there are.
  private struct Tally {
    private(set) var counts: [ClaimedUser: Int] = [:]

    subscript(user: ClaimedUser) -> Int { counts[user, default: 0] }

    mutating func add(_ user: ClaimedUser) { counts[user, default: 0] += 1 }

    mutating func remove(_ user: ClaimedUser) {
      let left = self[user] - 1
      counts[user] = left > 0 ? left : nil
    }
  }

  private var all: [UInt64: Question] = [:]
  private var ends = Deadlines<UInt64>()
  private var (ofUser, toUser) = (Tally(), Tally())
  private var paces: KeyedBuckets<ClaimedUser>
  private var pairPaces: KeyedBuckets<Pair>
  /// Those that end with a seat: its own, and those to it.
  private(set) var ofSeat: [SeatID: Set<UInt64>] = [:]

  init(_ rules: ConferenceRules) {
    paces = KeyedBuckets(burst: Self.toUserBurst, perSecond: Self.toUserPerSecond, most: 4 * rules.maxSessions)
    pairPaces = KeyedBuckets(
      burst: Self.toUserOfOneBurst, perSecond: Self.toUserOfOnePerSecond, most: 4 * rules.maxSessions)
  }

  /// When the first of them is over; nil where none waits.
  var nextEnd: Instant? { ends.next }
  /// How many wait.
  var count: Int { all.count }
  /// Whether nothing is kept of any of them.
  var isClean: Bool {
    all.isEmpty && ends.count == 0 && ofUser.counts.isEmpty && toUser.counts.isEmpty && ofSeat.isEmpty
  }
  /// The two seats of each.
  var pairs: [(asker: SeatID, asked: SeatID)] { all.values.map { ($0.asker, $0.asked) } }

  /// - Throws: 1006 where a user waits for as many as they may, or the other one is asked as much as they may be.
  func check(_ user: ClaimedUser, asks other: ClaimedUser, at now: Instant) throws(ErrorObject) {
    if ofUser[user] >= Self.mostOfUser { throw .tooMany("\(Self.mostOfUser) of your requests wait for their answers.") }
    if toUser[other] >= Self.mostToUser {
      throw .tooMany("\(Self.mostToUser) requests wait for this user's answers.")
    }
    let waits = [paces.wait(of: other, at: now), pairPaces.wait(of: Pair(asker: user, asked: other), at: now)]
    if let wait = waits.compactMap({ $0 }).max() { throw .tooOften("asking this user", wait) }
  }

  /// Keeps one until then.
  mutating func keep(_ question: Question, _ number: UInt64, at now: Instant, until end: Instant) {
    all[number] = question
    ends.set(number, at: end)
    _ = paces.take(question.other, at: now)
    _ = pairPaces.take(Pair(asker: question.user, asked: question.other), at: now)
    ofUser.add(question.user)
    toUser.add(question.other)
    for seat in [question.asker, question.asked] { ofSeat[seat, default: []].insert(number) }
  }

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
    ofUser.remove(question.user)
    toUser.remove(question.other)
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
  /// - Throws: as `send`; 3008 for who is not there, 3003 for who cannot answer, 1006 for one that waits too many.
  mutating func ask(
    _ params: MessageRequestParams, _ key: RequestKey, _ table: RoomTable, _ step: inout Step
  ) throws(ErrorObject) {
    let seat = try Self.writer(key.session, params.room, params.callId, table)
    guard let asked = table.seat(ofUser: params.to, in: seat.room), asked.id != seat.id else {
      throw ErrorObject(.userNotFound, "This user is not there.")
    }
    try Self.checkMayAnswer(asked, table)
    let (user, other) = (ClaimedUser(seat.member.identity), ClaimedUser(asked.member.identity))
    try questions.check(user, asks: other, at: step.now.instant)
    let place = Self.place(of: seat, table)
    let texts = [place.room ?? place.callId, seat.user, seat.displayName, params.topic]
    try paces.take(MessageWeight.of(texts, params.data), times: 1, of: user, in: seat.room, at: step.now.instant)
    let milliseconds = params.timeoutMs ?? OpenQuestions.usualMilliseconds
    let number = step.makeNumber()
    questions.keep(
      OpenQuestions.Question(
        key: key, user: user, other: other, asker: seat.id, asked: asked.id, isInCall: table.isInCall(seat)),
      number, at: step.now.instant, until: step.now.instant + .milliseconds(milliseconds))
    let event = MessageRequested(
      requestId: Self.name(number), room: place.room, callId: place.callId, from: seat.user,
      displayName: seat.displayName, topic: params.topic, data: params.data,
      expiresAt: step.now.wallMilliseconds + Int64(milliseconds), remainingMs: Int64(milliseconds))
    step.tell(.messageRequested(event), to: asked.session)
    step.count(.dataMessage)
  }

  /// Those who came by other doors have no word for an answer.
  /// - Throws: 3003 for who could not answer.
  private static func checkMayAnswer(_ seat: Seat, _ table: RoomTable) throws(ErrorObject) {
    let entrance = seat.member.identity.entrance
    guard entrance == .native else {
      throw ErrorObject(.invalidState, "This user came by \(entrance.rawValue), whose clients cannot answer.")
    }
    do throws(ErrorObject) {
      try Access.checkChat(seat, table)
      try Access.checkChatOpen(seat, table)
    } catch {
      throw ErrorObject(.invalidState, "This user may not write here now, and so cannot answer.")
    }
  }

  /// Answers what one was asked: the one who asked has it as the reply. It costs them nothing: there are as many as were asked for.
  /// - Throws: 2005, 2006 without a seat, 1005 for who may not write there, 3003 where nobody waits for it.
  mutating func answer(
    _ params: MessageAnswerParams, _ session: SessionID, _ table: RoomTable, _ step: inout Step
  ) throws(ErrorObject) -> Reply {
    let seat = try table.seat(of: session)
    try Access.checkChat(seat, table)
    try Access.checkChatOpen(seat, table)
    guard let number = wireNumber(params.requestId, prefix: "q"),
      let question = questions.take(number, askedOf: seat.id)
    else { throw ErrorObject(.invalidState, "Nobody waits for this answer.") }
    step.answer(question.key, .success(.messageAnswered(MessageAnswered(from: seat.user, data: params.data))))
    // The room's pace takes it in where it has so much left, and refuses it to nobody who was asked.
    let weight = MessageWeight.of([seat.user], params.data)
    _ = try? paces.take(weight, times: 1, of: question.other, in: seat.room, at: step.now.instant)
    return .empty
  }

  /// A seat goes, or is in another room now: what it has asked is over, and whoever has asked it something hears that.
  mutating func left(_ seat: SeatID, _ step: inout Step) {
    for question in questions.take(of: seat) {
      let own = ErrorObject(question.isInCall ? .notInCall : .notJoined)
      let error = question.asker == seat ? own : .unanswered("left")
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
  fileprivate static func tooMany(_ message: String) -> ErrorObject {
    ErrorObject(.rateLimited, message) { $0.retryAfterMs = 1000 }
  }

  fileprivate static func unanswered(_ reason: String) -> ErrorObject {
    ErrorObject(.noAnswer) { $0.reason = reason }
  }
}
