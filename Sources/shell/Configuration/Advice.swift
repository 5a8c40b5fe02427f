// What is allowed and yet cannot be meant: timers that make each other pointless. `roost check` says it.
import Basics

/// Something in a valid configuration that its operator should know.
public struct ConfigurationAdvice: Equatable, Sendable {
  /// The key to change, as a path.
  public var key: String
  /// What follows from how it stands, and what to do.
  public var message: String
}

extension ServerConfiguration {
  /// Everything worth a word, but for who can read the configuration itself.
  public var advice: [ConfigurationAdvice] { advice(readFrom: nil) }

  /// Everything worth a word: in the order of the file, and then about files with secrets. `file`: where it was read from.
  public func advice(readFrom file: String?) -> [ConfigurationAdvice] {
    accessAdvice + limits.advice + sessions.advice(calls) + helloAdvice + calls.advice + operators + applications
      + secretAdvice(besides: file)
  }
}

extension ServerConfiguration {
  /// Who is asked about may be put out before the answer comes. A realm's own hooks stand under its name.
  fileprivate var helloAdvice: [ConfigurationAdvice] {
    realmNames.compactMap { realm in
      let hooks = settings(of: realm).hooks
      guard hooks.application != nil, hooks.kinds.contains(.hello), hooks.timeout + .seconds(1) >= sessions.helloTimeout
      else { return nil }
      let words = "\(durationText(hooks.timeout)) is not well below sessions.hello_timeout"
      return ConfigurationAdvice(
        key: realm == .default ? "hooks.timeout" : "realms.\(realm.name).hooks.timeout",
        message: "\(words) (\(durationText(sessions.helloTimeout))): clients are put out while the application is asked"
      )
    }
  }
}

extension ServerConfiguration {
  fileprivate var operators: [ConfigurationAdvice] {
    guard let token = admin.token else { return [] }
    var messages: [String] = []
    if let weakness = Self.weakness(of: Array(token.utf8)) {
      messages.append("\(weakness); make another with: openssl rand -hex 32")
    }
    let (address, tls) = admin.ownAddress.map { ($0, admin.tls) } ?? (listen.address, listen.tls)
    if tls == nil, !address.isLoopback {
      let key = admin.port == nil ? "listen.tls" : "admin.tls"
      messages.append("is shown in the clear: set \(key), or listen to a proxy on this machine that has TLS")
    }
    return messages.map { ConfigurationAdvice(key: "admin.token", message: $0) }
  }
}

extension ServerConfiguration {
  fileprivate var applications: [ConfigurationAdvice] {
    guard let address = api.ownAddress else { return [] }
    var messages: [(key: String, message: String)] = []
    if api.tls == nil, !address.isLoopback {
      messages.append(
        ("api.tls", "secrets are shown in the clear: set it, or listen to a proxy on this machine that has TLS"))
    }
    if api.keys.isEmpty, admin.token == nil {
      messages.append(("api.keys", "has no key, and there is no admin.token: nobody may use the API"))
    }
    return messages.map { ConfigurationAdvice(key: $0.key, message: $0.message) }
  }
}

/// A duration that is shorter than what depends on it.
private struct Comparison {
  var key: String
  var value: TimeDelta
  var least: TimeDelta
  var leastKey: String
  var effect: String

  var advice: ConfigurationAdvice? {
    guard value < least else { return nil }
    let words = "\(durationText(value)) is shorter than \(leastKey) (\(durationText(least))): \(effect)"
    return ConfigurationAdvice(key: key, message: words)
  }
}

extension ServerConfiguration.Limits {
  fileprivate var advice: [ConfigurationAdvice] {
    guard connections < sessions else { return [] }
    return [
      ConfigurationAdvice(
        key: "limits.connections",
        message: "\(connections) connections cannot carry \(sessions) sessions (limits.sessions); raise it above that")
    ]
  }
}

extension ServerConfiguration.Sessions {
  fileprivate func advice(_ calls: ServerConfiguration.Calls) -> [ConfigurationAdvice] {
    [
      Comparison(
        key: "sessions.resume_grace", value: resumeGrace, least: .seconds(2), leastKey: "what coming back takes",
        effect: "whoever loses the network for a moment loses his seat; take 10s or more"),
      Comparison(
        key: "calls.resume_grace", value: calls.resumeGrace, least: .seconds(2), leastKey: "what coming back takes",
        effect: "a call ends when the network is lost for a moment; take 10s or more"),
      Comparison(
        key: "sessions.dead_after", value: deadAfter, least: pingInterval * 2,
        leastKey: "two of sessions.ping_interval",
        effect: "one lost answer to a ping cuts a connection that works; take three times ping_interval"),
    ].compactMap(\.advice)
  }
}

extension ServerConfiguration.Calls {
  fileprivate var advice: [ConfigurationAdvice] { graces.compactMap(\.advice) + ringing }

  private var graces: [Comparison] {
    [
      Comparison(
        key: "calls.resume_grace", value: resumeGrace, least: callerGrace, leastKey: "calls.caller_grace",
        effect:
          "a caller who lost his connection is given up before his own grace is over; raise it to caller_grace or more"),
      Comparison(
        key: "calls.ring_timeout", value: ringTimeout, least: callerGrace, leastKey: "calls.caller_grace",
        effect: "the grace of a caller who is lost never counts, as the ring is over before; lower caller_grace"),
      Comparison(
        key: "calls.connect_timeout", value: connectTimeout, least: .seconds(5), leastKey: "what ICE and DTLS may take",
        effect: "calls over slow networks fail as they are answered; take 10s or more"),
      Comparison(
        key: "calls.tombstone", value: tombstone, least: ringTimeoutMax, leastKey: "calls.ring_timeout_max",
        effect: "a phone that is woken late is not told what became of the call; take an hour or more"),
    ]
  }

  private var ringing: [ConfigurationAdvice] {
    guard deliverTimeout >= ringTimeout else { return [] }
    return [
      ConfigurationAdvice(
        key: "calls.deliver_timeout",
        message:
          "\(durationText(deliverTimeout)) is not shorter than calls.ring_timeout (\(durationText(ringTimeout))): "
          + "phones of users whose devices are silent are never woken; take a few seconds")
    ]
  }
}
