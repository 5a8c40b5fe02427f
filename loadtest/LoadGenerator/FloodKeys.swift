// Keys of the servers that are flooded with forged tokens. They are no secret: such a server is on loopback, for as long as a measurement.

enum FloodKeys {
  static let secret = "b25seSBmb3IgdGhlIGxvYWQgdGVzdCBvZiByb29zdA"
  static let p256 = """
    -----BEGIN PRIVATE KEY-----
    MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg5CdXI2Lg4CD8Dx/T
    ONTljeW/Hws7xwiQ8rHunjQIIRChRANCAAQpR8F0qq8QNSgBKjajy70Zq7iQxd9D
    frvQROdsw+nsP68EqW4DSf/1+PYQWiJvREzNalL4VdTSHEq9+JfdGIoM
    -----END PRIVATE KEY-----

    """
  static let publicP256 = """
    -----BEGIN PUBLIC KEY-----
    MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEKUfBdKqvEDUoASo2o8u9Gau4kMXf
    Q3670ETnbMPp7D+vBKluA0n/9fj2EFoib0RMzWpS+FXU0hxKvfiX3RiKDA==
    -----END PUBLIC KEY-----

    """
  static let ed25519 = """
    -----BEGIN PRIVATE KEY-----
    MC4CAQAwBQYDK2VwBCIEILyGg78PKm+zrMkruqpqWxPJlgJRUNHOxyQQMnzay4Y2
    -----END PRIVATE KEY-----

    """
  static let publicEd25519 = """
    -----BEGIN PUBLIC KEY-----
    MCowBQYDK2VwAyEACdpO3cec0gtGB8uuN2U4lhVacbHVuwqWudaxRmFhPCI=
    -----END PUBLIC KEY-----

    """
}
