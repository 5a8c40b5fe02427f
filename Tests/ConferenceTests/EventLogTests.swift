// What a resume can repeat: so many events, and of the large ones so many bytes.

import Basics
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

@Suite struct EventLogTests {
  @Test(arguments: [true, false]) func largeEventsAreForgottenBeforeTheirTime(areOffers: Bool) {
    var log = EventLog(capacity: 512)
    let quarter = ConferenceRules.mostReplayBytes / 4
    func add(_ text: String, _ bytes: Int) {
      let message = Message(msgId: "m1", room: "demo", ts: 0, from: "A", displayName: "A", to: nil, text: text)
      let offer = SubscribeOffer(offerId: 1, sdp: text, tracks: [])
      _ = log.append(areOffers ? .pcOffer(offer) : .chatMessage(message), bytes: bytes, serverTime: 0)
    }
    for _ in 1...4 { add("x", quarter) }
    #expect(log.events(after: 0)?.count == 4)
    _ = log.append(.sessionReplaced, bytes: 0, serverTime: 0)
    add("x", quarter)
    #expect(log.events(after: 0) == nil)
    #expect(log.events(after: 1)?.map(\.seq) == [2, 3, 4, 5, 6])
    add("x", 9 * quarter)
    #expect(log.events(after: 5) == nil && log.events(after: 6)?.count == 1, "the last is always kept")
  }

  @Test func soManyBytesAreKeptAndNotOneMore() {
    let most = ConferenceRules.mostReplayBytes
    for (last, isKept) in [(most / 4, true), (most / 4 + 1, false)] {
      var log = EventLog(capacity: 512)
      for bytes in [most / 4, most / 2, last] { _ = log.append(.sessionReplaced, bytes: bytes, serverTime: 0) }
      #expect((log.events(after: 0) != nil) == isKept && log.events(after: 1)?.count == 2)
    }
  }

  /// Large events that have made space for newer ones count no more.
  @Test func whatIsGoneDoesNotCount() {
    var log = EventLog(capacity: 4, bytes: 10_000)
    for number in 1...20 {
      let bytes = number % 4 == 0 ? 6_000 : 0
      #expect(log.append(.sessionReplaced, bytes: bytes, serverTime: 0) == number)
    }
    #expect(log.events(after: 16)?.map(\.seq) == [17, 18, 19, 20])
  }

  @Test func theLogKeepsTheLastEvents() {
    var log = EventLog(capacity: 4)
    #expect(log.events(after: 0)?.isEmpty == true && log.events(after: 1) == nil)
    for number in 1...10 { #expect(log.append(.sessionReplaced, bytes: 0, serverTime: 0) == number) }
    #expect(log.events(after: 6)?.map(\.seq) == [7, 8, 9, 10])
    #expect(log.events(after: 9)?.map(\.seq) == [10])
    #expect(log.events(after: 10)?.isEmpty == true)
    #expect(log.events(after: 5) == nil && log.events(after: 11) == nil && log.events(after: .max) == nil)
    #expect(log.events(after: -1) == nil)
  }

  /// Whatever a client fills in counts as it is on the wire, escapes included.
  @Test func sizesAreThoseOfTheWire() throws {
    let text = String(repeating: "\u{1}", count: 1_000)
    let opaque = JSONValue.object(["a": .string(text)])
    let track = Track(
      trackId: "t1", kind: .video, label: text, muted: false, split: opaque,
      definitions: [.low, .high])
    let person = Participant(
      participantId: "p1", user: text, displayName: text, state: .joined, metadata: RawJSON(opaque),
      tracks: [track, track])
    let message = Message(
      msgId: "m1", room: "demo", ts: 0, from: "A", displayName: "A", to: [text, "\"\"\""], text: text)
    let events: [Event] = [
      .chatMessage(message), .trackPublished(TrackPublished(room: "demo", participantId: "p1", track: track)),
      .participantUpdated(ParticipantEvent(room: "demo", participant: person)),
      .messageReceived(MessageReceived(room: text, from: text, displayName: text, topic: text, data: 1)),
      .messageRequested(
        MessageRequested(
          requestId: "q1", callId: text, from: text, displayName: text, topic: text, data: 1, expiresAt: 0,
          remainingMs: 0)),
    ]
    for event in events {
      let wire = try ServerFrame.event(EventMessage(seq: 1, serverTime: 0, event: event)).encode().count
      #expect(
        event.sizeToKeep > wire / 2 && event.sizeToKeep < 2 * wire, "\(event.name): \(event.sizeToKeep) of \(wire)")
    }
  }
}
