// Wakes a worker that sleeps, and costs a worker that is awake nothing but a look.
//
//   who writes:  write ─▶ fence ─▶ is the other asleep? ─▶ wake it
//   who sleeps:  say so ─▶ fence ─▶ is there anything new? ─▶ sleep
//
// Both write first and look then, with a fence between: so at least one of the two sees what the other has done, and nobody sleeps beside
// something that waits.

import Synchronization

/// Beside what other threads write for a worker. Its owner is one thread; any may ring it.
final class Bell: Sendable {
  private let isAsleep = Atomic<Bool>(false)
  private let wake: @Sendable () -> Void

  /// `wake` ends its owner's sleep, or the next one; it is called on the thread that rings.
  init(wake: @escaping @Sendable () -> Void) { self.wake = wake }

  /// Wakes the owner where it sleeps. Call it behind all that was written for it: one ring is enough for a batch.
  func ring() {
    atomicMemoryFence(ordering: .sequentiallyConsistent)
    if isAsleep.load(ordering: .relaxed), isAsleep.exchange(false, ordering: .relaxed) { wake() }
  }

  /// Whether the owner may sleep: it says that it is going to, and only then looks whether there is anything new.
  func maySleep(unless hasNews: () -> Bool) -> Bool {
    isAsleep.store(true, ordering: .relaxed)
    atomicMemoryFence(ordering: .sequentiallyConsistent)
    if !hasNews() { return true }
    isAwake()
    return false
  }

  /// The owner has slept.
  func isAwake() { isAsleep.store(false, ordering: .relaxed) }
}
