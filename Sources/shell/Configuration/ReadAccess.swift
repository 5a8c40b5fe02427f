// `access:` of rooms.yaml. What is wrong with a secret is said without it.
import Basics
import Names
import Tokens

extension ServerConfiguration.Access {
  /// Keys at once. Two are enough to exchange one for the other; more issuers have one each.
  private static let mostKeys = 64
  /// Tokens that are taken back at once. Each may be forgotten when its day is over.
  private static let mostRevoked = 1000

  mutating func read(_ root: inout Section, realms: [Realm]) {
    if root.isScalar("access") {
      if let word = root.value("access", .openWord) { isOpen = word }
      return
    }
    let isGiven = root.mark(of: "access") != nil
    root.section("access") { section in
      section.read("keys", .tokenKeys(atMost: Self.mostKeys, realms: realms), &keys)
      section.read("issuer", .nameInTokens, &issuer)
      section.read("audience", .nameInTokens, &audience)
      section.read("revoked", .list(of: .nameInTokens, atMost: Self.mostRevoked), &revoked)
      guard isGiven else { return }
      if section.mark(of: "keys") == nil {
        section.complain("keys", "expected a list of keys, or in place of the block the word open: access: open")
      }
      checkNames(section)
    }
  }

  /// A token without `kid` must mean one key, and each `kid` one key.
  private func checkNames(_ section: Section) {
    guard keys.count > 1 else { return }
    var names: Set<ExactText> = []
    for (index, key) in keys.enumerated() {
      guard let name = key.kid else {
        section.complain("keys", "key \(index + 1) has no kid; where there are several, each needs one")
        continue
      }
      if !names.insert(ExactText(name)).inserted {
        section.complain("keys", "key \(index + 1) has the kid of another; each needs its own")
      }
    }
  }
}

extension ValueKind where Value == Bool {
  /// The word `open`. Any other may be a secret in the wrong place, and is not shown.
  fileprivate static var openWord: Self {
    Self { node, context in
      if node.text == "open" { return true }
      context.complain(node, "expected open, or a block with keys")
      return nil
    }
  }
}

extension ValueKind where Value == String {
  /// What stands in tokens, too, and is compared with it: of another form no token is taken.
  fileprivate static var nameInTokens: Self {
    Self { node, context in
      guard let name = text(256, bytes: 256).read(node, context) else { return nil }
      if NameForm.accepts(name) { return name }
      context.complain(node, expected: NameForm.rule)
      return nil
    }
  }
}

extension ValueKind where Value == [ServerConfiguration.Access.Key] {
  /// A list. A text in its place may be a secret, and is not shown.
  fileprivate static func tokenKeys(atMost maximum: Int, realms: [Realm]) -> Self {
    Self { node, context in
      guard node.text == nil else {
        context.complain(node, "expected a list of keys, each a block with kid, alg and where the key is")
        return nil
      }
      return Self.list(of: .tokenKey(realms: realms), atLeast: 1, atMost: maximum).read(node, context)
    }
  }
}

extension ValueKind where Value == ServerConfiguration.Access.Key {
  fileprivate static func tokenKey(realms: [Realm]) -> Self {
    Self { node, context in
      guard node.text == nil else {
        context.complain(node, "expected a block with kid, alg and where the key is")
        return nil
      }
      var keys = Section(element: node, context)
      let kid = keys.value("kid", .nameInTokens)
      let algorithm = keys.value("alg", ValueKind<TokenAlgorithm>.choice)
      let secret = keys.value("secret", .secret(1000, atLeast: 1))
      let secretFile = keys.value("secret_file", .readableFile)
      let publicKeyFile = keys.value("public_key_file", .readableFile)
      let realm = keys.value("realm", .realm(of: realms))
      let places = ["secret", "secret_file", "public_key_file"].filter { keys.mark(of: $0) != nil }
      keys.finish()
      if keys.mark(of: "alg") == nil {
        context.complain(node, "needs alg: one of \(TokenAlgorithm.allCases.map(\.rawValue).joined(separator: ", "))")
      }
      guard let algorithm else { return nil }
      guard places.count == 1, algorithm.places.contains(places[0]) else {
        context.complain(
          node, "a key of \(algorithm.rawValue) needs \(algorithm.places.joined(separator: " or ")), and nothing else")
        return nil
      }
      let sources: [ServerConfiguration.Access.Key.Source?] = [
        secret.map { .secret($0) }, secretFile.map { .secretFile($0) }, publicKeyFile.map { .publicKeyFile($0) },
      ]
      guard let source = sources.compactMap(\.self).first else { return nil }
      let key = ServerConfiguration.Access.Key(kid: kid, algorithm: algorithm, source: source, realm: realm ?? .default)
      keys.check(key)
      return key
    }
  }
}

extension Section {
  /// A secret is looked at always, files only on the machine that they are on.
  fileprivate func check(_ key: ServerConfiguration.Access.Key) {
    if case .secret = key.source {} else if report.interfaces == nil { return }
    do throws(UnusableKey) {
      _ = try key.load()
    } catch {
      complain(error.field, error.message)
    }
  }
}

extension TokenAlgorithm {
  /// Where its keys may be.
  fileprivate var places: [String] {
    switch self {
    case .hs256: ["secret", "secret_file"]
    case .es256, .edDSA, .ed25519: ["public_key_file"]
    }
  }
}
