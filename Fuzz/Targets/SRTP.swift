// SRTP and SRTCP: whatever is not sealed with the key is refused and changes nothing; what is sealed comes out as it was.
import Basics
import SRTP

@Sendable func openSRTP(_ input: Span<UInt8>) {
  var script = Script(input)
  let choice = Int(script.next() ?? 0)
  let profile = SRTPProfile.allCases[choice % SRTPProfile.allCases.count]
  let backend = SRTPBackend.available[choice / 8 % SRTPBackend.available.count]
  let bytes = (0..<32).map(UInt8.init)
  guard
    let key = SRTPMasterKey(
      profile: profile, key: Array(bytes[..<profile.keyLength]), salt: Array(bytes[..<profile.saltLength])),
    let sender = try? SRTPSender(key: key, backend: backend),
    let receiver = try? SRTPReceiver(key: key, backend: backend, maximumStreams: 8)
  else { preconditionFailure("every backend knows every profile") }
  var scene = SRTPScene(sender: sender, receiver: receiver)
  while let step = script.next() {
    let isRTCP = step & 1 != 0
    let mask = step & 2 != 0 ? script.next() ?? 0 : 0
    let packet = script.take(Int(script.next() ?? 0))
    if step & 4 != 0 { scene.open(packet, isRTCP: isRTCP) } else { scene.carry(packet, isRTCP: isRTCP, bending: mask) }
  }
}

private struct SRTPScene: ~Copyable {
  private var sender: SRTPSender
  private var receiver: SRTPReceiver

  init(sender: consuming SRTPSender, receiver: consuming SRTPReceiver) {
    self.sender = sender
    self.receiver = receiver
  }

  /// A packet of a stranger.
  mutating func open(_ packet: [UInt8], isRTCP: Bool) {
    let streams = receiver.streamCount
    precondition(unprotect(packet, isRTCP: isRTCP) == nil, "nothing opens that was not sealed")
    precondition(receiver.streamCount == streams, "a stranger makes us remember nothing")
  }

  /// A packet sealed by the peer; `mask` bends its last byte.
  mutating func carry(_ packet: [UInt8], isRTCP: Bool, bending mask: UInt8) {
    var sealed = packet + [UInt8](repeating: 0, count: 64)
    var span = sealed.mutableSpan
    let length =
      isRTCP
      ? try? sender.protectRTCP(&span, length: packet.count) : try? sender.protectRTP(&span, length: packet.count)
    guard let length else { return }
    sealed.removeLast(sealed.count - length)
    sealed[length - 1] ^= mask
    let opened = unprotect(sealed, isRTCP: isRTCP)
    if mask != 0 { precondition(opened == nil, "a bent packet does not open") }
    if let opened { precondition(opened == packet, "what opens is what was sealed") }
    if opened != nil { precondition(unprotect(sealed, isRTCP: isRTCP) == nil, "nothing opens twice") }
    precondition(receiver.streamCount <= 8)
  }

  private mutating func unprotect(_ packet: [UInt8], isRTCP: Bool) -> [UInt8]? {
    var copy = packet
    var span = copy.mutableSpan
    let length =
      isRTCP
      ? try? receiver.unprotectRTCP(&span, length: packet.count)
      : try? receiver.unprotectRTP(&span, length: packet.count)
    guard let length else { return nil }
    precondition(length <= packet.count)
    return Array(copy[..<length])
  }
}
