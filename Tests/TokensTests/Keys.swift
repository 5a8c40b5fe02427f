// Keys of the tests, and tokens of every kind made with them. The keys are nobody's.

import RoostProtocol
import Testing

@testable import Tokens

enum Keys {
  static let secret = Array("0f6e5d4c3b2a19087766554433221100".utf8)

  static let ecPrivate = """
    -----BEGIN PRIVATE KEY-----
    MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgW3pUmKZwxSDyBNsf
    7FaDw+GEI6BMSBOQh9xgw3nXufGhRANCAATT14+066YuMUly0+iLIamXn8+2rkEK
    7KWbkGuuEVo/LKDDU0an/Stvzm4jMvh0JqHBp1XVeb+PnsV3hcSQRrVV
    -----END PRIVATE KEY-----
    """
  static let ecPublic = """
    -----BEGIN PUBLIC KEY-----
    MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE09ePtOumLjFJctPoiyGpl5/Ptq5B
    Cuylm5BrrhFaPyygw1NGp/0rb85uIzL4dCahwadV1Xm/j57Fd4XEkEa1VQ==
    -----END PUBLIC KEY-----
    """
  static let edPrivate = """
    -----BEGIN PRIVATE KEY-----
    MC4CAQAwBQYDK2VwBCIEIIasumo4r6Iu8cUwVK7M/Euv6cqx1JfupaVVRaoWxDj8
    -----END PRIVATE KEY-----
    """
  static let edPublic = """
    -----BEGIN PUBLIC KEY-----
    MCowBQYDK2VwAyEAouRvgE3jbRJp9BRPdjD4/Ikg9iw7xkezHCMwSoKEDL8=
    -----END PUBLIC KEY-----
    """

  /// The keys of a server that takes all three algorithms.
  static func all() throws -> [TokenKey] {
    [
      try TokenKey(id: "hmac", secret: secret), try TokenKey(id: "ec", .es256, publicKey: Array(ecPublic.utf8)),
      try TokenKey(id: "ed", .edDSA, publicKey: Array(edPublic.utf8)),
    ]
  }

  /// Who signs with them.
  static func signers() throws -> [String: TokenSigner] {
    [
      "hmac": TokenSigner(id: "hmac", secret: secret),
      "ec": try TokenSigner(id: "ec", privateKey: Array(ecPrivate.utf8)),
      "ed": try TokenSigner(id: "ed", privateKey: Array(edPrivate.utf8)),
    ]
  }
}

/// The time of the tests, in milliseconds.
let now: Int64 = 1_795_000_000_000
/// The same in seconds, as tokens have it.
let seconds = now / 1000

/// A token that the secret has signed, with any header and claims.
func token(
  header: String = #"{"alg":"HS256","kid":"hmac"}"#, _ claims: String, secret: [UInt8] = Keys.secret
) throws -> String {
  try TokenSigner(id: nil, secret: secret).sign(header: Array(header.utf8), payload: Array(claims.utf8))
}

/// Claims that would be believed, with further ones, or other ones.
func claims(_ more: String = "", exp: Int64? = seconds + 3600, grants: String? = #"["join"]"#) -> String {
  let members = [
    #""sub":"anna""#, exp.map { #""exp":\#($0)"# }, grants.map { #""grants":\#($0)"# }, more.isEmpty ? nil : more,
  ]
  return "{" + members.compactMap(\.self).joined(separator: ",") + "}"
}
