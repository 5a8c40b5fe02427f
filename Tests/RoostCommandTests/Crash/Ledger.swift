// What clients were told before a crash, in the order in which they heard it, and how far of that is on disk for certain:
// changes are written in the order in which they are made, so all that was heard before a message was sent is on disk
// once the message is said to be.
import Basics
import RoostProtocol

/// Written by all clients of a round.
final class Ledger: Sendable {
  /// Where a user sits, as the reply to his last command says.
  struct Seat {
    var callId: String?
    var since: Int
  }

  /// How a call was heard to end.
  struct Ending: Hashable {
    var reason: Reason?
    var by: String?
  }

  private struct State {
    var position = 0
    var certain = 0
    var calls: [String: [(position: Int, call: Call)]] = [:]
    var endings: [String: (position: Int, ending: Ending)] = [:]
    var seats: [String: Seat] = [:]
    var asking: Set<String> = []
    var endedByHost: Set<String> = []
    var records: [String: [String: CallRecord]] = [:]
    var messages: [String: Message] = [:]
    var pushed: [String: Int] = [:]
    var rings: [String: [String]] = [:]
  }

  private let state = Locked(State())

  /// How much has been heard so far: taken before a message is sent.
  var position: Int { state.withLock { $0.position } }

  /// A message is on disk that was sent at `position`.
  func stored(_ message: Message, sentAt position: Int) {
    state.withLock {
      $0.certain = max($0.certain, position)
      $0.messages[message.msgId] = message
    }
  }

  // MARK: - Commands

  /// A user asks for something that may give or take him a seat: where he sits is open until the answer.
  func ask(_ user: String) { state.withLock { _ = $0.asking.insert(user) } }

  /// The answer was a refusal, which changes nothing.
  func refused(_ user: String) { state.withLock { _ = $0.asking.remove(user) } }

  /// The answer to a user who sits in a call from now on, or in none.
  func sits(_ user: String, in callId: String?) {
    state.withLock { state in
      state.position += 1
      state.asking.remove(user)
      let isOver = callId.map { id in state.endings[id] != nil } ?? true
      state.seats[user] = Seat(callId: isOver ? nil : callId, since: state.position)
    }
  }

  /// A reply shows a call.
  func shows(_ call: Call) {
    state.withLock {
      $0.position += 1
      $0.calls[call.callId, default: []].append(($0.position, call))
      for member in call.members where member.state == .inviting && Self.isAway(member.user) {
        $0.pushed["\(call.callId) \(member.user)"] = $0.position
      }
    }
  }

  /// The host is about to end a call for all.
  func endsForAll(_ callId: String) { state.withLock { _ = $0.endedByHost.insert(callId) } }

  /// Users of this name have no device, so that their phones are to be woken.
  static func isAway(_ user: String) -> Bool { user.hasPrefix("away") }

  // MARK: - Events

  func hear(_ event: Event, _ user: String) {
    state.withLock {
      $0.position += 1
      switch event {
      case .callIncoming(let ring): $0.rings[user, default: []].append(ring.call.callId)
      case .callStopped(let stop): $0.rings[user]?.removeAll { $0 == stop.callId }
      case .callEnded(let end):
        $0.rings[user]?.removeAll { $0 == end.callId }
        if $0.endings[end.callId] == nil {
          $0.endings[end.callId] = ($0.position, Ending(reason: end.reason, by: end.by))
        }
        if $0.seats[user]?.callId == end.callId { $0.seats[user] = Seat(callId: nil, since: $0.position) }
      case .callRecord(let told) where told.stored != false:
        $0.records[user, default: [:]][told.record.callId] = told.record
      default: break
      }
    }
  }

  /// Calls that ring for a user.
  func rings(of user: String) -> [String] { state.withLock { $0.rings[user] ?? [] } }

  /// A ring was answered one way or another.
  func answered(_ callId: String, by user: String) { state.withLock { $0.rings[user]?.removeAll { $0 == callId } } }

  /// The call that a user believes to be in.
  func seat(of user: String) -> String? { state.withLock { $0.seats[user]?.callId } }

  /// Calls of which something is known, the newest last.
  var known: [String] {
    state.withLock { $0.calls.values.compactMap(\.last?.call) }.sorted { $0.createdAt < $1.createdAt }.map(\.callId)
  }

  // MARK: - What is certain

  /// What must be found again after a crash.
  struct Certain {
    /// The newest certain state of each call.
    var calls: [String: Call] = [:]
    var endings: [String: Ending] = [:]
    /// Where users sit who have not asked for anything since.
    var seats: [String: String?] = [:]
    var endedByHost: Set<String> = []
    /// By user and call.
    var records: [String: [String: CallRecord]] = [:]
    var messages: [String: Message] = [:]
    /// Call and user of each ring that a phone was to be woken for.
    var pushed: Set<String> = []
  }

  var certain: Certain {
    state.withLock { state in
      let limit = state.certain
      var certain = Certain()
      certain.calls = state.calls.compactMapValues { seen in
        seen.filter { $0.position <= limit }.map(\.call).max { $0.rev < $1.rev }
      }
      certain.endings = state.endings.filter { $0.value.position <= limit }.mapValues(\.ending)
      for (user, seat) in state.seats where seat.since <= limit && !state.asking.contains(user) {
        certain.seats[user] = .some(seat.callId)
      }
      certain.pushed = Set(state.pushed.filter { $0.value <= limit }.keys)
      (certain.endedByHost, certain.records, certain.messages) = (state.endedByHost, state.records, state.messages)
      return certain
    }
  }
}
