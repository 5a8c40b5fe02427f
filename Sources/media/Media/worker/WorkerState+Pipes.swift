// The two ends of a pipe in a worker's state: what it brings, and what the other end asks for. `Pipe` has the drawing.

import Basics
import Forwarding
import RTP

extension WorkerState {
  /// Hands over what waits to cross a pipe. Whether something still waits, since the sink did not take it.
  @discardableResult
  public mutating func drainPipe<Sink: PipeSink & ~Copyable>(_ key: PipeKey, into sink: inout Sink) -> Bool {
    directory.pipes[key].map { ends.pipes[$0].drain(into: &sink) } ?? false
  }

  /// Adds a track that comes over a pipe, to a room that has somebody in it.
  mutating func addMirror(
    _ key: ProducerKey, through pipe: PipeKey, _ parameters: ReceiveParameters, publisher: Publisher, room: RoomKey
  ) -> Bool {
    // Which layers are wanted is said by a bit for each.
    guard let pipe = directory.pipes[pipe], let room = directory.rooms[room], directory.producers[key] == nil,
      (1...UInt8.bitWidth).contains(parameters.encodings.count)
    else { return false }
    let id = tracks.addProducer(
      key, parameters, publisher: publisher, from: .pipe(pipe, publisher: publisher.key), room: room
    ).producer
    directory.producers[key] = id
    tracks.rooms[room].holders += 1
    tracks.producers[id].asked = PublisherLayers(mirrored: parameters.encodings.count, at: turn.now)
    // Nothing of it is wanted yet, and the answer says what there is.
    if parameters.encodings.count > 1 { ends.pipes[pipe].say(.layers(key, wanted: 0)) }
    return true
  }

  /// Takes in a packet that has crossed a pipe, with the bytes of its descriptor and its payload.
  public mutating func receive(_ piped: PipedPacket, _ bytes: Span<UInt8>, through key: PipeKey, at now: Instant) {
    begin(at: now)
    // As a datagram would, it wakes the worker. What comes in one turn does so once.
    egress.coalescing.arrived(at: now)
    counted.crossed &+= 1
    guard let pipe = directory.pipes[key], let producer = directory.producers[piped.track],
      case .pipe(pipe, _) = tracks.producers[producer].source,
      tracks.producers[producer].declared.indices.contains(piped.place),
      (0...PacketCache.longestPayload).contains(bytes.count - piped.descriptorLength), piped.descriptorLength >= 0
    else { return turn.drop(.unknownStream) }
    guard bytes.count - piped.descriptorLength == Int(piped.packet.length) else { return turn.drop(.malformed) }
    let encoding = tracks.producers[producer].declared[piped.place]
    let kind = tracks.producers[producer].kind
    var report: PipedReport?
    if tracks.encodings[encoding].encoding.ssrc != piped.stream {
      report = ends.pipes[pipe].takeReport(of: piped)
      if tracks.encodings[encoding].begin(piped.stream) { turn.restart(encoding) }
      followWishes()
    }
    bytes.withUnsafeBufferPointer {
      let stored = tracks.encodings[encoding].store(piped, $0, as: encoding, kind: kind, &turn)
      // Before it is delivered: receivers that change layers are told by it when the picture was taken.
      if let report { tracks.encodings[encoding].take(report) }
      guard let taken = stored else { return }
      for number in taken.putIn {
        guard let set = tracks.putIn(number, before: taken.delivery) else { continue }
        forwarder.deliver(set, &tracks, &ends, &egress, &turn)
      }
      forwarder.deliver(taken.delivery, &tracks, &ends, &egress, &turn)
    }
    tracks.schedule(encoding: encoding, &turn)
    followWishes()
  }

  /// Takes in what the other end of a pipe says.
  public mutating func receive(_ message: PipeMessage, through key: PipeKey, at now: Instant) {
    begin(at: now)
    guard let pipe = directory.pipes[key] else { return }
    switch message {
    case .layers(let track, let wanted):
      // A mirror is no source: there are no loops.
      guard let id = directory.producers[track], !tracks.producers[id].isMirror else { return }
      ends.pipe(wanted, of: track, tracks.producers[id].declared, to: pipe, &tracks.encodings)
      forwarder.askForLayers(of: id, &tracks, &turn)
      _ = tracks.measureLayers(id, at: now)
      if let facts = PipedArrivals(of: id, tracks, at: now) { ends.pipes[pipe].say(.arriving(facts)) }
    case .keyframe(let track, let place):
      guard let id = directory.encoding(at: place, of: track, tracks) else { return }
      guard tracks.producers[tracks.encodings[id].producer].isMuted else { return turn.want(keyframeOf: id) }
      // The mute may be over at the mirror already. Then it is a wish for the first picture.
      for index in tracks.encodings[id].pipes.indices where tracks.encodings[id].pipes[index].pipe == pipe {
        tracks.encodings[id].pipes[index].awaitsKeyframe = true
      }
    case .missing(let track, let place, let numbers):
      guard let id = directory.encoding(at: place, of: track, tracks),
        !tracks.producers[tracks.encodings[id].producer].isMuted
      else { return }
      let newest = tracks.encodings[id].encoding.newest
      for number in numbers {
        let distance = Int64(Int16(bitPattern: UInt16(truncatingIfNeeded: newest) &- number))
        ends.copy(newest - distance, of: id, repeatFor: pipe, &tracks.encodings, &turn)
      }
    case .arriving(let facts):
      guard let id = directory.producers[facts.track], case .pipe(pipe, _) = tracks.producers[id].source else { return }
      tracks.producers[id].take(facts)
      turn.look(at: .arrivals(id), from: now)
    case .report(let report):
      guard let id = directory.encoding(at: report.place, of: report.track, tracks),
        case .pipe(pipe, let publisher) = tracks.encodings[id].source
      else { return }
      ends.pipes[pipe].note(report, of: publisher)
      guard report.stream == tracks.encodings[id].encoding.ssrc else { return ends.pipes[pipe].keep(report) }
      tracks.encodings[id].take(report)
    }
    followWishes()
  }
}
