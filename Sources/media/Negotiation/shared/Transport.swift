// What negotiation says about the transport under the media: ICE credentials, certificates, DTLS roles, candidates.

import Basics
import SDP

/// The server's end of one transport.
public struct LocalTransport: Sendable, Hashable {
  /// Credentials until the first ICE restart.
  public var credentials: ICECredentials
  /// Hash of the server's DTLS certificate.
  public var fingerprint: CertificateFingerprint
  /// Where clients reach the worker's UDP port, best first, addresses of the outside of a NAT included.
  public var addresses: [SocketAddress]

  /// The server's end.
  public init(credentials: ICECredentials, fingerprint: CertificateFingerprint, addresses: [SocketAddress]) {
    self.credentials = credentials
    self.fingerprint = fingerprint
    self.addresses = addresses
  }

  /// Candidates on the line that carries the bundle, and on each other line: raise the second, and the description of a seat
  /// with a hundred lines outgrows a message.
  private static let mostCandidates = (bundle: 32, other: 8)

  /// Transport attributes of one line. Every line has candidates, not only the one that carries the bundle: aiortc waits for
  /// those of each line that it has not bundled yet.
  func attributes(_ credentials: ICECredentials, setup: SetupRole, carriesBundle: Bool) -> TransportAttributes {
    var result = identity(credentials, setup: setup)
    result.candidates = candidates(most: carriesBundle ? Self.mostCandidates.bundle : Self.mostCandidates.other)
    result.endOfCandidates = true
    return result
  }

  /// What a line says that is not used, and stands outside of the bundle: whose transport it would have had. GStreamer refuses a
  /// description in which one line has no credentials, fingerprint or setup.
  func identity(_ credentials: ICECredentials, setup: SetupRole) -> TransportAttributes {
    TransportAttributes(credentials: credentials, fingerprint: fingerprint, setup: setup)
  }

  /// The refusal of an offered line.
  func rejection(of line: MediaDescription, _ credentials: ICECredentials, setup: SetupRole) -> MediaDescription {
    var result = MediaDescription.rejection(of: line)
    result.transport = identity(credentials, setup: setup)
    return result
  }

  /// UDP host candidates of component 1, priorities falling in the order given (RFC 8445 §5.1.2.1: type preference 126).
  private func candidates(most: Int) -> [Candidate] {
    addresses.prefix(most).enumerated().map { index, address in
      let localPreference = 65_535 - UInt32(index)
      return Candidate(
        foundation: String(index + 1), priority: 126 << 24 | localPreference << 8 | 255, address: address.host,
        port: address.port)
    }
  }
}

/// Both ends of a transport as an offer and its answer have agreed on them.
public struct AgreedTransport: Sendable, Hashable {
  /// The server's credentials from now on.
  public var local: ICECredentials
  /// The client's credentials from now on.
  public var remote: ICECredentials
  /// Hashes of the client's certificate, SHA-256 or better; any one that matches will do (RFC 8122 §5).
  public var fingerprints: [CertificateFingerprint]
  /// The server's DTLS role; never changes once agreed on.
  public var role: DTLSRole
  /// Whether this round restarted ICE: both sides' credentials are new, keep the DTLS association.
  public var isICERestart: Bool
  /// The client says neither `ice2` (RFC 8445 §10) nor `renomination`: it may nominate all that it checks.
  public var nominatesAll = false
}

/// The client's end of a transport, as its description says it.
struct RemoteTransport {
  var credentials: ICECredentials
  var fingerprints: [CertificateFingerprint]
  var setup: SetupRole?
  /// As `AgreedTransport.nominatesAll`.
  var nominatesAll: Bool

  /// From the lines of one bundle, the line that carries it first.
  init(_ description: SessionDescription, lines: [MediaDescription], in what: String) throws(NegotiationError) {
    guard !description.isICELite else {
      throw NegotiationError("The \(what) says a=ice-lite; the server is ICE-lite itself, so nobody would check.")
    }
    let candidates = lines.map { description.transport(of: $0) }
    guard let chosen = candidates.first(where: { $0.credentials != nil }), let credentials = chosen.credentials else {
      throw NegotiationError("The \(what) has no a=ice-ufrag and a=ice-pwd.", mid: lines.first?.mid)
    }
    self.credentials = credentials
    fingerprints = chosen.fingerprints.filter { $0.algorithm >= .sha256 }
    setup = chosen.setup
    nominatesAll = !chosen.iceOptions.contains { $0 == "ice2" || $0 == "renomination" }
    guard !fingerprints.isEmpty else {
      throw NegotiationError("The \(what) has no a=fingerprint with SHA-256 or better.", mid: lines.first?.mid)
    }
  }

  /// The certificate of a peer connection never changes: another one means another peer connection.
  func check(against agreed: AgreedTransport?) throws(NegotiationError) {
    guard let agreed, Set(agreed.fingerprints) != Set(fingerprints) else { return }
    var error = NegotiationError(
      "The certificate's fingerprint differs from the one agreed on; a new peer connection needs a new transport.")
    error.isNewPeerConnection = true
    throw error
  }
}
