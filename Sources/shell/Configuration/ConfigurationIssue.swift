// What is wrong with a configuration file, said so that it can be mended without reading this program.

/// One thing wrong: where, which key, and what was expected.
public struct ConfigurationIssue: Error, Hashable, Sendable, CustomStringConvertible {
  /// The file as it was named to us.
  public var file: String
  /// Line, counted from 1; 0 when the file as a whole is meant.
  public var line: Int
  /// Column, counted from 1.
  public var column: Int
  /// Path of the key (`media.port`, `kinds.group.limits`); empty when the file as a whole is meant.
  public var key: String
  /// What was found and what was expected.
  public var message: String

  /// `rooms.yaml:12:9: media.port: expected a number from 1 to 65535, found "many"`.
  public var description: String {
    let place = line > 0 ? "\(file):\(line):\(column)" : file
    return key.isEmpty ? "\(place): \(message)" : "\(place): \(key): \(message)"
  }
}

/// Everything that is wrong with a file, in the order of the file.
public struct InvalidConfiguration: Error, Hashable, Sendable, CustomStringConvertible {
  /// At least one.
  public var issues: [ConfigurationIssue]

  /// One issue a line.
  public var description: String { issues.map(\.description).joined(separator: "\n") }
}

/// Where the keys of a file stand, for what turns out to be impossible only when the server starts.
public struct ConfigurationLocations: Sendable {
  let file: String
  let marks: [String: YAMLMark]

  /// What is wrong with a key: where its value stands, or, where the file leaves it out, the block it belongs to.
  public func issue(_ key: String, _ message: String) -> ConfigurationIssue {
    var path = key[...]
    while marks[String(path)] == nil, let point = path.lastIndex(of: ".") { path = path[..<point] }
    let mark = marks[String(path)] ?? YAMLMark(line: 0, column: 0)
    return ConfigurationIssue(file: file, line: mark.line, column: mark.column, key: key, message: message)
  }
}
