// ICE (RFC 8839), DTLS (RFC 8122, 8842) and rtcp-mux (RFC 5761, 8858) attributes of a session or media line.

import Basics

/// What a description says about a transport.
public struct TransportAttributes: Sendable, Hashable {
  /// `a=ice-ufrag`, 4 … 256 ice-chars.
  public var iceUfrag: String?
  /// `a=ice-pwd`, 22 … 256 ice-chars.
  public var icePwd: String?
  /// `a=ice-options` tokens.
  public var iceOptions: [String] = []
  /// `a=fingerprint` lines with a hash function this model knows.
  public var fingerprints: [CertificateFingerprint] = []
  /// `a=setup`.
  public var setup: SetupRole?
  /// `a=candidate` lines.
  public var candidates: [Candidate] = []
  /// `a=end-of-candidates` (RFC 8840).
  public var endOfCandidates = false
  /// `a=rtcp-mux`.
  public var rtcpMux = false
  /// `a=rtcp-mux-only` (RFC 8858).
  public var rtcpMuxOnly = false

  /// Nothing said.
  public init() {}

  /// User name fragment and password; nil unless both are said.
  public var credentials: ICECredentials? {
    guard let iceUfrag, let icePwd else { return nil }
    return ICECredentials(ufrag: iceUfrag, password: icePwd)
  }

  /// These attributes with gaps filled from the session's. Ufrag and pwd go together, and so do fingerprints.
  public func falling(back session: TransportAttributes) -> TransportAttributes {
    var result = self
    if iceUfrag == nil && icePwd == nil {
      result.iceUfrag = session.iceUfrag
      result.icePwd = session.icePwd
    }
    if iceOptions.isEmpty { result.iceOptions = session.iceOptions }
    if fingerprints.isEmpty { result.fingerprints = session.fingerprints }
    if setup == nil { result.setup = session.setup }
    return result
  }
}

/// `a=setup` (RFC 4145, RFC 8842): who opens the DTLS association.
public enum SetupRole: String, Sendable, Hashable, CaseIterable {
  case active, passive, actpass, holdconn
}

/// An `a=candidate` line (RFC 8839 §5.1).
public struct Candidate: Sendable, Hashable {
  /// Candidates from one base and server share it.
  public var foundation: String
  /// 1 for RTP (and RTCP with rtcp-mux), 2 for RTCP.
  public var component: UInt16
  /// `udp` or `tcp`, as written.
  public var transport: String
  /// Higher is better.
  public var priority: UInt32
  /// An IP address or a `.local` name.
  public var address: String
  /// UDP or TCP port.
  public var port: UInt16
  /// `host`, `srflx`, `prflx` or `relay`.
  public var type: String
  /// What follows the type, such as `raddr … rport … generation 0`; empty where there is nothing.
  public var extensions: String

  /// A candidate.
  public init(
    foundation: String, component: UInt16 = 1, transport: String = "udp", priority: UInt32, address: String,
    port: UInt16, type: String = "host", extensions: String = ""
  ) {
    self.foundation = foundation
    self.component = component
    self.transport = transport
    self.priority = priority
    self.address = address
    self.port = port
    self.type = type
    self.extensions = extensions
  }
}
