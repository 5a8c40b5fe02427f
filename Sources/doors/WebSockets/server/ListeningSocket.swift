// Listening TCP sockets, made here rather than by libwebsockets so that a failure can say what and why.
import Basics

internal import CWebSockets

#if canImport(Glibc)
  import Glibc
#endif

/// A bound, listening, non-blocking TCP socket.
struct ListeningSocket {
  var descriptor: Int32
  var address: SocketAddress

  static func open(_ addresses: [SocketAddress]) throws(WebSocketError) -> [ListeningSocket] {
    guard !addresses.isEmpty else { throw .noAddress }
    let dualStack = !addresses.contains(where: \.isIPv4)
    var open: [ListeningSocket] = []
    for address in addresses {
      do throws(WebSocketError) {
        open.append(try ListeningSocket(address, dualStack: dualStack))
      } catch {
        close(open.map(\.descriptor))
        throw error
      }
    }
    return open
  }

  static func close(_ descriptors: [Int32]) {
    for descriptor in descriptors { Glibc.close(descriptor) }
  }

  private init(_ address: SocketAddress, dualStack: Bool) throws(WebSocketError) {
    let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    let descriptor = socket(address.isIPv4 ? AF_INET : AF_INET6, type, 0)
    guard descriptor >= 0 else { throw .cannotListen(address, reason: SystemError.last) }
    setOption(descriptor, SOL_SOCKET, SO_REUSEADDR, 1)
    if !address.isIPv4 { setOption(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, dualStack ? 0 : 1) }
    let status = address.withSocketAddress { bind(descriptor, $0, $1) }
    guard status == 0, listen(descriptor, 1024) == 0 else {
      let reason = SystemError.last
      Glibc.close(descriptor)
      throw .cannotListen(address, reason: reason)
    }
    self.descriptor = descriptor
    self.address = SocketAddress.local(of: descriptor) ?? address
  }
}

/// Sets an integer socket option; a refusal is not worth more than the default.
func setOption(_ descriptor: Int32, _ level: Int32, _ name: Int32, _ value: Int32) {
  var value = value
  setsockopt(descriptor, level, name, &value, socklen_t(MemoryLayout<Int32>.size))
}

/// For how long the kernel tries to deliver what is not acknowledged before the connection is lost.
func setPatience(_ descriptor: Int32, _ patience: TimeDelta) {
  guard descriptor >= 0 else { return }
  setOption(descriptor, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, Int32(clamping: patience.milliseconds))
}

enum SystemError {
  /// The text of `errno`.
  static var last: String { describe(errno) }
  static func describe(_ code: Int32) -> String {
    var buffer = [CChar](repeating: 0, count: 128)
    guard strerror_r(code, &buffer, buffer.count) == 0 else { return "error \(code)" }
    return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}

extension SocketAddress {
  func withSocketAddress<R>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> R) -> R {
    var storage = sockaddr_storage()
    let length = isIPv4 ? MemoryLayout<sockaddr_in>.size : MemoryLayout<sockaddr_in6>.size
    return withUnsafeMutableBytes(of: &storage) { bytes in
      if isIPv4 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = v4.bigEndian
        bytes.storeBytes(of: address, as: sockaddr_in.self)
      } else {
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(AF_INET6)
        address.sin6_port = port.bigEndian
        withUnsafeMutableBytes(of: &address.sin6_addr) {
          $0.storeBytes(of: high.bigEndian, as: UInt64.self)
          $0.storeBytes(of: low.bigEndian, toByteOffset: 8, as: UInt64.self)
        }
        bytes.storeBytes(of: address, as: sockaddr_in6.self)
      }
      return bytes.withMemoryRebound(to: sockaddr.self) { pointer in
        guard let base = pointer.baseAddress else { preconditionFailure("storage of a known size has an address") }
        return body(base, socklen_t(length))
      }
    }
  }

  /// The address that a socket is bound to.
  static func local(of descriptor: Int32) -> SocketAddress? { read { getsockname(descriptor, $0, $1) } }
  /// The address at the other end of a connected socket.
  static func peer(of descriptor: Int32) -> SocketAddress? { read { getpeername(descriptor, $0, $1) } }

  private static func read(_ call: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32)
    -> SocketAddress?
  {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    return withUnsafeMutableBytes(of: &storage) { bytes in
      let status = bytes.withMemoryRebound(to: sockaddr.self) { pointer in
        pointer.baseAddress.map { call($0, &length) } ?? -1
      }
      return status == 0 ? decode(UnsafeRawBufferPointer(bytes)) : nil
    }
  }

  private static func decode(_ bytes: UnsafeRawBufferPointer) -> SocketAddress? {
    switch Int32(bytes.load(as: sa_family_t.self)) {
    case AF_INET:
      let address = bytes.load(as: sockaddr_in.self)
      return SocketAddress(v4: UInt32(bigEndian: address.sin_addr.s_addr), port: UInt16(bigEndian: address.sin_port))
    case AF_INET6:
      let address = bytes.load(as: sockaddr_in6.self)
      return withUnsafeBytes(of: address.sin6_addr) {
        SocketAddress(
          high: UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self)),
          low: UInt64(bigEndian: $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self)),
          port: UInt16(bigEndian: address.sin6_port))
      }
    default: return nil
    }
  }
}
