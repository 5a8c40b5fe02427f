// Signatures of tokens, against the examples of the RFCs.

import Foundation
import Testing

@testable import Crypto

@Suite struct SignatureTests {
  /// RFC 7515, appendix A.3.
  private static let p256 = (
    x: "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", y: "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
    message:
      "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ",
    signature: "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"
  )
  /// RFC 8037, appendix A.4.
  private static let ed25519 = (
    x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo", d: "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A",
    message: "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc",
    signature: "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"
  )

  private func bytes(_ text: String) -> [UInt8] {
    let padded = text.replacing("-", with: "+").replacing("_", with: "/")
    let rest = String(repeating: "=", count: (4 - padded.count % 4) % 4)
    return Data(base64Encoded: padded + rest).map { Array($0) } ?? []
  }

  private func pem(_ label: String, _ der: [UInt8]) -> [UInt8] {
    let text = Data(der).base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
    return Array("-----BEGIN \(label)-----\n\(text)\n-----END \(label)-----\n".utf8)
  }

  /// SubjectPublicKeyInfo of P-256 (RFC 5480) and Ed25519 (RFC 8410), and what is in front of an Ed25519 seed.
  private let p256Head: [UInt8] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce,
    0x3d,
    0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04,
  ]
  private let ed25519Head: [UInt8] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00]
  private let seedHead: [UInt8] = [
    0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
  ]

  private func p256Key() throws -> VerifyingKey {
    try VerifyingKey(pem: pem("PUBLIC KEY", p256Head + bytes(Self.p256.x) + bytes(Self.p256.y)))
  }

  private func ed25519Key() throws -> VerifyingKey {
    try VerifyingKey(pem: pem("PUBLIC KEY", ed25519Head + bytes(Self.ed25519.x)))
  }

  @Test func theExamplesOfTheRFCsAreValid() throws {
    let (ec, ed) = (try p256Key(), try ed25519Key())
    #expect(ec.curve == .p256 && ed.curve == .ed25519)
    #expect(ec.isValid(bytes(Self.p256.signature), of: Array(Self.p256.message.utf8)))
    #expect(ed.isValid(bytes(Self.ed25519.signature), of: Array(Self.ed25519.message.utf8)))
  }

  /// Ed25519 signs the same message in the same way always (RFC 8032 §5.1.6).
  @Test func signingMakesTheExample() throws {
    let key = try SigningKey(pem: pem("PRIVATE KEY", seedHead + bytes(Self.ed25519.d)))
    #expect(try key.sign(Array(Self.ed25519.message.utf8)) == bytes(Self.ed25519.signature))
    let own = try VerifyingKey(pem: try key.publicPEM())
    #expect(own.isValid(bytes(Self.ed25519.signature), of: Array(Self.ed25519.message.utf8)))
  }

  @Test func anyOtherBitIsAnotherSignature() throws {
    for (key, signature, message) in [
      (try p256Key(), Self.p256.signature, Self.p256.message),
      (try ed25519Key(), Self.ed25519.signature, Self.ed25519.message),
    ] {
      let (right, text) = (bytes(signature), Array(message.utf8))
      for bit in stride(from: 0, to: 512, by: 7) {
        var wrong = right
        wrong[bit / 8] ^= 1 << UInt8(bit % 8)
        #expect(!key.isValid(wrong, of: text), "bit \(bit)")
      }
      #expect(!key.isValid(right, of: text + [0]))
      for wrong in [[], Array(right.dropLast()), right + [0], [UInt8](repeating: 0, count: 64)] {
        #expect(!key.isValid(wrong, of: text), "\(wrong.count) bytes")
      }
    }
  }

  /// OpenSSL itself speaks DER, which is no signature of a token.
  @Test func aSignatureInDERIsNone() throws {
    let raw = bytes(Self.p256.signature)
    let der: [UInt8] = [0x30, 0x45, 0x02, 0x20] + raw.prefix(32) + [0x02, 0x21, 0x00] + raw.dropFirst(32)
    #expect(!(try p256Key()).isValid(der, of: Array(Self.p256.message.utf8)))
  }

  @Test func whatIsNoKeyIsRefused() throws {
    let empty: [UInt8] = []
    for text in [empty, Array("a secret".utf8), pem("PUBLIC KEY", [1, 2, 3]), pem("CERTIFICATE", p256Head)] {
      #expect(throws: CryptoError.self) { try VerifyingKey(pem: text) }
      #expect(throws: CryptoError.self) { try SigningKey(pem: text) }
    }
    let seed = pem("PRIVATE KEY", seedHead + bytes(Self.ed25519.d))
    #expect(throws: CryptoError.self, "a private key is nothing to verify with") { try VerifyingKey(pem: seed) }
    // X25519 (RFC 8410): the same length as Ed25519, and no signatures.
    var other = ed25519Head
    other[8] = 0x6e
    let agreement = pem("PUBLIC KEY", other + bytes(Self.ed25519.x))
    #expect(throws: CryptoError.unavailable("the key is neither of P-256 nor Ed25519")) {
      try VerifyingKey(pem: agreement)
    }
  }
}
