// Certificate fingerprints for tests in which no certificate is looked at.

import Basics

extension CertificateFingerprint {
  /// A fingerprint of the same byte throughout.
  public static func filled(with byte: UInt8, _ algorithm: Algorithm = .sha256) -> CertificateFingerprint {
    guard
      let made = CertificateFingerprint(
        algorithm: algorithm, bytes: Array(repeating: byte, count: algorithm.length))
    else { preconditionFailure("as many bytes as the algorithm makes") }
    return made
  }
}
