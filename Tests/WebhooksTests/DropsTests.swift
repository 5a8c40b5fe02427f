// What is said of events that a web server did not want.

import Testing

@testable import Webhooks

@Suite struct DropsTests {
  private func delivery(_ id: String) -> Delivery {
    Delivery(id: id, number: 7, lane: "l", body: Array(#"{"id":"x"}"#.utf8), expiresAt: .max)
  }

  private func text(_ drops: inout Drops, _ id: String) -> String {
    String(decoding: drops.body(of: delivery(id)), as: UTF8.self)
  }

  @Test func theNextMessageSaysItUntilItIsTaken() {
    var drops = Drops()
    #expect(text(&drops, "a") == #"{"id":"x"}"#)
    drops.add(DroppedDelivery(id: "d", number: 6))
    drops.add(DroppedDelivery(id: "d", number: 6))
    let told = #"{"dropped":[{"id":"d","number":6}],"id":"x"}"#
    #expect(text(&drops, "a") == told && text(&drops, "b") == #"{"id":"x"}"#, "one of those beside each other")
    #expect(drops.finished("a", isTaken: false).isEmpty && text(&drops, "b") == told)
    #expect(drops.finished("b", isTaken: true) == [DroppedDelivery(id: "d", number: 6)])
    #expect(text(&drops, "c") == #"{"id":"x"}"#)
  }

  @Test func soManyAreSaid() {
    #expect(Drops.most == 100)
    var drops = Drops()
    for number in 1...150 { drops.add(DroppedDelivery(id: "\(number)", number: nil)) }
    #expect(text(&drops, "a").hasPrefix(#"{"dropped":[{"id":"51"},"#))
    #expect(drops.finished("a", isTaken: true).count == 100)
  }
}
