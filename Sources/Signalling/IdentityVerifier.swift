// Who says hello: the front door finds out before the core hears of it, and the core believes what it says.
import Conference
import RoostProtocol

/// Makes an identity of what a client shows in its hello.
public protocol IdentityVerifier: Sendable {
  /// Whose hello it is, and what they may do. Called on the web server's thread: it must be quick and must not wait.
  /// - Throws: 1004 for a proof that is not accepted; the client is told so.
  func verify(_ hello: HelloParams) throws(ErrorObject) -> Identity
}

/// The open demo: everybody is who they say, and may do everything. Nothing of it is proved.
public struct OpenAccess: IdentityVerifier {
  /// Believes everybody.
  public init() {}

  /// Who the hello says it is.
  public func verify(_ hello: HelloParams) throws(ErrorObject) -> Identity {
    Identity(
      user: hello.user, device: hello.deviceId, displayName: hello.displayName ?? hello.user, rights: .all,
      isVerified: false)
  }
}
