// The last requests of a session with their outcomes, so that one that comes twice has one effect (docs/protocol.md,
// envelope). Bounded in number and in bytes.

import Members
import RoostProtocol

/// What a session remembers of its requests. An id belongs to one request, its method and params, for as long as it is known.
struct RequestWindow: Sendable {
  /// Bytes of large replies that are kept. Raising it lets each session hold so much more; a client can have only as many
  /// requests unanswered as the front door lets it, and of those only descriptions of many media lines are large.
  static let replyBytes = 64 * 1024
  /// Replies up to this size are bounded by their number alone.
  private static let smallBytes = 256

  /// Custom messages that are remembered for each other request: a burst of them is as many as that.
  static let messagesEach = 2

  /// Questions to other clients that wait for longer than other messages took to push them out. For one more, one is given up. A user has
  /// fewer, `OpenQuestions.mostOfUser`.
  static let mostHeld = 64

  /// What is known of a request that comes.
  enum Known: Sendable {
    /// To be served.
    case new
    /// Being served; its reply is on its way.
    case pending
    case done(Result<Reply, ErrorObject>)
    /// It took this seat: the reply is the room as it is now, and the call where it was one's.
    case seated(SeatID, SeatOrigin)
    /// It was served, but its reply was too large to be kept so long.
    case forgotten
    /// The id is another request's.
    case taken
  }

  /// What is kept of the outcome. An error object is large and rare, so it is kept by reference.
  enum Outcome: Sendable {
    /// Nothing happened: to be served anew when it comes again.
    case repeatable
    case reply(Reply, bytes: Int)
    indirect case failure(ErrorObject)
    case seated(SeatID, SeatOrigin)
  }

  private enum State: Sendable {
    case pending, forgotten
    case finished(Outcome)
  }

  private struct Entry: Sendable {
    let place: Int
    /// A hash of the request.
    let content: Int
    let isMessage: Bool
    var state: State
  }

  /// Large replies, the oldest first.
  private struct LargeReplies: Sendable {
    private var all: [(id: RequestID, bytes: Int)] = []
    private var bytes = 0

    /// Adds one; those that there is no space for any more.
    mutating func add(_ id: RequestID, _ size: Int) -> [RequestID] {
      all.append((id, size))
      bytes += size
      var old: [RequestID] = []
      while bytes > RequestWindow.replyBytes, all.count > 1 {
        let oldest = all.removeFirst()
        bytes -= oldest.bytes
        old.append(oldest.id)
      }
      return old
    }

    mutating func remove(_ id: RequestID) {
      guard let index = all.firstIndex(where: { $0.id == id }) else { return }
      bytes -= all.remove(at: index).bytes
    }
  }

  /// The ids of the last requests, and how many there were in all.
  private struct Ring: Sendable {
    let capacity: Int
    private var order: [RequestID] = []
    private var nextPlace = 0

    init(capacity: Int) { self.capacity = capacity }

    /// The newest place, and what was on it `capacity` requests ago: that is given up, unless it moved on since.
    mutating func takePlace(for id: RequestID) -> (place: Int, old: RequestID?) {
      defer { nextPlace += 1 }
      guard order.count == capacity else {
        order.append(id)
        return (nextPlace, nil)
      }
      let old = order[nextPlace % capacity]
      order[nextPlace % capacity] = id
      return (nextPlace, old)
    }
  }

  /// Custom messages are many, and push no other request out.
  private struct Messages: Sendable {
    var ring: Ring
    /// Those that wait, and whose places others have.
    var held: Set<RequestID> = []
    /// Answers of other clients, which push no other reply out.
    var answers = LargeReplies()
  }

  /// By reference: sessions are copied often, and most send none.
  private indirect enum KeptMessages: Sendable {
    case none
    case some(Messages)
  }

  private var entries: [RequestID: Entry] = [:]
  private var ring: Ring
  private var large = LargeReplies()
  private var messages = KeptMessages.none

  /// A window of `capacity` requests, and of more custom messages.
  init(capacity: Int) {
    ring = Ring(capacity: max(capacity, 1))
  }

  private var mostMessages: Int { Self.messagesEach * ring.capacity }

  private mutating func changeMessages<Result>(_ body: (inout Messages) -> Result) -> Result {
    var changed = if case .some(let kept) = messages { kept } else { Messages(ring: Ring(capacity: mostMessages)) }
    messages = .none
    defer { messages = .some(changed) }
    return body(&changed)
  }

