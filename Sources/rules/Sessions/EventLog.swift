// What a session was told lately, for a resume to repeat.

import Members
import RoostProtocol

/// The last events of a session.
struct EventLog: Sendable {
  /// Events of fewer bytes do not count: as many as are kept take little.
  static let smallBytes = 1024

  private var messages: [EventMessage] = []
  private var large: [(seq: Int, bytes: Int)] = []
  /// Bytes of those that are large.
  private(set) var largeBytes = 0
  /// The last event that was given up before its time.
  private var forgotten = 0
  private let capacity: Int
  private let bytes: Int
  /// The number of the last event; 0 before the first.
  private(set) var seq = 0

  /// A log of at most `capacity` events, those that are large of at most so many `bytes` in all; the last is always kept.
  init(capacity: Int, bytes: Int = ConferenceRules.mostReplayBytes) {
    self.capacity = max(capacity, 1)
    self.bytes = bytes
  }

  /// Numbers and keeps an event of about so many bytes, and returns its number.
  mutating func append(_ event: Event, bytes: Int, serverTime: Int64) -> Int {
    let message = EventMessage(seq: seq + 1, serverTime: serverTime, event: event)
    if messages.count < capacity { messages.append(message) } else { messages[seq % capacity] = message }
    seq += 1
    if bytes >= Self.smallBytes { keepLarge(bytes) }
    return seq
  }

  private mutating func keepLarge(_ bytes: Int) {
    large.append((seq, bytes))
    largeBytes += bytes
    while large.count > 1, largeBytes > self.bytes || large[0].seq <= seq - capacity { forgetOldestLarge() }
  }

  /// Gives up the oldest of those that are large, the last one too; a resume that needs it gets a snapshot.
  mutating func forgetOldestLarge() {
    guard !large.isEmpty else { return }
    let oldest = large.removeFirst()
    largeBytes -= oldest.bytes
    // One that has made space for a newer one is gone already.
    guard oldest.seq > seq - messages.count else { return }
    forgotten = oldest.seq
    messages[(oldest.seq - 1) % capacity] = EventMessage(seq: oldest.seq, serverTime: 0, event: .sessionReplaced)
  }

  /// The events after `lastSeq`, in order; nil when some of them are gone.
  func events(after lastSeq: Int) -> [EventMessage]? {
    guard lastSeq <= seq, lastSeq >= forgotten, seq - lastSeq <= messages.count else { return nil }
    return (lastSeq..<seq).map { messages[$0 % capacity] }
  }
}

extension Event {
  /// About how many bytes it takes on the wire, what clients fill in above all; 0 for one that is always small. It is reckoned for
  /// each event, so nothing is encoded.
  var sizeToKeep: Int {
    switch self {
    case .pcOffer(let offer): offer.sdp.utf8.count
    case .chatMessage(let message): message.sizeToKeep
    case .messageReceived(let message):
      256 + message.data.encodedSize
        + size(of: [message.room, message.callId, message.from, message.displayName, message.topic])
    case .messageRequested(let request):
      256 + request.data.encodedSize
        + size(of: [request.room, request.callId, request.from, request.displayName, request.topic])
    case .participantJoined(let event), .participantUpdated(let event), .participantReconnecting(let event),
      .participantReconnected(let event):
      event.participant.sizeToKeep
    case .trackPublished(let event): event.track.sizeToKeep
    case .roomSwitched(let event):
      event.snapshot.chat.reduce(event.snapshot.participants.reduce(0) { $0 + $1.sizeToKeep }) { $0 + $1.sizeToKeep }
    case .roomQuality(let quality): quality.people.count * 150
    case .callCreated(let event): event.call.sizeToKeep
    case .callMissed(let event): event.call.sizeToKeep
    case .callIncoming(let event):
      (event.participants ?? []).reduce(event.call.sizeToKeep) { $0 + $1.sizeToKeep }
    case .callEnded(let event): size(of: [event.text]) + size(of: event.record?.peers ?? [])
    case .callRecord(let event): size(of: event.record.peers)
    case .callStopped(let event): size(of: [event.text])
    case .callInvited(let event): size(of: event.users)
    case .memberRinging(let event), .memberBusy(let event), .memberDeclined(let event), .memberNoAnswer(let event),
      .memberLeft(let event), .memberRemoved(let event), .memberState(let event):
      size(of: [event.text])
    case .sessionClosing, .sessionReplaced, .sessionGrants, .sessionExpiring, .participantLeft, .trackUnpublished,
      .trackMuted, .trackUnmuted, .activeSpeakers, .roomClosed, .roomModerated, .roomKnock, .subscriptionStarted,
      .subscriptionPaused, .subscriptionResumed, .subscriptionLayer, .subscriptionEnded, .trackLayers, .viewChanged,
      .mediaConnected, .mediaFailed, .callAccepted, .callActive, .callAlone, .callTypeChanged,
      .callMediaChangeRequested, .callMediaChanged:
      0
    }
  }
}

extension Message {
  /// Its text and names as they are in JSON, with some for what is around them.
  fileprivate var sizeToKeep: Int { 256 + size(of: [text]) + size(of: to ?? []) }
}

extension Participant {
  fileprivate var sizeToKeep: Int { tracks.reduce(300 + metadata.encodedSize) { $0 + $1.sizeToKeep } }
}

extension Track {
  fileprivate var sizeToKeep: Int { 200 + size(of: [label]) + (split?.encodedSize ?? 0) + definitions.count * 80 }
}

extension Call {
  /// The words and numbers of a call, and of each member, besides what clients fill in.
  private static let fixedBytes = (call: 600, member: 200)

  /// No less than it takes: it is asked for with each answer in a call, so it is reckoned and not encoded.
  var sizeToKeep: Int {
    members.reduce(Self.fixedBytes.call + size(of: [caller, by, mediaRequest?.by]) + (extra?.encodedSize ?? 0)) {
      $0 + Self.fixedBytes.member + size(of: [$1.user, $1.displayName, $1.invitedBy])
    }
  }
}

/// Bytes of texts in JSON.
private func size(of texts: [String?]) -> Int {
  texts.reduce(0) { $0 + ($1.map { JSONValue.string($0).encodedSize } ?? 0) }
}
