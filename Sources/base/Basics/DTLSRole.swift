// Who opens a DTLS association. It lives here because SDP agrees on it and DTLS acts on it.

/// Which side of the handshake we are: a peer that says `a=setup:passive` makes us the client, one that says `active` the
/// server (RFC 8842 §5).
public enum DTLSRole: Hashable, Sendable {
  /// We open the handshake.
  case client
  /// We wait for the ClientHello.
  case server
}
