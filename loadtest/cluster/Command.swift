// The command's words.

import ClusterSimulator

/// What was asked for.
struct Command {
  static let help = """
    cluster: holds the rules of a cluster against their bars, in virtual time. Exit status 1 where one is broken, or an error
    that was put in is not found.
      --seeds N        runs with the seeds 1 to N (2000)
      --short          shorter runs, and 400 of them where --seeds is not there
      --seed N         one run, and all about it
      --mutation NAME  the run of --seed with an error put in, and the faults that bring it out
    """

  private var wanted: UInt64?
  var seed: UInt64?
  var isShort = false
  var mutation: Mutation?

  /// - Throws: what is wrong with the words.
  init(_ words: [String]) throws(WordsError) {
    var rest = words[...]
    func value(of word: String) throws(WordsError) -> String {
      guard let value = rest.popFirst() else { throw WordsError(text: "\(word) needs a value") }
      return value
    }
    func number(of word: String) throws(WordsError) -> UInt64 {
      let text = try value(of: word)
      guard let number = UInt64(text), number > 0 else { throw WordsError(text: "\(word) \(text): a number from 1") }
      return number
    }
    while let word = rest.popFirst() {
      switch word {
      case "--seeds": wanted = try number(of: word)
      case "--seed": seed = try number(of: word)
      case "--short": isShort = true
      case "--mutation":
        let name = try value(of: word)
        mutation = Mutation.all.first { $0.description == name }
        if mutation == nil { throw WordsError(text: "no error is named \(name): \(Mutation.all)") }
      default: throw WordsError(text: "unknown word \(word)\n\(Self.help)")
      }
    }
    if mutation != nil, seed == nil { throw WordsError(text: "--mutation needs --seed") }
  }

  /// How many runs there are.
  var seeds: UInt64 { wanted ?? (isShort ? 400 : 2_000) }

  /// How runs are made.
  var options: Options { mutation?.options ?? (isShort ? .short : Options()) }
}

/// Words that are none.
struct WordsError: Error {
  let text: String
}
