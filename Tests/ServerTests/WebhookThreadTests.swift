// The thread that tells web servers, where libcurl is missing: it takes what it is given, and ends.

import Basics
import Calls
import Configuration
import Foundation
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

  /// While the thread does not come to sort them so many wait and one more is not taken; then all of them are seen to.
  @Test func soManyWaitToBeSorted() async throws {
    #expect(WebhookThread.patience == 65_536)
    let (hangs, forgotten) = (DispatchSemaphore(value: 0), Locked(0))
    var settings = ServerConfiguration.Webhooks()
    settings.events = .init(url: "http://127.0.0.1:1/", secret: "secret")
    let webhooks = WebhookThread(
      settings, restored: WebhookThread.Restored(), log: .disabled, patience: 4,
      makeSender: {
        hangs.wait()
        return nil
      }, forget: { _ in forgotten.withLock { $0 += 1 } })
    func send() -> Bool {
      let event = WebhookEvent(type: .roomOpened, at: 1, room: "x")
      return webhooks.send(WebhookMessage(event, giveUpAfter: .seconds(60), wallMilliseconds: 1))
    }
    #expect((1...6).map { _ in send() } == [true, true, true, true, false, false])
    hangs.signal()
    #expect(await eventually { forgotten.withLock { $0 } == 4 })
    #expect(send())
    #expect(await eventually { forgotten.withLock { $0 } == 5 })
    webhooks.stop()
  }
}
