// A TCP proxy whose connections can be cut with a reset, as a dying network or process does. Loopback only.

import Basics
import Glibc
import Synchronization
import TestSupport

/// Forwards connections to a port; `cut` resets all of them, `kill` ends them, and both refuse new ones until `mend`.
final class CuttableProxy: Sendable {
  private struct State {
    var isCut = false
    var isFrozen = false
    var isStopped = false
    var isListening = true
    /// Open ones alone: a number that was closed may be anybody's, so they are ended and closed under the lock.
    var sockets: Set<Int32> = []
  }

  private let state = Locked(State())
  private let listener: Int32
  private let target: UInt16
  let port: UInt16

  init(to target: UInt16) throws {
    self.target = target
    (listener, port) = try Loopback.listen()
    Self.spawn { [self] in accepting() }
  }

  /// Resets every connection; new ones are reset at once.
  func cut() { refuse(Self.reset) }

  /// Ends every connection as the kernel does for a process that gets kill -9: TCP's goodbye, and no word before it.
  func kill() { refuse { shutdown($0, Int32(SHUT_RDWR)) } }

  /// Takes no new connections, and ends those that are open.
  private func refuse(_ end: (Int32) -> Void) {
    state.withLock { state in
      state.isCut = true
      for descriptor in state.sockets { end(descriptor) }
      state.sockets = []
    }
  }

  /// Nothing gets through any more in either direction, and nobody is told.
  func freeze() { state.withLock { $0.isFrozen = true } }

  /// Lets new connections through again.
  func mend() { state.withLock { $0.isCut = false } }

  func stop() {
    cut()
    state.withLock { state in
      state.isStopped = true
      if state.isListening { shutdown(listener, Int32(SHUT_RDWR)) }
    }
  }

  // MARK: threads

  private func accepting() {
    while true {
      let client = accept(listener, nil, nil)
      if client < 0 {
        // One who went before he was taken ends nothing.
        if errno == EINTR || errno == ECONNABORTED { continue }
        break
      }
      let server = try? Loopback.connect(target)
      let isWanted = state.withLock { state in
        guard !state.isCut, !state.isStopped, let server else { return false }
        state.sockets.formUnion([client, server])
        return true
      }
      guard isWanted, let server else {
        Self.reset(client)
        close(client)
        if let server { close(server) }
        continue
      }
      let pair = Pair(client: client, server: server)
      Self.spawn { [self] in pump(pair, from: client, to: server) }
      Self.spawn { [self] in pump(pair, from: server, to: client) }
    }
    state.withLock { state in
      state.isListening = false
      close(listener)
    }
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
      var done = state.withLock { $0.isFrozen } ? count : 0
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
    state.withLock { state in
      state.sockets.subtract([pair.client, pair.server])
      close(pair.client)
      close(pair.server)
    }
  }

  private static func reset(_ descriptor: Int32) {
    Loopback.reset(descriptor)
    shutdown(descriptor, Int32(SHUT_RDWR))
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
