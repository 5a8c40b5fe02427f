// Certificates and their fingerprints (RFC 8122).

import Basics
import Crypto
import Testing

@Suite struct CertificateTests {
  @Test func aCertificateIsKnownByTheHashOfItsDER() throws {
    let certificate = try Certificate(wallMilliseconds: 1_700_000_000_000)
    let digest = sha256(certificate.der)
    #expect(certificate.sha256Fingerprint.bytes == digest)
    #expect(
      certificate.sha256Fingerprint.hex
        == digest.map { ($0 < 16 ? "0" : "") + String($0, radix: 16).uppercased() }
        .joined(separator: ":"))
    let other = try Certificate(wallMilliseconds: 1_700_000_000_000)
    #expect(other.sha256Fingerprint != certificate.sha256Fingerprint)
  }

  @Test func validityBeginsADayBeforeTheGivenTime() throws {
    // 2023-11-14 22:13:20 UTC; DER writes times until 2049 as UTCTime.
    let certificate = try Certificate(wallMilliseconds: 1_700_000_000_000)
    let text = String(decoding: certificate.der, as: UTF8.self)
    #expect(text.contains("231113221320Z"))
    #expect(text.contains("331111221320Z"))
  }

  @Test(arguments: CertificateFingerprint.Algorithm.allCases)
  func textRoundTrip(_ algorithm: CertificateFingerprint.Algorithm) throws {
    let bytes = randomBytes(algorithm.length)
    let fingerprint = try #require(CertificateFingerprint(algorithm: algorithm, bytes: bytes))
    #expect(CertificateFingerprint(fingerprint.description) == fingerprint)
    #expect(CertificateFingerprint(fingerprint.description.lowercased()) == fingerprint)
    #expect(CertificateFingerprint(algorithm: algorithm.rawValue.uppercased(), hex: fingerprint.hex) == fingerprint)
  }

  @Test(arguments: [
    "", "sha-1", "sha-1 ", "md5 00:11", "sha-1 00",
    "sha-256 00:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF:00:11:22:33",
    "sha-1 00:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF:00:11:22:3G",
    "sha-1 00:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF:00:11:22:3",
    "sha-1 00-11-22-33-44-55-66-77-88-99-AA-BB-CC-DD-EE-FF-00-11-22-33",
    "sha-1 001:1:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF:00:11:22:33",
    "sha-1 é0:1:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF:00:11:22:33",
  ])
  func textThatIsNoFingerprint(_ text: String) {
    #expect(CertificateFingerprint(text) == nil)
  }

  @Test func algorithmsAreOrderedByStrength() {
    #expect(CertificateFingerprint.Algorithm.allCases.max() == .sha512)
    #expect(CertificateFingerprint.Algorithm.allCases.min() == .sha1)
  }
}
