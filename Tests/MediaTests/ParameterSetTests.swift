// Encoders of H264 that send their parameter sets once: whoever comes later sees a picture, and nobody begins with one that cannot be
// decoded alone.

import Basics
import Forwarding
import RTP
import Testing

@testable import Media

struct ParameterSetTests {
  /// Anna sends H264, and Bert has been there from the beginning.
  private func room(
    _ codec: CodecProfile = .h264ConstrainedBaseline, sets: Bool = true, known: [[UInt8]] = []
  ) throws -> (call: Call, anna: ProducerKey, bert: ConsumerKey, cleo: VirtualPeer) {
    let call = try Call(seed: 7)
    let publisher = try call.join("anna")
    let anna = call.publish(publisher, .video, codec: codec)
    call.track(anna) { $0.sendsSets = sets }
    if !known.isEmpty { describe(known, of: anna, call) }
    let bert = call.subscribe(try call.join("bert"), to: anna)
    let cleo = try call.join("cleo")
    call.run(.seconds(2))
    return (call, anna, bert, cleo)
  }

  /// The session description brings sets.
  private func describe(_ sets: [[UInt8]], of anna: ProducerKey, _ call: Call) {
    let layer = call.layers(anna)[0]
    var parameters = ReceiveParameters(
      mid: "0", kind: .video, payloads: Agreed.payloads(Agreed.publisher, .video),
      extensions: Agreed.publisherExtensions,
      encodings: [EncodingParameters(ssrc: layer.ssrc, rtxSSRC: layer.rtxSSRC)], nack: true)
    parameters.parameterSets = sets
    call.apply(.updateProducer(anna, parameters: parameters))
  }

  /// What a stream begins with: packets up to the first with a stamp.
  private func opening(_ stream: ReceivedStream) -> [H264Units] {
    let packets = stream.ordered
    return packets.prefix((packets.firstIndex { $0.stamp != nil } ?? 0) + 1).map(\.info.units)
  }

  @Test func whoComesLaterIsSentTheSetsThatCameOnce() throws {
    let (call, anna, bert, cleo) = try room()
    call.track(anna) { $0.sendsSets = false }
    let late = call.subscribe(cleo, to: anna)
    call.run(.seconds(2))
    let stream = try #require(call.stream(late))
    #expect(opening(stream) == [.sets, [.idr]], "\(opening(stream))")
    #expect(stream.frames.count > 45 && stream.problems == [])
    // Who was there goes on under numbers without a gap.
    let first = try #require(call.stream(bert))
    #expect(first.problems == [] && first.frames.count > 100)
    #expect(call.brokenRules() == [])
  }

  @Test func setsOfTheDescriptionAloneAreEnough() throws {
    let (call, anna, bert, cleo) = try room(sets: false, known: [TestPayload.sequenceSet, TestPayload.pictureSet])
    let late = call.subscribe(cleo, to: anna)
    call.run(.seconds(2))
    for stream in try [bert, late].map({ try #require(call.stream($0)) }) {
      #expect(opening(stream) == [.sets, [.idr]], "\(opening(stream))")
      #expect(stream.frames.count > 45 && stream.problems == [])
    }
  }

  /// In packetization mode 0 each set is a packet. Who waits is sent each once: no number is given twice (RFC 3711 §9.1).
  @Test func setsThatArePutInAreSentOnce() throws {
    let (call, anna, bert, cleo) = try room(.h264MainMode0, sets: false)
    let late = call.subscribe(cleo, to: anna)
    call.run(.seconds(1))
    #expect(call.stream(bert)?.packets.isEmpty == true && call.stream(late)?.packets.isEmpty == true)
    describe([TestPayload.sequenceSet, TestPayload.pictureSet], of: anna, call)
    call.run(.seconds(4))
    for stream in try [bert, late].map({ try #require(call.stream($0)) }) {
      #expect(opening(stream) == [[.sequenceSet], [.pictureSet], [.idr]], "\(opening(stream))")
      #expect(stream.frames.count > 45 && stream.problems == [])
    }
    #expect(call.worker.counters.drops[.sealReplayed] == 0 && call.peers.allSatisfy { $0.replays == 0 })
    #expect(call.brokenRules() == [])
  }

  @Test func aPictureThatCannotBeDecodedAloneIsNoBeginning() throws {
    let (call, anna, bert, _) = try room(sets: false)
    #expect(call.stream(bert)?.packets.isEmpty == true)
    let asked = call.layers(anna)[0].requests
    #expect(asked > 0, "a keyframe is asked for as long as nobody can begin")
    call.track(anna) { $0.sendsSets = true }
    call.run(.seconds(5))
    let stream = try #require(call.stream(bert))
    #expect(stream.frames.count > 25 && stream.problems == [])
  }

  /// The packet with the sets is lost on its way to a receiver, and comes again when it is asked for.
  @Test func setsThatAreLostAreSentAgain() throws {
    let (call, anna, _, cleo) = try room()
    call.track(anna) { $0.sendsSets = false }
    cleo.downlink = .losing(0.3)
    let late = call.subscribe(cleo, to: anna)
    call.run(.seconds(4))
    let stream = try #require(call.stream(late))
    #expect(stream.packets.values.contains { $0.info.units == .sets })
    #expect(stream.frames.count > 60)
    #expect(call.brokenRules() == [])
  }
}
