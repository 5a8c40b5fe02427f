// Runs flows over lines in virtual time. The same seed gives the same run.

import Basics
import Congestion
import NetworkEmulator

/// What happens next.
private enum Event {
  case turn(Int)
  case packet(Int, FlowPacket)
  case feedback(Int, [UInt8])
  case requests(Int, VideoRequests)
  case segment(Int)
  case acknowledgement(Int)
  case competitor
  case sampleLines
  case sampleFlows
}

/// A TCP flow beside the others.
public struct CompetitorOptions: Sendable {
  /// When it begins, in seconds.
  public var start = 0.0

  /// From the start.
  public init() {}
}

/// Flows, lines and the events between them.
public struct Simulation {
  /// A turn of a sender's loop.
  private static let turn = TimeDelta.milliseconds(1)

  private var flows: [Flow]
  private var lines: [Line]
  private var events = DeadlineQueue<Event>()
  private var competitor: CubicFlow?
  private var competitorBytes = 0
  private var lineTraces: [LineTrace]

  /// Flows over lines; line 0 carries packets and line 1 feedback unless a flow says otherwise.
  public init(lines: [LineProfile], flows: [FlowOptions], competitor: CompetitorOptions? = nil, seed: UInt64 = 1) {
    self.lines = lines.enumerated().map { Line($1, seed: seed &* 1_000 + UInt64($0)) }
    self.flows = flows.enumerated().map { Flow($1, seed: seed &* 77 + UInt64($0)) }
    lineTraces = lines.map { _ in LineTrace() }
    for (index, flow) in flows.enumerated() {
      events.push(Instant.zero + .seconds(flow.start) + .microseconds(137 * index), .turn(index))
    }
    if let competitor {
      self.competitor = CubicFlow()
      events.push(Instant.zero + .seconds(competitor.start), .competitor)
    }
    events.push(Instant.zero, .sampleLines)
    events.push(Instant.zero + .seconds(FlowTrace.slot), .sampleFlows)
  }

  /// The result of a run.
  public struct Outcome: Sendable {
    /// One for each flow.
    public var flows: [FlowTrace]
    /// One for each line.
    public var lines: [LineTrace]
    /// Bytes of the competitor that arrived in the second half.
    public var competitorBytes: Int
  }

  /// Runs for `seconds`.
  public mutating func run(seconds: Double) -> Outcome {
    let end = Instant.zero + .seconds(seconds)
    while events.next < end {
      let now = events.next
      guard let event = events.pop(at: now) else { break }
      handle(event, at: now, end)
    }
    var traces = flows.map(\.trace)
    let slots = Int(seconds / FlowTrace.slot)
    for index in traces.indices {
      while traces[index].received.count < slots { traces[index].received.append(0) }
    }
    return Outcome(flows: traces, lines: lineTraces, competitorBytes: competitorBytes)
  }

  private mutating func handle(_ event: Event, at now: Instant, _ end: Instant) {
    switch event {
    case .turn(let index): turn(index, at: now)
    case .packet(let index, let packet): flows[index].receive(packet, at: now)
    case .feedback(let index, let bytes): flows[index].take(bytes, at: now)
    case .requests(let index, let requests): flows[index].take(requests, at: now)
    case .segment(let number):
      events.push(now + .milliseconds(50), .acknowledgement(number))
      if now > Instant.zero + (end - Instant.zero) / 2 { competitorBytes += CubicFlow.segment }
    case .acknowledgement(let number):
      competitor?.acknowledge(number, at: now)
      sendSegments(at: now)
    case .competitor:
      competitor?.poll(at: now)
      sendSegments(at: now)
      events.push(now + .milliseconds(10), .competitor)
    case .sampleLines:
      for index in lines.indices {
        lineTraces[index].queue.append(lines[index].queueing(at: now).seconds)
        lineTraces[index].capacity.append(lines[index].capacity(at: now))
      }
      events.push(now + .seconds(LineTrace.slot), .sampleLines)
    case .sampleFlows:
      for index in flows.indices { flows[index].sample(at: now) }
      events.push(now + .seconds(FlowTrace.slot), .sampleFlows)
    }
  }

  private mutating func turn(_ index: Int, at now: Instant) {
    let options = flows[index].options
    var leaving: [FlowPacket] = []
    flows[index].turn(at: now) { leaving.append($0) }
    for packet in leaving { sendPacket(packet, of: index, options, at: now) }
    flows[index].report(at: now)
    let feedback = flows[index].dueFeedback(at: now)
    if !feedback.isEmpty { sendFeedback(feedback, of: index, options, at: now) }
    let requests = flows[index].dueRequests(at: now)
    if !requests.isEmpty { sendRequests(requests, of: index, options, at: now) }
    events.push(now + Self.turn, .turn(index))
  }

  private mutating func sendRequests(_ requests: VideoRequests, of index: Int, _ options: FlowOptions, at now: Instant)
  {
    guard case .arrives(let at, _) = lines[options.backward].send(60 + 4 * requests.missing.count, at: now) else {
      return
    }
    events.push(at + .seconds(options.extraDelay / 1e3), .requests(index, requests))
  }

  private mutating func sendPacket(_ packet: FlowPacket, of index: Int, _ options: FlowOptions, at now: Instant) {
    let extra = TimeDelta.seconds(options.extraDelay / 1e3)
    switch lines[options.forward].send(packet.size, at: now) {
    case .lost, .dropped: flows[index].trace.missing += 1
    case .arrives(let at, let again):
      events.push(at + extra, .packet(index, packet))
      if let again { events.push(again + extra, .packet(index, packet)) }
    }
  }

  private mutating func sendFeedback(_ bytes: [UInt8], of index: Int, _ options: FlowOptions, at now: Instant) {
    let faults = options.faults
    if let gone = faults.gone, gone.contains((now - .zero).seconds) { return }
    guard case .arrives(let at, let again) = lines[options.backward].send(bytes.count + 60, at: now) else { return }
    let arrival = at + .seconds(options.extraDelay / 1e3)
    events.push(arrival, .feedback(index, bytes))
    if let again { events.push(again, .feedback(index, bytes)) }
    let count = flows[index].feedbacks
    if let every = faults.repeatEvery, count % every == 0 {
      events.push(arrival + .milliseconds(3), .feedback(index, bytes))
    }
    if let every = faults.lateEvery, count % every == 0 {
      events.push(arrival + .seconds(faults.lateBy), .feedback(index, bytes))
    }
  }

  private mutating func sendSegments(at now: Instant) {
    while let allowance = competitor?.allowance, allowance > 0, let number = competitor?.sent(at: now) {
      if case .arrives(let at, _) = lines[0].send(CubicFlow.segment, at: now) { events.push(at, .segment(number)) }
    }
  }
}
