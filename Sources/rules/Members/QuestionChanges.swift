// What an application changes of what it allows, and where that is kept.

import RoostProtocol

/// What an application changes of what it allows. nil: nothing.
public struct QuestionChanges: Hashable, Sendable {
  /// What others see of them, whatever their token or they themselves say.
  public var displayName: String?
  /// What the others are told of them.
  public var metadata: RawJSON?
  /// How many people there may be where they come in, themselves included; never more than their token says.
  public var cap: Int?
  /// What is left of their grants, for a session or for a stay in a room; what their token does not give it does not give.
  public var grants: Rights?
  /// What is taken of what they publish.
  public var published: PublishLimits?

  /// Nothing is changed.
  public init() {}
}

/// What is taken of an offer to publish, less than what the server takes of everybody.
public struct PublishLimits: Hashable, Sendable {
  /// A codec, by its name in SDP.
  public enum Codec: String, CaseIterable, Hashable, Sendable {
    case opus
    case vp8 = "VP8"
    case vp9 = "VP9"
    case h264 = "H264"
    case av1 = "AV1"
  }

  /// These, of sound and of pictures; nil: all.
  public var codecs: Set<Codec>?
  /// How many simulcast layers of a video that begins, in the order of its offer: the lowest ones by custom. nil: all.
  public var layers: Int?
  /// What each video is asked to stay below, bits per second; nil: nothing.
  public var maxBitrate: Int?

  /// Nothing is limited.
  public init() {}
}

/// What an application has left to a session when it began, whatever further tokens give.
public struct Allowance: Hashable, Sendable {
  /// How many people there may be where they come in; nil: as many as the token says.
  public var cap: Int?
  /// What is left of their grants; nil: what the token gives.
  public var grants: Rights?

  /// The smaller of the token's cap and this.
  package func cap(of token: Int?) -> Int? { [cap, token].compactMap(\.self).min() }
  /// What the token gives, as far as it is left.
  package func rights(of token: Rights) -> Rights { grants.map { token.intersection($0) } ?? token }
}

extension Identity {
  /// What is left of the rights that a token gives.
  package func allowed(_ rights: Rights) -> Rights { allowance?.rights(of: rights) ?? rights }
  /// The same of its cap.
  package func allowed(_ cap: Int?) -> Int? { allowance?.cap(of: cap) ?? cap }

  fileprivate func changed(by changes: QuestionChanges) -> Identity {
    var identity = self
    if let name = changes.displayName { (identity.displayName, identity.hasGivenName) = (name, true) }
    guard changes.cap != nil || changes.grants != nil else { return identity }
    identity.allowance = Allowance(cap: changes.cap, grants: changes.grants)
    identity.cap = identity.allowed(cap)
    return identity
  }
}

extension Action {
  /// The same as the application wants it.
  package func changed(by changes: QuestionChanges) -> Action {
    var action = self
    switch wish {
    case .hello(let params, let identity): action.wish = .hello(params, identity.changed(by: changes))
    case .request(.room(.join), _), .request(.peerConnection(.offer), _), .stream(.publish): action.given = changes
    case .request(.call(.start(var params)), let network):
      params.metadata = changes.metadata ?? params.metadata
      action.wish = .request(.call(.start(params)), from: network)
    case .request(.call(.accept(var params)), let network):
      params.metadata = changes.metadata ?? params.metadata
      action.wish = .request(.call(.accept(params)), from: network)
    case .request(.call(.join(var params)), let network):
      params.metadata = changes.metadata ?? params.metadata
      action.wish = .request(.call(.join(params)), from: network)
    case .request, .token, .stream, .operate: break
    }
    return action
  }
}
