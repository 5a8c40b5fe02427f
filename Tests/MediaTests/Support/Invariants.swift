// What must hold of a worker's tables whenever nothing is in the middle of happening.

import Basics
import Forwarding
import Testing

@testable import Media

extension Call {
  /// Rules that are broken now; empty when all hold.
  func brokenRules() -> [String] { transportRules() + producerRules() + consumerRules() + workerRules() }

  private func transportRules() -> [String] {
    var broken: [String] = []
    var perRoom: [RoomID: Int] = [:]
    var paths = 0
    if worker.directory.transports.count != worker.transports.count {
      broken.append("keys and transports differ in number")
    }
    for (key, id) in worker.directory.transports {
      guard worker.transports.contains(id) else {
        broken.append("transport \(key.value) is a stale handle")
        continue
      }
      perRoom[worker.transports[id].room, default: 0] += 1
      paths += worker.transports[id].paths.count
      if worker.transports[id].key != key { broken.append("transport \(key.value) is another one") }
      if let path = worker.transports[id].path, !worker.transports[id].paths.contains(path) {
        broken.append("transport \(key.value) sends to a path that is not its own")
      }
      for path in worker.transports[id].paths where worker.directory.paths[path] != id {
        broken.append("path of transport \(key.value) leads elsewhere")
      }
      for fragment in worker.transports[id].fragments where !worker.directory.leads(fragment, to: id) {
        broken.append("fragment \(fragment) of transport \(key.value) leads elsewhere")
      }
      broken += routeRules(id)
    }
    if worker.directory.paths.count != paths { broken.append("paths that are nobody's") }
    if worker.directory.rooms.count != worker.rooms.count || perRoom.count != worker.rooms.count {
      broken.append("rooms without anybody")
    }
    for (room, count) in perRoom where worker.rooms[room].transports != count { broken.append("a room counts wrong") }
    return broken
  }

  private func routeRules(_ id: TransportID) -> [String] {
    var broken: [String] = []
    for route in worker.transports[id].routes.incoming where !worker.encodings.contains(route.encoding) {
      broken.append("SSRC \(route.ssrc) leads to an encoding that is gone")
    }
    for line in worker.transports[id].routes.lines where !worker.producers.contains(line.producer) {
      broken.append("a line leads to a producer that is gone")
    }
    for route in worker.transports[id].routes.outgoing where !worker.consumers.contains(route.consumer) {
      broken.append("SSRC \(route.ssrc) leads to a consumer that is gone")
    }
    return broken
  }

  private func producerRules() -> [String] {
    var broken: [String] = []
    var encodings = 0
    var consumers = 0
    for (key, id) in worker.directory.producers {
      guard worker.producers.contains(id), worker.producers[id].key == key else {
        broken.append("producer \(key.value) is a stale handle")
        continue
      }
      encodings += worker.producers[id].encodings.count
      consumers += worker.producers[id].consumers.count
      if !worker.transports.contains(worker.producers[id].transport) { broken.append("producer without a transport") }
      for encoding in worker.producers[id].encodings
      where !worker.encodings.contains(encoding) || worker.encodings[encoding].producer != id {
        broken.append("encoding of producer \(key.value) is another one")
      }
      for consumer in worker.producers[id].consumers
      where !worker.consumers.contains(consumer) || worker.consumers[consumer].producer != id {
        broken.append("consumer of producer \(key.value) follows another one")
      }
    }
    if worker.producers.count != worker.directory.producers.count { broken.append("producers without a key") }
    if worker.encodings.count != encodings { broken.append("encodings that are nobody's") }
    if worker.consumers.count != consumers { broken.append("consumers that follow nobody") }
    return broken
  }

  private func consumerRules() -> [String] {
    var broken: [String] = []
    if worker.consumers.count != worker.directory.consumers.count { broken.append("consumers without a key") }
    for (key, id) in worker.directory.consumers {
      guard worker.consumers.contains(id), worker.consumers[id].key == key else {
        broken.append("consumer \(key.value) is a stale handle")
        continue
      }
      if !worker.transports.contains(worker.consumers[id].transport) { broken.append("consumer without a transport") }
    }
    return broken
  }

  private func workerRules() -> [String] {
    var broken: [String] = []
    let counters = worker.counters
    if counters.transports != worker.transports.count { broken.append("transports counted wrong") }
    if counters.producers != worker.producers.count { broken.append("producers counted wrong") }
    if counters.consumers != worker.consumers.count { broken.append("consumers counted wrong") }
    if !worker.control.isEmpty { broken.append("something waits behind a flush") }
    if worker.queue.count > 0 && worker.queue.nextDue == .distantFuture { broken.append("something waits for ever") }
    // The clock stands between two turns, each of which polls all that is due.
    if worker.nextDeadline < now - TimeDelta(nanoseconds: Call.step) {
      broken.append("a deadline that poll has left behind")
    }
    if worker.deadlines.count > 400 + 60 * (counters.transports + counters.producers) {
      broken.append("\(worker.deadlines.count) deadlines wait")
    }
    if counters.sends > counters.packetsOut { broken.append("more sends than datagrams") }
    return broken
  }

  /// Everything that `closeAll` must leave empty.
  func leftovers() -> [String] {
    var left: [String] = []
    for (name, count) in [
      ("transports", worker.transports.count), ("rooms", worker.rooms.count), ("producers", worker.producers.count),
      ("encodings", worker.encodings.count), ("consumers", worker.consumers.count),
      ("paths", worker.directory.paths.count), ("fragments", worker.directory.fragmentCount),
      ("transport keys", worker.directory.transports.count), ("room keys", worker.directory.rooms.count),
      ("producer keys", worker.directory.producers.count), ("consumer keys", worker.directory.consumers.count),
    ] where count != 0 { left.append("\(count) \(name)") }
    return left
  }

  /// Dropped packets of any reason.
  var dropped: UInt64 { DropReason.allCases.reduce(0) { $0 + worker.counters.drops[$1] } }
}
