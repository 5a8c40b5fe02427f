// Watches a connection beside libwebsockets, which does not look at one whose reading is stopped.
import Basics

internal import CWebSockets

#if canImport(Glibc)
  import Glibc
#endif

/// Says when a connection takes more, and when its other side has ended it or sends what nobody asked for. On the service thread alone.
final class StreamSocket {
  private let reads = UnsafeMutablePointer<ev_io>.allocate(capacity: 1)
  private let writes = UnsafeMutablePointer<ev_io>.allocate(capacity: 1)
  /// Its own, so that it does not matter when the library closes the connection's.
  private let descriptor: Int32
  private let loop: EventLoop
  private let writable: () -> Void
  private let gone: () -> Void

  /// Nil where the system has no descriptor left. `gone` is called once at most, each time that it is watched for; `writable` each time
  /// that it was asked for.
  init?(of connection: Int32, _ loop: EventLoop, writable: @escaping () -> Void, gone: @escaping () -> Void) {
    descriptor = fcntl(connection, F_DUPFD_CLOEXEC, 0)
    (self.loop, self.writable, self.gone) = (loop, writable, gone)
    reads.initialize(to: ev_io())
    writes.initialize(to: ev_io())
    guard descriptor >= 0 else { return nil }
    let owner = Unmanaged.passUnretained(self).toOpaque()
    roost_ev_watch(reads, descriptor, 0, Self.isReadable, owner)
    roost_ev_watch(writes, descriptor, 1, Self.isWritable, owner)
  }

  deinit {
    if descriptor >= 0 {
      stop()
      close(descriptor)
    }
    reads.deallocate()
    writes.deallocate()
  }

  /// Nothing is called any more.
  func stop() {
    ev_io_stop(loop.pointer, reads)
    ev_io_stop(loop.pointer, writes)
  }

  /// Has `gone` called when the other side has ended the connection, or sends something.
  func watchPeer() { ev_io_start(loop.pointer, reads) }

  /// Has `writable` called in a later turn, when the connection takes more.
  func askWritable() { ev_io_start(loop.pointer, writes) }

  private static func owner(_ watch: UnsafeMutablePointer<ev_io>?) -> StreamSocket? {
    watch?.pointee.data.map { Unmanaged<StreamSocket>.fromOpaque($0).takeUnretainedValue() }
  }

  /// What libev calls.
  private static let isReadable: @convention(c) (OpaquePointer?, UnsafeMutablePointer<ev_io>?, Int32) -> Void = {
    _, watch, _ in owner(watch)?.look()
  }

  /// What libev calls.
  private static let isWritable: @convention(c) (OpaquePointer?, UnsafeMutablePointer<ev_io>?, Int32) -> Void = {
    _, watch, _ in
    guard let socket = owner(watch) else { return }
    ev_io_stop(socket.loop.pointer, socket.writes)
    socket.writable()
  }

  private func look() {
    var byte: UInt8 = 0
    let got = recv(descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT))
    if got < 0 && (errno == EAGAIN || errno == EINTR) { return }
    ev_io_stop(loop.pointer, reads)
    gone()
  }
}
