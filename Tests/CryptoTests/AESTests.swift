// AES-CTR (NIST SP 800-38A F.5) and AES-GCM (McGrew and Viega's test cases 4 and 16).

import Crypto
import TestSupport
import Testing

private let gcmText = hex(
  """
  d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525
  b16aedf5aa0de657ba637b39
  """)
private let gcmAssociated = hex("feedfacedeadbeeffeedfacedeadbeefabaddad2")
private let gcmNonce: InlineArray<12, UInt8> = [
  0xca, 0xfe, 0xba, 0xbe, 0xfa, 0xce, 0xdb, 0xad, 0xde, 0xca, 0xf8, 0x88,
]

struct GCMVector: Sendable {
  let key: [UInt8]
  let sealed: [UInt8]
}

@Suite struct AESTests {
  @Test(arguments: [
    ("2b7e151628aed2a6abf7158809cf4f3c", "874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff"),
    (
      "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
      "601ec313775789a5b7a7f504bbf3d228f443e3ca4d62b59aca84e990cacaf5c5"
    ),
  ])
  func counterMode(key: String, ciphertext: String) throws {
    let plaintext = hex("6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51")
    // Three bytes that must stay as they are on both sides of the text.
    var bytes = [9, 9, 9] + plaintext + [9, 9, 9]
    let keyBytes = hex(key)
    let cipher = try AESCTR(key: keyBytes.span)
    let iv = InlineArray<16, UInt8> { 0xf0 + UInt8($0) }
    var span = bytes.mutableSpan
    try cipher.apply(iv: iv, to: &span, in: 3..<35)
    #expect(bytes == [9, 9, 9] + hex(ciphertext) + [9, 9, 9])
    var again = bytes.mutableSpan
    try cipher.apply(iv: iv, to: &again, in: 3..<35)
    #expect(bytes == [9, 9, 9] + plaintext + [9, 9, 9])
  }

  static let gcmVectors = [
    GCMVector(
      key: hex("feffe9928665731c6d6a8f9467308308"),
      sealed: hex(
        """
        42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e21d514b25466931c7d8f6a5aac84aa05
        1ba30b396a0aac973d58e0915bc94fbc3221a5db94fae95ae7121a47
        """)),
    GCMVector(
      key: hex("feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308"),
      sealed: hex(
        """
        522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838
        c5f61e6393ba7a0abcc9f66276fc6ece0f4e1768cddf8853bb2d551b
        """)),
  ]

  @Test(arguments: gcmVectors, [false, true])
  func galoisCounterMode(_ vector: GCMVector, splitAssociatedData: Bool) throws {
    // Associated data before the text, or its last four bytes after the tag.
    let head = splitAssociatedData ? 16 : 20
    let end = head + gcmText.count
    let tail = Array(gcmAssociated[head...])
    let trailer = (end + 16)..<(end + 16 + tail.count)
    let plain = gcmAssociated[..<head] + gcmText
    var bytes = plain + repeated(0, 16) + tail
    let sealer = try AESGCM(key: vector.key.span, direction: .seal)
    var span = bytes.mutableSpan
    try sealer.seal(nonce: gcmNonce, &span, plaintext: head..<end, associated: 0..<head, trailer: trailer)
    #expect(Array(bytes[head..<(end + 16)]) == vector.sealed)

    let opener = try AESGCM(key: vector.key.span, direction: .open)
    for position in bytes.indices {
      var forged = bytes
      forged[position] ^= 1
      var span = forged.mutableSpan
      let opened = try opener.open(
        nonce: gcmNonce, &span, ciphertext: head..<end, associated: 0..<head, trailer: trailer)
      #expect(!opened)
    }
    var copy = bytes.mutableSpan
    let opened = try opener.open(nonce: gcmNonce, &copy, ciphertext: head..<end, associated: 0..<head, trailer: trailer)
    #expect(opened)
    #expect(bytes[..<end] == plain)
  }

  @Test func wrongLengthsAndDirectionsAreRefused() throws {
    let (odd, good) = (repeated(0, 15), repeated(0, 16))
    #expect(throws: CryptoError.wrongLength) { _ = try AESCTR(key: odd.span) }
    #expect(throws: CryptoError.wrongLength) { _ = try AESGCM(key: odd.span, direction: .seal) }
    // No room for the tag; a sealer that should open; a range beyond the end.
    #expect(throws: CryptoError.wrongLength) {
      let sealer = try AESGCM(key: good.span, direction: .seal)
      var bytes = repeated(0, 20)
      var span = bytes.mutableSpan
      try sealer.seal(nonce: gcmNonce, &span, plaintext: 0..<5, associated: 0..<0)
    }
    #expect(throws: CryptoError.wrongLength) {
      let sealer = try AESGCM(key: good.span, direction: .seal)
      var bytes = repeated(0, 20)
      var span = bytes.mutableSpan
      _ = try sealer.open(nonce: gcmNonce, &span, ciphertext: 0..<4, associated: 0..<0)
    }
    #expect(throws: CryptoError.wrongLength) {
      let cipher = try AESCTR(key: good.span)
      var bytes = repeated(0, 20)
      var span = bytes.mutableSpan
      try cipher.apply(iv: InlineArray(repeating: 0), to: &span, in: 0..<21)
    }
  }
}
