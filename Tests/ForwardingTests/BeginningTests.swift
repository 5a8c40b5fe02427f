// Where a stream of H264 can begin, packet by packet.

import Basics
import RTP
import Testing

@testable import Forwarding

@Suite struct BeginningTests {
  static let sequenceSet: [UInt8] = [0x67, 0x42, 0xe0, 0x1f, 0xda, 0x01]
  static let otherSequenceSet: [UInt8] = [0x67, 0x42, 0xe0, 0x1f, 0xda, 0x02]
  static let pictureSet: [UInt8] = [0x68, 0xce, 0x3c, 0x80]
  static let both: [UInt8] = [0x78, 0, 6] + sequenceSet + [0, 4] + pictureSet
  static let idr: [UInt8] = [0x65, 0x88, 1, 2]
  static let laterSlice: [UInt8] = [0x65, 0x43, 1, 2]
  static let inter: [UInt8] = [0x41, 0x9a, 1, 2]
  static let intra: [UInt8] = [0x41, 0x88, 1, 2]
  static let recovery: [UInt8] = [0x06, 0x06, 0x01, 0x80]

  /// What was stored, in its order: unit type and whether a stream can begin there.
  private final class Stream {
    private var encoding = Box()
    struct Box: ~Copyable {
      var value = Encoding(
        parameters: EncodingParameters(ssrc: 1), index: 0, kind: .video, clockRate: 90_000, nack: true)
    }
    let codec: CodecProfile
    private(set) var numbers: [Int64] = []
    private(set) var answers: [Encoding.Beginning] = []

    init(_ codec: CodecProfile = .h264ConstrainedBaseline) { self.codec = codec }

    func take(_ number: UInt16, picture: Int, _ payload: [UInt8]) {
      let now = Instant.zero + .milliseconds(33 * picture)
      guard case .new(let unwrapped, _) = encoding.value.accept(sequence: number, isRetransmission: false, at: now),
        let kept = encoding.value.kept(unwrapped),
        let info = PayloadInfo.parse(payload.span, codec: codec, marker: false)
      else { return }
      var packet = StoredPacket(
        sequence: kept, timestamp: UInt32(3_000 * picture), arrival: now, length: UInt16(payload.count), codec: codec,
        marker: false, info: info, audioLevel: nil, orientation: nil)
      let answer = encoding.value.beginning(&packet, payload.span)
      answers.append(answer)
      if case .sets(let count) = answer {
        for number in encoding.value.putSets(before: &packet, count: count) {
          numbers.append(number)
          guard let set = encoding.value.cache.find(number), set.info.startsKeyframe else { continue }
          encoding.value.keyframeArrived(set)
        }
      }
      payload.withUnsafeBytes { encoding.value.cache.insert(packet, payload: $0) }
      numbers.append(packet.sequence)
      if case .at(let first) = answer { encoding.value.begin(at: first) }
      if packet.info.startsKeyframe { encoding.value.keyframeArrived(packet) }
    }

    /// The publisher sends under another SSRC from now on.
    func restart() { _ = encoding.value.follow(ssrc: 2) }

    func know(_ sets: [[UInt8]]) { encoding.value.know(sets) }

    /// The last packet but one: sets that were put before a picture.
    var putIn: [UInt8] { numbers.count < 2 ? [] : body(numbers[numbers.count - 2]) }

    /// What a newcomer is sent, by the first byte of each packet.
    var replay: [UInt8] {
      guard let range = encoding.value.replay(after: .min) else { return [] }
      return range.compactMap { number in
        guard let place = encoding.value.cache.place(of: number) else { return nil }
        let body = encoding.value.cache.body(
          at: place, rewrite: Rewrite(sequence: 0, timestamp: 0, payloadType: 0, pictureIDDelta: 0, tl0Delta: 0))
        return body.first
      }
    }

    func body(_ number: Int64) -> [UInt8] {
      guard let place = encoding.value.cache.place(of: number) else { return [] }
      return Array(
        encoding.value.cache.body(
          at: place, rewrite: Rewrite(sequence: 0, timestamp: 0, payloadType: 0, pictureIDDelta: 0, tl0Delta: 0)))
    }
  }

  @Test func aStreamBeginsWithTheSetsOfItsPicture() {
    let stream = Stream()
    stream.take(1, picture: 0, Self.sequenceSet)
    stream.take(2, picture: 0, Self.pictureSet)
    #expect(stream.replay == [], "sets alone show nothing")
    stream.take(3, picture: 0, Self.idr)
    stream.take(4, picture: 0, Self.laterSlice)
    #expect(stream.answers == [.none, .none, .at(1), .none] && stream.replay == [0x67, 0x68, 0x65, 0x65])
  }

