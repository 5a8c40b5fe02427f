// What the control plane's commands change of subscriptions. Keys become handles before (WorkerState+Commands), and what has to be known of
// an end is said in values. Those that return true need a keyframe, which their clients have to answer for.

import Basics
import Forwarding
import RTP

extension Forwarder {
  /// Adds a subscription that is sent nothing yet; `layer` as with `WorkerCommand.setLayer`, `earlier` packets go along with each of sound.
  mutating func addConsumer(
    _ key: ConsumerKey, to destination: Destination, _ new: Consumer, paused: Bool, layer: Int?, earlier: Int
  ) -> ConsumerID {
    var consumer = new
    consumer.setPaused(paused)
    consumer.setRedundancy(earlier)
    return consumers.insert(
      ConsumerSlot(
        destination: destination, wishedLayer: Self.wish(layer), wishesPause: paused, consumer: consumer, key: key))
  }

  /// Takes what the subscriber agreed to in a later answer; false when its stream cannot go on so.
  mutating func updateConsumer(_ id: ConsumerID, _ parameters: SendParameters) -> Bool {
    consumers[id].consumer.update(parameters)
  }

  /// True where it is sent something from now on.
  mutating func setPaused(_ id: ConsumerID, _ paused: Bool) -> Bool {
    consumers[id].wishesPause = paused
    consumers[id].consumer.setPaused(consumers[id].isStopped)
    return !consumers[id].isStopped
  }

  /// False where there is no such subscription.
  mutating func setPriority(of id: ConsumerID?, _ priority: Int) -> Bool {
    guard let id else { return false }
    consumers[id].priority = priority
    return true
  }

  mutating func setLayer(_ id: ConsumerID, _ layer: Int?, _ tracks: borrowing Tracks) -> Bool {
    consumers[id].wishedLayer = Self.wish(layer)
    return aim(id, tracks)
  }

  static func wish(_ layer: Int?) -> Int8 { layer.map { Int8(clamping: max($0, 0)) } ?? -1 }

  // MARK: what a subscription is sent

  /// A consumer has what follows its track begin anew: it is sent nothing until `begin` says what.
  mutating func leave(_ id: ConsumerID) {
    consumers[id].producer = nil
    consumers[id].consumer.changeStream(target: 0)
    // Who is told of layers is told of the new track's, and when it begins.
    consumers[id].toldLayer = -1
    consumers[id].wait = MediaWait()
  }

  /// Has a consumer sent a track. `isLimited` says that the way to its end has shown a limit: there what is new begins with the lowest
  /// layer, until layers are chosen again.
  mutating func begin(
    _ id: ConsumerID, _ producer: ProducerID, isLimited: Bool, _ tracks: borrowing Tracks
  ) -> Bool {
    consumers[id].producer = producer
    consumers[id].ceiling = isLimited ? tracks.producers[producer].lowestStep : .top
    let wished = tracks.producers[producer].layer(wished: consumers[id].wishedLayer)
    consumers[id].consumer.target = min(wished, consumers[id].ceiling.layer)
    consumers[id].consumer.limit = consumers[id].ceiling.limit
    return consumers[id].consumer.awaitsKeyframe
  }
}
