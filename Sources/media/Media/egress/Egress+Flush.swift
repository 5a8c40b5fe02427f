// From the send queue to the sink: the half of a packet's way that costs most. Nothing here allocates once the queues have
// grown to their working size.

import Basics
import Congestion
import Forwarding
import RTP
import SRTP

extension Egress {
  /// When a receiver whose budget is used up is looked at again, whatever the budget says: sooner, and the loop would turn for
  /// nothing; later, and what waits would be forgotten.
  static let soonest = TimeDelta.milliseconds(1), latest = TimeDelta.seconds(1)

  /// How long video waits for its receiver's line. Longer than the pacer takes for all that waits (`Pacer.longestQueue`), or a
  /// keyframe that is large for the line would never leave whole, and be asked for again and again.
  static let longestWait = TimeDelta.milliseconds(2_500)
  /// Packets of video that wait for one receiver at most: others need places in the queue as well. `SendQueue.mayHold` says how many
  /// fewer they are where much waits for others.
  static let mostWaiting = 2_048

  /// What a packet is sealed as, and the length behind the header of the longest packet that may share a run with it.
  struct Cut {
    let kind: PacketKind
    let longest: Int
  }

  /// What leaves for one receiver in one flush.
  struct Departure {
    /// Where it lies in its table, which nobody changes during a flush.
    let transport: UnsafeMutablePointer<Transport>
    let path: Path
    /// What headers say of when they were sent.
    let sendTime: UInt32
    var budget: SendBudget
  }

  /// One pass over the receivers: who is due by `limit` is served.
  struct Pass<Budgets: SendBudgets> {
    let limit: Instant
    /// What headers say of when they were sent.
    let sendTime: UInt32
    let budgets: Budgets
  }

  /// Sends what is due. STUN, DTLS and RTCP go first, and media goes with the same system calls, receiver by receiver. The turn says when
  /// it began; `budgets` how much video may leave for each.
  mutating func flush<Sink: DatagramSink & ~Copyable>(
    _ tracks: inout Tracks, _ forwarder: inout Forwarder, _ ends: inout Ends, into sink: inout Sink,
    _ turn: inout Turn, _ budgets: some SendBudgets = LineBudgets()
  ) {
    let now = turn.now
    turned = now
    flushControl(into: &sink)
    if queue.nextDue <= now || queue.isUnderPressure {
      // Receivers that are due within the slack go along: to wake again for them alone costs more than their packets might gain.
      let limit = queue.isUnderPressure ? Instant.distantFuture : now + coalescing.slack
      let pass = Pass(limit: limit, sendTime: AbsoluteSendTime.value(at: now), budgets: budgets)
      flushMedia(pass, &tracks.encodings, &forwarder.consumers, &ends, into: &sink)
      // Before anything is repeated: what did not leave must not serve as padding.
      if !withdrawn.isEmpty { forwarder.withdraw(takeWithdrawn(), tracks, &turn) }
    }
    if nextProbe <= now { flushPadding(&tracks, &forwarder, &ends, into: &sink) }
    segments.send(into: &sink, report: &counters.report)
  }

  /// Puts STUN, DTLS and RTCP that wait in front of what is sent next.
  private mutating func flushControl<Sink: DatagramSink & ~Copyable>(into sink: inout Sink) {
    if control.isEmpty { return }
    var leaving = ControlQueue()
    swap(&control, &leaving)
    for datagram in leaving.datagrams {
      let isSent = segments.append(
        leaving.bytes.span.extracting(datagram.range), to: datagram.path, sink: &sink, report: &counters.report)
      if !isSent { counters.drops.count(.tooLarge) }
    }
    counters.drops[.sendQueueFull] &+= leaving.lost
    leaving.removeAll()
    swap(&control, &leaving)
  }

