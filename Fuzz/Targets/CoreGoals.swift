// Where requests over the conference must get to: sessions that come back, requests that come again, rings, blocks, moderation. What is
// never granted is never tried in earnest.
import RoostProtocol

enum CoreGoal: String, CaseIterable {
  case resumedWithNothingMissed, resumedWithEvents, resumedWithASnapshot, resumeRefused, requestRepeated, tokenRenewed
  case joined, roomFull, published, subscribed, viewOpened, chatted, messaged, answered, tookOver
  case banned, keptOutByABan, bannedWithTheirAddress, keptOutByAnAddress, kicked, muted, locked, keptOutByALock,
    waitedInALobby, admitted, gotARole, handRaised
  case rang, accepted, rejected, invited, mediaChangeAsked, callEnded, missed
  case blocked, unblocked, rangNobodyWhoBlocks
  case saidWhenOnDisk
}

let coreGoals = Goals<CoreGoal>()

extension CoreGoal {
  /// What a reply shows of its request.
  static func of(_ request: Request, _ result: Result<Reply, ErrorObject>) -> CoreGoal? {
    switch result {
    case .failure(let error): refused(error)
    case .success(let reply): granted(request, reply)
    }
  }

  private static func refused(_ error: ErrorObject) -> CoreGoal? {
    switch error.code {
    case .resumeExpired: .resumeRefused
    case .roomFull: .roomFull
    case .banned: error.data.reason == "address" ? .keptOutByAnAddress : .keptOutByABan
    case .roomLocked: .keptOutByALock
    case .inLobby: .waitedInALobby
    default: nil
    }
  }

  private static func granted(_ request: Request, _ reply: Reply) -> CoreGoal? {
    switch request {
    case .session(.resume): resumed(reply)
    case .session(.token): .tokenRenewed
    case .session, .userQuery, .track: nil
    case .block(.add): .blocked
    case .block(.remove): .unblocked
    case .block(.list): nil
    case .room(.join(let params)): params.takeover == true ? .tookOver : .joined
    case .room(.moderate(let params)): moderated(params)
    case .room(.raiseHand): .handRaised
    case .room: nil
    case .chat(.send): .chatted
    case .chat(.history): nil
    case .message(.send): .messaged
    // It is answered later.
    case .message(.request), .message(.answer): nil
    case .peerConnection(.offer): .published
    case .peerConnection: nil
    case .subscription(.subscribe): .subscribed
    case .subscription: nil
    case .view(.open): .viewOpened
    case .view(.show): nil
    case .call(let request): called(request)
    }
  }

  private static func resumed(_ reply: Reply) -> CoreGoal? {
    switch reply {
    case .resumed(.replayed(let count)): count == 0 ? .resumedWithNothingMissed : .resumedWithEvents
    case .resumed(.resync): .resumedWithASnapshot
    default: nil
    }
  }

  private static func moderated(_ params: ModerateParams) -> CoreGoal? {
    switch params.action {
    case .ban: params.address == true ? .bannedWithTheirAddress : .banned
    case .kick: .kicked
    case .mute: .muted
    case .lock: .locked
    case .admit: .admitted
    case .role: .gotARole
    default: nil
    }
  }

  private static func called(_ request: CallRequest) -> CoreGoal? {
    switch request {
    case .accept: .accepted
    case .reject: .rejected
    case .invite: .invited
    case .mediaChange: .mediaChangeAsked
    default: nil
    }
  }

  /// What an event shows.
  static func of(_ event: Event) -> CoreGoal? {
    switch event {
    case .callIncoming: .rang
    case .callEnded: .callEnded
    case .callMissed: .missed
    default: nil
    }
  }
}
