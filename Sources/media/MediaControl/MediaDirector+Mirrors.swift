// Rooms over several workers: a track that somebody at another worker is sent is brought there by a pipe.
//
//   the first there ─▶ pipe, addMirror, setMuted ─▶ the subscription's own command ─▶ removeProducer of what nobody there is sent any more

import Media
import Members
import RTP

extension MediaDirector {
  /// A subscription at a worker is sent a track from now on, or nothing, by what `body` sends. What it needs comes before. A mirror that nobody
  /// needs any more ends behind, as it would take the consumer along.
  mutating func bring(
    _ track: TrackID?, to id: SubscriptionID, on worker: Int, _ body: (inout MediaDirector) -> Void
  ) {
    let source = track.flatMap { tracks[$0]?.worker }
    // Of a track that is gone the worker hears nothing that it could do: everything stays as it is.
    if track != nil && source == nil { return body(&self) }
    let change = spread.mirrors.show(track, source: source, on: id, at: worker)
    if let name = change.begins, let source, let entry = tracks[name.track], let seat = seats[entry.seat] {
      let key = ProducerKey(name.track.rawValue)
      send(
        .addMirror(
          key, pipe: spread.pipes.key(source, worker), room: Media.RoomKey(seat.room.rawValue),
          parameters: entry.parameters.mirrored, publisher: seat.publisher),
        to: worker)
      if entry.isMuted { send(.setMuted(key, true), to: worker) }
    }
    body(&self)
    if let name = change.ends { send(.removeProducer(ProducerKey(name.track.rawValue)), to: name.worker) }
  }

  /// Tells all workers that have a track: its own first.
  mutating func sendEverywhere(_ command: WorkerCommand, of track: TrackID) {
    guard let source = tracks[track]?.worker else { return }
    for worker in [source] + spread.mirrors.workers(of: track) { send(command, to: worker) }
  }

  /// Pipes that are to be opened before, and closed behind, what `pollCommands` has for workers.
  public mutating func pollPipes() -> (opened: [PipeOrder], closed: [PipeOrder]) { spread.pipes.poll() }
}

extension ReceiveParameters {
  /// The most layers that a track may have which is brought to another worker: a bit for each is said.
  static let mostMirrored = UInt8.bitWidth

  /// Of a track that comes by a pipe. What crosses says itself what it is, and has numbers of its own: those of the publisher's streams may be the
  /// same.
  var mirrored: ReceiveParameters {
    var mirror = ReceiveParameters(
      mid: "", kind: kind, payloads: [], extensions: HeaderExtensionIDs(),
      encodings: encodings.map { EncodingParameters(rid: $0.rid) }, nack: true)
    (mirror.parameterSets, mirror.opus) = (parameterSets, opus)
    return mirror
  }
}