  /// Seals what is due.
  private mutating func flushMedia<Sink: DatagramSink & ~Copyable>(
    _ pass: Pass<some SendBudgets>, _ encodings: inout Encodings, _ consumers: inout Consumers, _ ends: inout Ends,
    into sink: inout Sink
  ) {
    var kept = 0
    for index in queue.receivers.indices {
      prefetchReceivers(behind: index, until: pass.limit, &consumers, &ends)
      var receiver = queue.receivers[index]
      guard let chain = ends.chain(of: receiver.destination) else { continue }
      let isServed = receiver.due <= pass.limit
      if isServed {
        receiver.due = flush(receiver.destination, pass, &encodings, &consumers, &ends, into: &sink)
        if receiver.due == .distantFuture { continue }
      }
      queue.receivers[kept] = receiver
      if kept != index || isServed { chain.pointee.position = Int32(kept) }
      kept += 1
    }
    queue.keep(kept)
  }

  /// Sends as much of what waits for a receiver as its budget allows. The rest stays queued in its order. Returns when that is due;
  /// `distantFuture` where nothing is left.
  private mutating func flush<Sink: DatagramSink & ~Copyable>(
    _ receiver: Destination, _ pass: Pass<some SendBudgets>, _ encodings: inout Encodings,
    _ consumers: inout Consumers, _ ends: inout Ends, into sink: inout Sink
  ) -> Instant {
    switch receiver {
    case .transport(let id):
      guard let transport = ends.transports.pointer(to: id) else { return .distantFuture }
      guard let path = transport.pointee.path else {
        discard(&transport.pointee)
        return .distantFuture
      }
      let waiting = transport.pointee.line.isPaced ? queue.bytes(from: transport.pointee.chain.video.first) : 0
      var departure = Departure(
        transport: transport, path: path, sendTime: pass.sendTime,
        budget: pass.budgets.budget(for: &transport.pointee, waiting: waiting, at: turned))
      return flush(&departure, until: pass.limit, &encodings, &consumers, into: &sink)
    }
  }

  private mutating func flush<Sink: DatagramSink & ~Copyable>(
    _ departure: inout Departure, until limit: Instant, _ encodings: inout Encodings, _ consumers: inout Consumers,
    into sink: inout Sink
  ) -> Instant {
    var left = departure.transport.pointee.chain
    departure.transport.pointee.chain = SendChain()
    if departure.transport.pointee.line.isMeasured { release(&departure.transport.pointee.downlink) }
    let budget = departure.budget.bytes
    if departure.budget.isUnlimited {
      sealAll(&left, until: limit, &departure, &encodings, &consumers, into: &sink)
    } else {
      sealPaced(&left, until: limit, &departure, &encodings, &consumers, into: &sink)
    }
    if left.video.first >= 0 && departure.budget.isUsedUp { hold(&left.video, departure.transport) }
    if departure.budget.bytes != budget { departure.transport.pointee.noteSending(at: turned) }
    segments.finish(sink: &sink, report: &counters.report)
    if left.video.first < 0 && left.audio.first < 0 { return .distantFuture }
    return putBack(left, departure)
  }

  /// Seals all video, and the audio that is due at `limit` or leaves with the video for nothing.
  @inline(__always)
  private mutating func sealAll<Sink: DatagramSink & ~Copyable>(
    _ left: inout SendChain, until limit: Instant, _ departure: inout Departure, _ encodings: inout Encodings,
    _ consumers: inout Consumers, into sink: inout Sink
  ) {
    while left.video.first >= 0 {
      sealRun(&left.video.first, .video, &departure, &encodings, &consumers, into: &sink)
    }
    if left.audio.first >= 0 && endsRun(left.audio.first, departure.transport) {
      sealNext(&left.audio.first, Cut(kind: .audio, longest: 0), &departure, &encodings, &consumers, into: &sink)
    }
    if left.audio.first >= 0 && queue.firstDue(from: left.audio.first) <= limit {
      while left.audio.first >= 0 {
        sealRun(&left.audio.first, .audio, &departure, &encodings, &consumers, into: &sink)
      }
    }
  }

