// Doctor: TLS files, cryptography, CPUs and descriptors.
import Basics
import Configuration
import Crypto
import Glibc
import SRTP
import Threads

/// Certificates and keys of all listeners; nothing to say without TLS, and once where they share files.
func tlsFiles(_ configuration: ServerConfiguration, wallMilliseconds now: Int64) -> [Finding] {
  let listen = configuration.listen.tls
  let flashphoner = configuration.flashphoner.port == nil ? nil : configuration.flashphoner.tls
  let admin = configuration.admin.port == nil ? nil : configuration.admin.tls
  let api = configuration.api.port == nil ? nil : configuration.api.tls
  return tlsFiles(listen, wallMilliseconds: now)
    + (flashphoner == listen ? [] : tlsFiles(flashphoner, key: "flashphoner.tls", wallMilliseconds: now))
    + ([listen, flashphoner].contains(admin) ? [] : tlsFiles(admin, key: "admin.tls", wallMilliseconds: now))
    + ([listen, flashphoner, admin].contains(api) ? [] : tlsFiles(api, key: "api.tls", wallMilliseconds: now))
}

/// Certificate and key of one listener, by the key that names them.
func tlsFiles(_ files: ServerConfiguration.TLSFiles?, key: String = "listen.tls", wallMilliseconds now: Int64)
  -> [Finding]
{
  guard let files else { return [] }
  do {
    let facts = try inspectTLSFiles(certificate: files.certificate, key: files.key, wallMilliseconds: now)
    return [expiry(facts, of: files.certificate, key: key)]
  } catch .certificate {
    let text = "TLS: \(files.certificate) holds no certificate"
    return [.failure(text, mend: "give a PEM file that begins with the server's certificate: \(key).certificate")]
  } catch .key {
    let text = "TLS: \(files.key) holds no private key without a pass phrase"
    return [.failure(text, mend: "give its PEM file, decrypted: \(key).key")]
  } catch {
    let text = "TLS: \(files.key) is not the key of \(files.certificate)"
    return [.failure(text, mend: "give the key that the certificate was requested with: \(key).key")]
  }
}

/// What a certificate's time of validity means.
func expiry(_ facts: TLSFileFacts, of file: String, key: String = "listen.tls") -> Finding {
  let days = facts.secondsLeft / 86_400
  if facts.secondsLeft < 0 { return .failure("TLS: \(file) has expired", mend: "renew the certificate") }
  if facts.secondsValid < 0 {
    return .failure("TLS: \(file) is not valid yet", mend: "look at this machine's clock (date)")
  }
  if days < 14 { return .warning("TLS: \(file) expires in \(days) days", mend: "renew the certificate") }
  return .ok("TLS: certificate and key of \(key) fit, valid for \(days) days")
}

/// The cryptographic library, and whether the CPU (as /proc/cpuinfo tells) does AES itself.
func cryptography(cpuInfo: String) -> Finding {
  let flags = Set(
    cpuInfo.split(separator: "\n").first { $0.hasPrefix("flags") || $0.hasPrefix("Features") }?
      .split { $0 == " " || $0 == "\t" } ?? [])
  let library = "cryptography: \(openSSLVersion())"
  guard flags.contains("aes") else {
    return .warning(
      "\(library), and the CPU has no AES instructions: SRTP costs several times the CPU",
      mend: "in a virtual machine, give it the host's CPU model")
  }
  let wide = flags.contains("vaes") && flags.contains("vpclmulqdq") ? ", also wide (VAES)" : ""
  return .ok("\(library); the CPU does AES itself\(wide)")
}

/// What seals and opens media with this configuration, and what it costs here.
func mediaEncryption(
  _ library: ServerConfiguration.SRTPLibrary, costs: [SRTPCost] = SRTPBackend.costs(now: MonotonicClock.now)
) -> Finding {
  let cheapest = SRTPBackend.cheapest(of: costs) ?? .preferred(for: .preferenceOrder[0])
  let chosen = SRTPBackend(rawValue: library.rawValue) ?? cheapest
  guard chosen.isAvailable else {
    return .failure("SRTP: this machine cannot use \(library.rawValue)", mend: "set media.srtp to auto")
  }
  let measured = costs.map { "\($0.backend.rawValue) \($0.perPacket.nanoseconds) ns" }.joined(separator: ", ")
  let facts = "a packet of 1,200 bytes takes \(measured)"
  guard chosen == cheapest else {
    return .warning(
      "SRTP: \(chosen.described), as configured; \(facts)", mend: "media.srtp: auto takes \(cheapest.rawValue)")
  }
  return .ok("SRTP: \(chosen.described); \(facts)")
}

/// Workers against CPUs.
func workers(_ media: ServerConfiguration.Media, cpus: Int) -> Finding {
  let count = media.workerCount(cpus: cpus)
  let facts = "workers: \(count) on \(cpus) CPU\(cpus == 1 ? "" : "s")"
  guard count > cpus else { return .ok(facts) }
  return .warning("\(facts): they take turns, which delays packets", mend: "set media.workers to at most \(cpus)")
}

/// Open descriptors that the limits add up to, against what the system allows.
func descriptors(_ configuration: ServerConfiguration, cpus: Int, limit: UInt64) -> Finding {
  let needed = configuration.limits.connections + descriptorsToStart(configuration, cpus: cpus)
  let text = limit > 1 << 40 ? "unlimited" : "\(limit)"
  guard limit < UInt64(needed) else { return .ok("descriptors: \(text), at most \(needed) needed") }
  return .warning(
    "descriptors: \(text), but limits.connections asks for \(needed)",
    mend: "raise it (ulimit -Hn, LimitNOFILE= in systemd), or lower limits.connections")
}

/// Descriptors that a server has open before anybody connects, and some to spare.
func descriptorsToStart(_ configuration: ServerConfiguration, cpus: Int) -> Int {
  let perWorker = 8 + configuration.media.addresses.count
  return configuration.media.workerCount(cpus: cpus) * perWorker + 64
}

/// The hard limit, to which the server raises its own when it starts.
func descriptorLimit() -> UInt64 {
  var limit = rlimit()
  guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 0 }
  return UInt64(limit.rlim_max)
}

/// A small text file of the system's; empty when it cannot be read.
func readText(_ path: String) -> String {
  let descriptor = open(path, O_RDONLY | O_CLOEXEC)
  guard descriptor >= 0 else { return "" }
  defer { close(descriptor) }
  var bytes = [UInt8](repeating: 0, count: 64 << 10)
  let count = bytes.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
  return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
}
