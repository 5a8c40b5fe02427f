// What a web server answers to a webhook: bytes over a real connection of loopback, read by libcurl, and what the queue of
// deliveries makes of it.
import Basics
import Glibc
import TestSupport
import Webhooks

@Sendable func readWebhookAnswer(_ input: Span<UInt8>) {
  guard let (listener, port) = try? Loopback.listen(), var sender = HTTPSender() else {
    preconditionFailure("there is a socket and libcurl")
  }
  defer { close(listener) }
  let answer = input.bytes()
  let start = Now(instant: .zero + .seconds(1), wallMilliseconds: 1_700_000_000_000)
  var queue = DeliveryQueue(DeliveryLimits(), random: SplitMix64(seed: 1))
  let delivery = Delivery(id: "d", lane: "l", body: Array("{}".utf8), expiresAt: start.wallMilliseconds + 3_600_000)
  precondition(queue.enqueue(delivery, at: start) && queue.next(at: start)?.delivery == delivery)
  sender.send(
    "d", HTTPPost(url: "http://127.0.0.1:\(port)/", headers: [], body: delivery.body, timeout: .seconds(5)))
  let outcome = exchange(&sender, listener, answer)
  queue.finished("d", outcome, at: start)
  check(&queue, outcome, delivery, at: start)
}

/// Moves both ends until the request is over.
private func exchange(_ sender: inout HTTPSender, _ listener: Int32, _ answer: [UInt8]) -> HTTPOutcome {
  var connection: Int32 = -1
  defer { if connection >= 0 { close(connection) } }
  for _ in 0..<10_000 {
    for (id, outcome) in sender.takeFinished() {
      precondition(id == "d" && sender.count == 0, "a request has one outcome")
      return outcome
    }
    if connection < 0, isReadable(listener) {
      connection = Int32(uninterrupted { Int(accept(listener, nil, nil)) })
    } else if connection >= 0, isReadable(connection) {
      var buffer = [UInt8](repeating: 0, count: 4096)
      // The request is small and comes in one piece.
      if uninterrupted({ read(connection, &buffer, buffer.count) }) > 0 {
        _ = answer.withUnsafeBytes { bytes in
          uninterrupted { send(connection, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL)) }
        }
        shutdown(connection, Int32(SHUT_WR))
      }
    }
    sender.wait(descriptor: connection < 0 ? listener : connection, milliseconds: 5)
  }
  preconditionFailure("a request ends")
}

private func isReadable(_ descriptor: Int32) -> Bool {
  var one = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
  return uninterrupted { Int(poll(&one, 1, 0)) } == 1
}

/// A delivery is over, or waits for a time that is bounded.
private func check(_ queue: inout DeliveryQueue, _ outcome: HTTPOutcome, _ delivery: Delivery, at start: Now) {
  let settled = queue.takeSettled()
  if case .answered(let status, let wait) = outcome {
    precondition((100...999).contains(status) && (wait ?? .seconds(1)) > TimeDelta(nanoseconds: 0), "a status is one")
  }
  guard settled.isEmpty else {
    precondition(settled.count == 1 && queue.count == 0 && settled[0].delivery == delivery)
    return precondition((settled[0].end == .delivered) == outcome.isSuccess, "success alone is success")
  }
  precondition(!outcome.isSuccess && queue.count == 1, "what is not over waits")
  guard let due = queue.nextDeadline else { preconditionFailure("what waits is tried again") }
  precondition(due > start.instant && due <= start.instant + .seconds(300), "not at once, and not too late")
}
