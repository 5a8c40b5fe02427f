// Doctor: UDP buffers, segmentation (UDP_SEGMENT, UDP_GRO) and the addresses that clients are told.
import Basics
import CLinux
import Configuration
import Glibc

private let loopback = SocketAddress(v4: 0x7f00_0001, port: 0)

/// Asks for the configured buffers and compares with what was granted.
func socketBuffers(_ media: ServerConfiguration.Media) -> Finding {
  var options = clinux_udp_options()
  options.receive_buffer = Int32(clamping: media.receiveBufferBytes)
  options.send_buffer = Int32(clamping: media.sendBufferBytes)
  let descriptor = clinux_udp_open(loopback.shim, options)
  guard descriptor >= 0 else {
    return .failure("UDP: no socket: \(errorText(-descriptor))", mend: "allow this process to open UDP sockets")
  }
  defer { _ = clinux_close(descriptor) }
  var (receive, send): (Int32, Int32) = (0, 0)
  _ = clinux_socket_buffers(descriptor, &receive, &send)
  return bufferFinding(media, receive: Int(receive), send: Int(send))
}

/// What the granted buffers (bytes) mean.
func bufferFinding(_ media: ServerConfiguration.Media, receive: Int, send: Int) -> Finding {
  let facts = "UDP buffers: receive \(sizeText(receive)), send \(sizeText(send))"
  var settings: [String] = []
  if receive < media.receiveBufferBytes { settings.append("net.core.rmem_max=\(media.receiveBufferBytes)") }
  if send < media.sendBufferBytes { settings.append("net.core.wmem_max=\(media.sendBufferBytes)") }
  guard !settings.isEmpty else { return .ok(facts) }
  let wanted = "\(sizeText(media.receiveBufferBytes)) and \(sizeText(media.sendBufferBytes)) are wanted"
  return .warning(
    "\(facts); \(wanted): bursts may be lost", mend: "as root: sysctl -w \(settings.joined(separator: " "))")
}

/// Sends two datagrams with one call and looks whether two arrive.
func segmentation() -> Finding {
  let remedy = "use a kernel of 4.18 or later; until then every packet costs a system call of its own"
  guard let arrived = segmentsArrived(gro: false) else {
    return .warning("UDP_SEGMENT (GSO): refused by this kernel", mend: remedy)
  }
  guard arrived.count == 2 else { return .warning("UDP_SEGMENT (GSO): \(arrived.count) of 2 arrived", mend: remedy) }
  return .ok("UDP_SEGMENT (GSO): works")
}

/// The same with a receiver that takes them as one.
func coalescing() -> Finding {
  guard let arrived = segmentsArrived(gro: true), arrived.count == 1, arrived[0].segment_size == 1000 else {
    return .warning("UDP_GRO: not there", mend: "use a kernel of 5.0 or later; until then receiving costs more CPU")
  }
  return .ok("UDP_GRO: works")
}

private func segmentsArrived(gro: Bool) -> [clinux_datagram]? {
  var options = clinux_udp_options()
  options.gro = gro ? 1 : 0
  let (from, to) = (clinux_udp_open(loopback.shim, options), clinux_udp_open(loopback.shim, options))
  defer { for descriptor in [from, to] where descriptor >= 0 { _ = clinux_close(descriptor) } }
  var address = clinux_address()
  guard from >= 0, to >= 0, clinux_socket_address(to, &address) == 0 else { return nil }
  let bytes = [UInt8](repeating: 0, count: 1500)
  let sent = bytes.withUnsafeBufferPointer { bytes in
    var entry = clinux_outgoing()
    (entry.bytes, entry.length, entry.segment_size, entry.to) = (bytes.baseAddress, 1500, 1000, address)
    return clinux_udp_send_one(from, &entry)
  }
  guard sent == 1500 else { return nil }
  return receiveAll(to)
}

private func receiveAll(_ descriptor: Int32) -> [clinux_datagram] {
  var slab = [UInt8](repeating: 0, count: 4 * 2048)
  var datagrams = [clinux_datagram](repeating: clinux_datagram(), count: 4)
  var watched = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
  guard poll(&watched, 1, 500) == 1 else { return [] }
  let count = clinux_udp_receive(descriptor, &slab, 2048, 4, &datagrams)
  return Array(datagrams.prefix(max(0, Int(count))))
}

/// What clients are told to send to, and who can reach that.
func advertisedAddresses(
  _ configuration: ServerConfiguration, interfaces: [SocketAddress], resolve: (String) -> [SocketAddress] = resolve
) -> [Finding] {
  let advertised = configuration.media.advertised(interfaces: interfaces, resolve: resolve)
  let nameless = advertised.filter(\.addresses.isEmpty)
  guard nameless.isEmpty else {
    return nameless.map {
      .failure(
        "\($0.entry.host) stands for no address here of a family that media is bound to: Roost would not start",
        mend: "correct the name in media.advertise, or look at the resolver of this machine (/etc/resolv.conf)")
    }
  }
  let told =
    advertised.isEmpty
    ? configuration.advertisedAddresses(interfaces: interfaces) : advertised.flatMap(\.addresses)
  guard !told.isEmpty else {
    return [.failure("clients are told no address for media", mend: "name one in media.advertise")]
  }
  let described = told.map { $0.port == 0 ? $0.host : "\($0)" }
  var findings = [Finding.ok("clients are told: \(described.joined(separator: ", "))")]
  for (entry, addresses) in advertised where entry.address == nil {
    let found = addresses.map(\.host).joined(separator: ", ")
    findings.append(.ok("\(entry.host) is \(found) now; it is looked up when Roost starts, and not again"))
  }
  if told.allSatisfy(\.isLoopback) {
    findings.append(
      .warning(
        "only loopback is told: clients on other machines get no sound and no pictures, nor does Firefox on this one",
        mend: configuration.media.isForThisMachine
          ? "connect this machine to a network before the start, or use another browser on it"
          : "take an address of this machine into media.addresses, or the public one into media.advertise"))
  }
  for address in told where !address.isLoopback && !interfaces.contains(where: { $0.host == address.host }) {
    findings.append(
      .warning(
        "\(address.host) is not on an interface of this machine",
        mend: "fine behind NAT that forwards the UDP ports of media.port here; else correct media.advertise"))
  }
  let bound = configuration.media.bindAddresses(interfaces: interfaces)
  for address in told where !bound.contains(where: { $0.isIPv4 == address.isIPv4 }) {
    let family = address.isIPv4 ? "IPv4" : "IPv6"
    findings.append(
      .failure(
        "\(address.host) is told, but media is bound to no \(family) address",
        mend: "add an \(family) address to media.addresses"))
  }
  return findings
}
