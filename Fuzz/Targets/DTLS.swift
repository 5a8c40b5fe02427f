// A DTLS server under a script: datagrams of a real client, delivered, lost, doubled or bent, and datagrams of nobody.
import Basics
import Crypto
import DTLS

@Sendable func runDTLSServer(_ input: Span<UInt8>) {
  guard let certificate, let server = try? DTLSConnection(role: .server, certificate: certificate),
    let client = try? DTLSConnection(role: .client, certificate: certificate)
  else { preconditionFailure("OpenSSL makes certificates and connections") }
  var scene = DTLSScene(server: server, client: client)
  var script = Script(input)
  while !scene.isOver, let step = script.next() {
    switch step & 7 {
    case 0, 1: scene.deliver()
    case 2: scene.lose()
    case 3: scene.deliver(twice: true)
    case 4: scene.deliver(bending: (Int(script.next() ?? 0), script.next() ?? 0))
    case 5: scene.inject(script.take(Int(step >> 3) * 8))
    case 6: scene.wait(TimeDelta.milliseconds(Int(script.next() ?? 0) * 20))
    default: scene.close(client: step & 8 != 0)
    }
  }
  scene.checkKeys()
}

/// One for all inputs: making a key takes longer than a handshake.
private let certificate = try? Certificate(wallMilliseconds: 1_800_000_000_000)

private struct DTLSScene: ~Copyable {
  private var server: DTLSConnection
  private var client: DTLSConnection
  private var now = Instant.zero
  private var toServer: [[UInt8]] = []

  init(server: consuming DTLSConnection, client: consuming DTLSConnection) {
    self.server = server
    self.client = client
    self.client.poll(at: now)
    collect()
  }

  /// Whether the server takes nothing any more: what a longer script says would change nothing.
  var isOver: Bool {
    switch server.state {
    case .failed, .closed: true
    case .handshaking, .connected: false
    }
  }

  /// Carries what the server sends to the client at once, and keeps what the client sends for the script.
  private mutating func collect() {
    var budget = 64
    while let datagram = server.nextDatagram() {
      budget -= 1
      precondition(budget > 0, "one input does not make a server send without end")
      precondition(!datagram.isEmpty && datagram.count <= 1500, "what is sent fits a packet")
      client.handle(datagram.span, at: now)
    }
    while let datagram = client.nextDatagram(), toServer.count < 64 { toServer.append(datagram) }
  }

  mutating func deliver(twice: Bool = false, bending: (at: Int, mask: UInt8)? = nil) {
    guard !toServer.isEmpty else { return }
    var datagram = toServer.removeFirst()
    if let bending { datagram[bending.at % datagram.count] ^= bending.mask }
    for _ in 0..<(twice ? 2 : 1) { server.handle(datagram.span, at: now) }
    collect()
  }

  mutating func lose() {
    if !toServer.isEmpty { toServer.removeFirst() }
  }

  mutating func inject(_ datagram: [UInt8]) {
    server.handle(datagram.span, at: now)
    collect()
  }

  mutating func wait(_ delta: TimeDelta) {
    now += delta
    server.poll(at: now)
    client.poll(at: now)
    precondition(server.nextDeadline > now, "what is done is not due any more")
    collect()
  }

  mutating func close(client closesClient: Bool) {
    if closesClient { client.close() } else { server.close() }
    collect()
  }

  /// Keys never come out for a peer whose certificate nobody announced.
  mutating func checkKeys() {
    precondition((try? server.verifiedKeys(against: [])) == nil)
  }
}
