// What the door keeps: sockets with the sessions of their clients, whose each membership is, and what is left of sockets that broke.
import Basics
import DoorKit
import Members
import Names
import RoostProtocol
import Threads
import WebSockets

extension FlashphonerDoor {
  /// One WebSocket.
  final class Socket: Sendable {
    struct State {
      var session: Session
      var gate: Gate
      var nextPing: Instant
      /// What its tokens have come to.
      var tries = TokenTries()
      /// Whose lines about it are, once they are let in.
      var subject: LineSubject?
      /// Counts what the server tells unasked.
      var lastOperation: UInt64 = 0
      var isClosed = false
    }
    let id: WebSocketID
    let address: SocketAddress?
    let state: Owned<State>

    init(id: WebSocketID, address: SocketAddress?, state: State, thread: DoorThread) {
      (self.id, self.address, self.state) = (id, address, Owned(state, by: thread))
    }

    /// Its address as the log has it.
    var peer: String { address?.description ?? "" }
  }

  /// What is left of a session whose socket broke.
  struct Kept {
    let user: String
    let realm: Realm
    let proofs: [String: String]
    let until: Instant
    /// Whose it is.
    let network: PeerNetwork
  }

  struct Table {
    var sockets: [WebSocketID: Socket] = [:]
    /// Whose a membership is.
    var owners: [UInt64: Socket] = [:]
    /// How many memberships the clients of a network have.
    var ofNetwork: [PeerNetwork: Int] = [:]
    var byToken: [String: Socket] = [:]
    private(set) var kept: [String: Kept] = [:]
    /// How many of them the clients of a network have.
    private(set) var keptOfNetwork: [PeerNetwork: Int] = [:]
    var lastNumber: UInt64 = 0

    /// Keeps what is left of a session, where there is space for it.
    mutating func keep(_ left: Kept, _ token: String) {
      guard kept.count < FlashphonerDoor.mostKept,
        keptOfNetwork[left.network, default: 0] < FlashphonerDoor.mostKeptOfNetwork
      else { return }
      forget(token)
      kept[token] = left
      keptOfNetwork[left.network, default: 0] += 1
    }

    /// It has come back, or may not any more.
    mutating func forget(_ token: String) {
      guard let network = kept.removeValue(forKey: token)?.network else { return }
      keptOfNetwork[network, default: 1] -= 1
      if keptOfNetwork[network] == 0 { keptOfNetwork[network] = nil }
    }

    mutating func disown(_ number: UInt64) {
      guard let socket = owners.removeValue(forKey: number) else { return }
      let network = PeerNetwork(socket.address)
      ofNetwork[network, default: 1] -= 1
      if ofNetwork[network] == 0 { ofNetwork[network] = nil }
    }
  }
}
