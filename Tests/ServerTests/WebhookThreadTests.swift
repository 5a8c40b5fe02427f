// The thread that tells web servers, where libcurl is missing: it takes what it is given, and ends.

import Basics
import Calls
import Configuration
import Logging
import TestSupport
import Testing

@testable import Server

@Suite struct WebhookThreadTests {
  @Test func withoutASenderMessagesAreForgottenAndTheThreadEnds() async throws {
    let forgotten = Locked<Set<String>>([])
    var settings = ServerConfiguration.Webhooks()
    settings.events = .init(url: "http://127.0.0.1:1/", secret: "secret")
    let webhooks = WebhookThread(
      settings, restored: WebhookThread.Restored(), log: .disabled, makeSender: { nil },
      forget: { id in _ = forgotten.withLock { $0.insert(id) } })
    let event = WebhookEvent(type: .roomOpened, at: 1, room: "x")
    var sent: Set<String> = []
    for _ in 0..<100 {
      let message = WebhookMessage(event, giveUpAfter: .seconds(60), wallMilliseconds: 1)
      sent.insert(message.id)
      try #require(webhooks.send(message))
    }
    // Before it is asked to end: otherwise enough messages would leave no room for the asking.
    #expect(await eventually { forgotten.withLock(\.count) == sent.count })
    #expect(forgotten.withLock { $0 } == sent)
    webhooks.stop()
  }
}
