// Values of messages, with as many fields filled as there are. Every message is made of the schema as well (`MadeMessageTests.swift`).

import RoostProtocol

enum Samples {
  static let opaque: RawJSON = ["b": [1, 2.5, "three", nil, true], "a": ["c": ["d": -4]]]

  static let track = Track(
    trackId: "t1", kind: .video, label: "camera", source: .camera, muted: true, viewIndex: 2,
    split: ["views": [["index": 0]]],
    definitions: [.low, .high])
  static let participant = Participant(
    participantId: "p1", user: "anna", displayName: "Anna Ångström", state: .joined, metadata: opaque, tracks: [track],
    role: .speaker, handRaisedAt: 1_700_000_000_456)
  static let message = Message(
    msgId: "m1", room: "demo", ts: 1_700_000_000_123, from: "anna", displayName: "Anna", to: ["bert"],
    text: "hello / \"quoted\" \\ 👋\nline")
  static let room = RoomSnapshot(
    room: "demo", kind: "demo", media: .video, limit: 3, count: 1, seq: 7, selfId: "p1", participants: [participant],
    chat: [message], views: ["s1"],
    moderation: RoomModeration(
      locked: true, lobby: true, chatDisabled: true, held: [.audio, .video],
      holds: [TrackHold(kind: .audio, everybody: true, users: ["carl"])],
      waiting: [Waiting(user: "dora", displayName: "Dora")]))
  static let info = RoomInfo(name: "demo", kind: "demo", media: .audio, limit: 32, count: 2)
  static let member = Member(
    user: "bert", displayName: "Bert", state: .ringing, reason: .busy, media: .audio, invitedBy: "anna", joinedAt: 1,
    leftAt: 2, role: .host)
  static let call = Call(
    callId: "c", room: "call:c", kind: .oneToMany, media: .video, answerPolicy: .firstWins, rejectPolicy: .anyEnds,
    busyPolicy: .ring, state: .active, rev: 3, caller: "anna", members: [member],
    mediaRequest: MediaRequest(by: "anna", media: .audio), extra: opaque, createdAt: 10, startedAt: 20, endedAt: 30,
    reason: .hangup, by: "anna", expiresAt: 40, remainingMs: 10)
  static let record = CallRecord(
    callId: "c", direction: .outgoing, result: .answered, why: .cancelled, elsewhere: true, startedAt: 1,
    answeredAt: 2, endedAt: 3, durationMs: 1, peers: ["bert"], kind: .group, media: .audio, inviter: "carl",
    reason: .noAnswer)
  static let error = ErrorObject(.roomFull, "The room is full.") {
    $0.limit = 3
    $0.count = 3
  }
  static let announced = AnnouncedTrack(
    mid: "0", kind: .video, label: "left", source: .screen, viewIndex: 1, split: opaque.value, definitions: [.standard],
    heights: [720], muted: true, pausesLayers: true)

