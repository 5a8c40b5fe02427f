// The command's words.

import ClusterSimulator

/// What was asked for.
struct Command {
  static let help = """
    cluster: holds the rules of a cluster against their bars, in virtual time. Exit status 1 where one is broken, or an error
    that was put in is not found.
      --seeds N        runs with the seeds 1 to N (2000)
      --short          400 runs with faults of a minute at most
      --seed N         one run, and all about it
      --mutation NAME  with --seed: with an error put in, and the faults that bring it out
    """

  var seeds: UInt64 = 2_000
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
      case "--seeds": seeds = try number(of: word)
      case "--seed": seed = try number(of: word)
      case "--short": (isShort, seeds) = (true, 400)
      case "--mutation":
        let name = try value(of: word)
        mutation = Mutation.all.first { $0.description == name }
        if mutation == nil { throw WordsError(text: "no error is named \(name): \(Mutation.all)") }
      default: throw WordsError(text: "unknown word \(word)\n\(Self.help)")
      }
    }
  }

  /// How runs are made.
  var options: Options { mutation?.options ?? (isShort ? .short : Options()) }
}

/// Words that are none.
struct WordsError: Error {
  let text: String
}