  @Test func setsThatCameBeforeArePutBeforeThePicture() {
    let stream = Stream()
    stream.take(1, picture: 0, Self.both)
    stream.take(2, picture: 0, Self.idr)
    stream.take(3, picture: 5, Self.idr)
    stream.take(4, picture: 6, Self.inter)
    #expect(stream.answers == [.none, .at(1), .sets(1), .none])
    #expect(stream.numbers == [1, 2, 3, 4, 5] && stream.replay == [0x78, 0x65, 0x41])
    #expect(stream.body(3) == Self.both)
  }

  /// In packetization mode 0 each set is a packet (RFC 6184 §6.2). The newest of each number counts.
  @Test func withoutAggregationEachSetIsAPacket() {
    let stream = Stream(.h264MainMode0)
    for (number, payload) in [Self.sequenceSet, Self.pictureSet, Self.idr, Self.otherSequenceSet].enumerated() {
      stream.take(UInt16(number + 1), picture: number == 3 ? 1 : 0, payload)
    }
    stream.take(5, picture: 9, Self.idr)
    #expect(stream.answers.last == .sets(2) && stream.replay == [0x67, 0x68, 0x65])
    #expect(stream.body(5) == Self.otherSequenceSet && stream.body(6) == Self.pictureSet)
  }

  @Test(arguments: [
    // No sets at all; one of the two; a picture that refers to others; an intra picture without sets; a later slice.
    [(0, idr)], [(0, sequenceSet), (0, idr)], [(0, both), (0, inter)], [(0, both), (0, idr), (3, both), (3, inter)],
    [(0, intra)],
  ]) func thatIsNoBeginning(packets: [(picture: Int, payload: [UInt8])]) {
    let stream = Stream()
    let before = packets.count == 4 ? 1 : 0
    for (number, packet) in packets.enumerated() {
      stream.take(UInt16(number + 1), picture: packet.picture, packet.payload)
    }
    #expect(stream.answers.count { $0 != .none } == before)
    #expect(stream.replay.first == (before == 1 ? 0x78 : nil))
  }

  /// Its first slice is missing.
  @Test func aLaterSliceIsNoBeginning() {
    let stream = Stream()
    stream.take(1, picture: 0, Self.both)
    stream.take(3, picture: 1, Self.laterSlice)
    stream.take(4, picture: 1, Self.laterSlice)
    #expect(stream.answers == [.none, .none, .none] && stream.replay == [])
  }

  /// A slice that is encrypted does not say that it is the first; what came before it does.
  @Test(arguments: [false, true]) func anEncryptedSliceMayBeABeginning(isApart: Bool) {
    let stream = Stream()
    stream.take(1, picture: 0, Self.inter)
    stream.take(2, picture: 1, Self.both)
    if isApart { stream.take(3, picture: 1, [0x06, 0x41, 0x41]) }
    stream.take(4 - (isApart ? 0 : 1), picture: 1, Self.laterSlice)
    stream.take(isApart ? 5 : 4, picture: 1, Self.laterSlice)
    stream.take(isApart ? 6 : 5, picture: 9, Self.laterSlice)
    #expect(stream.answers.filter { $0 != .none } == [.at(2), .sets(1)])
  }

  /// Pictures that are no IDR, but that an encoder means as a place to begin.
  @Test(arguments: [[both, intra], [both, recovery, inter], [recovery, both, inter]])
  func thatIsABeginningToo(payloads: [[UInt8]]) {
    let stream = Stream()
    for (number, payload) in payloads.enumerated() { stream.take(UInt16(number + 1), picture: 0, payload) }
    #expect(stream.replay.first == 0x78 && stream.replay.last == payloads.last?.first)
  }

  @Test func setsThatComeLateMakeABeginning() {
    let stream = Stream()
    stream.take(1, picture: 0, Self.sequenceSet)
    stream.take(3, picture: 0, Self.idr)
    stream.take(4, picture: 1, Self.inter)
    #expect(stream.replay == [])
    stream.take(2, picture: 0, Self.pictureSet)
    #expect(stream.answers.last == .at(1) && stream.replay == [0x67, 0x68, 0x65, 0x41])
  }

  /// What comes late lies where it belongs, and no two packets ever have one number: each is sealed under it.
  @Test func numbersAreNeverGivenTwice() {
    let stream = Stream()
    stream.take(1, picture: 0, Self.both)
    stream.take(2, picture: 0, Self.idr)
    var late: [UInt16] = []
    for number in 3..<400 as Range<UInt16> {
      if number % 7 == 0 {
        late.append(number)
      } else {
        stream.take(number, picture: Int(number), number % 5 == 0 ? Self.idr : Self.inter)
      }
      if number % 41 == 0 {
        for one in late { stream.take(one, picture: Int(one), Self.idr) }
        late = []
      }
    }
    #expect(stream.answers.count { $0 == .sets(1) } > 20)
    #expect(Set(stream.numbers).count == stream.numbers.count)
  }

