// A transport that can vanish: its connection is cut without a goodbye, and no new one is let through.

import Basics
import RoostClient

/// Stands between a session and its transports.
final class Gate: Sendable {
  private struct State {
    var isShut = false
    var transports: [Weak] = []
  }
  private struct Weak {
    weak var transport: (any MessageTransport)?
  }

  private let state = Locked(State())

  /// `factory`, as long as the gate is open.
  func guarding(_ factory: @escaping TransportFactory) -> TransportFactory {
    { (url) throws(RoostError) in
      let transport = try factory(url)
      let isShut = self.state.withLock { state in
        state.transports.removeAll { $0.transport == nil }
        state.transports.append(Weak(transport: transport))
        return state.isShut
      }
      if isShut { throw .unreachable("the participant has vanished") }
      return transport
    }
  }

  /// Cuts what is open and lets nothing more through.
  func shut() {
    let open = state.withLock { state in
      state.isShut = true
      defer { state.transports = [] }
      return state.transports.compactMap(\.transport)
    }
    // No code that a server takes for a goodbye.
    for transport in open { transport.close(code: 4_900, reason: "vanished") }
  }
}
