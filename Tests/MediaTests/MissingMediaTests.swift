// Subscriptions of whose track nothing comes: told after the connect timeout, and again when it comes. Whatever may be silent by right is not
// missed.

import Basics
import Forwarding
import RTP
import Testing

@testable import Media

struct MissingMediaTests {
  /// Anna publishes, Bert receives. Looks are a second apart, so what is due after fifteen seconds is told within seventeen.
  private struct Pair {
    let call: Call
    let anna: VirtualPeer
    let bert: VirtualPeer
    let track: ProducerKey
    let consumer: ConsumerKey

    init(
      _ kind: MediaKind, layers: [Int] = [2], paused: Bool = false, muted: Bool = false,
      _ change: (inout PublishedTrack) -> Void = { _ in }
    ) throws {
      call = try Call()
      (anna, bert) = (try call.join("anna"), try call.join("bert"))
      track = call.publish(anna, kind, layers: layers)
      call.track(track, change)
      if muted { call.apply(.setMuted(track, true)) }
      consumer = call.subscribe(bert, to: track, paused: paused)
    }

    /// What was said to be missing of a subscription so far.
    func told(_ key: ConsumerKey? = nil) -> [MissingMedia?] {
      call.events.compactMap {
        if case .consumerMisses(key ?? consumer, _, let missing) = $0.event { .some(missing) } else { nil }
      }
    }
  }

  @Test(arguments: [MediaKind.audio, .video]) func aTrackOfWhichNothingComes(_ kind: MediaKind) throws {
    let pair = try Pair(kind) { $0.isSending = false }
    pair.call.run(.seconds(14))
    #expect(pair.told().isEmpty)
    pair.call.run(.seconds(4))
    #expect(pair.told() == [.nothing])
    pair.call.run(.seconds(120))
    #expect(pair.told() == [.nothing], "said once")
    pair.call.track(pair.track) { $0.isSending = true }
    pair.call.run(.milliseconds(300))
    #expect(pair.told() == [.nothing, nil])
    #expect(pair.call.count { if case .consumerStarted(pair.consumer, _, _) = $0 { true } else { false } } == 1)
    pair.call.run(.seconds(60))
    #expect(pair.told().count == 2 && pair.call.brokenRules() == [])
  }

  /// A publisher whose connection never comes up sends nothing.
  @Test func aPublisherWhoDoesNotComeUp() throws {
    let call = try Call()
    let anna = try call.join("anna") { $0.checksConsent = false }
    let bert = try call.join("bert")
    let consumer = call.subscribe(bert, to: call.publish(anna, .video))
    call.run(.seconds(18))
    #expect(call.count { if case .consumerMisses(consumer, _, .nothing) = $0 { true } else { false } } == 1)
  }

  @Test(arguments: [[2], [1, 2, 4]]) func picturesThatNeverBegin(_ layers: [Int]) throws {
    let pair = try Pair(.video, layers: layers) { track in
      track.obeysKeyframeRequests = false
      for index in track.layers.indices { track.layers[index].wantsKeyframe = false }
    }
    pair.call.run(.seconds(18))
    #expect(pair.told() == [.noKeyframe])
    pair.call.track(pair.track) { track in
      for index in track.layers.indices { track.layers[index].wantsKeyframe = true }
    }
    pair.call.run(.milliseconds(300))
    #expect(pair.told() == [.noKeyframe, nil])
  }

  @Test func whatIsMissingMayBecomeLess() throws {
    let pair = try Pair(.video) { track in
      (track.isSending, track.obeysKeyframeRequests, track.layers[0].wantsKeyframe) = (false, false, false)
    }
    pair.call.run(.seconds(18))
    pair.call.track(pair.track) { $0.isSending = true }
    pair.call.run(.seconds(2))
    #expect(pair.told() == [.nothing, .noKeyframe])
  }

  /// Who comes later than the only keyframe is sent nothing; who was there in time is.
  @Test func whoComesLaterThanTheKeyframe() throws {
    let pair = try Pair(.video)
    pair.call.run(.seconds(1))
    pair.call.track(pair.track) { $0.obeysKeyframeRequests = false }
    pair.call.run(.seconds(60))
    let cleo = try pair.call.join("cleo")
    let late = pair.call.subscribe(cleo, to: pair.track)
    pair.call.run(.seconds(18))
    #expect(pair.told(late) == [.noKeyframe] && pair.told().isEmpty)
  }

  // MARK: what may be silent

  @Test(arguments: [MediaKind.audio, .video]) func aMutedTrackIsNotMissed(_ kind: MediaKind) throws {
    let pair = try Pair(kind, muted: true) { $0.isSending = false }
    pair.call.run(.seconds(60))
    #expect(pair.told().isEmpty)
    // The time begins with the unmute.
    pair.call.apply(.setMuted(pair.track, false))
    pair.call.run(.seconds(14))
    #expect(pair.told().isEmpty)
    pair.call.run(.seconds(4))
    #expect(pair.told() == [.nothing])
    pair.call.apply(.setMuted(pair.track, true))
    pair.call.run(.seconds(2))
    #expect(pair.told() == [.nothing, nil], "nothing is expected any more")
    pair.call.run(.seconds(60))
    #expect(pair.told().count == 2)
  }

  /// Sound that was there once may be silent for as long as it likes, a mute later too.
  @Test func soundMayBeSilent() throws {
    let pair = try Pair(.audio)
    pair.call.run(.seconds(1))
    pair.call.track(pair.track) { $0.isSending = false }
    pair.call.run(.seconds(120))
    for muted in [true, false] { pair.call.apply(.setMuted(pair.track, muted)) }
    pair.call.run(.seconds(60))
    #expect(pair.told().isEmpty)
  }