  /// An encoder that restarts under another SSRC may have another resolution: the old sets are not put before its pictures.
  @Test func setsOfTheStreamBeforeAreForgotten() {
    let stream = Stream()
    stream.take(1, picture: 0, Self.both)
    stream.take(2, picture: 0, Self.idr)
    stream.restart()
    stream.take(1, picture: 30, Self.idr)
    #expect(stream.answers.last == Encoding.Beginning.none && stream.replay == [])
    stream.take(2, picture: 31, Self.both)
    stream.take(3, picture: 31, Self.idr)
    #expect(stream.replay == [0x78, 0x65])
  }

  /// What the session description says goes on to hold, but never before what the stream has said since.
  @Test func setsOfTheDescriptionAreKnownAgain() {
    let stream = Stream()
    stream.know([Self.sequenceSet, Self.pictureSet])
    stream.take(1, picture: 0, Self.otherSequenceSet)
    stream.know([Self.sequenceSet, Self.pictureSet])
    stream.take(2, picture: 9, Self.idr)
    #expect(stream.putIn == [0x78, 0, 6] + Self.otherSequenceSet + [0, 4] + Self.pictureSet)
    stream.restart()
    stream.take(1, picture: 30, Self.inter)
    stream.take(2, picture: 31, Self.idr)
    #expect(stream.putIn == Self.both)
  }

  /// A flood of small pictures brings no flood of sets.
  @Test func setsArePutInTenTimesASecondAtMost() {
    let stream = Stream()
    stream.take(1, picture: 0, Self.both)
    for number in 2..<303 as Range<UInt16> { stream.take(number, picture: Int(number), Self.idr) }
    #expect((50...101).contains(stream.answers.count { $0 == .sets(1) }))
  }

  /// An Exp-Golomb code, and ones behind it.
  private static func code(_ number: Int) -> [UInt8] {
    let digits = String(number + 1, radix: 2)
    let bits = String(repeating: "0", count: digits.count - 1) + digits + String(repeating: "1", count: 16)
    return [0, 8].compactMap { UInt8(bits.dropFirst($0).prefix(8), radix: 2) }
  }

  /// Some encoders number their sets on and on: the newest are kept, and what is said again counts as new.
  @Test(arguments: [0, 150]) func theOldestSetsGo(length: Int) {
    let stream = Stream()
    let lasting: [UInt8] = [0x67, 0x42, 0xe0, 0x1f] + Self.code(200)
    var newest: [[UInt8]] = []
    for number in 0..<30 {
      newest = [
        [0x67, 0x42, 0xe0, 0x1f] + Self.code(number) + [UInt8](repeating: 3, count: length),
        [0x68] + Self.code(number) + [UInt8](repeating: 3, count: length),
      ]
      for (index, set) in (newest + [lasting]).enumerated() {
        stream.take(UInt16(4 * number + index), picture: number, set)
      }
    }
    stream.take(400, picture: 500, Self.idr)
    #expect(stream.answers.last == .sets(1))
    let body = stream.putIn
    #expect(body.count <= 1_024)
    for set in newest + [lasting] {
      #expect(body.indices.contains { body[$0...].starts(with: [0, UInt8(set.count)] + set) }, "\(set)")
    }
  }

  /// A longer version that does not fit takes no other set with it, and the one it replaces goes: it is out of date.
  @Test func aSetThatDoesNotFitTakesNoOtherWithIt() {
    let stream = Stream()
    let other: [UInt8] = [0x68] + Self.code(7)
    for (index, set) in [Self.both, other].enumerated() { stream.take(UInt16(index), picture: 0, set) }
    stream.take(2, picture: 1, other + [UInt8](repeating: 1, count: 1_020))
    stream.take(3, picture: 9, Self.idr)
    #expect(stream.putIn == Self.both)
  }

  /// Sets without end, or longer than a packet, are not kept; what was kept stays good.
  @Test func setsAreBounded() {
    let stream = Stream()
    stream.take(1, picture: 0, Self.both)
    for number in 2..<100 as Range<UInt16> {
      // Numbers of picture sets from 1 on: Exp-Golomb codes of seven bits, and a long one.
      stream.take(number, picture: Int(number), [0x68, 0x08 | UInt8(number & 7), UInt8(number)])
      stream.take(
        number + 200, picture: Int(number), [0x67, 0x42, 0, 0x1f, 0x40] + [UInt8](repeating: 7, count: 1_100))
    }
    stream.take(400, picture: 500, Self.idr)
    #expect(stream.answers.last == .sets(1))
    let body = stream.body(stream.numbers[stream.numbers.count - 2])
    #expect(body.count <= 1_024 && body.starts(with: [0x78, 0, 6] + Self.sequenceSet))
  }
}
