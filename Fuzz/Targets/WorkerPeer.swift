// A peer of the worker's scene: it checks, shakes hands, seals with its own keys and opens what it is sent.
import Basics
import Crypto
import DTLS
import ICE
import Media
import RTP
import SRTP
import STUN

final class WorkerPeer {
  let key: TransportKey
  let path: Path
  let server: ICECredentials
  let local: ICECredentials
  private(set) var isConnected = false
  /// RTP packets that it was sent, by SSRC.
  private(set) var received: [UInt32: Int] = [:]
  /// Datagrams for the server.
  private var outbox: [[UInt8]] = []
  private var dtls: DTLSConnection
  private var sender: SRTPSender?
  private var receiver: SRTPReceiver?
  private var checks: UInt64 = 0

  init(number: Int, certificate: Certificate) {
    key = TransportKey(UInt64(number) + 1)
    path = Self.path(number)
    server = ICECredentials(ufrag: "server\(number)", password: "serverpassword0000000000\(number)")
    local = ICECredentials(ufrag: "client\(number)", password: "clientpassword0000000000\(number)")
    guard let dtls = try? DTLSConnection(role: .client, certificate: certificate) else {
      preconditionFailure("OpenSSL makes connections")
    }
    self.dtls = dtls
  }

  /// The address of the peer of a number, or of nobody.
  static func path(_ number: Int) -> Path {
    Path(remote: SocketAddress(v4: 0x0a00_0001 + UInt32(number), port: 50_000), socket: 0)
  }

  func check(_ flags: CheckFlags = .nominates) -> [UInt8] {
    checks += 1
    return makeCheck(
      flags, TransactionID(high: UInt32(key.value), low: checks), username: "\(server.ufrag):\(local.ufrag)",
      password: server.password)
  }

  // MARK: the handshake

  func takeOutbox(at now: Instant) -> [[UInt8]] {
    dtls.poll(at: now)
    while let datagram = dtls.nextDatagram() { outbox.append(datagram) }
    defer { outbox = [] }
    return outbox
  }

  private func takeKeys(trusting certificate: Certificate) {
    guard dtls.state == .connected, !isConnected,
      let keys = try? dtls.verifiedKeys(against: [certificate.sha256Fingerprint]),
      let sender = try? SRTPSender(key: keys.local), let receiver = try? SRTPReceiver(key: keys.remote)
    else { return }
    self.sender = consume sender
    self.receiver = consume receiver
    isConnected = true
  }

  // MARK: in and out

  func handle(_ datagram: [UInt8], at now: Instant, trusting certificate: Certificate) {
    switch PacketClass.classify(datagram.span) {
    case .stun: break
    case .dtls:
      dtls.handle(datagram.span, at: now)
      takeKeys(trusting: certificate)
    case .rtp:
      let opened = open(datagram) { receiver, span, length throws(SRTPError) in
        try receiver.unprotectRTP(&span, length: length)
      }
      guard let view = try? PacketView.parse(opened.span) else { preconditionFailure("what is sent can be read") }
      received[view.ssrc, default: 0] += 1
    case .rtcp:
      let opened = open(datagram) { receiver, span, length throws(SRTPError) in
        try receiver.unprotectRTCP(&span, length: length)
      }
      var reader = RTCPReader()
      do { while try reader.next(opened.span) != nil {} } catch { preconditionFailure("what is sent can be read") }
    case .turnChannel, .unknown: preconditionFailure("what is sent is of a protocol")
    }
  }

  private func open(
    _ datagram: [UInt8],
    _ unprotect: (inout SRTPReceiver, inout MutableSpan<UInt8>, Int) throws(SRTPError) -> Int
  ) -> [UInt8] {
    var bytes = datagram
    var span = bytes.mutableSpan
    guard var receiver = receiver.take() else { preconditionFailure("no media before there are keys") }
    do throws(SRTPError) {
      let length = try unprotect(&receiver, &span, datagram.count)
      self.receiver = consume receiver
      bytes.removeLast(bytes.count - length)
      return bytes
    } catch {
      preconditionFailure("what is sent opens, once: \(error)")
    }
  }

  /// Nil for what cannot be sealed: no RTP, or a number that was used.
  func seal(rtp packet: [UInt8]) -> [UInt8]? {
    var bytes = packet + [UInt8](repeating: 0, count: 32)
    var span = bytes.mutableSpan
    guard let length = try? sender?.protectRTP(&span, length: packet.count) else { return nil }
    return Array(bytes[..<length])
  }

  /// Nil for what cannot be sealed.
  func seal(rtcp compound: [UInt8]) -> [UInt8]? {
    var bytes = compound + [UInt8](repeating: 0, count: 32)
    var span = bytes.mutableSpan
    guard let length = try? sender?.protectRTCP(&span, length: compound.count) else { return nil }
    return Array(bytes[..<length])
  }
}