  static var requests: [Request] {
    [
      .session(
        .hello(
          HelloParams(
            user: "anna", token: "t", deviceId: "d1", displayName: "Anna", capabilities: ["video": true],
            callable: false,
            resumeToken: "r1.ff"))),
      .session(.resume(ResumeParams(resumeToken: "r1.ff", lastSeq: 12))), .session(.token(TokenParams(token: "a.b.c"))),
      .session(.bye), .session(.ping),
      .userQuery(UserQueryParams(users: ["anna", "bert"])),
      .block(.add(BlockParams(user: "mallory"))), .block(.remove(BlockParams(user: "mallory"))), .block(.list),
      .room(
        .join(
          RoomJoinParams(
            room: "demo", displayName: "Anna", media: .audio, metadata: opaque, autoSubscribe: false, views: 9,
            takeover: true,
            resumeToken: "r1.ff"))),
      .room(.leave(RoomParams(room: "demo"))), .room(.list()), .room(.info(RoomParams(room: "Küche 7/8"))),
      .room(
        .moderate(
          ModerateParams(
            room: "demo", action: .ban, user: "bert", kind: .video, role: .speaker, until: 1_700_000_060_000,
            hold: true,
            address: true))),
      .room(.raiseHand(RaiseHandParams(room: "demo", raised: true))),
      .chat(.send(ChatSendParams(room: "demo", text: "hi\nthere", to: ["bert"], clientMsgId: "x1"))),
      .chat(.history(ChatHistoryParams(room: "demo", before: "m9", limit: 10))),
      .message(
        .send(MessageSendParams(room: "demo", callId: nil, to: ["bert"], topic: "pointer", data: ["x": 1.5, "y": []]))),
      .message(
        .request(
          MessageRequestParams(room: "demo", callId: nil, to: "bert", topic: "vote", data: ["q": 1], timeoutMs: 5_000))),
      .message(.answer(MessageAnswerParams(requestId: "q1", data: ["yes"]))),
      .message(.send(MessageSendParams(callId: "c1", topic: "dtmf", data: "5"))),
      .peerConnection(.offer(PublishOfferParams(pc: .publish, sdp: "v=0\r\n", tracks: [announced]))),
      .peerConnection(.answer(SubscribeAnswerParams(offerId: 3, sdp: "v=0\r\n"))),
      .peerConnection(.restart(RestartParams(pc: .subscribe))),
      .track(.unpublish(TrackParams(trackId: "t1"))), .track(.mute(TrackParams(trackId: "t1"))),
      .track(.unmute(TrackParams(trackId: "t1"))),
      .subscription(
        .subscribe(SubscribeParams(trackId: "t1", definition: .high, view: 0, priority: 255, maxHeight: 0))),
      .subscription(.unsubscribe(SubscriptionParams(subscriptionId: "s1"))),
      .subscription(
        .update(
          SubscriptionUpdateParams(subscriptionId: "s1", definition: .low, paused: true, priority: 1, maxHeight: 360))),
      .subscription(.swap(SwapParams(a: "s1", b: "s2"))),
      .view(.open(ViewOpenParams(count: 49))),
      .view(
        .show(
          ViewShowParams(views: [
            ViewWish(subscriptionId: "s1", trackId: "t1"), ViewWish(subscriptionId: "s2", follow: .activeSpeaker),
            ViewWish(subscriptionId: "s3"),
          ]))),
      .call(
        .start(
          CallStartParams(
            to: ["bert"], kind: .oneToOne, media: .video, ringTimeoutMs: 5_000, rejectPolicy: .ignore,
            answerPolicy: .everyone, busyPolicy: .reject, extra: opaque, push: opaque, clientCallId: "k", replace: true,
            metadata: opaque, autoSubscribe: false))),
      .call(.ringing(CallParams(callId: "c"))),
      .call(
        .accept(
          CallAcceptParams(
            callId: "c", media: .audio, takeover: true, resumeToken: "r1.0", push: opaque, metadata: opaque,
            autoSubscribe: true))),
      .call(.reject(CallRejectParams(callId: "c", reason: .busy, text: "later", scope: .thisDevice, push: opaque))),
      .call(.cancel(CallCancelParams(callId: "c", push: opaque))),
      .call(.hangup(CallHangupParams(callId: "c", reason: .networkChanged, text: "bye", push: opaque))),
      .call(
        .invite(
          CallInviteParams(
            callId: "c", users: ["carl"], extra: opaque, push: opaque, ringTimeoutMs: 180_000, busyPolicy: .reject))),
      .call(.cancelInvite(CallCancelInviteParams(callId: "c", users: ["carl"]))),
      .call(
        .join(
          CallJoinParams(
            callId: "c", media: .video, takeover: false, resumeToken: "r", metadata: opaque, autoSubscribe: false))),
      .call(.get(CallParams(callId: "c"))),
      .call(.current), .call(.available), .call(.history(CallHistoryParams(before: "n", limit: 100))),
      .call(.mediaChange(MediaChangeParams(callId: "c", action: .request, media: .video))),
      .call(.end(CallParams(callId: "c"))),
    ]
  }

  static let hello = HelloResult(
    sessionId: "1", resumeToken: "r1.ff", user: "anna", deviceId: "d1", serverTime: 1_700_000_000_000,
    limits: ServerLimits(
      messageBytes: 524_288, chatBytes: 4096, metadataBytes: 4096, tracks: 8, replayEvents: 512, resumeGraceMs: 15_000,
      idlePingMs: 30_000),
    iceServers: [ICEServer(urls: ["turn:x"], username: "u", credential: "p")], ringing: [call], current: call, missed: 2
  )

