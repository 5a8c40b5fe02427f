// Replays Fuzz/corpora through the fuzz targets: every seed, and every input that once broke something. What must hold
// of an input is checked by the targets themselves, which trap.
import Foundation
import RoostProtocol
import Testing

@testable import FuzzTargets

@Suite struct CorpusTests {
  private static let corpora = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appending(path: "Fuzz/corpora")

  private static func files(of name: String) throws -> [URL] {
    try FileManager.default.contentsOfDirectory(at: corpora.appending(path: name), includingPropertiesForKeys: nil)
      .sorted { $0.path < $1.path }
  }

  @Test(arguments: fuzzTargets.map(\.name)) func everyFileIsRead(name: String) throws {
    let target = try #require(fuzzTargets.first { $0.name == name })
    let files = try Self.files(of: name)
    #expect(files.count >= 3, "a target needs seeds")
    for file in files {
      let bytes = [UInt8](try Data(contentsOf: file))
      #expect(bytes.count <= target.maximumLength, "\(file.lastPathComponent) is longer than the target's inputs")
      target.run(bytes.span)
    }
  }

  /// Seeds go on saying what they were made for: where the grammar or the protocol changes, they are to be made anew. In a process of
  /// its own, where nobody else counts. Where an answer has to come in time, a busy machine needs more than one run.
  @Test func seedsGetToEveryGoal() async {
    await #expect(processExitsWith: .success) {
      for target in fuzzTargets where !target.reached().isEmpty {
        let seeds = try CorpusTests.files(of: target.name).map { [UInt8](try Data(contentsOf: $0)) }
        var missed: [String] = []
        for _ in 0..<20 {
          for seed in seeds { target.run(seed.span) }
          missed = target.reached().filter { $0.value == 0 }.keys.sorted()
          if missed.isEmpty { break }
        }
        #expect(missed.isEmpty, "no seed of \(target.name) gets to \(missed)")
      }
    }
  }

  @Test func seedsOfTheConferenceCanNameEveryRequest() {
    #expect(Method.scripted.count == Method.allCases.count && Set(Method.scripted) == Set(Method.allCases))
  }

  @Test func whatIsNeverReachedIsCountedAsWell() {
    let goals = Goals<MessageGoal>()
    goals.note(.reply)
    #expect(goals.counts == ["reply": 1, "failure": 0, "event": 0])
  }

  /// Each seed cut short and bent at up to a hundred places, fewer where an input takes long: what a network does, without a fuzzer.
  @Test(arguments: fuzzTargets.map(\.name)) func seedsMayBeCutAndBent(name: String) throws {
    let target = try #require(fuzzTargets.first { $0.name == name })
    var inputs = 0
    for file in try Self.files(of: name) {
      let bytes = [UInt8](try Data(contentsOf: file))
      for length in stride(from: 0, to: bytes.count, by: bytes.count / target.bends + 1) {
        target.run(Array(bytes[..<length]).span)
        var bent = bytes
        bent[length] ^= [0xff, 0x80, 0x01][length % 3]
        target.run(bent.span)
        inputs += 2
      }
    }
    #expect(inputs > 0)
  }

  @Test func everyCorpusHasItsTarget() throws {
    let directories = try FileManager.default.contentsOfDirectory(atPath: Self.corpora.path)
    #expect(Set(directories) == Set(fuzzTargets.map(\.name)))
  }
}
