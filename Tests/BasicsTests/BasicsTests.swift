import Testing

@testable import Basics

@Test func sequenceNumbersCompareOnTheCircle() {
  #expect(UInt16(0).isNewer(than: 65535))
  #expect(!UInt16(65535).isNewer(than: 0))
  #expect(!UInt16(5).isNewer(than: 5))
  #expect(UInt16(2).distance(from: 65534) == 4)
  #expect(UInt32(1).isNewer(than: .max))
}

@Test func unwrapperFollowsWrapsAndReordering() {
  var unwrapper = SequenceUnwrapper()
  #expect([65534, 65535, 0, 65533, 1].map { unwrapper.unwrap($0) } == [65534, 65535, 65536, 65533, 65537])
}

@Test(arguments: [
  ("127.0.0.1", "127.0.0.1"), ("::1", "::1"), ("::", "::"), ("2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"),
  ("fe80::1:2", "fe80::1:2"), ("1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"), ("::ffff:10.1.2.3", "10.1.2.3"),
])
func addressesRoundTrip(text: String, canonical: String) {
  #expect(SocketAddress(host: text, port: 9)?.host == canonical)
}

@Test(arguments: [
  "", "1.2.3", "1.2.3.256", "01.2.3.4", "1:2", ":::", "1::2::3", "12345::", "+1::", "1:2:3:4:5:6:7:8:9", "a.b.c.d",
])
func badAddressesAreRefused(text: String) {
  #expect(SocketAddress(host: text, port: 9) == nil)
}

@Test func staleHandlesFindNothing() {
  var map = SlotMap<Int>(minimumCapacity: 1)
  let a = map.insert(1)
  let b = map.insert(2)
  #expect(map.remove(a) == 1)
  #expect(map.remove(a) == nil)
  let c = map.insert(3)
  #expect(c.index == a.index && c != a)
  #expect(map.pointer(to: a) == nil)
  map.pointer(to: c)?.pointee += 1
  #expect(map[c] == 4 && map.pointer(to: b)?.pointee == 2)
  #expect(map.count == 2)
}

@Test func deadlinesComeOutInOrder() {
  var queue = DeadlineQueue<Int>()
  var random = SystemRandomNumberGenerator()
  let times = (0..<200).map { _ in Int.random(in: 0..<1000, using: &random) }
  for time in times { queue.push(.zero + .milliseconds(time), time) }
  #expect(queue.pop(at: Instant(nanoseconds: -1)) == nil)
  var popped: [Int] = []
  while let time = queue.pop(at: .zero + .milliseconds(500)) { popped.append(time) }
  #expect(popped == times.filter { $0 <= 500 }.sorted())
  while let time = queue.pop(at: .distantFuture) { popped.append(time) }
  #expect(popped == times.sorted())
  #expect(queue.next == .distantFuture)
}