  static var replies: [(Method, Reply)] {
    [
      (.sessionHello, .hello(hello)), (.sessionResume, .resumed(.replayed(3))),
      (.sessionResume, .resumed(.resync(Resync(seq: 9, room: room, call: call, current: call, ringing: [call])))),
      (.sessionToken, .empty), (.sessionBye, .empty), (.ping, .empty),
      (
        .userQuery,
        .users(
          UserQueryResult(users: [
            UserPresence(user: "a", reachable: true, inCall: false, devices: 1, capabilities: [opaque.value])
          ]))
      ),
      (.userBlock, .empty), (.userUnblock, .empty), (.userBlocked, .blocked(BlockedResult(users: ["mallory"]))),
      (.roomJoin, .room(room)), (.roomLeave, .empty), (.roomList, .rooms(RoomListResult(rooms: [info]))),
      (.roomInfo, .roomInfo(info)), (.roomModerate, .empty), (.roomRaiseHand, .empty),
      (.chatSend, .chatSent(ChatSendResult(msgId: "m1", ts: 5, delivered: 2, stored: false))),
      (.chatHistory, .messages(ChatHistoryResult(messages: [message]))),
      (.messageRequest, .messageAnswered(MessageAnswered(from: "bert", data: opaque))), (.messageAnswer, .empty),
      (.messageSend, .messageSent(MessageSendResult(delivered: 2))),
      (
        .pcOffer,
        .published(
          PublishResult(
            sdp: "v=0", tracks: [PublishedLine(mid: "0", trackId: "t1")],
            declined: [DeclinedLine(mid: "1", error: ErrorObject(.noCommonCodec))]))
      ),
      (.pcAnswer, .empty), (.pcRestart, .empty), (.trackUnpublish, .empty),
      (.trackMute, .muted(MuteResult(muted: true))), (.trackUnmute, .muted(MuteResult(muted: false))),
      (.trackSubscribe, .subscribed(SubscribeResult(subscriptionId: "s1"))), (.trackUnsubscribe, .empty),
      (.trackUpdate, .empty), (.subscriptionSwap, .empty), (.viewOpen, .views(ViewOpenResult(views: ["s1", "s2"]))),
      (.viewShow, .empty),
      (
        .callStart,
        .callStarted(
          CallStartResult(
            call: call, room: room, busy: [BusyUser(user: "b")], unreachable: [BusyUser(user: "u")], glare: true))
      ),
      (.callRinging, .empty), (.callAccept, .callRoom(CallRoomResult(call: call, room: room))),
      (.callReject, .call(CallResultObject(call: call))), (.callCancel, .call(CallResultObject(call: call))),
      (.callHangup, .call(CallResultObject(call: call))),
      (
        .callInvite,
        .callInvited(
          CallInviteResult(
            invited: ["a"], busy: [BusyUser(user: "b")], failed: [InviteFailure(user: "c", error: error)]))
      ),
      (.callCancelInvite, .empty), (.callJoin, .callRoom(CallRoomResult(call: call, room: room))),
      (.callGet, .call(CallResultObject(call: call))), (.callCurrent, .callCurrent(CallCurrentResult(call: call))),
      (.callCurrent, .callCurrent(CallCurrentResult())), (.callAvailable, .calls(CallListResult(calls: [call]))),
      (.callHistory, .records(CallHistoryResult(records: [record], next: "n"))), (.callMediaChange, .empty),
      (.callEnd, .call(CallResultObject(call: call))),
    ]
  }

  static var quality: RoomQuality {
    var own = OwnQuality()
    (own.level, own.reason, own.way) = (.poor, .loss, .down)
    (own.rtt, own.estimate, own.loss, own.rate, own.paused, own.freezes) = (40, 900, 0.12, 640, 1, 2)
    own.tracks = [OwnTrackQuality(trackId: "t1", loss: 0.01, jitter: 4, rate: 1_200)]
    return RoomQuality(
      room: "demo", people: [PersonQuality(participantId: "p1", level: .fair, reason: .delay)], own: own)
  }

