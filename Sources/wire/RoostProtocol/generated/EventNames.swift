// swift-format-ignore-file
// Made by scripts/wire of Sources/wire/RoostProtocol/messages; `make wire` makes it again. Do not edit.

/// Names of events on the wire.
public enum EventName: String, CaseIterable, Hashable, Sendable {
  case sessionClosing = "session.closing"
  case sessionReplaced = "session.replaced"
  case sessionGrants = "session.grants"
  case sessionExpiring = "session.expiring"
  case participantJoined = "room.participantJoined"
  case participantUpdated = "room.participantUpdated"
  case participantReconnecting = "room.participantReconnecting"
  case participantReconnected = "room.participantReconnected"
  case participantLeft = "room.participantLeft"
  case trackPublished = "room.trackPublished"
  case trackUnpublished = "room.trackUnpublished"
  case trackMuted = "room.trackMuted"
  case trackUnmuted = "room.trackUnmuted"
  case activeSpeakers = "room.activeSpeakers"
  case roomQuality = "room.quality"
  case roomClosed = "room.closed"
  case roomSwitched = "room.switched"
  case roomModerated = "room.moderated"
  case roomKnock = "room.knock"
  case chatMessage = "chat.message"
  case messageReceived = "message.received"
  case messageRequested = "message.requested"
  case pcOffer = "pc.offer"
  case subscriptionStarted = "subscription.started"
  case subscriptionPaused = "subscription.paused"
  case subscriptionResumed = "subscription.resumed"
  case subscriptionLayer = "subscription.layer"
  case subscriptionEnded = "subscription.ended"
  case trackLayers = "track.layers"
  case viewChanged = "view.changed"
  case mediaConnected = "media.connected"
  case mediaFailed = "media.failed"
  case callCreated = "call.created"
  case callIncoming = "call.incoming"
  case callStopped = "call.stopped"
  case callEnded = "call.ended"
  case callAccepted = "call.accepted"
  case callActive = "call.active"
  case callAlone = "call.alone"
  case callInvited = "call.invited"
  case callTypeChanged = "call.typeChanged"
  case callMediaChangeRequested = "call.mediaChangeRequested"
  case callMediaChanged = "call.mediaChanged"
  case callMissed = "call.missed"
  case callRecord = "call.record"
  case memberRinging = "member.ringing"
  case memberBusy = "member.busy"
  case memberDeclined = "member.declined"
  case memberNoAnswer = "member.noAnswer"
  case memberLeft = "member.left"
  case memberRemoved = "member.removed"
  case memberState = "member.state"
}

extension Event {
  /// The name on the wire.
  public var name: EventName {
    switch self {
    case .sessionClosing: .sessionClosing
    case .sessionReplaced: .sessionReplaced
    case .sessionGrants: .sessionGrants
    case .sessionExpiring: .sessionExpiring
    case .participantJoined: .participantJoined
    case .participantUpdated: .participantUpdated
    case .participantReconnecting: .participantReconnecting
    case .participantReconnected: .participantReconnected
    case .participantLeft: .participantLeft
    case .trackPublished: .trackPublished
    case .trackUnpublished: .trackUnpublished
    case .trackMuted: .trackMuted
    case .trackUnmuted: .trackUnmuted
    case .activeSpeakers: .activeSpeakers
    case .roomQuality: .roomQuality
    case .roomClosed: .roomClosed
    case .roomSwitched: .roomSwitched
    case .roomModerated: .roomModerated
    case .roomKnock: .roomKnock
    case .chatMessage: .chatMessage
    case .messageReceived: .messageReceived
    case .messageRequested: .messageRequested
    case .pcOffer: .pcOffer
    case .subscriptionStarted: .subscriptionStarted
    case .subscriptionPaused: .subscriptionPaused
    case .subscriptionResumed: .subscriptionResumed
    case .subscriptionLayer: .subscriptionLayer
    case .subscriptionEnded: .subscriptionEnded
    case .trackLayers: .trackLayers
    case .viewChanged: .viewChanged
    case .mediaConnected: .mediaConnected
    case .mediaFailed: .mediaFailed
    case .callCreated: .callCreated
    case .callIncoming: .callIncoming
    case .callStopped: .callStopped
    case .callEnded: .callEnded
    case .callAccepted: .callAccepted
    case .callActive: .callActive
    case .callAlone: .callAlone
    case .callInvited: .callInvited
    case .callTypeChanged: .callTypeChanged
    case .callMediaChangeRequested: .callMediaChangeRequested
    case .callMediaChanged: .callMediaChanged
    case .callMissed: .callMissed
    case .callRecord: .callRecord
    case .memberRinging: .memberRinging
    case .memberBusy: .memberBusy
    case .memberDeclined: .memberDeclined
    case .memberNoAnswer: .memberNoAnswer
    case .memberLeft: .memberLeft
    case .memberRemoved: .memberRemoved
    case .memberState: .memberState
    }
  }

