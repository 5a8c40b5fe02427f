// What must hold of a worker's tables whenever nothing is in the middle of happening.

import Basics
import Forwarding
import Testing

@testable import Media

extension Call {
  /// Rules that are broken now; empty when all hold.
  func brokenRules() -> [String] {
    transportRules() + producerRules() + consumerRules() + workerRules() + copyRules()
  }

  private func transportRules() -> [String] {
    var broken: [String] = []
    var perRoom: [RoomID: Int] = [:]
    var paths = 0
    if worker.directory.transports.count != worker.ends.transports.count {
      broken.append("keys and transports differ in number")
    }
    for (key, id) in worker.directory.transports {
      guard worker.ends.transports.contains(id) else {
        broken.append("transport \(key.value) is a stale handle")
        continue
      }
      perRoom[worker.ends.transports[id].room, default: 0] += 1
      paths += worker.ends.transports[id].paths.count
      if worker.ends.transports[id].key != key { broken.append("transport \(key.value) is another one") }
      if let path = worker.ends.transports[id].path, !worker.ends.transports[id].paths.contains(path) {
        broken.append("transport \(key.value) sends to a path that is not its own")
      }
      for path in worker.ends.transports[id].paths where worker.directory.paths[path] != id {
        broken.append("path of transport \(key.value) leads elsewhere")
      }
      for fragment in worker.ends.transports[id].fragments where !worker.directory.leads(fragment, to: id) {
        broken.append("fragment \(fragment) of transport \(key.value) leads elsewhere")
      }
      broken += routeRules(id)
    }
    // Mirrors keep their room as well.
    for id in worker.directory.producers.values where worker.tracks.producers[id].isMirror {
      perRoom[worker.tracks.producers[id].room, default: 0] += 1
    }
    if worker.directory.paths.count != paths { broken.append("paths that are nobody's") }
    if worker.directory.rooms.count != worker.tracks.rooms.count || perRoom.count != worker.tracks.rooms.count {
      broken.append("rooms without anybody")
    }
    var (tracks, sounds): ([RoomID: Int], [RoomID: Int]) = ([:], [:])
    for id in worker.directory.producers.values {
      let room = worker.tracks.producers[id].room
      tracks[room, default: 0] += 1
      if worker.tracks.producers[id].kind == .audio { sounds[room, default: 0] += 1 }
      if case .transport(let transport) = worker.tracks.producers[id].source,
        worker.ends.transports[transport].room != room
      {
        broken.append("a track in another room than its publisher")
      }
    }
    for id in worker.directory.rooms.values
    where worker.tracks.rooms[id].producers != tracks[id] ?? 0 || worker.tracks.rooms[id].sounds != sounds[id] ?? 0 {
      broken.append("a room counts tracks wrong")
    }
    for (room, count) in perRoom where worker.tracks.rooms[room].holders != count {
      broken.append("a room counts wrong")
    }
    return broken
  }

  private func routeRules(_ id: TransportID) -> [String] {
    var broken: [String] = []
    for route in worker.ends.transports[id].routes.incoming where !worker.tracks.encodings.contains(route.encoding) {
      broken.append("SSRC \(route.ssrc) leads to an encoding that is gone")
    }
    for line in worker.ends.transports[id].routes.lines where !worker.tracks.producers.contains(line.producer) {
      broken.append("a line leads to a producer that is gone")
    }
    for route in worker.ends.transports[id].routes.outgoing where !worker.forwarder.consumers.contains(route.consumer) {
      broken.append("SSRC \(route.ssrc) leads to a consumer that is gone")
    }
    return broken
  }

