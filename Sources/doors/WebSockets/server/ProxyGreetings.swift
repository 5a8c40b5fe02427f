// Connections of proxies that have not said yet whom they bring. They are read here, byte for byte of the header, and given to
// libwebsockets behind it: under TLS the header stands before the handshake, which the library's TLS would take it for.
import Basics
import Threads

internal import CWebSockets

#if canImport(Glibc)
  import Glibc
#endif

/// Connections whose PROXY header is coming. On the service thread alone.
final class ProxyGreetings {
  private struct Greeting {
    let peer: SocketAddress?
    let deadline: Instant
    var header = ProxyHeader()
    var watch: ReadableWatch?
  }

  private var waiting: [Int32: Greeting] = [:]
  private var alarm: Alarm?
  private let loop: EventLoop
  private let patience: TimeDelta
  private let greeted: (Int32, _ peer: SocketAddress?, ProxyHeader.Source) -> Void
  private let refused: (_ peer: SocketAddress?) -> Void

  /// `greeted` is given each connection whose header is whole, `refused` is told of those that were closed for a header that is none,
  /// or is not whole in time.
  init(
    _ loop: EventLoop, patience: TimeDelta,
    greeted: @escaping (Int32, _ peer: SocketAddress?, ProxyHeader.Source) -> Void,
    refused: @escaping (_ peer: SocketAddress?) -> Void
  ) {
    (self.loop, self.patience, self.greeted, self.refused) = (loop, patience, greeted, refused)
    alarm = Alarm(loop) { [unowned self] _ in giveUpTheLate() }
  }

  /// How many there are.
  var count: Int { waiting.count }

  /// A proxy has connected. The descriptor is this object's until it is given on.
  func begin(_ descriptor: Int32, of peer: SocketAddress?) {
    let now = MonotonicClock.now()
    waiting[descriptor] = Greeting(peer: peer, deadline: now + patience)
    read(descriptor)
    guard waiting[descriptor] != nil else { return }
    waiting[descriptor]?.watch = ReadableWatch(descriptor, loop) { [unowned self] in read(descriptor) }
    if alarm?.due == .distantFuture { alarm?.set(now + patience, now: now) }
  }

  /// Closes all of them.
  func stop() {
    for descriptor in Array(waiting.keys) { end(descriptor) }
    alarm = nil
  }

  private func read(_ descriptor: Int32) {
    while let wanted = waiting[descriptor]?.header.wanted, wanted > 0 {
      var piece = [UInt8](repeating: 0, count: wanted)
      let got = recv(descriptor, &piece, wanted, Int32(MSG_PEEK | MSG_DONTWAIT))
      if got < 0 && (errno == EAGAIN || errno == EINTR) { return }
      do throws(ProxyHeader.Malformed) {
        guard got > 0, let taken = try waiting[descriptor]?.header.take(piece.prefix(got)) else {
          return end(descriptor)
        }
        _ = recv(descriptor, &piece, taken, Int32(MSG_DONTWAIT))
      } catch {
        return refuse(descriptor)
      }
    }
    guard let greeting = waiting.removeValue(forKey: descriptor), let source = greeting.header.source else { return }
    greeting.watch?.stop()
    greeted(descriptor, greeting.peer, source)
  }

  private func refuse(_ descriptor: Int32) {
    let peer = waiting[descriptor]?.peer
    end(descriptor)
    refused(peer)
  }

  private func end(_ descriptor: Int32) {
    waiting.removeValue(forKey: descriptor)?.watch?.stop()
    close(descriptor)
  }

  private func giveUpTheLate() {
    let now = MonotonicClock.now()
    for (descriptor, greeting) in waiting where greeting.deadline <= now { refuse(descriptor) }
    if let next = waiting.values.map(\.deadline).min() { alarm?.set(next, now: now) }
  }
}

/// Calls `ready` while a descriptor can be read from, until it is stopped.
final class ReadableWatch {
  private let watch = UnsafeMutablePointer<ev_io>.allocate(capacity: 1)
  private let loop: EventLoop
  private let ready: () -> Void

  init(_ descriptor: Int32, _ loop: EventLoop, ready: @escaping () -> Void) {
    (self.loop, self.ready) = (loop, ready)
    watch.initialize(to: ev_io())
    roost_ev_watch(
      watch, descriptor, 0,
      { _, watch, _ in
        guard let owner = watch?.pointee.data else { return }
        // Kept until it returns: it may be let go of in there.
        let this = Unmanaged<ReadableWatch>.fromOpaque(owner).takeUnretainedValue()
        withExtendedLifetime(this) { this.ready() }
      }, Unmanaged.passUnretained(self).toOpaque())
    ev_io_start(loop.pointer, watch)
  }

  deinit {
    stop()
    watch.deallocate()
  }

  func stop() { ev_io_stop(loop.pointer, watch) }
}
