// Who says hello: the front door finds out before the core hears of it, and the core believes what it says.
import Basics
import Members
import RoostProtocol

/// Makes an identity of what a client shows.
public protocol IdentityVerifier: Sendable {
  /// Whether tokens cost it anything: then each network has only so many (`TokenGate`).
  var looksAtTokens: Bool { get }

  /// Whose hello it is, and what they may do. Called on the web server's thread: it must be quick and must not wait.
  /// - Parameter peer: whom it comes from.
  /// - Throws: why the proof is not accepted.
  func verify(_ hello: HelloParams, from peer: SocketAddress?) throws(UnprovenIdentity) -> Identity

  /// Whose a further token is, of somebody who has a session; nil where none is asked for. Called as above.
  /// - Throws: why it is not accepted.
  func renew(_ token: String, from peer: SocketAddress?) throws(UnprovenIdentity) -> Identity?
}

extension IdentityVerifier {
  /// They do, unless it is said otherwise.
  public var looksAtTokens: Bool { true }
}

/// The open demo: everybody is who they say, and may do everything that needs no power over others. Nothing of it is proved.
public struct OpenAccess: IdentityVerifier {
  /// Believes everybody.
  public init() {}

  /// Tokens say nothing here.
  public var looksAtTokens: Bool { false }

  /// Who the hello says it is.
  public func verify(_ hello: HelloParams, from peer: SocketAddress?) throws(UnprovenIdentity) -> Identity {
    Identity(
      user: hello.user, device: hello.deviceId, displayName: hello.displayName ?? hello.user, rights: .all,
      isVerified: false)
  }

  /// Nobody: tokens mean nothing here.
  public func renew(_ token: String, from peer: SocketAddress?) throws(UnprovenIdentity) -> Identity? { nil }
}
