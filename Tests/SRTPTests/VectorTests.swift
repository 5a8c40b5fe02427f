// Published vectors: RFC 3711 appendix B.2 and B.3, RFC 7714 sections 16 and 17.

import Basics
import Crypto
import IPSecMB
import TestSupport
import Testing

@testable import SRTP

private let keyBytes128 = hex("000102030405060708090a0b0c0d0e0f")
private let keyBytes256 = hex("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f")
private let rtp = hex(
  "8040f17b8041f8d35501a0b247616c6c696120657374206f6d6e69732064697669736120696e207061727465732074726573")
private let rtcp = hex(
  "81c8000d4d6172734e5450314e545032525450200000042a0000e9304c756e61deadbeefdeadbeefdeadbeefdeadbeefdeadbeef")

struct GCMPackets: Sendable {
  let key: [UInt8]
  let srtp: [UInt8]
  let srtcp: [UInt8]
}

@Suite struct VectorTests {
  @Test func keyStreamOfRFC3711AppendixB2() throws {
    let key = hex("2B7E151628AED2A6ABF7158809CF4F3C")
    let salt = wideInteger(hex("F0F1F2F3F4F5F6F7F8F9FAFBFCFD0000"))
    let expected = [
      0x0000: "E03EAD0935C95E80E166B16DD92B4EB4", 0x0001: "D23513162B02D0F72A43A2FE4A5F97AB",
      0x0002: "41E95B3BB0A2E8DD477901E4FCA894C0", 0xfeff: "EC8CDF7398607CB0F2D21675EA9EA1E4",
      0xff00: "362B7C3C6773516318A077D7FC5073AE", 0xff01: "6A2CC3787889374FBEB4C81B17BA6C44",
    ]
    let cipher = try AESCTR(key: key.span)
    var stream = [UInt8](repeating: 0, count: 16 * 0xff02)
    var span = stream.mutableSpan
    try cipher.apply(iv: bigEndianBytes(salt), to: &span, in: 0..<span.count)
    for (counter, block) in expected { #expect(Array(stream[(16 * counter)..<(16 * counter + 16)]) == hex(block)) }
  }

  @Test func keyDerivationOfRFC3711AppendixB3() throws {
    let master = try #require(
      SRTPMasterKey(
        profile: .aes128CMSHA1_80, key: hex("E1F97A0D3E018BE0D64FA32C06DE4139"),
        salt: hex("0EC675AD498AFEEBB6960B3AABE6")))
    let keys = try SessionKeys(master, .rtp)
    #expect(keys.encryption == hex("C61E7A93744F39EE10734AFE3FF7A087"))
    #expect(keys.salt == hex("30CBBC08863D8C85D49DB34A9AE1"))
    #expect(keys.authentication == hex("CEBE321F6FF7716B6FD4AB49AF256A156D38BAA4"))
    let long = try SessionKeys.derive(master, label: 1, length: 94)
    #expect(
      long
        == hex(
          """
          CEBE321F6FF7716B6FD4AB49AF256A156D38BAA48F0A0ACF3C34E2359E6CDBCE
          E049646C43D9327AD175578EF72270986371C10C9A369AC2F94A8C5FBCDDDC25
          6D6E919A48B610EF17C2041E474035766B68642C59BBFC2F34DB60DBDFB2
          """))
  }

  @Test(arguments: [
    GCMPackets(
      key: keyBytes128,
      srtp: hex(
        """
        8040f17b8041f8d35501a0b2f24de3a3fb34de6cacba861c9d7e4bcabe633bd50d294e6f42a5f47a51c7d19b36de3adf8833
        899d7f27beb16a9152cf765ee4390cce
        """),
      srtcp: hex(
        """
        81c8000d4d61727363e94885dcdab67ca727d7662f6b7e997ff5c0f76c06f32dc676a5f1730d6fda4ce09b4686303ded0bb9275b
        c84aa45896cf4d2fc5abf87245d9eade800005d4
        """)),
    GCMPackets(
      key: keyBytes256,
      srtp: hex(
        """
        8040f17b8041f8d35501a0b232b1de78a822fe12ef9f78fa332e33aab18012389a58e2f3b50b2a0276ffae0f1ba63799b87b
        7aa3db36dfffd6b0f9bb7878d7a76c13
        """),
      srtcp: hex(
        """
        81c8000d4d617273d50ae4d1f5ce5d304ba297e47d470c282c3ece5dbffe0a50a2eaa5c1110555be8415f658c61de0476f1b6fad
        1d1eb30c4446839f57ff6f6cb26ac3be800005d4
        """)),
  ])
  func packetsOfRFC7714(_ vector: GCMPackets) throws {
    try check(vector, AESGCM.self)
    if MultiBufferGCM.isAvailable { try check(vector, MultiBufferGCM.self) }
  }

  private func check<Cipher: GCMCipher & ~Copyable>(_ vector: GCMPackets, _: Cipher.Type) throws {
    // The vectors are about session keys, so they go in below key derivation.
    let keys = SessionKeys(encryption: vector.key, authentication: [], salt: hex("517569642070726f2071756f"))
    let sealer = try GCMTransform<Cipher>(rtp: keys, rtcp: keys, .seal)
    let opener = try GCMTransform<Cipher>(rtp: keys, rtcp: keys, .open)
    let parsed = RTPBounds(rtp.span)
    let bounds = try #require(parsed)
    #expect(bounds.headerLength == 12 && bounds.sequence == 0xf17b && bounds.ssrc == 0x5501_a0b2)

    let sealedRTP = try inPlace(rtp) { (span, length) throws(SRTPError) in
      try sealer.sealRTP(&span, bounds, length: length, index: 0xf17b).get()
    }
    #expect(sealedRTP == vector.srtp)
    let openedRTP = try inPlace(sealedRTP) { (span, length) throws(SRTPError) in
      try opener.openRTP(&span, bounds, length: length, index: 0xf17b).get()
    }
    #expect(openedRTP == rtp)

    let sealedRTCP = try inPlace(rtcp) { (span, length) throws(SRTPError) in
      try sealer.sealRTCP(&span, ssrc: 0x4d61_7273, length: length, index: 0x5d4).get()
    }
    #expect(sealedRTCP == vector.srtcp)
    let openedRTCP = try inPlace(sealedRTCP) { (span, length) throws(SRTPError) in
      try opener.openRTCP(&span, ssrc: 0x4d61_7273, length: length, index: 0x5d4).get()
    }
    #expect(openedRTCP == rtcp)
  }
}
