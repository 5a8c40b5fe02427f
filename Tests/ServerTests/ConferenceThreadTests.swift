// The conference thread between clients and workers: what a worker reports of a subscription reaches the one client it is for.

import Basics
import Calls
import Logging
import Media
import MediaControl
import MediaPeer
import Negotiation
import RoostProtocol
import DoorKit
import TestSupport
import Testing
import Threads

@testable import Members
@testable import Server

/// A running conference, with one worker where nothing else is said, and what has left it.
private final class Stage: Sendable {
  private let conference: ConferenceThread
  private let heard = Locked<[ClientEffect]>([])
  private let told = Locked<[WorkerCommand]>([])
  private let lastRequest = Locked<Int64>(0)
  private let lines = Locked<[String]>([])
  /// What was done for workers, in its order: pipes by their ends, and mirrors and transports by the worker that was told of them.
  private let done = Locked<[String]>([])

  init(workers: Int = 1, spread: RoomSpread = .off) {
    let done = done
    let lines = lines
    var rules = ConferenceRules()
    rules.rooms["demo"] = RoomRules(kind: "demo")
    let (heard, told) = (heard, told)
    let logger = Logger(level: .warning) { line in
      lines.withLock { $0.append(String(decoding: line, as: UTF8.self)) }
    }
    conference = ConferenceThread(
      mailbox: Mailbox(), rules: [.default: rules], restored: [:],
      director: MediaDirector(
        workers: (0..<workers).map { .init(addresses: [SocketAddress(v4: 0x7f00_0001, port: UInt16(40_000 + $0))]) },
        fingerprint: .filled(with: 0x5a), publishOptions: PublishOptions(), spread: spread),
      logger: logger, lines: SessionLines(logger),
      outputs: ConferenceOutputs(
        deliver: { effect in heard.withLock { $0.append(effect) } }, store: { _, _ in }, outside: { _, _ in },
        endNews: {},
        command: { worker, commands in
          told.withLock { $0 += commands }
          let kinds = commands.compactMap { command in
            switch command {
            case .addMirror: "mirror at \(worker)"
            case .closeTransport: "close at \(worker)"
            default: nil
            }
          }
          done.withLock { $0 += kinds }
        },
        openPipe: { pipe in done.withLock { $0.append("join \(pipe.first) \(pipe.second)") } },
        closePipe: { pipe in done.withLock { $0.append("part \(pipe.first) \(pipe.second)") } }, housekeeping: {}))
  }

  func stop() { conference.stop() }

  func logged(_ event: String) -> [String] { lines.withLock { lines in lines.filter { $0.contains(event) } } }

  var commands: [WorkerCommand] { told.withLock { $0 } }
  var steps: [String] { done.withLock { $0 } }

  /// Says hello and takes a seat.
  func seat(_ user: String, on number: UInt64) {
    let identity = Identity(user: user, device: nil, displayName: user, rights: .all, isVerified: false)
    let hello = HelloParams(user: user, deviceId: user)
    conference.mailbox.post(.command(.hello(ConnectionID(number), .number(0), hello, identity)))
    ask(number, .room(.join(RoomJoinParams(room: "demo"))))
  }

  func ask(_ number: UInt64, _ request: Request) {
    let id = lastRequest.withLock { last in
      last += 1
      return last
    }
    conference.mailbox.post(.command(.request(ConnectionID(number), .number(id), request)))
  }

  func report(_ events: [WorkerEvent]) { conference.mailbox.post(.worker(events)) }

  /// Events for a connection, the oldest first.
  func events(on number: UInt64) -> [Event] {
    heard.withLock { $0 }.compactMap {
      if case .event(ConnectionID(number), let message) = $0 { message.event } else { nil }
    }
  }

  func offers(to number: UInt64) -> [SubscribeOffer] {
    events(on: number).compactMap { if case .pcOffer(let offer) = $0 { offer } else { nil } }
  }
}

