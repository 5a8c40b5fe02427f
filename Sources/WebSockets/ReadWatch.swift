// Reads the heads of requests before libwebsockets has them, on the service thread, plain and under TLS alike.
import Basics
import CReadWatch
import Threads

internal import CWebSockets

#if canImport(Glibc)
  import Glibc
#endif

extension ServerLoop {
  /// From now on what this thread reads from connections that are no WebSockets yet goes through `RequestHeads`.
  func watchReads() {
    creadwatch_set(
      { context, descriptor, tls, bytes, count in
        guard let context, let bytes else { return count }
        let loop = Unmanaged<ServerLoop>.fromOpaque(context).takeUnretainedValue()
        return loop.hasRead(UnsafeMutableBufferPointer(start: bytes, count: count), from: descriptor, tls)
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  static func stopWatching() { creadwatch_set(nil, nil) }

  /// - Returns: how many of the bytes the library gets: none, as if the peer had gone, where they are no request.
  private func hasRead(
    _ bytes: UnsafeMutableBufferPointer<UInt8>, from descriptor: Int32, _ tls: UnsafeMutableRawPointer?
  ) -> Int {
    let tls = tls.map { OpaquePointer($0) }
    let descriptor = tls.map { SSL_get_fd($0) } ?? descriptor
    // Looked up twice, so that the heads are changed where they are.
    guard heads[descriptor] != nil else { return bytes.count }
    do throws(RequestHeads.Fault) {
      let count = try heads[descriptor]?.read(bytes) ?? bytes.count
      // Where all of it lies behind content: as if nothing had come, since the answer to the content is yet to leave.
      return count > 0 ? count : Int(creadwatch_discarded)
    } catch {
      shared.statistics.withLock { $0.malformedRequests += 1 }
      turnAway(error, descriptor, tls)
      return 0
    }
  }

  /// Answers in the library's place, as far as one write goes, and leaves the closing to it.
  private func turnAway(_ fault: RequestHeads.Fault, _ descriptor: Int32, _ tls: OpaquePointer?) {
    let isBodiless = heads[descriptor]?.isBodiless ?? false
    let body = fault.reason + "\n"
    let text =
      "HTTP/1.1 \(fault.status) Refused\r\ncontent-type: text/plain; charset=utf-8\r\ncache-control: no-store\r\n"
      + "x-content-type-options: nosniff\r\nconnection: close\r\n"
      + "content-length: \(body.utf8.count)\r\n\r\n\(isBodiless ? "" : body)"
    let bytes = Array(text.utf8)
    if let tls {
      _ = SSL_write(tls, bytes, Int32(bytes.count))
      SSL_shutdown(tls)
    } else {
      _ = Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }
    // The answer is lost where the kernel resets a connection of which not all was read.
    shutdown(descriptor, Int32(SHUT_WR))
  }

  // MARK: What a request may ask for at all

  /// What a request gets instead of an answer.
  struct Objection: Error {
    let response: HTTPResponse
    /// It is to a HEAD request.
    var isBodiless = false
  }

  /// The next request on a connection, when it is in order.
  func nextHead(_ wsi: OpaquePointer) -> Result<RequestHead, Objection> {
    // The library has a request that was not seen to come: nothing can be said of it for sure.
    guard let head = heads[lws_get_socket_fd(wsi)]?.next() else {
      return .failure(Objection(response: .text(400, "this request cannot be read for sure")))
    }
    if let response = objection(head, wsi) ?? head.framing.objection {
      return .failure(Objection(response: response, isBodiless: head.isBodiless))
    }
    return .success(head)
  }

  private func objection(_ head: RequestHead, _ wsi: OpaquePointer) -> HTTPResponse? {
    let descriptor = lws_get_socket_fd(wsi)
    guard head.origins.count <= 1 else { return .text(400, "a request has one Origin header at most") }
    if shared.configuration.refusesProxied, let header = head.proxyHeader {
      tellProxied(header, wsi)
      return .text(
        403, "this server lets in whoever is on its machine, and takes nothing from a proxy: see access in rooms.yaml")
    }
    let local = SocketAddress.local(of: descriptor)
    switch shared.configuration.hosts.judge(head.hosts, isOld: head.isOld, reachedAt: local) {
    case .known: return nil
    case .malformed:
      return .text(400, "a request needs one Host header, with a name or address (RFC 9112, section 3.2)")
    case .foreign(let name):
      tell(name, wsi)
      return .text(
        421, "\"\(name)\" is no name of this server that it knows. If it is one, add it to listen.hosts in rooms.yaml.")
    }
  }

  /// Once a minute: a proxy sends many requests.
  private func tellProxied(_ header: String, _ wsi: OpaquePointer) {
    let now = MonotonicClock.now()
    if let last = toldOfProxy, now - last < .seconds(60) { return }
    toldOfProxy = now
    shared.configuration.proxyRefused(header, peerAddress(wsi))
  }

  /// Once for each name, and of so many names as a server may have: a stranger can ask for any.
  private func tell(_ name: String, _ wsi: OpaquePointer) {
    guard refusedNames.count < 64, refusedNames.insert(name).inserted else { return }
    shared.configuration.hostRefused(name, peerAddress(wsi))
  }
}
