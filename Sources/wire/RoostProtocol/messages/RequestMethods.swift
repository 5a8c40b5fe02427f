// From a typed request back to the wire: its method's name and its params.

extension Request {
  /// The method's name on the wire.
  public var method: Method { wire.method }

  /// The params, to be encoded; nil for a method that has none.
  public var params: (any Encodable & Sendable)? { wire.params }

  private var wire: WireRequest {
    switch self {
    case .session(let request): request.wire
    case .userQuery(let params): (.userQuery, params)
    case .block(let request): request.wire
    case .room(let request): request.wire
    case .chat(let request): request.wire
    case .peerConnection(let request): request.wire
    case .track(let request): request.wire
    case .subscription(let request): request.wire
    case .view(let request): request.wire
    case .call(let request): request.wire
    }
  }
}

/// A method and what goes with it.
private typealias WireRequest = (method: Method, params: (any Encodable & Sendable)?)

extension SessionRequest {
  fileprivate var wire: WireRequest {
    switch self {
    case .hello(let params): (.sessionHello, params)
    case .resume(let params): (.sessionResume, params)
    case .token(let params): (.sessionToken, params)
    case .bye: (.sessionBye, nil)
    case .ping: (.ping, nil)
    }
  }
}

extension BlockRequest {
  fileprivate var wire: WireRequest {
    switch self {
    case .add(let params): (.userBlock, params)
    case .remove(let params): (.userUnblock, params)
    case .list: (.userBlocked, nil)
    }
  }
}

extension RoomRequest {
  fileprivate var wire: WireRequest {
    switch self {
    case .join(let params): (.roomJoin, params)
    case .leave(let params): (.roomLeave, params)
    case .list(let params): (.roomList, params)
    case .info(let params): (.roomInfo, params)
    case .moderate(let params): (.roomModerate, params)
    case .raiseHand(let params): (.roomRaiseHand, params)
    }
  }
}

extension ChatRequest {
  fileprivate var wire: WireRequest {
    switch self {
    case .send(let params): (.chatSend, params)
    case .history(let params): (.chatHistory, params)
    }
  }
}

extension PeerConnectionRequest {
  fileprivate var wire: WireRequest {
    switch self {
    case .offer(let params): (.pcOffer, params)
    case .answer(let params): (.pcAnswer, params)
    case .restart(let params): (.pcRestart, params)
    }
  }
}

extension TrackRequest {
  fileprivate var wire: WireRequest {
    switch self {
    case .unpublish(let params): (.trackUnpublish, params)
    case .mute(let params): (.trackMute, params)
    case .unmute(let params): (.trackUnmute, params)
    }
  }
}

extension SubscriptionRequest {
  fileprivate var wire: WireRequest {
    switch self {
    case .subscribe(let params): (.trackSubscribe, params)
    case .unsubscribe(let params): (.trackUnsubscribe, params)
    case .update(let params): (.trackUpdate, params)
    case .swap(let params): (.subscriptionSwap, params)
    }
  }
}

extension ViewRequest {
  fileprivate var wire: WireRequest {
    switch self {
    case .open(let params): (.viewOpen, params)
    case .show(let params): (.viewShow, params)
    }
  }
}

extension CallRequest {
  fileprivate var wire: WireRequest {
    switch self {
    case .start(let params): (.callStart, params)
    case .ringing(let params): (.callRinging, params)
    case .accept(let params): (.callAccept, params)
    case .reject(let params): (.callReject, params)
    case .cancel(let params): (.callCancel, params)
    case .hangup(let params): (.callHangup, params)
    case .invite(let params): (.callInvite, params)
    case .cancelInvite(let params): (.callCancelInvite, params)
    case .join(let params): (.callJoin, params)
    case .get(let params): (.callGet, params)
    case .current: (.callCurrent, nil)
    case .available: (.callAvailable, nil)
    case .history(let params): (.callHistory, params)
    case .mediaChange(let params): (.callMediaChange, params)
    case .end(let params): (.callEnd, params)
    }
  }
}
