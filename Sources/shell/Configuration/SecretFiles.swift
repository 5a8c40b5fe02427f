// Files that have a secret in them, and who else on the machine can read those. Nothing that is said has anything of a secret in it.
import Basics
import Glibc

extension ServerConfiguration {
  /// A file with a secret, and the keys that say so.
  struct SecretFile: Equatable {
    var keys: [String]
    var path: String
  }

  /// All of them. `file`: where the configuration was read from.
  func secretFiles(besides file: String?) -> [SecretFile] {
    var files: [SecretFile] = []
    if let file, !secretKeys.isEmpty { files.append(SecretFile(keys: secretKeys, path: file)) }
    for (index, key) in access.keys.enumerated() {
      guard case .secretFile(let path) = key.source else { continue }
      files.note("access.keys[\(index + 1)].\(key.field)", at: path)
    }
    for (index, key) in api.keys.enumerated() { files.note("api.keys[\(index + 1)].secret_file", at: key.secretFile) }
    for (name, tls) in [
      ("listen", listen.tls), ("flashphoner", flashphoner.tls), ("admin", admin.tls), ("api", api.tls),
    ] {
      if let tls { files.note("\(name).tls.key", at: tls.key) }
    }
    return files
  }

  /// Keys whose values are secrets and stand in the configuration itself.
  private var secretKeys: [String] {
    let tokens = access.keys.enumerated().compactMap { index, key -> String? in
      if case .secret = key.source { "access.keys[\(index + 1)].\(key.field)" } else { nil }
    }
    let told = webhookEndpoints.map { "\($0.key).secret" }
    let operators = admin.token == nil ? [] : ["admin.token"]
    let relays = iceServers.enumerated().compactMap { index, server in
      server.credential.map { _ in "ice_servers[\(index + 1)].credential" }
    }
    return tokens + told + operators + relays
  }

  /// A word about each of them that others on the machine can read. What systemd hands over may be its group's by its mode: there an access
  /// list says who may read.
  func secretAdvice(besides file: String?, credentials: String? = credentialsDirectory) -> [ConfigurationAdvice] {
    secretFiles(besides: file).compactMap { secret in
      let isHandedOver =
        credentials.map { secret.path.begins(with: $0 + "/") && !secret.path.contains("/../") } ?? false
      guard isReadByOthers(secret.path, butGroup: isHandedOver) else { return nil }
      let others = secret.keys.dropFirst().joined(separator: ", ")
      return ConfigurationAdvice(
        key: secret.keys[0],
        message:
          "\(secret.path) can be read by others on this machine\(others.isEmpty ? "" : " (and has \(others) in it, too)"): "
          + "chmod 600; a service gets it by LoadCredential (docs/operations.md)")
    }
  }
}

extension [ServerConfiguration.SecretFile] {
  /// One file is named once, whatever has it.
  fileprivate mutating func note(_ key: String, at path: String) {
    guard let index = firstIndex(where: { $0.path.isExactly(path) }) else {
      return append(ServerConfiguration.SecretFile(keys: [key], path: path))
    }
    self[index].keys.append(key)
  }
}

/// Whether anybody but its owner can read a file; `butGroup`: its group may, too.
public func isReadByOthers(_ path: String, butGroup: Bool = false) -> Bool {
  var facts = stat()
  return stat(path, &facts) == 0 && facts.st_mode & (butGroup ? 0o007 : 0o077) != 0
}

// MARK: - Credentials

/// Where systemd has put the credentials of this service (systemd.exec(5), LoadCredential); nil where there are none.
var credentialsDirectory: String? {
  guard let text = getenv("CREDENTIALS_DIRECTORY").map({ String(cString: $0) }), text.begins(with: "/") else {
    return nil
  }
  return text
}

/// How a path of the configuration begins that names a credential.
private let credentialPrefix = "$CREDENTIALS_DIRECTORY/"

/// A path as it is written, with the place of credentials put in. Nil where it names a credential, and there are none.
func withCredentials(_ written: String, in directory: String?) -> String? {
  guard written.begins(with: credentialPrefix) else { return written }
  return directory.map { "\($0)/\(written.dropFirst(credentialPrefix.count))" }
}
