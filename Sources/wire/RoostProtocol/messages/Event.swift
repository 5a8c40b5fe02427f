// All events as one type: what the server says without being asked. `EventMessage` adds the envelope's fields.
// Behind each case stands its name on the wire; scripts/wire makes the rest of it (docs/decisions/0023-one-source.md).

/// An event, typed. Its payload is one reference, so that a copy for each listener costs a counter.
public indirect enum Event: Hashable, Sendable {
  case sessionClosing(SessionClosing)  // session.closing
  case sessionReplaced  // session.replaced
  case sessionGrants(SessionGrants)  // session.grants
  case sessionExpiring(SessionExpiring)  // session.expiring
  case participantJoined(ParticipantEvent)  // room.participantJoined
  case participantUpdated(ParticipantEvent)  // room.participantUpdated
  case participantReconnecting(ParticipantEvent)  // room.participantReconnecting
  case participantReconnected(ParticipantEvent)  // room.participantReconnected
  case participantLeft(ParticipantLeft)  // room.participantLeft
  case trackPublished(TrackPublished)  // room.trackPublished
  case trackUnpublished(TrackChange)  // room.trackUnpublished
  case trackMuted(TrackChange)  // room.trackMuted
  case trackUnmuted(TrackChange)  // room.trackUnmuted
  case activeSpeakers(ActiveSpeakers)  // room.activeSpeakers
  case roomQuality(RoomQuality)  // room.quality
  case roomClosed(RoomClosed)  // room.closed
  case roomSwitched(RoomSwitched)  // room.switched
  case roomModerated(RoomModerated)  // room.moderated
  case roomKnock(RoomKnock)  // room.knock
  case chatMessage(Message)  // chat.message
  case messageReceived(MessageReceived)  // message.received
  case messageRequested(MessageRequested)  // message.requested
  case pcOffer(SubscribeOffer)  // pc.offer
  case subscriptionStarted(SubscriptionEvent)  // subscription.started
  case subscriptionPaused(SubscriptionEvent)  // subscription.paused
  case subscriptionResumed(SubscriptionEvent)  // subscription.resumed
  case subscriptionLayer(SubscriptionEvent)  // subscription.layer
  case subscriptionEnded(SubscriptionEvent)  // subscription.ended
  case trackLayers(TrackLayersEvent)  // track.layers
  case viewChanged(ViewChanged)  // view.changed
  case mediaConnected(MediaEvent)  // media.connected
  case mediaFailed(MediaEvent)  // media.failed
  case callCreated(CallEvent)  // call.created
  case callIncoming(CallIncoming)  // call.incoming
  case callStopped(CallStopped)  // call.stopped
  case callEnded(CallEnded)  // call.ended
  case callAccepted(CallAccepted)  // call.accepted
  case callActive(CallActive)  // call.active
  case callAlone(CallAlone)  // call.alone
  case callInvited(CallInvited)  // call.invited
  case callTypeChanged(CallTypeChanged)  // call.typeChanged
  case callMediaChangeRequested(CallMediaChange)  // call.mediaChangeRequested
  case callMediaChanged(CallMediaChange)  // call.mediaChanged
  case callMissed(CallMissed)  // call.missed
  case callRecord(CallRecordEvent)  // call.record
  case memberRinging(MemberEvent)  // member.ringing
  case memberBusy(MemberEvent)  // member.busy
  case memberDeclined(MemberEvent)  // member.declined
  case memberNoAnswer(MemberEvent)  // member.noAnswer
  case memberLeft(MemberEvent)  // member.left
  case memberRemoved(MemberEvent)  // member.removed
  case memberState(MemberEvent)  // member.state
}

/// An event as one session gets it.
public struct EventMessage: Hashable, Sendable {
  /// Counts the session's events from 1, without gaps.
  public var seq: Int
  /// The server's clock, milliseconds since 1970.
  public var serverTime: Int64
  /// What happened.
  public var event: Event

  /// An event with its place in the session.
  public init(seq: Int, serverTime: Int64, event: Event) {
    self.seq = seq
    self.serverTime = serverTime
    self.event = event
  }
}