  /// Looks a request up, and remembers it when it is to be served.
  mutating func begin(_ id: RequestID, _ request: Request) -> Known {
    let content = request.hashValue
    if let entry = entries[id] {
      guard entry.content == content else { return .taken }
      switch entry.state {
      case .pending: return .pending
      case .forgotten: return .forgotten
      case .finished(.reply(let reply, _)): return .done(.success(reply))
      case .finished(.failure(let error)): return .done(.failure(error))
      case .finished(.seated(let seat, let origin)): return .seated(seat, origin)
      case .finished(.repeatable): break
      }
    }
    let isMessage = if case .message = request { true } else { false }
    keep(id, content, isMessage)
    return .new
  }

  private mutating func keep(_ id: RequestID, _ content: Int, _ isMessage: Bool) {
    let (place, old) = isMessage ? changeMessages { $0.ring.takePlace(for: id) } : ring.takePlace(for: id)
    if let old, entries[old]?.place == place - (isMessage ? mostMessages : ring.capacity) { giveUp(old) }
    entries[id] = Entry(place: place, content: content, isMessage: isMessage, state: .pending)
  }

  /// Another request has the place of this one. A question stays as long as it waits.
  private mutating func giveUp(_ id: RequestID) {
    if let entry = entries[id], entry.isMessage, case .pending = entry.state, hold(id) { return }
    remove(id)
  }

  /// Whether there was space for one more that waits.
  private mutating func hold(_ id: RequestID) -> Bool {
    changeMessages { messages in
      guard messages.held.count < Self.mostHeld else { return false }
      messages.held.insert(id)
      return true
    }
  }

  /// Keeps the outcome of a request that is still in the window.
  mutating func finish(_ id: RequestID, _ outcome: Outcome) {
    guard let entry = entries[id] else { return }
    // Its outcome is remembered as long as that of a request that came now.
    if entry.isMessage, changeMessages({ $0.held.remove(id) }) != nil { keep(id, entry.content, true) }
    entries[id]?.state = .finished(outcome)
    guard case .reply(_, let bytes) = outcome, bytes > Self.smallBytes else { return }
    let forgotten = entry.isMessage ? changeMessages { $0.answers.add(id, bytes) } : large.add(id, bytes)
    for old in forgotten { entries[old]?.state = .forgotten }
  }

  private mutating func remove(_ id: RequestID) {
    let isMessage = entries.removeValue(forKey: id)?.isMessage == true
    if isMessage { changeMessages { $0.answers.remove(id) } } else { large.remove(id) }
  }
}

extension RequestWindow.Outcome {
  /// What is to be kept of a result. `seat` is where the session sits after it.
  /// - A refusal that may pass by itself, and what was only read, are served anew.
  /// - A room is told as it is by then: kept, it would be large and no longer true.
  init(_ result: Result<Reply, ErrorObject>, seat: SeatID?) {
    switch result {
    case .failure(let error): self = error.data.retryable ? .repeatable : .failure(error)
    case .success(let reply):
      if reply.isOfReading {
        self = .repeatable
      } else if let seat, let origin = SeatOrigin(reply) {
        self = .seated(seat, origin)
      } else {
        self = .reply(reply, bytes: reply.sizeToKeep)
      }
    }
  }
}

extension SeatOrigin {
  /// Nil for a reply that gives no seat.
  fileprivate init?(_ reply: Reply) {
    if case .room = reply {
      self = .room
    } else if case .callRoom(let result) = reply {
      self = .call(result.call.callId)
    } else if case .callStarted(let result) = reply {
      self = .started(result.call.callId, busy: result.busy, unreachable: result.unreachable, glare: result.glare)
    } else {
      return nil
    }
  }
}

extension Reply {
  /// Whether it is known to be small without being looked at: those that are frequent.
  private var isSmall: Bool {
    if case .empty = self { return true }
    if case .chatSent = self { return true }
    if case .messageSent = self { return true }
    if case .muted = self { return true }
    if case .subscribed = self { return true }
    return false
  }

  /// About how many bytes it takes to keep.
  fileprivate var sizeToKeep: Int {
    if case .published(let result) = self { return result.sdp.utf8.count }
    if case .call(let result) = self { return result.call.sizeToKeep }
    if case .messageAnswered(let answer) = self { return answer.from.utf8.count + answer.data.encodedSize }
    return isSmall ? 0 : encodedSize
  }
}
