// What a worker was told, by what it is about.

import Media
import RTP

extension [WorkerCommand] {
  package var opened: [TransportKey] {
    compactMap { if case .openTransport(let key, _, _, _) = $0 { key } else { nil } }
  }
  package var closed: [TransportKey] { compactMap { if case .closeTransport(let key) = $0 { key } else { nil } } }
  package var consumers: [ConsumerKey] {
    compactMap { if case .addConsumer(let key, _, _, _, _, _, _) = $0 { key } else { nil } }
  }
  package var updated: [(key: ConsumerKey, parameters: SendParameters)] {
    compactMap { if case .updateConsumer(let key, let parameters) = $0 { (key, parameters) } else { nil } }
  }
  /// Layers that subscriptions are to be sent, from their beginning or later.
  package var layers: [Int?] {
    compactMap {
      switch $0 {
      case .addConsumer(_, _, _, _, _, let layer, _), .setLayer(_, let layer): .some(layer)
      default: nil
      }
    }
  }
  /// Pauses of subscriptions, from their beginning or later.
  package var pauses: [Bool] {
    compactMap {
      switch $0 {
      case .addConsumer(_, _, _, _, let paused, _, _), .setPaused(_, let paused): paused
      default: nil
      }
    }
  }
  /// Priorities of subscriptions, from their beginning or later.
  package var priorities: [Int] {
    compactMap {
      switch $0 {
      case .addConsumer(_, _, _, _, _, _, let priority), .setPriority(_, let priority): priority
      default: nil
      }
    }
  }
  package var producers: [(key: ProducerKey, transport: TransportKey)] {
    compactMap { if case .addProducer(let key, let transport, _, _, _) = $0 { (key, transport) } else { nil } }
  }
  /// For each producer whether its publisher is told which layers to send.
  package var pausing: [Bool] {
    compactMap { if case .addProducer(_, _, _, _, let pausesLayers) = $0 { pausesLayers } else { nil } }
  }
  package var publishers: [Publisher] {
    compactMap { if case .addProducer(_, _, _, let publisher, _) = $0 { publisher } else { nil } }
  }
  package var removedProducers: [ProducerKey] {
    compactMap { if case .removeProducer(let key) = $0 { key } else { nil } }
  }
  package var removedConsumers: [ConsumerKey] {
    compactMap { if case .removeConsumer(let key) = $0 { key } else { nil } }
  }
  package var swaps: [[ConsumerKey]] { compactMap { if case .swap(let a, let b) = $0 { [a, b] } else { nil } } }
  /// What views are to show: the consumer, its producer, the layer and the priority.
  package var shows: [(key: ConsumerKey, producer: ProducerKey?, layer: Int?, priority: Int)] {
    compactMap {
      guard case .show(let key, let producer, let layer, let priority) = $0 else { return nil }
      return (key, producer, layer, priority)
    }
  }
  package var restarted: [TransportKey] { compactMap { if case .restartICE(let key, _) = $0 { key } else { nil } } }
  package var remotes: [TransportKey] { compactMap { if case .setRemote(let key, _) = $0 { key } else { nil } } }
}
