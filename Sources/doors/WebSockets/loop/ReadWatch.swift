// Reads the heads of requests before libwebsockets has them, on the service thread, plain and under TLS alike.
import Basics
import CReadWatch
import Threads

internal import CWebSockets

#if canImport(Glibc)
  import Glibc
#endif

extension ServerLoop {
  /// From now on what this thread reads goes through `FrameHeads` where it is of WebSockets, and through `RequestHeads` where it is not.
  func watchReads() {
    creadwatch_set(
      { context, descriptor, tls, bytes, count in
        guard let context, let bytes else { return count }
        let loop = Unmanaged<ServerLoop>.fromOpaque(context).takeUnretainedValue()
        return loop.hasRead(UnsafeMutableBufferPointer(start: bytes, count: count), from: descriptor, tls)
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  static func stopWatching() { creadwatch_set(nil, nil) }

  /// - Returns: how many of the bytes the library gets: none, as if the peer had gone, where enough of them were no request.
  private func hasRead(
    _ bytes: UnsafeMutableBufferPointer<UInt8>, from descriptor: Int32, _ tls: UnsafeMutableRawPointer?
  ) -> Int {
    let tls = tls.map { OpaquePointer($0) }
    let descriptor = tls.map { SSL_get_fd($0) } ?? descriptor
    // Looked up twice, so that the heads are changed where they are.
    guard heads[descriptor] != nil else { return hasReadFrames(bytes, from: descriptor) }
    if let left = turnedAway[descriptor] { return throwAway(bytes.count, of: left, from: descriptor) }
    do throws(RequestHeads.Fault) {
      let count = try heads[descriptor]?.read(bytes) ?? bytes.count
      // Where all of it lies behind content: as if nothing had come, since the answer to the content is yet to leave.
      return count > 0 ? count : Int(creadwatch_discarded)
    } catch {
      shared.statistics.withLock { $0.malformedRequests += 1 }
      turnAway(error, descriptor, tls)
      return throwAway(0, of: Self.mostThrownAway, from: descriptor)
    }
  }

  /// Bytes that are read behind a refusal, and thrown away. Where a connection is closed with something unread, the kernel takes the
  /// refusal back. Raise it, and a client may send more of a head that is too long and still read why it was refused.
  private static let mostThrownAway = 256 << 10

  /// The client has until its time for a head is over to hang up.
  private func throwAway(_ count: Int, of left: Int, from descriptor: Int32) -> Int {
    turnedAway[descriptor] = left - count
    return left >= count ? Int(creadwatch_discarded) : 0
  }

  private func hasReadFrames(_ bytes: UnsafeMutableBufferPointer<UInt8>, from descriptor: Int32) -> Int {
    guard let count = frames[descriptor]?.heads.read(UnsafeRawBufferPointer(bytes)),
      let (socket, heads) = frames[descriptor]
    else { return bytes.count }
    guard let fault = heads.fault ?? sockets.faultOfControls(heads.controls, of: socket) else {
      sockets.saw(heads.unfinished, of: socket)
      return bytes.count
    }
    frames[descriptor]?.heads.end(with: fault)
    // Its own close frame, or whatever it says when ours is out: it need not be waited for.
    if socket.isGone { return 0 }
    sockets.hasSaid(fault, socket.wsi)
    return count > 0 && heads.fault != nil ? count : Int(creadwatch_discarded)
  }

  /// Answers in the library's place, as far as one write goes, and leaves the closing to it.
  private func turnAway(_ fault: RequestHeads.Fault, _ descriptor: Int32, _ tls: OpaquePointer?) {
    let isBodiless = heads[descriptor]?.isBodiless ?? false
    let body = fault.reason + "\n"
    let text =
      "HTTP/1.1 \(fault.status) Refused\r\ncontent-type: text/plain; charset=utf-8\r\ncache-control: no-store\r\n"
      + "x-content-type-options: nosniff\r\nconnection: close\r\n"
      + shared.configuration.ownHeaders.map { "\($0.name): \($0.value)\r\n" }.joined()
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
    let client = connections.client(wsi, head)
    guard head.origins.count <= 1 else { return .text(400, "a request has one Origin header at most") }
    let forgetful = connections.forgetfulProxy(wsi, head)
    if let forgetful { news.missedForwardedFor(of: forgetful) }
    if shared.configuration.refusesProxied, connections.isBroughtFromElsewhere(wsi, head, client) {
      news.refused(proxyHeader: head.proxyHeader ?? (forgetful == nil ? "PROXY" : "none"), of: client)
      return .text(
        403, "this server lets in whoever is on its machine, and takes nothing from a proxy: see access in rooms.yaml")
    }
    guard connections.count(wsi, as: client, isUpgrade: head.isUpgrade, at: MonotonicClock.now()) else {
      shared.statistics.withLock { $0.connectionsRefused += 1 }
      return .text(429, "there are too many connections of this address").with("retry-after", "10")
    }
    let local = SocketAddress.local(of: descriptor)
    switch shared.configuration.hosts.judge(head.hosts, isOld: head.isOld, reachedAt: local) {
    case .known: return nil
    case .malformed:
      return .text(400, "a request needs one Host header, with a name or address (RFC 9112, section 3.2)")
    case .foreign(let name):
      news.refused(name: name, of: client)
      return .text(
        421, "\"\(name)\" is no name of this server that it knows. If it is one, add it to listen.hosts in rooms.yaml.")
    }
  }
}