  static var events: [Event] {
    [
      .sessionClosing(SessionClosing(action: .reconnect, reason: .draining, retryAfterMs: 500)), .sessionReplaced,
      .sessionGrants(SessionGrants(grants: [.join, .publishAudio], room: "team-*")),
      .sessionExpiring(SessionExpiring(expiresAt: 1_795_251_066_370, remainingMs: 60_000)),
      .participantJoined(ParticipantEvent(room: "demo", participant: participant)),
      .participantUpdated(ParticipantEvent(room: "demo", participant: participant)),
      .participantReconnecting(ParticipantEvent(room: "demo", participant: participant)),
      .participantReconnected(ParticipantEvent(room: "demo", participant: participant)),
      .participantLeft(ParticipantLeft(room: "demo", participantId: "p1", user: "anna", reason: .lost)),
      .trackPublished(TrackPublished(room: "demo", participantId: "p1", track: track)),
      .trackUnpublished(TrackChange(room: "demo", participantId: "p1", trackId: "t1")),
      .trackMuted(TrackChange(room: "demo", participantId: "p1", trackId: "t1")),
      .trackUnmuted(TrackChange(room: "demo", participantId: "p1", trackId: "t1")),
      .activeSpeakers(ActiveSpeakers(room: "demo", speakers: [Speaker(participantId: "p1", level: 30)])),
      .roomQuality(quality),
      .roomClosed(RoomClosed(room: "demo", reason: .closed)),
      .roomSwitched(RoomSwitched(from: "hall", snapshot: room, reconnect: true)), .chatMessage(message),
      .messageRequested(
        MessageRequested(
          requestId: "q1", room: "demo", callId: "c1", from: "anna", displayName: "Anna", topic: "vote", data: opaque,
          expiresAt: 1_700_000_060_000, remainingMs: 10_000)),
      .messageReceived(
        MessageReceived(room: "demo", callId: "c1", from: "anna", displayName: "Anna", topic: "pointer", data: opaque)),
      .roomModerated(
        RoomModerated(
          room: "demo", by: "anna", action: .mute, user: "bert", kind: .audio, role: .moderator,
          until: 1_700_000_060_000, hold: false)),
      .roomKnock(RoomKnock(room: "demo", user: "dora", displayName: "Dora", gone: true)),
      .pcOffer(
        SubscribeOffer(
          offerId: 1, sdp: "v=0",
          tracks: [OfferedTrack(mid: "0", subscriptionId: "s1", trackId: "t1", participantId: "p1", kind: .audio)],
          views: [OfferedView(mid: "1", subscriptionId: "s2")])),
      .subscriptionStarted(SubscriptionEvent(subscriptionId: "s1")),
      .subscriptionPaused(SubscriptionEvent(subscriptionId: "s1", reason: .bandwidth)),
      .subscriptionResumed(SubscriptionEvent(subscriptionId: "s1")),
      .subscriptionLayer(
        SubscriptionEvent(
          subscriptionId: "s1",
          layer: Layer(definition: .high, rid: "f", spatial: 2, temporal: 1, width: 1280, height: 720))),
      .subscriptionEnded(SubscriptionEvent(subscriptionId: "s1", reason: .trackEnded)),
      .trackLayers(TrackLayersEvent(trackId: "t1", layers: [0, 2])),
      .viewChanged(
        ViewChanged(subscriptionId: "s2", trackId: "t1", participantId: "p1", rtpTimestamp: .max, reason: .noCodec)),
      .mediaConnected(MediaEvent(pc: .subscribe)),
      .mediaFailed(MediaEvent(pc: .publish, step: .dtls, reason: "handshake")), .callCreated(CallEvent(call: call)),
      .callIncoming(
        CallIncoming(call: call, from: "anna", inProgress: true, waiting: false, participants: [participant])),
      .callStopped(CallStopped(callId: "c", rev: 2, reason: .answeredElsewhere, by: "anna", text: "x")),
      .callEnded(
        CallEnded(
          callId: "c", rev: 2, reason: .hangup, code: 6000, by: "anna", text: "x", durationMs: 5, record: record)),
      .callAccepted(CallAccepted(callId: "c", rev: 2, user: "bert", media: .audio)),
      .callActive(CallActive(callId: "c", rev: 2, startedAt: 5)),
      .callAlone(CallAlone(callId: "c", rev: 2, endsAt: 9, remainingMs: 4)),
      .callInvited(CallInvited(callId: "c", rev: 2, inviter: "anna", users: ["carl"])),
      .callTypeChanged(CallTypeChanged(callId: "c", rev: 2, from: .oneToOne, to: .group)),
      .callMediaChangeRequested(CallMediaChange(callId: "c", rev: 2, by: "anna", media: .video)),
      .callMediaChanged(CallMediaChange(callId: "c", rev: 2, by: "anna", media: .video, result: .accepted)),
      .callMissed(CallMissed(callId: "c", why: .busy, call: call)), .callRecord(CallRecordEvent(record: record)),
      .memberRinging(MemberEvent(callId: "c", rev: 2, member: member)),
      .memberBusy(MemberEvent(callId: "c", rev: 2, member: member)),
      .memberDeclined(MemberEvent(callId: "c", rev: 2, member: member, by: "bert", text: "no", push: true)),
      .memberNoAnswer(MemberEvent(callId: "c", rev: 2, member: member)),
      .memberLeft(MemberEvent(callId: "c", rev: 2, member: member)),
      .memberRemoved(MemberEvent(callId: "c", rev: 2, member: member)),
      .memberState(MemberEvent(callId: "c", rev: 2, member: member)),
    ]
  }
}
