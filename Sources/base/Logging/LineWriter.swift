// Where log lines go: to a descriptor, without blocking. A slow reader of standard error must not stop a server.
//
//   write ──▶ the descriptor, while it takes bytes at once
//     └─────▶ otherwise a bounded buffer ──▶ a thread that writes when there is space again ──▶ "log_lines_lost", where some were
import Basics

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Writes lines to a descriptor without ever waiting for it. A reference: copies of a logger share one.
///
/// As long as the descriptor takes bytes at once, a line has been handed to the kernel when `write` returns, so none is missing after a
/// crash.
public final class LineWriter: Sendable {
  /// Bytes that wait for a reader. Raising it keeps more of what was said while nobody read, and takes as much memory then.
  public static let bufferBytes = 1 << 20
  /// What lines below a warning leave of it to the others.
  static let reservedBytes = bufferBytes / 4
  /// Bytes that a pipe takes at once where it takes any (POSIX, PIPE_BUF on Linux).
  private static let pieceBytes = 4096

  /// Makes the line that says how many were lost.
  public typealias Note = @Sendable (_ lost: Int) -> [UInt8]

  private struct State {
    var waiting: [UInt8] = []
    /// How much of `waiting` was written.
    var written = 0
    /// Lines that did not fit, and of which nothing was said yet.
    var unsaid = 0
    var lost: UInt64 = 0
    var note: Note?
    var hasThread = false

    var isEmpty: Bool { written == waiting.count && unsaid == 0 }
  }

  private let descriptor: Int32
  private let isSocket: Bool
  /// Whether writes return at once by themselves.
  private let isNonBlocking: Bool
  private let state = Locked(State())

  /// The writer of standard error.
  public static let standardError = LineWriter(2)

  /// A writer to an open descriptor, which stays open. Its flags are left alone, as other processes may share them.
  public init(_ descriptor: Int32) {
    var facts = stat()
    let kind = fstat(descriptor, &facts) == 0 ? facts.st_mode & S_IFMT : 0
    isSocket = kind == S_IFSOCK
    var own: Int32 = -1
    #if canImport(Glibc)
      // A description of our own for the same pipe or terminal, which may have the flag. Of a file it would begin at its start.
      if kind == S_IFIFO || kind == S_IFCHR {
        own = open("/proc/self/fd/\(descriptor)", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
      }
    #endif
    isNonBlocking = own >= 0
    self.descriptor = own >= 0 ? own : descriptor
  }

  deinit { if isNonBlocking { close(descriptor) } }

  /// Lines that were lost since the start, as nobody read.
  public var lost: UInt64 { state.withLock { $0.lost } }

  /// Writes a whole line, or keeps it for later, or counts it as lost. Does not wait.
  /// - Parameters:
  ///   - isImportant: whether it may take the last of the space.
  ///   - note: says that lines were lost, once there is space again.
  public func write(_ line: [UInt8], isImportant: Bool = true, note: @escaping Note) {
    let needsThread = state.withLock { state in
      drain(&state)
      let waits = state.waiting.count - state.written
      let space = Self.bufferBytes - (isImportant ? 0 : Self.reservedBytes)
      guard waits + line.count <= space, state.unsaid == 0 || isImportant else {
        (state.unsaid, state.lost, state.note) = (state.unsaid + 1, state.lost + 1, note)
        return startsThread(&state)
      }
      state.waiting += line
      drain(&state)
      return startsThread(&state)
    }
    if needsThread { startThread() }
  }

  /// Waits until all lines are written, so long at most.
  /// - Returns: whether they are.
  @discardableResult
  public func flush(within time: TimeDelta) -> Bool {
    let end = Self.milliseconds() + time.milliseconds
    while true {
      let isDone = state.withLock { state in
        drain(&state)
        return state.isEmpty
      }
      let left = end - Self.milliseconds()
      if isDone || left <= 0 { return isDone }
      waitForSpace(milliseconds: Int32(min(left, 50)))
    }
  }

  // MARK: - Writing

  /// Writes what can be written at once.
  private func drain(_ state: inout State) {
    while true {
      if state.written == state.waiting.count, state.unsaid > 0, let note = state.note {
        state.waiting = note(state.unsaid)
        (state.written, state.unsaid) = (0, 0)
      }
      guard state.written < state.waiting.count else { break }
      let count = state.waiting[state.written...].withUnsafeBytes(put)
      if count == 0 { break }
      state.written += count
    }
    if state.written == state.waiting.count {
      (state.waiting, state.written) = ([], 0)
    } else if state.written > Self.bufferBytes / 2 {
      state.waiting.removeFirst(state.written)
      state.written = 0
    }
  }

  /// How many of the bytes were taken at once. All, where the descriptor takes none any more: there is nowhere left to complain to.
  private func put(_ bytes: UnsafeRawBufferPointer) -> Int {
    while true {
      let count: Int
      if isSocket {
        count = send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_DONTWAIT) | Self.noSignal)
      } else if isNonBlocking {
        count = Self.system(descriptor, bytes.baseAddress, bytes.count)
      } else {
        guard hasSpace(milliseconds: 0) else { return 0 }
        count = Self.system(descriptor, bytes.baseAddress, min(bytes.count, Self.pieceBytes))
      }
      if count > 0 { return count }
      if count < 0, errno == EINTR { continue }
      return count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) ? 0 : bytes.count
    }
  }

  #if canImport(Glibc)
    private static let noSignal = Int32(MSG_NOSIGNAL)
    private static func system(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
      Glibc.write(descriptor, bytes, count)
    }
  #else
    private static let noSignal: Int32 = 0
    private static func system(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
      Darwin.write(descriptor, bytes, count)
    }
  #endif

  private func hasSpace(milliseconds: Int32) -> Bool {
    var watched = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    return poll(&watched, 1, milliseconds) > 0
  }

  /// A nonblocking descriptor without a reader is always writable, and a write to it is an end.
  private func waitForSpace(milliseconds: Int32) { _ = hasSpace(milliseconds: milliseconds) }

  private static func milliseconds() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
  }

  // MARK: - The thread that waits for the reader

  private func startsThread(_ state: inout State) -> Bool {
    guard !state.isEmpty, !state.hasThread else { return false }
    state.hasThread = true
    return true
  }

  /// It is there while something waits. Where the system refuses one, the next line tries again.
  private func startThread() {
    let box = Unmanaged.passRetained(self)
    #if canImport(Glibc)
      var all = sigset_t()
      var before = sigset_t()
      sigfillset(&all)
      pthread_sigmask(SIG_BLOCK, &all, &before)
      defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
      var thread = pthread_t()
      let status = pthread_create(
        &thread, nil,
        { argument in
          if let argument { Unmanaged<LineWriter>.fromOpaque(argument).takeRetainedValue().drainUntilEmpty() }
          return nil
        }, box.toOpaque())
      if status == 0 {
        pthread_detach(thread)
        return
      }
    #endif
    box.release()
    state.withLock { $0.hasThread = false }
  }

  private func drainUntilEmpty() {
    while true {
      waitForSpace(milliseconds: 1000)
      let isDone = state.withLock { state in
        drain(&state)
        if state.isEmpty { state.hasThread = false }
        return state.isEmpty
      }
      if isDone { return }
    }
  }
}
