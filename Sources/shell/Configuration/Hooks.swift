// Whom the server asks before something is done (docs/hooks.md).
import Basics

extension ServerConfiguration {
  /// Who is asked by HTTP before something is done.
  public struct Hooks: Hashable, Sendable {
    /// What may be asked about.
    public enum Kind: String, CaseIterable, Hashable, Sendable {
      case hello, join, publish
      case callStart = "call.start"
      case callInvite = "call.invite"
      case callAccept = "call.accept"
    }

    /// What becomes of a question that is not answered.
    public enum WhenDown: String, CaseIterable, Hashable, Sendable { case allow, refuse }

    /// Who is asked; nil: nobody.
    public var application: Webhooks.Endpoint?
    /// About what.
    public var kinds = Kind.allCases
    /// How long an answer is waited for, all attempts together.
    public var timeout = TimeDelta.seconds(2)
    /// How often one question is sent.
    public var attempts = 2
    /// What becomes of what is not answered.
    public var whenDown = WhenDown.refuse
    /// Questions on their way at once.
    public var atOnce = 16

    /// Nobody is asked.
    public init() {}

    mutating func read(_ keys: inout Section) {
      application = Webhooks.Endpoint(&keys)
      keys.read("ask", .list(of: .choice, atLeast: 1, atMost: Kind.allCases.count), &kinds)
      keys.read("timeout", .duration(.milliseconds(100)...TimeDelta.seconds(10)), &timeout)
      keys.read("attempts", .integer(1...5), &attempts)
      keys.read("when_down", .choice, &whenDown)
      keys.read("at_once", .integer(1...256), &atOnce)
    }
  }
}
