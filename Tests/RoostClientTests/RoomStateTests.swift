// The room's state, event by event, and the waits between attempts.
import Foundation
import RoostProtocol
import Testing

@testable import RoostClient

@Suite struct RoomStateTests {
  private let track = Track(trackId: "t1", kind: .audio, label: "mic", muted: false, definitions: [])

  private func apply(_ events: [Event], to start: RoomSnapshot = snapshot("demo", seq: 10)) -> RoomState {
    var state = RoomState(start)
    for (index, event) in events.enumerated() {
      let goesOn = state.apply(EventMessage(seq: start.seq + 1 + index, serverTime: 0, event: event))
      #expect(goesOn)
    }
    return state
  }

  @Test func participantsComeChangeAndGo() {
    var renamed = participant("p2")
    renamed.displayName = "renamed"
    let joined: [Event] = [
      .participantJoined(.init(room: "demo", participant: participant("p2"))),
      .participantJoined(.init(room: "demo", participant: participant("p3"))),
      .participantUpdated(.init(room: "demo", participant: renamed)),
    ]
    let state = apply(joined)
    #expect(state.snapshot.participants.map(\.displayName) == ["p1", "renamed", "p3"])
    #expect(state.snapshot.count == 3)
    let left = apply(
      joined + [.participantLeft(.init(room: "demo", participantId: "p2", user: "user-p2", reason: .left))])
    #expect(left.snapshot.participants.map(\.participantId) == ["p1", "p3"])
    #expect(left.snapshot.count == 2)
    #expect(left.snapshot.seq == 14)
  }

  @Test func theDoorIsKnown() {
    func after(_ actions: ModerationAction...) -> RoomModeration? {
      apply(actions.map { .roomModerated(RoomModerated(room: "demo", by: "anna", action: $0)) }).snapshot.moderation
    }
    #expect(after(.lock) == RoomModeration(locked: true) && after(.lock, .lobby) == RoomModeration(lobby: true))
    #expect(after(.disableChat, .lock, .unlock) == RoomModeration(chatDisabled: true))
    #expect(after(.lock, .disableChat, .unlock, .enableChat, .kick) == nil)
  }

  @Test func whatTheRoomCarriesIsKnown() {
    let event = RoomModerated(room: "demo", by: "anna", action: .media, media: .audio, limit: 32)
    let state = apply([.roomModerated(event)])
    #expect(state.snapshot.media == .audio && state.snapshot.limit == 32 && state.snapshot.moderation == nil)
  }

  @Test func whatIsAboutOneselfIsAskedFor() {
    let state = RoomState(snapshot("demo", participants: [participant("p1"), participant("p2")]))
    func isAboutOneself(_ action: ModerationAction, room: String = "demo", user: String?) -> Bool {
      state.isAboutOneself(.roomModerated(RoomModerated(room: room, by: "ben", action: action, user: user)))
    }
    #expect(state.isAboutOneself(.sessionGrants(SessionGrants(grants: [.join]))))
    #expect(isAboutOneself(.role, user: "user-p1") && isAboutOneself(.lowerHand, user: nil))
    #expect(!isAboutOneself(.role, user: "user-p2") && !isAboutOneself(.role, room: "other", user: "user-p1"))
    #expect(!isAboutOneself(.mute, user: "user-p1") && !isAboutOneself(.lock, user: nil))
  }

  @Test func tracksComeMuteAndGo() {
    let published = Event.trackPublished(.init(room: "demo", participantId: "p1", track: track))
    let change = TrackChange(room: "demo", participantId: "p1", trackId: "t1")
    #expect(apply([published, published]).snapshot.participants[0].tracks == [track])
    #expect(apply([published, .trackMuted(change)]).snapshot.participants[0].tracks[0].muted)
    #expect(!apply([published, .trackMuted(change), .trackUnmuted(change)]).snapshot.participants[0].tracks[0].muted)
    #expect(apply([published, .trackUnpublished(change)]).snapshot.participants[0].tracks.isEmpty)
    #expect(apply([.trackMuted(change)]).snapshot.participants[0].tracks.isEmpty)
  }

  @Test func oldEventsAndOtherRoomsChangeNothing() {
    var state = RoomState(snapshot("demo", seq: 10))
    let event = Event.participantJoined(.init(room: "demo", participant: participant("p2")))
    let old = state.apply(EventMessage(seq: 10, serverTime: 0, event: event))
    #expect(old)
    #expect(state.snapshot.count == 1)
    let elsewhere = Event.participantJoined(.init(room: "other", participant: participant("p2")))
    #expect(apply([elsewhere]).snapshot.count == 1)
    let stillThere = state.apply(
      EventMessage(seq: 11, serverTime: 0, event: .roomClosed(.init(room: "demo", reason: .closed))))
    #expect(!stillThere)
  }

  @Test func chatIsKeptToALength() {
    let messages = (0..<(RoomState.chatLength + 5)).map {
      Event.chatMessage(Message(msgId: "m\($0)", room: "demo", ts: 0, from: "a", text: "x"))
    }
    let state = apply(messages)
    #expect(state.snapshot.chat.count == RoomState.chatLength)
    #expect(state.snapshot.chat.first?.msgId == "m5")
  }

  @Test func delaysDoubleUpToTheLongest() {
    let policy = ReconnectPolicy(firstDelay: .milliseconds(100), longestDelay: .seconds(1), attempts: 10)
    let delays = (0..<7).map { policy.delay(before: $0, chance: 1) }
    #expect(
      delays == [
        .zero, .milliseconds(100), .milliseconds(200), .milliseconds(400), .milliseconds(800), .seconds(1), .seconds(1),
      ])
    #expect(policy.delay(before: 1, chance: 0) == .milliseconds(50))
    #expect(policy.delay(before: 1_000_000, chance: 1) == .seconds(1))
  }
}
