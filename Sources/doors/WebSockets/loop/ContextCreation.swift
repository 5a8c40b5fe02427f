// Contexts of libwebsockets, made so that those of one process leave each other alone.
import Basics

internal import CWebSockets

enum ContextCreation {
  private static let tlsIsReady = Locked(false)

  /// Makes a context; with `tls`, `info.options` say so for its vhosts. Nil when libwebsockets cannot.
  ///
  /// Each context that is told to make TLS ready draws new places for what libwebsockets keeps with a connection of OpenSSL, in
  /// variables of the whole process: handshakes under way on other threads then look in the wrong place, and fail with "SSL err 1".
  /// So the first context alone is told, and no other with TLS is made meanwhile.
  static func make(_ info: inout lws_context_creation_info, tls: Bool) -> OpaquePointer? {
    guard tls else { return lws_create_context(&info) }
    defer { info.options |= LWSOption.tls }
    // As a number: a pointer may not leave the lock's closure.
    let first = tlsIsReady.withLock { isReady -> UInt? in
      if isReady { return nil }
      info.options |= LWSOption.tls
      let context = lws_create_context(&info)
      isReady = context != nil
      return UInt(bitPattern: context)
    }
    if let first { return OpaquePointer(bitPattern: first) }
    return lws_create_context(&info)
  }
}
