// The whole datagram entry of a live worker under a script: raw bytes, checks, and RTP and RTCP sealed with the keys of somebody
// in the room, from any address, with time between them.
import Basics
import Media
import RTP

@Sendable func runWorker(_ input: Span<UInt8>) {
  let bytes = input.bytes()
  SceneKeeper.run("worker", bytes) { WorkerRun(scene: WorkerScene()) }
}

private final class WorkerRun: KeptScene {
  private let scene: WorkerScene
  /// The numbers of the hostile one's streams.
  private var sequences: [UInt32: UInt16] = [:]
  private var last: (packet: [UInt8], path: Path)?

  init(scene: WorkerScene) { self.scene = scene }

  var isOver: Bool { scene.isOver }

  func run(_ input: [UInt8]) {
    var script = Script(input.span)
    while let step = script.next(), !scene.isOver { take(step, &script) }
    scene.renew()
    (sequences, last) = ([:], nil)
  }

  private func take(_ step: UInt8, _ script: inout Script) {
    switch step & 7 {
    case 0: scene.take(script.take(Int(script.next() ?? 0)), from: path(&script))
    case 1: check(step, &script)
    case 2: sendRTP(step >> 3, &script)
    case 3: send(scene.hostile.seal(rtcp: script.take(Int(script.next() ?? 0))), from: path(&script))
    case 4: sendRTCP(step >> 3, &script)
    case 5: scene.wait(Int(step >> 4) + 1, .milliseconds(step & 8 == 0 ? 20 : 400))
    case 6: flood(Int(step >> 3) * 2)
    default:
      if step == 0xff { scene.renew() } else { scene.command(step >> 3, script.next() ?? 0) }
    }
  }

  /// Mostly the hostile one's own.
  private func path(_ script: inout Script) -> Path { WorkerPeer.path(Int(script.next() ?? 0) & 7) }

  private func check(_ step: UInt8, _ script: inout Script) {
    let flags = CheckFlags(rawValue: script.next() ?? 0)
    let who = step & 8 == 0 ? scene.hostile : scene.newcomer
    scene.take(who.check(flags), from: path(&script), provesPassword: flags.isAuthentic)
  }

  private func send(_ datagram: [UInt8]?, from path: Path) {
    if let datagram { scene.take(datagram, from: path) }
  }

  /// `flags`: 1 with header extensions, 2 the marker, 4 a number left out, 8 bent after sealing, 16 from any address.
  private func sendRTP(_ flags: UInt8, _ script: inout Script) {
    let ssrc = scene.tracks.sending(script.next() ?? 0)
    let payloadType = (script.next() ?? 0) & 0x7f
    let sequence = sequences[ssrc, default: 0xfff0] &+ (flags & 4 != 0 ? UInt16(script.next() ?? 0) : 1)
    sequences[ssrc] = sequence
    var packet = RawPacket.header(
      first: flags & 1 != 0 ? 0x90 : 0x80, second: (flags & 2 != 0 ? 0x80 : 0) | payloadType, sequence,
      UInt32(sequence) &* 960, ssrc)
    if flags & 1 != 0 { packet += extensions(&script) }
    packet += script.take(Int(script.next() ?? 0))
    last = (packet, WorkerPeer.path(0))
    guard var sealed = scene.hostile.seal(rtp: packet) else { return }
    if flags & 8 != 0 { sealed[Int(script.next() ?? 0) % sealed.count] ^= script.next() ?? 0 }
    scene.take(sealed, from: flags & 16 != 0 ? path(&script) : WorkerPeer.path(0))
  }

  /// RFC 8285: elements with a byte or with two before each.
  private func extensions(_ script: inout Script) -> [UInt8] {
    let length = script.next() ?? 0
    let content = script.take(Int(length & 0x7f))
    let padded = content + [UInt8](repeating: 0, count: (4 - content.count % 4) % 4)
    return (length & 0x80 == 0 ? [0xbe, 0xde] : [0x10, 0x00]) + [0, UInt8(padded.count / 4)] + padded
  }

  private static let types: [UInt8] = [200, 201, 202, 203, 204, 205, 206, 207]

  /// A report of nothing, and behind it a packet of a type, about an SSRC.
  private func sendRTCP(_ choice: UInt8, _ script: inout Script) {
    let (format, about) = (script.next() ?? 0, script.next() ?? 0)
    var content = RawPacket.word(scene.tracks.sending(0)) + RawPacket.word(scene.tracks.reported(about))
    // Receiver estimates name their streams behind a word of their own (draft-alvestrand-rmcat-remb-03).
    if choice & 15 == 6 && format & 0x1f == 15 { content = RawPacket.word(1) + RawPacket.word(0) + Array("REMB".utf8) }
    content += script.take(Int(script.next() ?? 0))
    let type = choice & 8 == 0 ? Self.types[Int(choice & 7)] : script.next() ?? 0
    let opening = RawPacket.rtcp(format: 0, type: 201, RawPacket.word(scene.tracks.sending(0)))
    send(
      scene.hostile.seal(rtcp: opening + RawPacket.rtcp(format: format, type: type, content)), from: WorkerPeer.path(0))
  }

  /// The last packet of RTP again and again, under numbers of its own.
  private func flood(_ count: Int) {
    guard let (found, path) = last else { return }
    var packet = found
    let ssrc = packet[8..<12].reduce(0) { $0 << 8 | UInt32($1) }
    for _ in 0..<count {
      let sequence = sequences[ssrc, default: 0] &+ 1
      sequences[ssrc] = sequence
      packet[2] = UInt8(sequence >> 8)
      packet[3] = UInt8(truncatingIfNeeded: sequence)
      send(scene.hostile.seal(rtp: packet), from: path)
    }
  }
}
