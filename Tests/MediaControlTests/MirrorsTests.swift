// Which tracks are brought where, by who needs them; and the pipes between workers.

import Basics
import Media
import Members
import Testing

@testable import MediaControl

@Suite struct MirrorsTests {
  private let track = TrackID(11)
  private let other = TrackID(12)
  private let subscriptions = (1...4 as ClosedRange<UInt64>).map { SubscriptionID($0) }

  private static func name(_ track: TrackID, _ worker: Int) -> Mirrors.Name {
    Mirrors.Name(track: track, worker: worker)
  }

  @Test func theFirstUseBeginsAndTheLastEnds() {
    var mirrors = Mirrors()
    let name = Self.name(track, 1)
    #expect(mirrors.show(track, source: 0, on: subscriptions[0], at: 1) == Mirrors.Change(begins: name))
    #expect(mirrors.show(track, source: 0, on: subscriptions[1], at: 1) == Mirrors.Change())
    #expect(mirrors.show(track, source: 0, on: subscriptions[1], at: 1) == Mirrors.Change(), "said twice")
    #expect(mirrors.show(track, source: 0, on: subscriptions[2], at: 2).begins == Self.name(track, 2))
    #expect(mirrors.workers(of: track) == [1, 2])
    #expect(mirrors.show(nil, source: nil, on: subscriptions[0], at: 1) == Mirrors.Change(), "one is left")
    #expect(mirrors.show(nil, source: nil, on: subscriptions[1], at: 1) == Mirrors.Change(ends: name))
    #expect(mirrors.workers(of: track) == [2])
  }

  @Test func aViewThatGoesOnEndsTheOldOneBehindTheNew() {
    var mirrors = Mirrors()
    _ = mirrors.show(track, source: 0, on: subscriptions[0], at: 1)
    let change = mirrors.show(other, source: 0, on: subscriptions[0], at: 1)
    #expect(change == Mirrors.Change(begins: Self.name(other, 1), ends: Self.name(track, 1)))
    #expect(mirrors.show(other, source: 1, on: subscriptions[0], at: 1).ends == Self.name(other, 1), "it is here now")
    #expect(mirrors.isEmpty)
  }

  @Test func ownTracksAreNone() {
    var mirrors = Mirrors()
    #expect(mirrors.show(track, source: 1, on: subscriptions[0], at: 1) == Mirrors.Change())
    #expect(mirrors.show(track, source: nil, on: subscriptions[0], at: 1) == Mirrors.Change())
    #expect(mirrors.isEmpty)
  }

  @Test func aSwapMovesUsesAndEndsNothing() {
    var mirrors = Mirrors()
    _ = mirrors.show(track, source: 0, on: subscriptions[0], at: 1)
    _ = mirrors.show(other, source: 0, on: subscriptions[1], at: 1)
    mirrors.swap(subscriptions[0], subscriptions[1])
    #expect(mirrors.show(nil, source: nil, on: subscriptions[0], at: 1).ends == Self.name(other, 1))
    // With one that is sent what is on its own worker.
    mirrors.swap(subscriptions[1], subscriptions[2])
    #expect(mirrors.show(nil, source: nil, on: subscriptions[1], at: 1) == Mirrors.Change())
    #expect(mirrors.show(nil, source: nil, on: subscriptions[2], at: 1).ends == Self.name(track, 1))
    #expect(mirrors.isEmpty)
  }

  /// The worker has ended its consumers with the track: what is said of them later is about nothing.
  @Test func whatIsUnsubscribedAfterItsTrackIsOverChangesNothing() {
    var mirrors = Mirrors()
    for (index, worker) in [2, 1, 1].enumerated() {
      _ = mirrors.show(track, source: 0, on: subscriptions[index], at: worker)
    }
    _ = mirrors.show(other, source: 0, on: subscriptions[3], at: 1)
    #expect(mirrors.close(track) == [1, 2] && mirrors.close(track) == [])
    for id in subscriptions.prefix(3) {
      #expect(mirrors.show(nil, source: nil, on: id, at: 1) == Mirrors.Change())
    }
    #expect(mirrors.workers(of: other) == [1], "the control: what goes on is there")
    #expect(mirrors.show(nil, source: nil, on: subscriptions[3], at: 1).ends == Self.name(other, 1))
    #expect(mirrors.isEmpty)
  }

  /// Against a plain list of who is sent what.
  @Test func anyOrderLeavesNothing() {
    var (mirrors, dice) = (Mirrors(), SplitMix64(seed: 3))
    var shown: [UInt64: UInt64] = [:]
    func worker(of subscription: UInt64) -> Int { Int(subscription % 3) }
    func source(of track: UInt64) -> Int { Int(track % 3) }
    func names() -> Set<Mirrors.Name> {
      Set(
        shown.filter { worker(of: $0.key) != source(of: $0.value) }
          .map { Self.name(TrackID($0.value), worker(of: $0.key)) })
    }
    var begun: Set<Mirrors.Name> = []
    for _ in 0..<5_000 {
      let (id, track) = (UInt64.random(in: 1...20, using: &dice), UInt64.random(in: 1...9, using: &dice))
      switch Int.random(in: 0..<10, using: &dice) {
      case 0:
        #expect(mirrors.close(TrackID(track)) == begun.filter { $0.track == TrackID(track) }.map(\.worker).sorted())
        shown = shown.filter { $0.value != track }
        begun = begun.filter { $0.track != TrackID(track) }
      case 1:
        let second = (id + 2) % 20 + 1
        guard worker(of: second) == worker(of: id) else { continue }
        mirrors.swap(SubscriptionID(id), SubscriptionID(second))
        (shown[id], shown[second]) = (shown[second], shown[id])
      default:
        let shows = Int.random(in: 0..<3, using: &dice) > 0 ? track : nil
        let change = mirrors.show(
          shows.map { TrackID($0) }, source: shows.map(source), on: SubscriptionID(id), at: worker(of: id))
        shown[id] = shows
        if let name = change.begins { #expect(begun.insert(name).inserted) }
        if let name = change.ends { #expect(begun.remove(name) != nil) }
      }
      guard begun == names() else {
        Issue.record("\(begun) and \(names())")
        return
      }
    }
    for id in shown.keys { _ = mirrors.show(nil, source: nil, on: SubscriptionID(id), at: worker(of: id)) }
    #expect(mirrors.isEmpty)
  }

  // MARK: pipes

  @Test func aPairHasOnePipeAndNoKeyComesTwice() {
    var pipes = Pipes()
    let key = pipes.key(2, 0)
    #expect(pipes.key(0, 2) == key && pipes.key(1, 2) != key)
    let first = pipes.poll()
    #expect(first.opened.map { [$0.first, $0.second] } == [[0, 2], [1, 2]] && first.closed.isEmpty)
    #expect(pipes.poll().opened.isEmpty, "said once")
    pipes.close { $0 == WorkerPair(0, 2) }
    #expect(pipes.poll().closed == [PipeOrder(key: key, first: 0, second: 2)])
    let again = pipes.key(0, 2)
    #expect(again.value > key.value && pipes.poll().opened.map(\.key) == [again])
    pipes.close { _ in true }
    #expect(pipes.isEmpty && pipes.poll().closed.count == 2)
  }
}
