// Which CPUs the worker threads of a running server may use, as the kernel says.

import Foundation
import MediaWorker
import TestSupport
import Testing

struct AffinityTests {
  /// `Cpus_allowed_list` of each worker thread, by the thread's name.
  private func cpus(of server: ServerProcess) throws -> [String: String] {
    let tasks = "/proc/\(server.identifier)/task"
    var result: [String: String] = [:]
    for task in try FileManager.default.contentsOfDirectory(atPath: tasks) {
      let name = try String(contentsOfFile: "\(tasks)/\(task)/comm", encoding: .utf8).trimmingCharacters(in: .newlines)
      guard name.hasPrefix("worker-") else { continue }
      let status = try String(contentsOfFile: "\(tasks)/\(task)/status", encoding: .utf8)
      let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("Cpus_allowed_list:") })
      result[name] = line.split(separator: "\t").last.map(String.init)
    }
    return result
  }

  private func number(_ cpu: Int) -> String { "\(cpu)" }

  @Test func aWorkerIsBoundToTheCPUThatIsConfigured() throws {
    for cpu in Set([MediaWorker.cpus.first, MediaWorker.cpus.last].compactMap(\.self)) {
      let server = try ServerProcess(media: ["cpus: [\(cpu)]"])
      try server.start()
      #expect(try cpus(of: server) == ["worker-0": number(cpu)])
      server.kill()
    }
  }

  @Test func oneAloneIsLeftToTheSystemAndSeveralHaveACPUEach() throws {
    let all = MediaWorker.cpus
    let alone = try ServerProcess()
    try alone.start()
    let free = try #require(try cpus(of: alone)["worker-0"])
    #expect(all.count == 1 || free != number(all[0]))
    alone.kill()
    let several = try ServerProcess(media: ["workers: 2"])
    try several.start()
    #expect(try cpus(of: several) == ["worker-0": number(all[0]), "worker-1": number(all[1 % all.count])])
  }

  @Test func aCPUThatIsNotThereIsSaid() throws {
    let missing = (0...1_023).first { !MediaWorker.cpus.contains($0) } ?? 1_023
    let server = try ServerProcess(media: ["cpus: [\(missing)]"])
    let said = try server.refusal()
    let words = "media.cpus: this process may not use CPU \(missing); expected some of "
    #expect(said.contains("/rooms.yaml:2:") && said.contains(": \(words)"), "\(said)")
  }
}
