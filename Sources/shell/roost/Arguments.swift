// The command line: words to a `Command`, or a sentence that says what is wrong with them.
import Configuration

/// What the user asks for.
enum Command: Equatable {
  case serve(config: String?)
  case check(config: String?)
  case doctor(config: String?)
  case token(TokenRequest, config: String?)
  case version
  /// Help about a command, or about all.
  case help(Topic?)

  /// The commands by their names.
  enum Topic: String, CaseIterable {
    case serve, check, doctor, token, version, help
  }
}

/// What is wrong with the command line.
struct UsageError: Error, Equatable {
  var message: String
  /// The command whose help is worth reading.
  var topic: Command.Topic?
}

extension Command {
  /// Reads the words after the program's name.
  init(_ words: [String]) throws(UsageError) {
    guard let first = words.first else {
      throw UsageError(message: "a command is missing: serve, check, doctor, token or version")
    }
    let rest = words.dropFirst()
    switch first {
    case "-h", "--help": self = .help(nil)
    case "-V", "--version": self = .version
    case "help": self = .help(try rest.first.map { word throws(UsageError) in try Topic(word: word) })
    default: self = try Command(Topic(word: first), Array(rest))
    }
  }

  private init(_ topic: Topic, _ words: [String]) throws(UsageError) {
    if words.contains(where: { $0 == "--help" || $0 == "-h" }) {
      self = .help(topic)
      return
    }
    switch topic {
    case .serve: self = .serve(config: try configOption(words, topic))
    case .check: self = .check(config: try configOption(words, topic))
    case .doctor: self = .doctor(config: try configOption(words, topic))
    case .token:
      let (request, config) = try TokenRequest.parse(words)
      self = .token(request, config: config)
    case .version, .help:
      if let word = words.first { throw UsageError(message: "\"\(word)\" is not expected", topic: topic) }
      self = topic == .version ? .version : .help(nil)
    }
  }
}

extension Command.Topic {
  fileprivate init(word: String) throws(UsageError) {
    guard let topic = Self(rawValue: word) else {
      let kind = word.hasPrefix("-") ? "option" : "command"
      let hint = nearest(word, Self.allCases.map(\.rawValue)).map { "; did you mean \"\($0)\"?" } ?? ""
      throw UsageError(message: "unknown \(kind) \"\(word)\"\(hint)")
    }
    self = topic
  }
}

/// `--config FILE`, `--config=FILE`, `-c FILE`, at most once, and nothing else.
private func configOption(_ words: [String], _ topic: Command.Topic) throws(UsageError) -> String? {
  var config: String?
  var index = 0
  while index < words.count {
    let word = words[index]
    let value: String
    if word == "--config" || word == "-c" {
      guard index + 1 < words.count else { throw UsageError(message: "\(word) needs a file", topic: topic) }
      index += 1
      value = words[index]
    } else if word.hasPrefix("--config=") {
      value = String(word.dropFirst("--config=".count))
    } else {
      let hint = nearest(word, ["--config", "--help"]).map { "; did you mean \"\($0)\"?" } ?? ""
      throw UsageError(message: "\"\(word)\" is not expected\(hint)", topic: topic)
    }
    if value.isEmpty { throw UsageError(message: "--config needs a file", topic: topic) }
    if config != nil { throw UsageError(message: "--config is given twice", topic: topic) }
    config = value
    index += 1
  }
  return config
}
