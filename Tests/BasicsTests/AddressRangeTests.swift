import Basics
import Testing

@Suite struct AddressRangeTests {
  private func address(_ host: String) throws -> SocketAddress { try #require(SocketAddress(host: host, port: 7)) }

  @Test(arguments: [
    ("10.0.0.0/8", ["10.0.0.0", "10.255.255.255"], ["9.255.255.255", "11.0.0.0", "::a00:1", "2001:db8::1"]),
    ("127.0.0.1", ["127.0.0.1", "::ffff:127.0.0.1"], ["127.0.0.2", "::1"]),
    ("192.0.2.128/25", ["192.0.2.128", "192.0.2.255"], ["192.0.2.127", "192.0.3.128"]),
    ("128.0.0.0/1", ["128.0.0.0", "255.255.255.255"], ["127.255.255.255", "8000::"]),
    ("2001:db8::/32", ["2001:db8::", "2001:db8:ffff::1"], ["2001:db9::", "192.0.2.1"]),
    ("2001:db8::/64", ["2001:db8::ffff:0:0:1"], ["2001:db8:0:1::"]),
    ("2001:db8:0:0:8000::/65", ["2001:db8::8000:0:0:1"], ["2001:db8::7fff:0:0:1"]),
    ("::1", ["::1"], ["::2", "127.0.0.1"]), ("8000::/1", ["ffff::"], ["7fff::", "127.0.0.1"]),
  ]) func aRangeHasWhatBeginsAlike(text: String, inside: [String], outside: [String]) throws {
    let range = try #require(AddressRange(text))
    for host in inside { #expect(range.contains(try address(host)), "\(host)") }
    for host in outside { #expect(!range.contains(try address(host)), "\(host)") }
    #expect(AddressRange(range.description) == range)
  }

  @Test(arguments: [
    "", "/", "10.0.0.0/", "10.0.0.0/0", "0.0.0.0/0", "::/0", "10.0.0.0/33", "10.0.0.1/8", "10.0.0.0/08", "10.0.0.0/+8",
    "10.0.0.0/8/8", "2001:db8::/129", "2001:db8::1/64", "10.0.0", "localhost", "10.0.0.0/255.0.0.0", "10.0.0.0/-1",
    "2001:db8::/9999999999999999999", " 10.0.0.0/8",
  ]) func anythingElseIsNone(text: String) { #expect(AddressRange(text) == nil) }

  @Test(arguments: [
    ("203.0.113.7", 16, "203.0.0.0/16"), ("203.0.113.7", 32, "203.0.113.7"), ("203.0.113.0/24", 32, "203.0.113.0/24"),
    ("203.0.113.255", 25, "203.0.113.128/25"), ("2001:db8::5", 64, "2001:db8::/64"), ("203.0.113.7", 0, "128.0.0.0/1"),
    ("2001:db8:0:1:8000::/65", 64, "2001:db8:0:1::/64"), ("2001:db8::/32", 64, "2001:db8::/32"),
  ]) func aRangeIsInANetwork(text: String, bits: Int, network: String) throws {
    let range = try #require(AddressRange(text))
    #expect(range.network(bits: bits) == AddressRange(network))
    #expect(range.network(bits: bits).overlaps(range) && range.overlaps(range.network(bits: bits)))
  }

  @Test func othersHaveNothingInCommon() throws {
    let ranges = ["203.0.113.0/24", "203.0.112.0/24", "2001:db8::/64", "2001:db8:0:1::/64"].compactMap {
      AddressRange($0)
    }
    for (index, one) in ranges.enumerated() {
      for (other, two) in ranges.enumerated() { #expect(one.overlaps(two) == (index == other)) }
    }
  }

  /// As limits count them: what a host may take for itself is one.
  @Test func thePeersOfANetworkHaveItsRange() throws {
    let cases: [(String, String?)] = [
      ("203.0.113.7", "203.0.113.7"), ("::ffff:203.0.113.7", "203.0.113.7"), ("2001:db8::5", "2001:db8::/64"),
      ("2001:db8::ffff:0:0:1", "2001:db8::/64"), ("127.0.0.1", "127.0.0.1"), ("::1", nil), ("::", nil),
    ]
    for (host, range) in cases {
      #expect(PeerNetwork(try address(host)).range == range.flatMap { AddressRange($0) }, "\(host)")
    }
    #expect(PeerNetwork(nil).range == nil)
  }
}