  /// Seals the audio that is due, whatever the budget says, and as much video as the budget allows.
  private mutating func sealPaced<Sink: DatagramSink & ~Copyable>(
    _ left: inout SendChain, until limit: Instant, _ departure: inout Departure, _ encodings: inout Encodings,
    _ consumers: inout Consumers, into sink: inout Sink
  ) {
    if left.audio.first >= 0 && queue.firstDue(from: left.audio.first) <= limit {
      while left.audio.first >= 0 {
        sealRun(&left.audio.first, .audio, &departure, &encodings, &consumers, into: &sink)
      }
    }
    if left.video.first >= 0, turned - queue[left.video.first].due > Self.longestWait {
      withdraw(&left.video, &departure.transport.pointee.downlink)
    }
    var run = (count: 0, length: 0)
    while left.video.first >= 0 && !departure.budget.isUsedUp {
      if run.count == 0 { run = queue.run(from: left.video.first) }
      run.count -= 1
      sealNext(
        &left.video.first, Cut(kind: .video, longest: run.count > 0 ? run.length : 0), &departure, &encodings,
        &consumers, into: &sink)
    }
  }

  /// As `withdraw`, between two flushes. Returns the packets that would have been sent for the first time.
  mutating func withdrawVideo(of transport: inout Transport) -> [SendEntry] {
    release(&transport.downlink)
    var line = transport.chain.video
    transport.chain.video = SendChain.Line()
    withdraw(&line, &transport.downlink)
    return takeWithdrawn()
  }

  /// Drops what waits of videos that were just lowered: it is of a layer that the line does not carry, and would hold up the lower one's
  /// keyframe, which is asked for already. Returns the packets that would have been sent for the first time.
  mutating func withdrawLowered(_ consumers: [ConsumerID], of transport: inout Transport) -> [SendEntry] {
    let wasHeld = transport.downlink?.held ?? 0
    release(&transport.downlink)
    let waiting = queue.take(consumers, from: &transport.chain.video)
    for _ in waiting { counters.drops.count(.congested) }
    if wasHeld > 0 { transport.downlink?.held = queue.hold(from: transport.chain.video.first) }
    return waiting.filter { $0.retransmission == nil }
  }

  private mutating func takeWithdrawn() -> [SendEntry] {
    defer { withdrawn.removeAll() }
    return withdrawn
  }

  /// Drops the video that waits for a receiver: what would come so late is worth less than what comes now. Its streams go on at their
  /// next keyframes.
  private mutating func withdraw(_ line: inout SendChain.Line, _ downlink: inout Downlink?) {
    while line.first >= 0 {
      if queue[line.first].retransmission == nil { withdrawn.append(queue[line.first]) }
      counters.drops.count(.congested)
      line.first = queue.free(line.first)
    }
    downlink?.noteChange(at: turned)
  }

  /// Notes what waits of a receiver's video as held back. Where it is more than may be, it is dropped.
  private mutating func hold(
    _ line: inout SendChain.Line, _ transport: UnsafeMutablePointer<Transport>
  ) {
    guard transport.pointee.line.isMeasured else { return }
    let packets = queue.hold(from: line.first)
    if packets <= min(Self.mostWaiting, queue.mayHold(besides: packets)) {
      transport.pointee.downlink?.held = packets
    } else {
      queue.release(packets)
      withdraw(&line, &transport.pointee.downlink)
    }
  }

  /// What is left waits on, in front of what comes. Returns when it is due.
  private mutating func putBack(_ left: SendChain, _ departure: Departure) -> Instant {
    var due = Instant.distantFuture
    if left.video.first >= 0 {
      departure.transport.pointee.chain.video = left.video
      due = queue.firstDue(from: left.video.first)
      if departure.budget.isUsedUp {
        let renewed = turned + min(max(departure.budget.renewedAt - turned, Self.soonest), Self.latest)
        due = max(due, renewed)
      }
    }
    if left.audio.first >= 0 {
      departure.transport.pointee.chain.audio = left.audio
      due = min(due, queue.firstDue(from: left.audio.first))
    }
    return due
  }

  /// Whether a packet would leave with the open run for nothing, as its shorter end. Mutating, though nothing changes: where
  /// the state is borrowed, the compiler (6.3) copies all of it.
  private mutating func endsRun(_ index: Int32, _ transport: UnsafeMutablePointer<Transport>) -> Bool {
    let longest = Int(queue[index].length) + HeaderTemplate.room + transport.pointee.security.rtpOverhead
    return segments.isEnded(by: longest)
  }

