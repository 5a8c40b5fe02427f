// Doctor: can the TCP ports and every worker's UDP ports be taken?
import Basics
import CLinux
import Configuration
import Glibc

extension SocketAddress {
  /// The address as the system call shim wants it.
  var shim: clinux_address { clinux_address(high: high, low: low, port: port) }
}

/// Takes the TCP port of the listener for a moment.
func webPort(_ listen: ServerConfiguration.Listen) -> Finding {
  tcpPort(listen.address, name: "web", key: "listen.port")
}

/// The same of the listener for Flashphoner's apps, where there is one.
func flashphonerPort(_ configuration: ServerConfiguration) -> [Finding] {
  guard let port = configuration.flashphoner.port else { return [] }
  var address = configuration.listen.address
  address.port = port
  return [tcpPort(address, name: "flashphoner", key: "flashphoner.port")]
}

/// The same of the listener for operators, where it is one of its own.
func adminPort(_ admin: ServerConfiguration.Admin) -> [Finding] {
  guard let address = admin.ownAddress else { return [] }
  return [tcpPort(address, name: "admin", key: "admin.port", addressKey: "admin.address")]
}

/// The same of the listener of the API, where there is one.
func apiPort(_ api: ServerConfiguration.API) -> [Finding] {
  guard let address = api.ownAddress else { return [] }
  return [tcpPort(address, name: "api", key: "api.port", addressKey: "api.address")]
}

private func tcpPort(
  _ address: SocketAddress, name: String, key: String, addressKey: String = "listen.address"
) -> Finding {
  let failed = tryListening(address)
  guard failed != 0 else { return .ok("\(name): TCP \(address) is free") }
  return .failure(
    "\(name): TCP \(address): \(errorText(failed))",
    mend: portRemedy(failed, address, keys: (addressKey, key), tool: "ss -ltnp"))
}

/// Takes every UDP port of every worker for a moment.
func mediaPorts(_ configuration: ServerConfiguration, interfaces: [SocketAddress], cpus: Int) -> [Finding] {
  let media = configuration.media
  let hosts = configuration.media.bindAddresses(interfaces: interfaces)
  guard !hosts.isEmpty else {
    let wanted = media.addresses.map(\.host).joined(separator: ", ")
    return [.failure("media: no interface has an address for \(wanted)", mend: "name an address in media.addresses")]
  }
  var findings: [Finding] = []
  var free: [UInt16] = []
  for worker in 0..<media.workerCount(cpus: cpus) {
    let port = media.port(ofWorker: worker)
    let failures = hosts.compactMap { udpFailure(SocketAddress(high: $0.high, low: $0.low, port: port)) }
    findings += failures
    if failures.isEmpty { free.append(port) }
  }
  guard let first = free.first, let last = free.last else { return findings }
  let ports = first == last ? "\(first)" : "\(first)–\(last)"
  return [.ok("media: UDP \(ports) free on \(hosts.map(\.host).joined(separator: ", "))")] + findings
}

private func udpFailure(_ address: SocketAddress) -> Finding? {
  var options = clinux_udp_options()
  options.v6_only = 1
  let descriptor = clinux_udp_open(address.shim, options)
  guard descriptor < 0 else {
    _ = clinux_close(descriptor)
    return nil
  }
  return .failure(
    "media: UDP \(address): \(errorText(-descriptor))",
    mend: portRemedy(-descriptor, address, keys: ("media.addresses", "media.port"), tool: "ss -lunp"))
}

private func portRemedy(_ code: Int32, _ address: SocketAddress, keys: (host: String, port: String), tool: String)
  -> String
{
  switch code {
  case EADDRINUSE: "stop the program that has it (\(tool)), or choose another \(keys.port)"
  case EADDRNOTAVAIL: "no interface has \(address.host) (ip address): correct \(keys.host)"
  case EACCES: "ports below 1024 need a right: setcap cap_net_bind_service+ep on the program, or another \(keys.port)"
  case EAFNOSUPPORT: "this machine has no \(address.isIPv4 ? "IPv4" : "IPv6"): correct \(keys.host)"
  default: "correct \(keys.host) or \(keys.port)"
  }
}

/// 0 when somebody could listen there, else errno.
private func tryListening(_ address: SocketAddress) -> Int32 {
  let descriptor = socket(address.isIPv4 ? AF_INET : AF_INET6, Int32(SOCK_STREAM.rawValue), 0)
  guard descriptor >= 0 else { return errno }
  defer { close(descriptor) }
  var on: Int32 = 1  // a port in TIME_WAIT is free
  setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
  let bound = address.isIPv4 ? bindIPv4(descriptor, address) : bindIPv6(descriptor, address)
  return bound == 0 && listen(descriptor, 1) == 0 ? 0 : errno
}

private func bindIPv4(_ descriptor: Int32, _ address: SocketAddress) -> Int32 {
  var raw = sockaddr_in()
  raw.sin_family = sa_family_t(AF_INET)
  raw.sin_port = address.port.bigEndian
  raw.sin_addr.s_addr = address.v4.bigEndian
  return withUnsafeBytes(of: &raw) { bytes in
    bind(descriptor, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
  }
}

private func bindIPv6(_ descriptor: Int32, _ address: SocketAddress) -> Int32 {
  var raw = sockaddr_in6()
  raw.sin6_family = sa_family_t(AF_INET6)
  raw.sin6_port = address.port.bigEndian
  withUnsafeMutableBytes(of: &raw.sin6_addr) {
    $0.storeBytes(of: address.high.bigEndian, as: UInt64.self)
    $0.storeBytes(of: address.low.bigEndian, toByteOffset: 8, as: UInt64.self)
  }
  return withUnsafeBytes(of: &raw) { bytes in
    bind(descriptor, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
  }
}

/// The system's words for an error number.
func errorText(_ code: Int32) -> String { String(cString: strerror(code)) }