  /// A screen of which one picture came, and which stands still: nothing is missing, for who comes later neither.
  @Test func aScreenMayStandStill() throws {
    let pair = try Pair(.video)
    while pair.call.stream(pair.consumer)?.frames.isEmpty != false { pair.call.run(.milliseconds(20)) }
    pair.call.track(pair.track) { $0.isSending = false }
    let cleo = try pair.call.join("cleo")
    let late = pair.call.subscribe(cleo, to: pair.track)
    pair.call.run(.seconds(120))
    #expect(pair.told().isEmpty && pair.told(late).isEmpty)
    #expect(pair.call.stream(late)?.packets.isEmpty == false)
  }

  /// After a mute a picture is expected to begin anew.
  @Test func aCameraThatDoesNotComeBack() throws {
    let pair = try Pair(.video)
    pair.call.run(.seconds(2))
    pair.call.apply(.setMuted(pair.track, true))
    pair.call.track(pair.track) { $0.isSending = false }
    pair.call.run(.seconds(60))
    pair.call.apply(.setMuted(pair.track, false))
    pair.call.run(.seconds(18))
    #expect(pair.told() == [.nothing])
    pair.call.track(pair.track) { $0.isSending = true }
    pair.call.run(.milliseconds(300))
    #expect(pair.told() == [.nothing, nil])
    #expect(pair.call.count { if case .consumerStarted(pair.consumer, _, _) = $0 { true } else { false } } == 1)
  }

  @Test func whatIsPausedIsNotMissed() throws {
    let pair = try Pair(.video, paused: true) { $0.isSending = false }
    pair.call.run(.seconds(60))
    #expect(pair.told().isEmpty)
    pair.call.apply(.setPaused(pair.consumer, false))
    pair.call.run(.seconds(18))
    #expect(pair.told() == [.nothing])
    // A pause says nothing of what is missing.
    pair.call.apply(.setPaused(pair.consumer, true))
    pair.call.run(.seconds(30))
    #expect(pair.told() == [.nothing])
  }

  /// Where the receiver is not there nothing can be missing; the time begins when it is.
  @Test func whoCannotBeSentToMissesNothing() throws {
    let call = try Call()
    let anna = try call.join("anna")
    let track = call.publish(anna, .video)
    call.track(track) { $0.isSending = false }
    let bert = try call.join("bert") { $0.shakesHands = false }
    let consumer = call.subscribe(bert, to: track)
    call.run(.seconds(60))
    func told() -> Int { call.count { if case .consumerMisses(consumer, _, _) = $0 { true } else { false } } }
    #expect(told() == 0)
    bert.shakesHands = true
    call.run(.seconds(14))
    #expect(told() == 0)
    call.run(.seconds(4))
    #expect(told() == 1)
  }

  /// In rooms that hear the loudest alone the others are not sent on. They send all the same.
  @Test func whoIsNotAmongTheLoudestIsNotMissed() throws {
    let call = try Call()
    call.loudest = 1
    let (loud, quiet, lena) = (try call.join("loud"), try call.join("quiet"), try call.join("lena"))
    let sounds = [call.publish(loud, .audio), call.publish(quiet, .audio)]
    call.track(sounds[1]) { $0.level = 100 }
    let consumers = sounds.map { call.subscribe(lena, to: $0) }
    call.run(.seconds(60))
    #expect(call.count { if case .consumerMisses = $0 { true } else { false } } == 0)
    #expect(call.stream(consumers[1])?.packets.isEmpty == true)
  }

  /// Encrypted from end to end, its beginnings cannot be read where the codec hides them. What is sent on is not missed.
  @Test func encryptedPicturesThatGoOnAreNotMissed() throws {
    let pair = try Pair(.video) { $0.garbled = 0x88 }
    pair.call.run(.seconds(30))
    let hasCome = pair.call.stream(pair.consumer)?.packets.isEmpty == false
    #expect(pair.told() == (hasCome ? [] : [.noKeyframe]))
  }

  /// Only a lower layer arrives: it is what there is.
  @Test func oneLayerIsEnough() throws {
    let pair = try Pair(.video, layers: [1, 2, 4]) { track in
      for index in 1...2 { track.layers[index].isActive = false }
    }
    pair.call.run(.seconds(30))
    #expect(pair.told().isEmpty && pair.call.stream(pair.consumer)?.packets.isEmpty == false)
  }

  // MARK: views

  /// A view that shows another track waits for that one.
  @Test func aViewWaitsForWhatItShows() throws {
    let pair = try Pair(.video)
    let silent = pair.call.publish(pair.anna, .video)
    pair.call.track(silent) { $0.isSending = false }
    let view = pair.call.subscribe(pair.bert, to: nil)
    pair.call.run(.seconds(30))
    #expect(pair.told(view).isEmpty, "it shows nothing")
    pair.call.apply(.show(view, silent))
    pair.call.run(.seconds(18))
    #expect(pair.told(view) == [.nothing])
    pair.call.apply(.show(view, pair.track))
    pair.call.run(.seconds(20))
    #expect(pair.told(view) == [.nothing], "of another track it is no news")
    pair.call.apply(.show(view, silent))
    pair.call.run(.seconds(18))
    #expect(pair.told(view) == [.nothing, .nothing])
  }
}