  /// Seals packets that may be segments of one send, from `next` on.
  @inline(__always)
  private mutating func sealRun<Sink: DatagramSink & ~Copyable>(
    _ next: inout Int32, _ kind: PacketKind, _ departure: inout Departure, _ encodings: inout Encodings,
    _ consumers: inout Consumers, into sink: inout Sink
  ) {
    var run = queue.run(from: next)
    while run.count > 0 {
      run.count -= 1
      // The last of a run may be shorter than the others.
      sealNext(
        &next, Cut(kind: kind, longest: run.count > 0 ? run.length : 0), &departure, &encodings, &consumers, into: &sink
      )
    }
  }

  /// Seals the packet at `next` into the segment buffer, and moves on to the one behind it.
  private mutating func sealNext<Sink: DatagramSink & ~Copyable>(
    _ next: inout Int32, _ cut: Cut, _ departure: inout Departure, _ encodings: inout Encodings,
    _ consumers: inout Consumers, into sink: inout Sink
  ) {
    if let length = seal(queue[next], cut, departure, &encodings, &consumers) {
      departure.budget.bytes &-= length
      segments.append(length, to: departure.path, sink: &sink, report: &counters.report)
    }
    next = queue.free(next)
  }

  // MARK: prefetching

  /// Prefetches the state of the next receivers while this one's packets are sealed. Of the third that is the transport, which
  /// leads to what waits for the second, which leads to the stream of the first.
  @inline(__always)
  private mutating func prefetchReceivers(
    behind index: Int, until limit: Instant, _ consumers: inout Consumers, _ ends: inout Ends
  ) {
    if isDue(index + 3, by: limit) { ends.prefetchFlush(to: queue.receivers[index + 3].destination) }
    if isDue(index + 2, by: limit), let waiting = firstConsumer(ofReceiver: index + 2, &ends) {
      consumers.prefetch(waiting, bytes: ConsumerSlot.front)
    }
    if isDue(index + 1, by: limit), let waiting = firstConsumer(ofReceiver: index + 1, &ends),
      let slot = consumers.pointer(to: waiting)
    {
      ends.prefetchSealing(of: slot.pointee.consumer.ssrc, to: queue.receivers[index + 1].destination)
    }
  }

  @inline(__always)
  private func isDue(_ index: Int, by limit: Instant) -> Bool {
    index < queue.receivers.count && queue.receivers[index].due <= limit
  }

  /// Whose packet is the first that waits for a receiver; nil where there is none.
  @inline(__always)
  private func firstConsumer(ofReceiver index: Int, _ ends: inout Ends) -> ConsumerID? {
    guard let chain = ends.chain(of: queue.receivers[index].destination)?.pointee else { return nil }
    let first = chain.video.first >= 0 ? chain.video.first : chain.audio.first
    return first >= 0 ? queue[first].consumer : nil
  }

  /// Prefetches the state of what waits behind a packet while that is sealed: the stream of the next one, and what leads to
  /// that of the one after it. A frame's packets are of one stream.
  @inline(__always)
  func prefetchStreams(
    behind entry: SendEntry, _ transport: UnsafeMutablePointer<Transport>, _ consumers: inout Consumers
  ) {
    let next = queue[entry.next].consumer
    if next != entry.consumer, let slot = consumers.pointer(to: next) {
      transport.pointee.security.prefetchStream(slot.pointee.consumer.ssrc)
    }
    let last = queue[entry.next].next
    guard last >= 0 else { return }
    let afterNext = queue[last].consumer
    if afterNext != next { consumers.prefetch(afterNext, bytes: ConsumerSlot.front) }
  }
}

/// Who says how much video may leave for a receiver in a flush.
protocol SendBudgets {
  /// What may leave for it now, while `waiting` bytes of video wait.
  func budget(for transport: inout Transport, waiting: Int, at now: Instant) -> SendBudget
}

/// As the pacer of each line says.
struct LineBudgets: SendBudgets {
  @inline(__always)
  func budget(for transport: inout Transport, waiting: Int, at now: Instant) -> SendBudget {
    transport.sendBudget(at: now, waiting: waiting)
  }
}
