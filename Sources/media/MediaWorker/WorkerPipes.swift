// A worker's ends of pipes, on its thread: what other workers have written is read here, and what waits for them is written.

import Basics
import Media

/// What a worker is given for its end of a pipe; taken over by its thread.
final class PipeEnd: Sendable {
  let out: PipeRing
  let into: PipeRing
  /// Wakes the worker at the other end.
  let other: Bell

  init(out: PipeRing, into: PipeRing, other: Bell) { (self.out, self.into, self.other) = (out, into, other) }
}

extension MediaWorker {
  /// Lays a pipe between two workers: at each it is there for the commands that are posted behind.
  public static func join(_ first: MediaWorker, _ second: MediaWorker, as key: PipeKey) {
    let (there, back) = (PipeRing(), PipeRing())
    first.attach(PipeEnd(out: there, into: back, other: second.bell), as: key)
    second.attach(PipeEnd(out: back, into: there, other: first.bell), as: key)
  }

  /// Takes a pipe between two workers away again, with all that it brought.
  public static func part(_ first: MediaWorker, _ second: MediaWorker, _ key: PipeKey) {
    first.detach(key)
    second.detach(key)
  }
}

/// All ends of pipes that a worker has. A worker without any does nothing for them.
struct WorkerPipes: ~Copyable {
  /// Packets taken of one pipe before others, timers and sends get their turn.
  static let packetsPerTurn = 256
  /// Packets between two looks whether enough waits to be sent.
  static let batch = 32

  // Not private: other files of this module hold it within `WorkerPipes`, and then the compiler (6.3) makes a symbol that it refuses.
  struct End: ~Copyable {
    let key: PipeKey
    var writer: PipeWriter
    var reader: PipeReader
  }

  /// No array: that takes nothing which cannot be copied.
  private var ends = SlotMap<End>()
  /// Whether a pipe was left with packets in it.
  private(set) var hasMore = false
  /// Whether something waits that another worker's ring had no room for.
  private(set) var isStuck = false

  var isEmpty: Bool { ends.count == 0 }

  mutating func attach(_ key: PipeKey, _ end: PipeEnd) {
    _ = ends.insert(End(key: key, writer: PipeWriter(end.out, end.other), reader: PipeReader(end.into)))
  }

  mutating func detach(_ key: PipeKey) {
    var gone: [SlotMap<End>.ID] = []
    ends.forEach { if $1.key == key { gone.append($0) } }
    for id in gone { _ = ends.remove(id) }
    // What was left or stuck is looked for anew, where there are others.
    (hasMore, isStuck) = (false, false)
  }

  /// Notes what there is to read; whether there is anything.
  mutating func look() -> Bool {
    hasMore = false
    var isAny = false
    ends.forEach { if $1.reader.look() { isAny = true } }
    return isAny
  }

  /// Whether there is anything that was not read, seen or not.
  mutating func hasNews() -> Bool {
    var isAny = false
    ends.forEach { if $1.reader.hasNews { isAny = true } }
    return isAny
  }

  /// Hands over what the last look has seen. One packet may leave a thousand times: `flush` is called where so much waits to be sent that
  /// there is no space for more. Then, and where much waits, the rest is left for the next turn.
  mutating func read(into state: inout WorkerState, at now: Instant, flush: (inout WorkerState) -> Void) {
    ends.forEach { _, end in
      let key = end.key
      end.reader.takeMessages { state.receive($0, through: key, at: now) }
      var (count, isLeft, goesOn) = (0, true, true)
      while isLeft && goesOn {
        isLeft = end.reader.read(Self.batch) { packet, bytes in
          state.receive(packet, bytes, through: key, at: now)
          if state.isNearlyFull {
            flush(&state)
            goesOn = false
          }
          return goesOn
        }
        count += Self.batch
        if state.isFull || count >= Self.packetsPerTurn { goesOn = false }
      }
      if isLeft { hasMore = true }
    }
  }

  /// Writes what waits for others, and wakes those who get something.
  mutating func drain(_ state: inout WorkerState) {
    isStuck = false
    ends.forEach { _, end in
      if state.drainPipe(end.key, into: &end.writer) { isStuck = true }
      end.writer.finish()
    }
  }
}
