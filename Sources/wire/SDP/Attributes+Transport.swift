// Reads ICE (RFC 8839 §5), DTLS (RFC 8122 §5, RFC 8842) and rtcp-mux attributes.

import Basics

extension TransportAttributes {
  mutating func parse(_ name: String, _ value: Fields) -> AttributeVerdict {
    var value = value
    switch name {
    case "ice-ufrag": return parse(iceText: value, length: 4...256, into: \.iceUfrag)
    case "ice-pwd": return parse(iceText: value, length: 22...256, into: \.icePwd)
    case "ice-options": iceOptions = value.words()
    case "fingerprint": return takeFingerprint(value)
    case "setup":
      guard let role = SetupRole(rawValue: value.text.trimmed.lowercased()) else { return .malformed }
      setup = role
    case "candidate":
      // A candidate of a kind we do not know is to be ignored, not an error (RFC 8839 §5.1).
      guard let candidate = Candidate(value) else { return .unknown }
      candidates.append(candidate)
    case "end-of-candidates": endOfCandidates = true
    case "rtcp-mux": rtcpMux = true
    case "rtcp-mux-only": rtcpMuxOnly = true
    default: return .unknown
    }
    return .taken
  }

  private mutating func parse(
    iceText value: Fields, length: ClosedRange<Int>, into field: WritableKeyPath<TransportAttributes, String?>
  ) -> AttributeVerdict {
    let text = value.text.trimmed
    guard length.contains(text.utf8.count), text.utf8.allSatisfy(\.isICECharacter) else { return .malformed }
    self[keyPath: field] = text
    return .taken
  }

  private mutating func takeFingerprint(_ value: Fields) -> AttributeVerdict {
    var value = value
    guard let name = value.token(), let digest = value.next() else { return .malformed }
    guard CertificateFingerprint.Algorithm(rawValue: name.lowercased()) != nil else { return .unknown }
    let hex = String(decoding: digest, as: UTF8.self)
    guard let fingerprint = CertificateFingerprint(algorithm: name, hex: hex) else { return .malformed }
    guard fingerprints.count < 16 else { return .tooMany }
    fingerprints.append(fingerprint)
    return .taken
  }
}

extension Candidate {
  init?(_ value: Fields) {
    var value = value
    guard let foundation = value.token(), let component = value.number(UInt16.self), let transport = value.token(),
      let priority = value.number(UInt32.self), let address = value.word(), let port = value.number(UInt16.self),
      value.word() == "typ", let type = value.token()
    else { return nil }
    self.init(
      foundation: foundation, component: component, transport: transport, priority: priority, address: address,
      port: port, type: type, extensions: value.text.trimmed)
  }
}

extension UInt8 {
  /// RFC 8839 §5.4: ALPHA, DIGIT, `+` and `/`. Some stacks also put `-` and `_` there, which do no harm.
  var isICECharacter: Bool {
    switch self {
    case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, 0x2b, 0x2f, 0x2d, 0x5f: true
    default: false
    }
  }
}
