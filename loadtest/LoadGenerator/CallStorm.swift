// Parties that play all that can happen to calls, over and over, side by side.

import Basics
import SyntheticParticipant

/// What came of the plays.
struct CallFindings: Sendable {
  var played = 0
  var problems: [String] = []
  var answers: [Double] = []
  var upgradeGaps: [Double] = []
}

actor CallStorm {
  private(set) var findings = CallFindings()
  private let url: String
  private let driver: MediaDriver
  private var isOver = false
  private var tasks: [Task<Void, Never>] = []

  init(url: String, driver: MediaDriver) {
    self.url = url
    self.driver = driver
  }

  /// Begins `parties` parties; each starts with another play.
  func start(_ parties: Int) {
    let run = String(UInt32.random(in: 0 ... .max), radix: 36)
    for party in 0..<parties {
      tasks.append(Task { await playOn("caller-\(run)-\(party)", from: party) })
    }
  }

  /// Ends when every party has ended its play, and each play was played.
  func stop() async {
    isOver = true
    for task in tasks { await task.value }
  }

  private func playOn(_ name: String, from first: Int) async {
    let plays = CallPlay.allCases
    var round = 0
    // The whole repertoire at least once, however short the run is.
    while !isOver || round < plays.count {
      let play = plays[(first + round) % plays.count]
      round += 1
      do {
        note(try await CallParty(url: url, driver: driver, name: "\(name)-\(round)").play(play))
      } catch {
        findings.problems.append("\(play.rawValue): \(error)")
      }
      findings.played += 1
    }
  }

  private func note(_ result: CallParty.Result) {
    if let answer = result.answerMs { findings.answers.append(answer) }
    if let gap = result.upgradeGapMs { findings.upgradeGaps.append(gap) }
  }
}
