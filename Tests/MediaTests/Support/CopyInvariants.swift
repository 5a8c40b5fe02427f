// What must hold of taps, pipes and mirrors whenever nothing is in the middle of happening.

import Forwarding
import Testing

@testable import Media

extension Call {
  /// A row of an encoding, as far as copies go.
  private struct Row {
    let id: EncodingID
    let producer: ProducerID
    let taps: [TapID]
    let pipes: [PipedLayer]
  }

  func copyRules() -> [String] {
    var rows: [Row] = []
    worker.tracks.encodings.forEach { rows.append(Row(id: $0, producer: $1.producer, taps: $1.taps, pipes: $1.pipes)) }
    return keyRules() + rows.flatMap { rowRules($0) } + mirrorRules() + clockRules()
  }

  private func keyRules() -> [String] {
    var broken: [String] = []
    if worker.directory.taps.count != worker.ends.taps.count { broken.append("keys and taps differ in number") }
    if worker.directory.pipes.count != worker.ends.pipes.count { broken.append("keys and pipes differ in number") }
    for (key, id) in worker.directory.taps where !worker.ends.taps.contains(id) || worker.ends.taps[id].key != key {
      broken.append("tap \(key.value) is a stale handle")
    }
    for (key, id) in worker.directory.pipes {
      guard worker.ends.pipes.contains(id), worker.ends.pipes[id].key == key else {
        broken.append("pipe \(key.value) is a stale handle")
        continue
      }
      if worker.ends.pipes[id].waiting > Pipe.mostPackets { broken.append("too much waits for pipe \(key.value)") }
    }
    return broken
  }

  private func rowRules(_ row: Row) -> [String] {
    var broken: [String] = []
    if row.taps.contains(where: { !worker.ends.taps.contains($0) }) { broken.append("a row names a tap that is gone") }
    if Set(row.taps).count != row.taps.count { broken.append("a row names a tap twice") }
    if Set(row.pipes.map(\.pipe)).count != row.pipes.count { broken.append("a row names a pipe twice") }
    guard worker.tracks.producers.contains(row.producer) else { return broken + ["a row of no track"] }
    if worker.tracks.producers[row.producer].isMirror, !row.pipes.isEmpty || !row.taps.isEmpty {
      broken.append("a mirror is copied")
    }
    for layer in row.pipes {
      if !worker.ends.pipes.contains(layer.pipe) { broken.append("a row names a pipe that is gone") }
      let place = worker.tracks.producers[row.producer].declaredPlace(of: row.id)
      if layer.track != worker.tracks.producers[row.producer].key || layer.place != place {
        broken.append("a layer crosses as another one")
      }
    }
    return broken
  }

  private func mirrorRules() -> [String] {
    var broken: [String] = []
    for (key, id) in worker.directory.producers where worker.tracks.producers[id].isMirror {
      if worker.tracks.producers[id].asked == nil { broken.append("mirror \(key.value) cannot ask for layers") }
    }
    return broken
  }

  /// A pipe knows the clocks of those whose tracks it brings, and of nobody else.
  private func clockRules() -> [String] {
    var broken: [String] = []
    let sources = worker.directory.producers.values.map { worker.tracks.producers[$0].source }
    for (key, id) in worker.directory.pipes {
      for publisher in worker.ends.pipes[id].publishers where !sources.contains(.pipe(id, publisher: publisher)) {
        broken.append("pipe \(key.value) knows the clock of somebody whose tracks it does not bring")
      }
    }
    return broken
  }
}
