// DTLS of a peer whose handshake is done: so much is looked at, and nobody else can use it up.

import Basics
import Crypto
import DTLS
import Testing

struct RecordBoundTests {
  private let network: Network

  init() throws {
    network = try Network()
    #expect(network.run())
  }

  /// Data of the client, each datagram a record.
  private func data(_ count: Int) -> [[UInt8]] { Self.data(count, network) }

  private static func data(_ count: Int, _ network: Network) -> [[UInt8]] {
    (0..<count).flatMap { _ -> [[UInt8]] in
      network.client.connection.write([1, 2, 3].span)
      return network.client.drain()
    }
  }

  /// How many of them the server looked at.
  private func taken(_ datagrams: [[UInt8]], after time: TimeDelta = .zero) -> Int {
    Self.taken(datagrams, network, after: time)
  }

  private static func taken(_ datagrams: [[UInt8]], _ network: Network, after time: TimeDelta = .zero) -> Int {
    datagrams.count { network.server.connection.handle($0.span, at: network.now + time) == .taken }
  }

  @Test func aHundredAreLookedAtAtOnceAndNotOneMore() throws {
    #expect(taken(data(100)) == 100)
    #expect(taken(data(1)) == 0)
    #expect(taken(data(5), after: .milliseconds(51)) == 1, "twenty a second")
    #expect(network.server.state == .connected)
  }

  /// Without the key nobody takes anything of it: neither by forged records nor by copies of real ones.
  @Test func whatIsForgedOrCopiedTakesNothing() throws {
    let real = data(1)
    #expect(taken(real) == 1)
    for number in 0..<2_000 {
      var forged = real[0]
      forged[forged.count - 1] ^= 1
      forged[10] = UInt8(truncatingIfNeeded: number)
      forged[9] = 0x70
      #expect(taken([forged]) == 1 && taken(real) == 1)
    }
    #expect(taken(data(100)) == 99)
  }

  /// The peer's last flight again, in new records, as its answer is lost: each is answered, and takes from the bound.
  @Test func whatIsAnsweredCounts() throws {
    let network = try Network()
    network.passes = { toServer, _ in toServer || network.server.state != .connected }
    #expect(network.run { $0.server.state == .connected })
    _ = network.server.drain()
    var answers: [[UInt8]] = []
    for _ in 0..<5 {
      network.client.poll(at: network.client.nextDeadline)
      for datagram in network.client.drain() { network.server.handle(datagram, at: network.now) }
      let answer = network.server.drain()
      #expect(!answer.isEmpty)
      answers = answer
    }
    for datagram in answers { network.client.handle(datagram, at: network.now) }
    #expect(network.client.state == .connected)
    #expect(Self.taken(Self.data(100, network), network) == 95)
  }

  @Test func closeNotifyIsHeardAllTheSame() throws {
    #expect(taken(data(1_000)) == 100)
    network.client.connection.close()
    let last = network.client.drain()
    #expect(last.count == 1 && taken(last) == 1)
    #expect(network.server.state == .closed)
  }

  /// In plain text, of an old kind or empty: OpenSSL is not asked.
  @Test func whatCanMeanNothingIsNotLookedAt() throws {
    var empty = record(type: 23, number: 900, Array(repeating: 7, count: 24))
    empty[4] = 1
    var change = record(type: 20, number: 901, Array(repeating: 7, count: 25))
    change[4] = 1
    var short = record(type: 22, number: 902, Array(repeating: 7, count: 35))
    short[4] = 1
    let plain = [20, 21, 22, 23].map { record(type: $0, number: 903, Array(repeating: 7, count: 40)) }
    for datagram in plain + [empty, change, short] {
      #expect(network.server.connection.handle(datagram.span, at: network.now) == .ignored)
    }
    #expect(network.server.state == .connected && taken(data(1)) == 1)
  }
}