  /// Decodes the params of an event.
  public init(name: EventName, from decoder: any Decoder) throws {
    switch name {
    case .sessionClosing: self = .sessionClosing(try SessionClosing(from: decoder))
    case .sessionReplaced: self = .sessionReplaced
    case .sessionGrants: self = .sessionGrants(try SessionGrants(from: decoder))
    case .sessionExpiring: self = .sessionExpiring(try SessionExpiring(from: decoder))
    case .participantJoined: self = .participantJoined(try ParticipantEvent(from: decoder))
    case .participantUpdated: self = .participantUpdated(try ParticipantEvent(from: decoder))
    case .participantReconnecting: self = .participantReconnecting(try ParticipantEvent(from: decoder))
    case .participantReconnected: self = .participantReconnected(try ParticipantEvent(from: decoder))
    case .participantLeft: self = .participantLeft(try ParticipantLeft(from: decoder))
    case .trackPublished: self = .trackPublished(try TrackPublished(from: decoder))
    case .trackUnpublished: self = .trackUnpublished(try TrackChange(from: decoder))
    case .trackMuted: self = .trackMuted(try TrackChange(from: decoder))
    case .trackUnmuted: self = .trackUnmuted(try TrackChange(from: decoder))
    case .activeSpeakers: self = .activeSpeakers(try ActiveSpeakers(from: decoder))
    case .roomQuality: self = .roomQuality(try RoomQuality(from: decoder))
    case .roomClosed: self = .roomClosed(try RoomClosed(from: decoder))
    case .roomSwitched: self = .roomSwitched(try RoomSwitched(from: decoder))
    case .roomModerated: self = .roomModerated(try RoomModerated(from: decoder))
    case .roomKnock: self = .roomKnock(try RoomKnock(from: decoder))
    case .chatMessage: self = .chatMessage(try Message(from: decoder))
    case .messageReceived: self = .messageReceived(try MessageReceived(from: decoder))
    case .messageRequested: self = .messageRequested(try MessageRequested(from: decoder))
    case .pcOffer: self = .pcOffer(try SubscribeOffer(from: decoder))
    case .subscriptionStarted: self = .subscriptionStarted(try SubscriptionEvent(from: decoder))
    case .subscriptionPaused: self = .subscriptionPaused(try SubscriptionEvent(from: decoder))
    case .subscriptionResumed: self = .subscriptionResumed(try SubscriptionEvent(from: decoder))
    case .subscriptionLayer: self = .subscriptionLayer(try SubscriptionEvent(from: decoder))
    case .subscriptionEnded: self = .subscriptionEnded(try SubscriptionEvent(from: decoder))
    case .trackLayers: self = .trackLayers(try TrackLayersEvent(from: decoder))
    case .viewChanged: self = .viewChanged(try ViewChanged(from: decoder))
    case .mediaConnected: self = .mediaConnected(try MediaEvent(from: decoder))
    case .mediaFailed: self = .mediaFailed(try MediaEvent(from: decoder))
    case .callCreated: self = .callCreated(try CallEvent(from: decoder))
    case .callIncoming: self = .callIncoming(try CallIncoming(from: decoder))
    case .callStopped: self = .callStopped(try CallStopped(from: decoder))
    case .callEnded: self = .callEnded(try CallEnded(from: decoder))
    case .callAccepted: self = .callAccepted(try CallAccepted(from: decoder))
    case .callActive: self = .callActive(try CallActive(from: decoder))
    case .callAlone: self = .callAlone(try CallAlone(from: decoder))
    case .callInvited: self = .callInvited(try CallInvited(from: decoder))
    case .callTypeChanged: self = .callTypeChanged(try CallTypeChanged(from: decoder))
    case .callMediaChangeRequested: self = .callMediaChangeRequested(try CallMediaChange(from: decoder))
    case .callMediaChanged: self = .callMediaChanged(try CallMediaChange(from: decoder))
    case .callMissed: self = .callMissed(try CallMissed(from: decoder))
    case .callRecord: self = .callRecord(try CallRecordEvent(from: decoder))
    case .memberRinging: self = .memberRinging(try MemberEvent(from: decoder))
    case .memberBusy: self = .memberBusy(try MemberEvent(from: decoder))
    case .memberDeclined: self = .memberDeclined(try MemberEvent(from: decoder))
    case .memberNoAnswer: self = .memberNoAnswer(try MemberEvent(from: decoder))
    case .memberLeft: self = .memberLeft(try MemberEvent(from: decoder))
    case .memberRemoved: self = .memberRemoved(try MemberEvent(from: decoder))
    case .memberState: self = .memberState(try MemberEvent(from: decoder))
    }
  }

