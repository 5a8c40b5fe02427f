// Questions to the application before something is done: what may be asked, what is said, and what comes back.

import Basics
import RoostProtocol

/// Which actions the application is asked about. None, unless somebody says so.
public struct QuestionRules: Hashable, Sendable {
  /// These.
  public var kinds: Set<Question.Kind> = []
  /// How long an answer is waited for. Longer, and people wait for an application that hangs.
  public var patience = TimeDelta.seconds(5)
  /// Whether what is not answered in time is done; else it is refused, and may be tried again.
  public var allowsUnanswered = false

  /// Nothing is asked.
  public init() {}
}

/// A question to the application: may they?
public struct Question: Hashable, Sendable {
  /// What kinds of actions may be asked about.
  public enum Kind: String, CaseIterable, Hashable, Sendable {
    /// A session is to begin.
    case hello
    /// A seat in a room that is no call's, or another name or other metadata there.
    case join
    /// An offer to publish, by whatever door.
    case publish
    /// A call.
    case callStart = "call.start"
    /// More people in a call.
    case callInvite = "call.invite"
    /// An answer to a call, a way back into it, or other metadata there.
    case callAccept = "call.accept"
  }

  /// What is wanted, without what is secret in it.
  public enum Wish: Hashable, Sendable {
    case hello(HelloParams)
    case join(RoomJoinParams)
    /// What was announced of the tracks.
    case publish([AnnouncedTrack])
    case callStart(CallStartParams)
    case callInvite(CallInviteParams)
    case callAccept(CallAcceptParams)
  }

  /// Who wants it.
  public var user: String
  /// What others see of them.
  public var displayName: String
  /// Whether it is proved that they are this user.
  public var isVerified: Bool
  /// From which network they came; nil where that is not known. It is not told to the application: where nothing is proved it says whose share
  /// of the questions this one takes.
  public var network: PeerNetwork?
  /// By which door they came.
  public var entrance: Entrance
  /// On which device; nil where that is not known yet.
  public var device: String?
  /// In which room, where it is about one.
  public var room: String?
  /// In which call, where it is about one that there is.
  public var call: String?
  /// What.
  public var wish: Wish

  /// Its kind.
  public var kind: Kind {
    switch wish {
    case .hello: .hello
    case .join: .join
    case .publish: .publish
    case .callStart: .callStart
    case .callInvite: .callInvite
    case .callAccept: .callAccept
    }
  }
}

/// What came of a question.
public enum QuestionAnswer: Hashable, Sendable {
  /// They may, as far as the application goes: rules are looked at again.
  case yes
  /// The same, with something changed.
  case changed(QuestionChanges)
  /// They may not; what the client is told: a reason for its user, and a word for its code.
  case no(reason: String? = nil, code: String? = nil)
  /// Nothing came, or nothing that could be understood.
  case nothing
  /// The application is left alone, as nothing came from it. It is worth asking again after so long.
  case down(TimeDelta)
  /// The application was not asked, as too many questions wait. That says nothing of the application, and is refused whatever its rules are.
  case unasked
}

extension QuestionAnswer {
  /// What refuses an action; nil: it goes on.
  package func refusal(_ rules: QuestionRules) -> ErrorObject? {
    switch self {
    case .yes, .changed: nil
    case .no(let reason, let code): ErrorObject(.refusedByApp, reason) { $0.reason = code }
    case .nothing: rules.allowsUnanswered ? nil : Self.overloaded(Self.unanswered)
    case .down(let left): rules.allowsUnanswered ? nil : Self.overloaded(Self.unanswered, after: left)
    case .unasked: Self.overloaded("Too many questions wait for the application; try again later.")
    }
  }

  private static let unanswered = "The application did not answer; try again later."

  private static func overloaded(_ words: String, after wait: TimeDelta? = nil) -> ErrorObject {
    ErrorObject(.overloaded, words) {
      ($0.retryable, $0.reason, $0.retryAfterMs) = (true, "application", wait.map { max($0.milliseconds, 1) })
    }
  }
}

extension Question {
  /// Whose question it is, and in which room they are.
  package struct Asker: Sendable {
    package let identity: Identity
    package let device: String?
    package let room: String?

    package init(_ identity: Identity, device: String?, in room: String?) {
      (self.identity, self.device, self.room) = (identity, device, room)
    }
  }

  /// The question about what a session wants; nil where it is nothing that is asked about.
  package init?(_ wish: Action.Wish, of asker: Asker) {
    switch wish {
    case .request(.room(.join(var params)), _):
      params.resumeToken = nil
      self.init(asker, .join(params), room: params.room)
      if !asker.identity.hasGivenName, let wished = params.displayName { displayName = wished }
    case .request(.peerConnection(.offer(let params)), _) where params.pc == .publish:
      self.init(asker, .publish(params.tracks ?? []), room: asker.room)
    case .stream(.publish(_, let params)):
      self.init(asker, .publish(params.tracks ?? []), room: asker.room)
    case .request(.call(.start(let params)), _): self.init(asker, .callStart(params))
    case .request(.call(.invite(let params)), _): self.init(asker, .callInvite(params), call: params.callId)
    case .request(.call(.accept(var params)), _):
      params.resumeToken = nil
      self.init(asker, .callAccept(params), call: params.callId)
    case .request, .stream, .hello, .token, .operate: return nil
    }
  }

  private init(_ asker: Asker, _ wish: Wish, room: String? = nil, call: String? = nil) {
    let identity = asker.identity
    (user, displayName, isVerified) = (identity.user, identity.displayName, identity.isVerified)
    (device, entrance, self.room, self.call, self.wish) = (asker.device, identity.entrance, room, call, wish)
    network = identity.network
    guard let room, CallRoom.isName(room) else { return }
    (self.room, self.call) = (nil, CallRoom.callId(room))
  }

  /// The question about a hello.
  package init(_ params: HelloParams, of identity: Identity) {
    var params = params
    (params.token, params.resumeToken) = (nil, nil)
    (user, displayName, isVerified) = (identity.user, identity.displayName, identity.isVerified)
    (device, entrance, network, wish) = (identity.device, identity.entrance, identity.network, .hello(params))
  }
}
