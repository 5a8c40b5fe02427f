// HMAC and hash vectors: RFC 2202, RFC 4231, FIPS 180-4; comparison of secrets; random bytes.

import CAllocationCounter
import Crypto
import TestSupport
import Testing

struct HMACVector: Sendable {
  let key: [UInt8]
  let message: [UInt8]
  let sha1: String
  let sha256: String
}

private let largeKeyMessage = Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8)

@Suite struct HashTests {
  @Test(arguments: [
    HMACVector(
      key: repeated(0x0b, 20), message: Array("Hi There".utf8), sha1: "b617318655057264e28bc0b6fb378c8ef146be00",
      sha256: "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"),
    HMACVector(
      key: Array("Jefe".utf8), message: Array("what do ya want for nothing?".utf8),
      sha1: "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79",
      sha256: "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"),
    HMACVector(
      key: repeated(0xaa, 20), message: repeated(0xdd, 50), sha1: "125d7342b9ac11cd91a39af48aa17b4f63f175d3",
      sha256: "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"),
  ])
  func hmacVectors(_ vector: HMACVector) {
    #expect(hmacSHA1(vector.message, key: vector.key) == hex(vector.sha1))
    #expect(hmacSHA256(vector.message, key: vector.key) == hex(vector.sha256))
  }

  @Test func keysLongerThanABlockAreHashed() {
    #expect(
      hmacSHA1(largeKeyMessage, key: repeated(0xaa, 80))
        == hex("aa4ae5e15272d00e95705637ce8a3b55ed402112"))
    #expect(
      hmacSHA256(largeKeyMessage, key: repeated(0xaa, 131))
        == hex("60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"))
  }

  @Test func aKeptContextGivesTheSameTagForPiecesAndAfterAnUnfinishedMessage() {
    let message = Array(0...255) as [UInt8]
    let key = repeated(7, 30)
    var sha1 = HMACSHA1(key: key.span)
    var sha256 = HMACSHA256(key: key.span)
    let whole = (sha1.authenticate(message.span).array, sha256.authenticate(message.span).array)
    sha1.update(message.span)
    sha1.reset()
    sha256.update(message.span)
    sha256.reset()
    for piece in [0..<1, 1..<64, 64..<64, 64..<256] {
      sha1.update(message.span.extracting(piece))
      sha256.update(message.span.extracting(piece))
    }
    let pieces = (sha1.finish().array, sha256.finish().array)
    #expect(pieces == whole)
    let again = (sha1.authenticate(message.span).array, sha256.authenticate(message.span).array)
    #expect(again == whole)
  }

  @Test func theCounterCountsAllocations() {
    let before = roost_thread_allocations()
    let array = repeated(1, 100 + Int(before % 2))
    let counted = roost_thread_allocations() - before
    #expect(array.count >= 100)
    #expect(counted > 0 || roost_counts_allocations() == 0)
  }

  @Test func aTagAllocatesNothing() {
    let message = repeated(1, 100)
    let key = repeated(7, 20)
    var hmac = HMACSHA1(key: key.span)
    var sum: UInt8 = hmac.authenticate(message.span)[0]
    let before = roost_thread_allocations()
    for _ in 0..<100 { sum &+= hmac.authenticate(message.span)[0] }
    let allocations = roost_thread_allocations() - before
    #expect(allocations == 0)
    // 101 equal tags.
    let first = hmac.authenticate(message.span)[0]
    #expect(sum == 101 &* first)
  }

  @Test func digests() {
    let abc = Array("abc".utf8)
    #expect(sha1(abc) == hex("a9993e364706816aba3e25717850c26c9cd0d89d"))
    #expect(
      sha256(abc) == hex("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"))
    #expect(
      sha256([]) == hex("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"))
  }

  @Test func constantTimeComparison() {
    let a: [UInt8] = [1, 2, 3, 4]
    for (b, same) in [
      ([1, 2, 3, 4], true), ([1, 2, 3, 5], false), ([0, 2, 3, 4], false), ([1, 2, 3], false), ([], false),
    ]
      as [([UInt8], Bool)]
    {
      #expect(equal(a, b) == same)
    }
    #expect(equal([], []))
  }

  @Test func randomBytesDiffer() {
    #expect(randomBytes(32).count == 32)
    #expect(randomBytes(32) != randomBytes(32))
    #expect(randomBytes(0).isEmpty)
    var generator = SecureRandomGenerator()
    #expect(generator.next() != generator.next())
  }
}
