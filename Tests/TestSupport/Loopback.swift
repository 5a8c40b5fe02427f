// Sockets of 127.0.0.1, as C has them.

import Glibc

/// Blocking sockets of loopback. Whoever gets one closes it.
public enum Loopback {
  /// Why there is no socket.
  public struct Failure: Error {
    /// What did not work.
    public let step: String

    /// A failure of `step`.
    public init(step: String) { self.step = step }
  }

  /// A connection to `port`; `receiveBuffer` bounds what the kernel takes in for a socket that does not read.
  public static func connect(_ port: UInt16, receiveBuffer: Int32? = nil) throws -> Int32 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    if var receiveBuffer { setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &receiveBuffer, 4) }
    var address = address(port)
    let status = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { Glibc.connect(descriptor, $0, addressLength) }
    }
    guard descriptor >= 0, status == 0 else {
      if descriptor >= 0 { close(descriptor) }
      throw Failure(step: "connect")
    }
    return descriptor
  }

  /// A listening socket and its port; port 0 takes any.
  public static func listen(port: UInt16 = 0) throws -> (Int32, UInt16) {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var yes: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, 4)
    var address = address(port)
    var length = addressLength
    let isUp = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, addressLength) == 0 && Glibc.listen(descriptor, 64) == 0
          && getsockname(descriptor, $0, &length) == 0
      }
    }
    guard descriptor >= 0, isUp else {
      if descriptor >= 0 { close(descriptor) }
      throw Failure(step: "listen")
    }
    return (descriptor, UInt16(bigEndian: address.sin_port))
  }

  /// A UDP socket bound to `port`.
  public static func bindUDP(port: UInt16) throws -> Int32 {
    let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
    var address = address(port)
    let status = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, addressLength) }
    }
    guard descriptor >= 0, status == 0 else {
      if descriptor >= 0 { close(descriptor) }
      throw Failure(step: "bind")
    }
    return descriptor
  }

  /// Makes the kernel send RST: a connect to AF_UNSPEC drops the connection without closing the number.
  public static func reset(_ descriptor: Int32) {
    var nobody = sockaddr()
    nobody.sa_family = sa_family_t(AF_UNSPEC)
    _ = Glibc.connect(descriptor, &nobody, socklen_t(MemoryLayout<sockaddr>.size))
  }

  private static let addressLength = socklen_t(MemoryLayout<sockaddr_in>.size)

  private static func address(_ port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    return address
  }
}