  /// Writes the params' own fields behind the envelope's, which are in the object already.
  func writeFields(to json: inout JSONWriter) throws {
    switch self {
    case .sessionClosing(let params): try params.writeFields(to: &json)
    case .sessionReplaced: break
    case .sessionGrants(let params): try params.writeFields(to: &json)
    case .sessionExpiring(let params): try params.writeFields(to: &json)
    case .participantJoined(let params), .participantUpdated(let params), .participantReconnecting(let params),
      .participantReconnected(let params): try params.writeFields(to: &json)
    case .participantLeft(let params): try params.writeFields(to: &json)
    case .trackPublished(let params): try params.writeFields(to: &json)
    case .trackUnpublished(let params), .trackMuted(let params), .trackUnmuted(let params): try params.writeFields(to: &json)
    case .activeSpeakers(let params): try params.writeFields(to: &json)
    case .roomQuality(let params): try params.writeFields(to: &json)
    case .roomClosed(let params): try params.writeFields(to: &json)
    case .roomSwitched(let params): try params.writeFields(to: &json)
    case .roomModerated(let params): try params.writeFields(to: &json)
    case .roomKnock(let params): try params.writeFields(to: &json)
    case .chatMessage(let params): try params.writeFields(to: &json)
    case .messageReceived(let params): try params.writeFields(to: &json)
    case .messageRequested(let params): try params.writeFields(to: &json)
    case .pcOffer(let params): try params.writeFields(to: &json)
    case .subscriptionStarted(let params), .subscriptionPaused(let params), .subscriptionResumed(let params),
      .subscriptionLayer(let params), .subscriptionEnded(let params): try params.writeFields(to: &json)
    case .trackLayers(let params): try params.writeFields(to: &json)
    case .viewChanged(let params): try params.writeFields(to: &json)
    case .mediaConnected(let params), .mediaFailed(let params): try params.writeFields(to: &json)
    case .callCreated(let params): try params.writeFields(to: &json)
    case .callIncoming(let params): try params.writeFields(to: &json)
    case .callStopped(let params): try params.writeFields(to: &json)
    case .callEnded(let params): try params.writeFields(to: &json)
    case .callAccepted(let params): try params.writeFields(to: &json)
    case .callActive(let params): try params.writeFields(to: &json)
    case .callAlone(let params): try params.writeFields(to: &json)
    case .callInvited(let params): try params.writeFields(to: &json)
    case .callTypeChanged(let params): try params.writeFields(to: &json)
    case .callMediaChangeRequested(let params), .callMediaChanged(let params): try params.writeFields(to: &json)
    case .callMissed(let params): try params.writeFields(to: &json)
    case .callRecord(let params): try params.writeFields(to: &json)
    case .memberRinging(let params), .memberBusy(let params), .memberDeclined(let params),
      .memberNoAnswer(let params), .memberLeft(let params), .memberRemoved(let params), .memberState(let params): try params.writeFields(to: &json)
    }
  }
}
