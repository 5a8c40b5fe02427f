// What rooms are told, and what time brings about.

import Basics
import Calls
import Members
import RoostProtocol

extension Rooms {
  /// Takes a message. What follows is in the step.
  package mutating func apply(_ message: RoomMessage, _ step: inout Step) {
    switch message {
    case .note(let member): seating.table.note(member)
    case .disconnected(let member):
      seating.table.note(member)
      if let seat = seat(of: member.session) { seating.seatDisconnected(seat, &step) }
    case .resumed(let session): if let seat = seat(of: session) { seating.seatResumed(seat, &step) }
    case .repeatState(let session): seating.repeatState(to: session, &step)
    case .keepPlace(let session): Places.keep(seat(of: session), &seating, &step)
    case .over(let session, let reason): seating.forget(session, reason, &step)
    case .rightsChanged(let change): rightsChanged(change, &step)
    case .enforce(let change, let role): seating.enforce(change, from: role, &step)
    case .drain: isDraining = true
    case .stop: Stopping.tell(seating, &step)
    case .others(let others): self.others = others
    case .serve(let request): serve(request, &step)
    case .stream(let request, let key, let limits): Streams.serve(request, key, limits, &seating, &step)
    case .takeSeat(let taking): takeSeat(taking, &step)
    case .chatStored(let message, let isOnDisk): chatStored(message, isOnDisk: isOnDisk)
    case .renew(let key, let request, let call, let wish, let mayTakeOver):
      renew(key, request, in: call, wish, mayTakeOver: mayTakeOver, &step)
    case .media(let news): take(news, &step)
    case .callOver(let call): seating.callOver(call)
    case .sit(let member, let seat, let wish): sit(member, on: seat, wish, &step)
    case .unseat(let session, let reason, let isActing): seating.unseat(session, reason, isActing: isActing, &step)
    case .moveSeat(let old, let new, let wish): seating.moveSeat(from: old, to: new, wish, &step)
    case .leave(let session): seating.leave(session, &step)
    case .closeCallRoom(let call, let actor): seating.closeRoom(of: call, except: actor, &step)
    case .setMedia(let call, let media): seating.setMedia(media, of: call, &step)
    case .setHost(let call, let user): seating.setHost(user, of: call, &step)
    case .ring(let session, let incoming): step.tell(.callIncoming(withParticipants(incoming)), to: session)
    case .callReply(let key, let member, let reply): step.answer(key, .success(wire(reply, member, step.now)))
    case .renewSeat(let session, let wish): seating.renewSeat(of: session, wish, &step)
    case .operate(let action, let calls): operate(action, calls, &step)
    }
  }

  /// What the media side has said, or asks for. The rest of its vocabulary is not about rooms.
  private mutating func take(_ news: Command, _ step: inout Step) {
    switch news {
    case .publishPrepared(let key, let result): Publishing.prepared(key, result, &seating, &step)
    case .answerProcessed(let key, let result): seating.subscribing.answerProcessed(key, result, &seating.table, &step)
    case .offerAnswered(let key, let result): Subscribing.offerAnswered(key, result, seating, &step)
    case .streamAnswered(let key, let seat, let stream, let result):
      Streams.answered(key, seat, stream, result, &seating, &step)
    case .swapProcessed(let key, let result):
      if case .failure(let error) = result, subscribing.swaps[key] != nil {
        step.send(.sessions(.noteRefusal(key, method: Method.subscriptionSwap.rawValue, room: nil, error)))
      }
      seating.subscribing.swapProcessed(key, result, &seating.media, table, &step)
    case .mayMove(let seat, let room, let keepsConnections):
      carryOn(seat, to: room, keepsConnections: keepsConnections, &step)
    case .serverOffer(let seat, let offer): subscribing.offer(offer, to: seat, &seating.table, media, &step)
    case .media(let seat, let connection, let change): seating.mediaChanged(change, connection, of: seat, &step)
    case .excess(let seat, let connection, let what, let limit):
      what.log(above: limit, on: connection, of: seat, seating, &step)
    case .subscription(let id, let change): subscribing.changed(change, id, &seating.media, table, &step)
    case .trackLayers(let id, let layers): publishing.askFor(layers, of: id, &seating.media, table, &step)
    case .mediaLoad(let load): self.load = load
    case .activeSpeakers(let room, let levels): seating.activeSpeakers(levels, in: room, &step)
    case .quality(let reports): quality.take(reports, &seating.table, &step)
    case .hello, .token, .request, .resume, .stream, .connectionClosed, .connectionOverdue, .silence, .stored, .fetched,
      .answered, .goOn, .drain, .stop:
      assertionFailure("not about rooms")
    }
  }

