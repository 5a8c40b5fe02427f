// The key of DTLS: it is in no file, and each server has its own (ASVS 5.0, 17.2.1).

import RoostProtocol
import SyntheticParticipant
import TestSupport
import Testing

extension EndToEnd {
  @Suite struct PrivateKeys {
    /// A server that can write no byte to any file goes on as others do: its key is nowhere but in memory. That its record file fails is
    /// the control: the limit holds.
    @Test func theKeyNeedsNoFile() async throws {
      let server = try ServerProcess()
      try server.start(after: "ulimit -f 0; ")
      #expect(await server.says("storage_off"))
      let driver = MediaDriver()
      let people = try ["anna", "ben"].map { user in
        var plan = SyntheticConfiguration(url: server.url, room: "demo", user: user)
        plan.video = [.light]
        plan.session.requestTimeout = .seconds(60)
        return try SyntheticParticipant(plan, driver: driver)
      }
      for one in people { try await one.join() }
      for (one, other) in [(people[0], "ben"), (people[1], "anna")] {
        #expect(await eventually { await one.received(other, "camera").frames >= 5 })
      }
      for one in people { await one.leave() }
      driver.stop()
      server.stop()
    }

    /// Two servers of one program and one configuration, and the same one started again, show three certificates.
    @Test func eachStartMakesAKeyOfItsOwn() async throws {
      let (one, other) = (try ServerProcess(), try ServerProcess())
      try one.start()
      try other.start()
      var shown = [try await fingerprint(of: one), try await fingerprint(of: other)]
      #expect(try await fingerprint(of: one) == shown[0], "the control: one server shows one certificate")
      one.kill()
      try one.start()
      shown.append(try await fingerprint(of: one))
      #expect(Set(shown).count == 3)
    }

    private func fingerprint(of server: ServerProcess) async throws -> String {
      try #require(await offeredAttribute("fingerprint", by: server.url))
    }
  }
}
