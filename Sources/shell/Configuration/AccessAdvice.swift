// What is allowed of keys and yet is weak. Nothing that is said has anything of a key in it.
import Tokens

extension ServerConfiguration {
  /// Everything worth a word about who may come in.
  var accessAdvice: [ConfigurationAdvice] {
    guard access.keys.isEmpty else { return keyAdvice }
    guard access.isOpen, !listen.address.isLoopback else { return [] }
    return [
      ConfigurationAdvice(
        key: "access",
        message:
          "everybody who reaches \(listen.address.host) may come in under any name; set access.keys where that is not meant"
      )
    ]
  }

  private var keyAdvice: [ConfigurationAdvice] {
    var advice: [ConfigurationAdvice] = []
    var seen = otherSecrets
    for (index, key) in access.keys.enumerated() {
      guard let secret = try? key.secret() else { continue }
      let path = "access.keys[\(index + 1)].\(key.field)"
      if let weakness = Self.weakness(of: secret) {
        advice.append(ConfigurationAdvice(key: path, message: "\(weakness); make another with: openssl rand -hex 32"))
      }
      if !seen.insert(secret).inserted {
        advice.append(
          ConfigurationAdvice(
            key: path, message: "is used for something else too; whoever knows it there can make tokens"))
      }
    }
    if listen.tls == nil, !listen.address.isLoopback {
      advice.append(
        ConfigurationAdvice(
          key: "access",
          message: "tokens are shown in the clear: set listen.tls, or listen to a proxy on this machine that has TLS"))
    }
    return advice
  }

  private var otherSecrets: Set<[UInt8]> {
    let texts = [admin.token] + webhookEndpoints.flatMap(\.endpoint.secrets) + iceServers.map(\.credential)
    return Set(texts.compactMap { $0.map { Array($0.utf8) } })
  }

  /// Why somebody may guess a secret; nil where nothing speaks for it. It finds what people type, and no clever pattern.
  static func weakness(of secret: [UInt8]) -> String? {
    if Set(secret).count < 8 { return "has few different characters" }
    for period in 1...16 where secret.count >= 2 * period {
      if secret.dropFirst(period).elementsEqual(secret.dropLast(period)) { return "repeats itself" }
    }
    let text = String(decoding: secret, as: UTF8.self).lowercased()
    let words = [
      "secret", "password", "passwort", "change me", "changeme", "change-me", "change_me", "qwerty", "123456789",
      "abcdefgh",
    ]
    if words.contains(where: text.contains) { return "has words that are tried first" }
    return nil
  }
}