  // MARK: - Time

  /// When `poll` has something to do; nil when nothing waits.
  package var nextDeadline: Instant? {
    let (graces, turns, empties) = (
      seating.table.mediaGraces.next, seating.table.turns.next, seating.table.empties.next
    )
    return graces.earlier(turns).earlier(empties).earlier(addressBans.nextEnd).earlier(book.nextEnd)
      .earlier(restored.end).earlier(seating.messages.questions.nextEnd)
  }

  /// Carries out what is due first, which is due by now.
  package mutating func poll(_ step: inout Step) {
    let (now, next) = (step.now.instant, nextDeadline)
    if table.mediaGraces.next == next, let seat = seating.table.takeMediaExpired(at: now) {
      step.subject = table.subject(of: seat)
      seating.mediaExpired(seat, &step)
    } else if table.turns.next == next, let turn = seating.table.takeTurn(at: now) {
      if turn.hasChanged { Viewing.speakersChanged(in: turn.room, &seating.media, table, &step) }
    } else if table.empties.next == next, let room = seating.table.takeEmpty(at: now) {
      Doors.endAdmissions(room, &seating.table)
    } else if seating.messages.questions.nextEnd == next {
      seating.messages.endDue(&step)
    } else if addressBans.nextEnd == next {
      AddressBanning.endDue(&addressBans, &step)
    } else if book.nextEnd == next {
      if let name = book.takeDue(at: now) { _ = RoomMaking.takeBack(name, because: "until", &self, &step) }
    } else if restored.end == next {
      restored.forget(except: book.unserved, &step)
    }
  }

  // MARK: - A start

  /// Takes what an earlier process has left. Rooms that stay have their chat at once; others when somebody joins them within
  /// `restoredChatTime`. Those that nobody is let in to have it when they are served again.
  package mutating func restore(_ state: RestoredState, _ step: inout Step) {
    restored = RestoredRooms(state.chats, state.doors)
    book.restore(state.rooms, at: step.now)
    for (name, rules) in book.served {
      if let key = table[named: name] {
        seating.table.settle(key, rules)
      } else {
        addRoom(name: name, rules: rules, isNamed: true, &step)
      }
    }
    for name in book.unserved.sorted() {
      let kind = (try? book.definition(of: name))?.plan.kind ?? ""
      step.log(
        "room_not_served", [("room", name)] + (kind.isEmpty ? [] : [("kind", kind)]), level: .warning)
    }
    for (name, key) in table.keys.sorted(by: { $0.key < $1.key }) { adoptRestored(key, name: name, &step) }
    let over = bans.restore(state.bans, at: step.now.wallMilliseconds)
    step.keep(over.map { .forgetBan(room: $0.room, user: $0.user) })
    AddressBanning.forget(addressBans.restore(state.addressBans, at: step.now), &step)
    restored.limit(until: step.now.instant + rules.restoredChatTime)
  }
}

/// What an earlier process has left of rooms that nobody has come back to.
struct RestoredRooms: Sendable {
  var chats: [String: [StoredMessage]] = [:]
  var doors: [String: KeptDoor] = [:]
  /// When it is forgotten.
  private(set) var end: Instant?

  /// Nothing.
  init() {}

  init(_ chats: [String: [StoredMessage]], _ doors: [KeptDoor]) {
    self.chats = chats
    self.doors = Dictionary(doors.map { ($0.room, $0) }) { _, later in later }
  }

  /// What no room has taken by then is forgotten.
  mutating func limit(until end: Instant) { if !chats.isEmpty || !doors.isEmpty { self.end = end } }

  /// Nobody came back to these rooms. What is left of `rooms`, where nobody may come back to, waits on.
  mutating func forget(except rooms: Set<String>, _ step: inout Step) {
    let (chats, doors) = (chats.keys.filter { !rooms.contains($0) }, doors.keys.filter { !rooms.contains($0) })
    let changes = chats.sorted().map { StoreChange.forgetRoom($0) } + doors.sorted().map { .forgetDoor($0) }
    for name in chats { self.chats[name] = nil }
    for name in doors { self.doors[name] = nil }
    end = nil
    if !changes.isEmpty { step.add(.write(step.makeTicket(), changes)) }
  }

  /// There is no such room any more.
  mutating func forget(_ name: String, _ step: inout Step) {
    (chats[name], doors[name]) = (nil, nil)
    step.keep([.forgetRoom(name), .forgetDoor(name)])
  }
}

extension Instant? {
  /// The earlier one; nil where there is neither.
  fileprivate func earlier(_ other: Instant?) -> Instant? {
    guard let self, let other else { return self ?? other }
    return min(self, other)
  }
}