@Suite(.timeLimit(.minutes(2))) struct ConferenceThreadTests {
  /// Then front doors refuse requests.
  @Test func soManyInputsWaitBeforeRequestsAreRefused() {
    let inbox = ConferenceInbox()
    for _ in 1..<ConferenceInbox.patience { inbox.post(.snapshot { _ in }) }
    #expect(!inbox.isOverloaded)
    inbox.post(.snapshot { _ in })
    #expect(inbox.isOverloaded)
  }

  /// Whoever comes from one address does not fill it by themselves.
  @Test func soManyInputsOfOneAddressAndNoMore() {
    let now = Locked(Instant.zero)
    let inbox = ConferenceInbox(clock: { now.withLock { $0 } })
    let (one, other) = (SocketAddress(v4: 0x0a00_0001, port: 1), SocketAddress(v4: 0x0a00_0002, port: 1))
    for _ in 0..<ConferenceInbox.patienceWithOne { #expect(!inbox.isOverloaded(for: one)) }
    #expect(inbox.isOverloaded(for: one) && !inbox.isOverloaded(for: other) && !inbox.isOverloaded)
    now.withLock { $0 = $0 + .milliseconds(1) }
    #expect(!inbox.isOverloaded(for: one), "two thousand a second")
  }

  /// Anna sends two layers, Bert accepts them; then the worker reports.
  @Test func whatAWorkerReportsOfASubscriptionReachesItsClient() async throws {
    let stage = Stage()
    defer { stage.stop() }
    stage.seat("anna", on: 1)
    stage.seat("bert", on: 2)
    #expect(await eventually { stage.offers(to: 2).count == 1 })
    try answer(stage, stage.offers(to: 2)[0])
    var anna = Browser()
    anna.simulcast("0", ["l", "h"])
    let track = RoostProtocol.AnnouncedTrack(mid: "0", kind: .video, heights: [180, 360], pausesLayers: true)
    stage.ask(1, .peerConnection(.offer(PublishOfferParams(pc: .publish, sdp: anna.offer, tracks: [track]))))
    #expect(await eventually { stage.offers(to: 2).last?.tracks.count == 1 })
    let offer = try #require(stage.offers(to: 2).last)
    let name = try #require(offer.tracks.first?.subscriptionId)
    #expect(stage.commands.consumers.isEmpty)
    try answer(stage, offer)
    #expect(await eventually { stage.commands.consumers.count == 1 })
    let consumer = try #require(stage.commands.consumers.first)

    let update = SubscriptionUpdateParams(subscriptionId: name, priority: 1, maxHeight: 90)
    stage.ask(2, .subscription(.update(update)))
    #expect(await eventually { stage.commands.layers == [nil, 0] && stage.commands.priorities.count == 2 })

    stage.report([
      .consumerStarted(consumer, ProducerKey(0), timestamp: 0), .consumerPaused(consumer, true),
      .consumerPaused(consumer, true),
      .consumerPaused(consumer, false), .consumerLayer(consumer, layer: 1, encoding: 1),
      .consumerPaused(ConsumerKey(999), true),
    ])
    let expected: [Event] = [
      .subscriptionStarted(SubscriptionEvent(subscriptionId: name)),
      .subscriptionPaused(SubscriptionEvent(subscriptionId: name, reason: .bandwidth)),
      .subscriptionResumed(SubscriptionEvent(subscriptionId: name)),
      .subscriptionLayer(SubscriptionEvent(subscriptionId: name, layer: Layer(definition: .high, rid: "h"))),
    ]
    #expect(await eventually { stage.events(on: 2).suffix(expected.count) == expected[...] })
    #expect(!stage.events(on: 1).contains { expected.map(\.name).contains($0.name) })

    #expect(stage.commands.pausing == [true])
    let producer = try #require(stage.commands.producers.first?.key)
    stage.report([.producerLayers(producer, active: [0], encodings: [0])])
    let asked = Event.trackLayers(
      TrackLayersEvent(trackId: "\(TrackID(producer.value))", layers: [0]))
    #expect(await eventually { stage.events(on: 1).last == asked })
    #expect(!stage.events(on: 2).contains(asked))
  }

  /// Anna is at one worker and Bert at the other: they are joined before that one is told of her track, and parted behind Bert's end.
  @Test(arguments: [
    (RoomSpread.always, ["join 0 1", "mirror at 1", "close at 1", "close at 1", "part 0 1"]),
    (.off, ["close at 0", "close at 0"]),
  ])
  func workersAreJoinedBeforeAndPartedBehindWhatTheyAreTold(_ spread: RoomSpread, _ steps: [String]) async throws {
    let stage = Stage(workers: 2, spread: spread)
    defer { stage.stop() }
    stage.seat("anna", on: 1)
    stage.seat("bert", on: 2)
    #expect(await eventually { stage.offers(to: 2).count == 1 })
    try answer(stage, stage.offers(to: 2)[0])
    var anna = Browser()
    anna.video("0")
    let track = RoostProtocol.AnnouncedTrack(mid: "0", kind: .video)
    stage.ask(1, .peerConnection(.offer(PublishOfferParams(pc: .publish, sdp: anna.offer, tracks: [track]))))
    #expect(await eventually { stage.offers(to: 2).last?.tracks.count == 1 })
    try answer(stage, try #require(stage.offers(to: 2).last))
    #expect(await eventually { stage.commands.consumers.count == 1 })
    stage.ask(2, .room(.leave(RoomParams(room: "demo"))))
    #expect(await eventually { stage.commands.closed.count == 2 })
    #expect(await eventually { stage.steps == steps }, "\(stage.steps)")
  }

  /// Whoever sends too much is in the log by name, with the bound and what to do.
  @Test func whoSendsTooMuchIsInTheLog() async throws {
    let stage = Stage()
    defer { stage.stop() }
    stage.seat("anna", on: 1)
    #expect(await eventually { stage.commands.opened.count == 2 })
    let publish = try #require(stage.commands.opened.first)
    stage.report([
      .transportExceeds(publish, .video, bitsPerSecond: 5_000_000),
      .transportExceeds(TransportKey(999), .video, bitsPerSecond: 1),
      .transportExceeds(publish, .control, bitsPerSecond: 8_000_000),
    ])
    #expect(await eventually { stage.logged("publisher_cut").count == 2 })
    let lines = stage.logged("publisher_cut")
    for word in ["anna", "demo", "video", "5000000", "media.max_bitrate"] {
      #expect(lines[0].contains(word), "\(lines)")
    }
    for word in ["anna", "rtcp", "8000000", "media.cut_above"] { #expect(lines[1].contains(word), "\(lines)") }
  }

  private func answer(_ stage: Stage, _ offer: SubscribeOffer) throws {
    let answer = try Browser().answer(offer.sdp)
    stage.ask(2, .peerConnection(.answer(SubscribeAnswerParams(offerId: offer.offerId, sdp: answer))))
  }
}