  private func producerRules() -> [String] {
    var broken: [String] = []
    var encodings = 0
    var consumers = 0
    for (key, id) in worker.directory.producers {
      guard worker.tracks.producers.contains(id), worker.tracks.producers[id].key == key else {
        broken.append("producer \(key.value) is a stale handle")
        continue
      }
      encodings += worker.tracks.producers[id].encodings.count
      consumers += worker.tracks.producers[id].consumers.count
      switch worker.tracks.producers[id].source {
      case .transport(let transport):
        if !worker.ends.transports.contains(transport) { broken.append("producer without a transport") }
      case .pipe(let pipe, _): if !worker.ends.pipes.contains(pipe) { broken.append("producer without a pipe") }
      }
      for encoding in worker.tracks.producers[id].encodings
      where !worker.tracks.encodings.contains(encoding) || worker.tracks.encodings[encoding].producer != id {
        broken.append("encoding of producer \(key.value) is another one")
      }
      for consumer in worker.tracks.producers[id].consumers
      where !worker.forwarder.consumers.contains(consumer) || worker.forwarder.consumers[consumer].producer != id {
        broken.append("consumer of producer \(key.value) follows another one")
      }
    }
    if worker.tracks.producers.count != worker.directory.producers.count { broken.append("producers without a key") }
    if worker.tracks.encodings.count != encodings { broken.append("encodings that are nobody's") }
    let empty = worker.directory.consumers.values.count {
      worker.forwarder.consumers.contains($0) && worker.forwarder.consumers[$0].producer == nil
    }
    if worker.forwarder.consumers.count != consumers + empty { broken.append("consumers that nobody knows of") }
    return broken
  }

  private func consumerRules() -> [String] {
    var broken: [String] = []
    if worker.forwarder.consumers.count != worker.directory.consumers.count { broken.append("consumers without a key") }
    for (key, id) in worker.directory.consumers {
      guard worker.forwarder.consumers.contains(id), worker.forwarder.consumers[id].key == key else {
        broken.append("consumer \(key.value) is a stale handle")
        continue
      }
      switch worker.forwarder.consumers[id].destination {
      case .transport(let id):
        if !worker.ends.transports.contains(id) { broken.append("consumer without a transport") }
      }
    }
    return broken
  }

  private func workerRules() -> [String] {
    var broken: [String] = []
    let counters = worker.counters
    if counters.transports != worker.ends.transports.count { broken.append("transports counted wrong") }
    if counters.producers != worker.tracks.producers.count { broken.append("producers counted wrong") }
    if counters.consumers != worker.forwarder.consumers.count { broken.append("consumers counted wrong") }
    if !worker.egress.control.isEmpty { broken.append("something waits behind a flush") }
    if worker.egress.queue.count > 0 && worker.egress.queue.nextDue == .distantFuture {
      broken.append("something waits for ever")
    }
    // The clock stands between two turns, each of which polls all that is due.
    if worker.nextDeadline < now - TimeDelta(nanoseconds: Call.step) {
      broken.append("a deadline that poll has left behind")
    }
    let deadlines = worker.deadlines.count + worker.dueCount
    if deadlines > 400 + 60 * (counters.transports + counters.producers) {
      broken.append("\(deadlines) deadlines wait")
    }
    if counters.sends > counters.packetsOut { broken.append("more sends than datagrams") }
    return broken
  }

  /// Everything that `closeAll` must leave empty.
  func leftovers() -> [String] {
    var left: [String] = []
    for (name, count) in [
      ("transports", worker.ends.transports.count), ("rooms", worker.tracks.rooms.count),
      ("producers", worker.tracks.producers.count),
      ("encodings", worker.tracks.encodings.count), ("consumers", worker.forwarder.consumers.count),
      ("paths", worker.directory.paths.count), ("fragments", worker.directory.fragmentCount),
      ("transport keys", worker.directory.transports.count), ("room keys", worker.directory.rooms.count),
      ("producer keys", worker.directory.producers.count), ("consumer keys", worker.directory.consumers.count),
      ("taps", worker.ends.taps.count), ("tap keys", worker.directory.taps.count), ("pipes", worker.ends.pipes.count),
      ("pipe keys", worker.directory.pipes.count),
    ] where count != 0 { left.append("\(count) \(name)") }
    return left
  }

  /// Dropped packets of any reason.
  var dropped: UInt64 { DropReason.allCases.reduce(0) { $0 + worker.counters.drops[$1] } }
}
