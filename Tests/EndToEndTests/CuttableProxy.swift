// A TCP proxy whose connections can be cut with a reset, as a dying network or process does. Loopback only.

import Basics
import Glibc
import Synchronization

/// Forwards connections to a port; `cut` resets all of them and refuses new ones until `mend`.
final class CuttableProxy: Sendable {
  private struct State {
    var isCut = false
    var isStopped = false
    var sockets: Set<Int32> = []
  }

  private let state = Locked(State())
  private let listener: Int32
  private let target: UInt16
  let port: UInt16

  struct Failure: Error { let step: String }

  init(to target: UInt16) throws {
    self.target = target
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = Self.loopback(port: 0)
    let bound = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard descriptor >= 0, bound == 0, listen(descriptor, 64) == 0 else { throw Failure(step: "listen") }
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    _ = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
    }
    port = UInt16(bigEndian: address.sin_port)
    listener = descriptor
    Self.spawn { [self] in accepting() }
  }

  /// Resets every connection; new ones are reset at once.
  func cut() {
    let open = state.withLock { state in
      state.isCut = true
      defer { state.sockets = [] }
      return state.sockets
    }
    for descriptor in open { Self.reset(descriptor) }
  }

  /// Lets new connections through again.
  func mend() { state.withLock { $0.isCut = false } }

  func stop() {
    state.withLock { $0.isStopped = true }
    cut()
    shutdown(listener, Int32(SHUT_RDWR))
  }

  // MARK: threads

  private func accepting() {
    while true {
      let client = accept(listener, nil, nil)
      if client < 0 { break }
      let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      var address = Self.loopback(port: target)
      let connected = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          connect(server, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
      let isWanted = state.withLock { state in
        guard !state.isCut, !state.isStopped, connected == 0 else { return false }
        state.sockets.formUnion([client, server])
        return true
      }
      if !isWanted {
        Self.reset(client)
        close(client)
        close(server)
        continue
      }
      let pair = Pair(client: client, server: server)
      Self.spawn { [self] in pump(pair, from: client, to: server) }
      Self.spawn { [self] in pump(pair, from: server, to: client) }
    }
    close(listener)
  }

  /// Two sockets that are closed when both directions have ended: a number must not be used anew while one still pumps.
  private final class Pair: Sendable {
    let client: Int32
    let server: Int32
    let running = Atomic<Int>(2)
    init(client: Int32, server: Int32) {
      self.client = client
      self.server = server
    }
  }

  private func pump(_ pair: Pair, from: Int32, to: Int32) {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = read(from, &buffer, buffer.count)
      if count <= 0 { break }
      var done = 0
      while done < count {
        let sent = buffer.withUnsafeBytes {
          send(to, $0.baseAddress?.advanced(by: done), count - done, Int32(MSG_NOSIGNAL))
        }
        if sent <= 0 { break }
        done += sent
      }
      if done < count { break }
    }
    shutdown(to, Int32(SHUT_WR))
    guard pair.running.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 else { return }
    state.withLock { $0.sockets.subtract([pair.client, pair.server]) }
    close(pair.client)
    close(pair.server)
  }

  /// Makes the kernel send RST: a connect to AF_UNSPEC drops the connection without closing the number.
  private static func reset(_ descriptor: Int32) {
    var nobody = sockaddr()
    nobody.sa_family = sa_family_t(AF_UNSPEC)
    _ = connect(descriptor, &nobody, socklen_t(MemoryLayout<sockaddr>.size))
    shutdown(descriptor, Int32(SHUT_RDWR))
  }

  private static func loopback(port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    return address
  }

  private final class Start: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }

  private static func spawn(_ body: @escaping @Sendable () -> Void) {
    var thread = pthread_t()
    let start = Unmanaged.passRetained(Start(body)).toOpaque()
    pthread_create(
      &thread, nil,
      { argument in
        guard let argument else { return nil }
        Unmanaged<Start>.fromOpaque(argument).takeRetainedValue().body()
        return nil
      }, start)
    pthread_detach(thread)
  }
}
