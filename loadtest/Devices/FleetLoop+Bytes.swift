// From bytes to messages: TLS, the opening of the WebSocket, its frames; and back.

import Basics
import CLinux
import Glibc
import TLSClient

extension FleetLoop {
  /// Goes on with a device whose socket has something.
  mutating func advance(_ index: Int, events: UInt32) {
    switch devices[index].phase {
    case .away: return
    case .connecting:
      guard events & (clinux_failed | clinux_hung_up) == 0 else { return lose(index) }
      guard !plan.isTLS || secure(index) else { return lose(index) }
      devices[index].phase = plan.isTLS ? .securing : .upgrading
      if plan.isTLS { shakeHands(index) } else { askToUpgrade(index) }
    case .securing: shakeHands(index)
    case .upgrading, .greeting, .ready:
      if events & clinux_writable != 0, !flush(index) { return lose(index) }
      if events & (clinux_readable | clinux_failed | clinux_hung_up) != 0 { receive(index) }
    }
  }

  private mutating func shakeHands(_ index: Int) {
    switch devices[index].tls?.handshake() ?? .ended {
    case .done:
      devices[index].phase = .upgrading
      askToUpgrade(index)
    case .wantsToRead: watch(index, writes: false)
    case .wantsToWrite: watch(index, writes: true)
    case .ended: lose(index)
    }
  }

  private mutating func askToUpgrade(_ index: Int) {
    // Sixteen bytes in base64; which ones says nothing to anybody here.
    let key = "AAAAAAAAAAAAAAAAAAAAAA=="
    devices[index].output += Array(Messages.upgrade(host: "127.0.0.1:\(plan.port)", key: key).utf8)
    if !flush(index) { lose(index) }
  }

  // MARK: Out

  /// Sends a text.
  mutating func say(_ index: Int, _ text: String) {
    Frames.append(
      .text, text.utf8, mask: UInt32(truncatingIfNeeded: random.next()), to: &devices[index].output)
    if !flush(index) { lose(index) }
  }

  /// Writes what the socket takes; false when the connection is broken.
  private mutating func flush(_ index: Int) -> Bool {
    while !devices[index].output.isEmpty {
      switch write(index) {
      case .done(let count): devices[index].output.removeFirst(count)
      // OpenSSL wants to read first: whatever comes is read as always, and then this goes on.
      case .wantsToRead, .wantsToWrite:
        watch(index, writes: true)
        return true
      case .ended: return false
      }
    }
    devices[index].output = []
    watch(index, writes: false)
    return true
  }

  private mutating func write(_ index: Int) -> TLSStep {
    if let tls = devices[index].tls { return tls.write(devices[index].output) }
    let count = send(devices[index].socket, devices[index].output, devices[index].output.count, Int32(MSG_NOSIGNAL))
    if count >= 0 { return .done(count) }
    return errno == EAGAIN ? .wantsToWrite : .ended
  }

  // MARK: In

  private mutating func receive(_ index: Int) {
    let socket = devices[index].socket
    while true {
      switch read(index) {
      case .done(let count):
        devices[index].input += scratch[..<count]
        guard take(index), devices[index].socket == socket else { return }
        // What a socket has is read in one go; of TLS there may be more in the stream.
        if devices[index].tls == nil, count < scratch.count { return }
      case .wantsToRead, .wantsToWrite: return
      case .ended: return lose(index)
      }
    }
  }

  private mutating func read(_ index: Int) -> TLSStep {
    if let tls = devices[index].tls { return tls.read(into: &scratch) }
    let count = recv(devices[index].socket, &scratch, scratch.count, 0)
    if count > 0 { return .done(count) }
    return count < 0 && errno == EAGAIN ? .wantsToRead : .ended
  }

  /// Takes what is whole; false when the device lost its connection over it.
  private mutating func take(_ index: Int) -> Bool {
    var bytes: [UInt8] = []
    swap(&bytes, &devices[index].input)
    var at = 0
    if devices[index].phase == .upgrading {
      guard let end = endOfHead(bytes) else {
        devices[index].input = bytes
        return true
      }
      guard bytes.starts(with: "HTTP/1.1 101 ".utf8) else {
        figures.note("a WebSocket was refused: \(String(decoding: bytes.prefix { $0 != 13 }, as: UTF8.self))")
        lose(index)
        return false
      }
      at = end
      greet(index)
    }
    let socket = devices[index].socket
    while true {
      switch Frames.read(bytes, at: at) {
      case .part:
        devices[index].input = at == bytes.count ? [] : Array(bytes[at...])
        return true
      case .broken:
        figures.note("the server sent what is no frame")
        lose(index)
        return false
      case .frame(let frame):
        at = frame.payload.upperBound
        handle(index, frame, bytes)
        guard devices[index].socket == socket else { return false }
      }
    }
  }

  private func endOfHead(_ bytes: [UInt8]) -> Int? {
    guard bytes.count >= 4 else { return nil }
    for end in 4...bytes.count where bytes[(end - 4)..<end].elementsEqual([13, 10, 13, 10]) { return end }
    return nil
  }

  private mutating func handle(_ index: Int, _ frame: ServerFrame, _ bytes: [UInt8]) {
    switch frame.opcode {
    case .ping:
      figures.pings += 1
      Frames.append(
        .pong, bytes[frame.payload], mask: UInt32(truncatingIfNeeded: random.next()), to: &devices[index].output)
      if !flush(index) { lose(index) }
    case .pong: break
    case .close: lose(index)
    case .text where frame.isFinal: hear(index, bytes, frame.payload)
    case .text, .binary: devices[index].fragments = Array(bytes[frame.payload])
    case .continuation:
      devices[index].fragments += bytes[frame.payload]
      guard frame.isFinal else { return }
      var whole: [UInt8] = []
      swap(&whole, &devices[index].fragments)
      hear(index, whole, whole.indices)
    }
  }
}
