// The logger: a value that knows its level, format and sink. One record is one line, whatever its fields hold.
import Basics

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Writes structured records, each on one line. A value; copies share the sink and its lock.
///
///     let log = Logger(level: .info, format: .text)
///     log.info("joined", ["room": "demo", "user": LogValue(user)])
///
/// Message and fields are not evaluated, and nothing is allocated, when the level is off.
public struct Logger: Sendable {
  /// Takes one whole line, newline included. Calls never overlap.
  public typealias Sink = @Sendable ([UInt8]) -> Void

  /// Records below this level are not written.
  public let level: LogLevel
  private let format: LogFormat
  private let output: Output
  private let wallMilliseconds: @Sendable () -> Int64

  /// A logger that gives its lines to `sink`, which may wait, and takes the time from `wallMilliseconds` (milliseconds since 1970 UTC;
  /// default: the system's clock).
  public init(
    level: LogLevel = .info, format: LogFormat = .text, sink: @escaping Sink,
    wallMilliseconds: @escaping @Sendable () -> Int64 = Logger.systemWallMilliseconds
  ) {
    self.init(level, format, .sink(Locked(sink)), wallMilliseconds)
  }

  /// A logger that never blocks: `writer` writes its lines (default: to standard error), and counts those that its reader does not take.
  public init(
    level: LogLevel = .info, format: LogFormat = .text, writer: LineWriter = .standardError,
    wallMilliseconds: @escaping @Sendable () -> Int64 = Logger.systemWallMilliseconds
  ) {
    self.init(level, format, .writer(writer), wallMilliseconds)
  }

  private init(
    _ level: LogLevel, _ format: LogFormat, _ output: Output, _ wallMilliseconds: @escaping @Sendable () -> Int64
  ) {
    (self.level, self.format, self.output) = (level, format, output)
    self.wallMilliseconds = wallMilliseconds
  }

  /// Lines that were lost since the start, as nobody read them.
  public var linesLost: UInt64 {
    if case .writer(let writer) = output { writer.lost } else { 0 }
  }

  /// Waits until what was written is with the reader, so long at most.
  public func flush(within time: TimeDelta) { if case .writer(let writer) = output { writer.flush(within: time) } }

  /// A logger that writes nothing at all.
  public static var disabled: Logger { Logger(level: .error, format: .text, sink: { _ in }) }

  /// Whether records of `level` are written.
  public func isEnabled(_ level: LogLevel) -> Bool { level >= self.level }

  /// Writes a record of `level`, when that level is on.
  public func log(
    _ level: LogLevel, _ message: @autoclosure () -> String, _ fields: @autoclosure () -> LogFields = [:]
  ) {
    guard level >= self.level else { return }
    emit(level, message(), fields())
  }
  /// Writes a record of level `debug`.
  public func debug(_ message: @autoclosure () -> String, _ fields: @autoclosure () -> LogFields = [:]) {
    log(.debug, message(), fields())
  }
  /// Writes a record of level `info`.
  public func info(_ message: @autoclosure () -> String, _ fields: @autoclosure () -> LogFields = [:]) {
    log(.info, message(), fields())
  }
  /// Writes a record of level `warning`.
  public func warning(_ message: @autoclosure () -> String, _ fields: @autoclosure () -> LogFields = [:]) {
    log(.warning, message(), fields())
  }
  /// Writes a record of level `error`.
  public func error(_ message: @autoclosure () -> String, _ fields: @autoclosure () -> LogFields = [:]) {
    log(.error, message(), fields())
  }

  private func emit(_ level: LogLevel, _ message: String, _ fields: LogFields) {
    let line = line(level, message, fields)
    switch output {
    case .sink(let sink): sink.withLock { $0(line) }
    case .writer(let writer):
      writer.write(line, isImportant: level >= .warning) {
        self.line(.warning, "log_lines_lost", ["count": LogValue($0)])
      }
    }
  }

  private func line(_ level: LogLevel, _ message: String, _ fields: LogFields) -> [UInt8] {
    let time = Timestamp.rfc3339(wallMilliseconds: wallMilliseconds())
    return switch format {
    case .text: LineFormat.text(time: time, level: level, message: message, fields: fields)
    case .json: LineFormat.json(time: time, level: level, message: message, fields: fields)
    }
  }

  private enum Output: Sendable {
    case sink(Locked<Sink>)
    case writer(LineWriter)
  }
}

extension Logger {
  /// The system's wall clock, in milliseconds since 1970 UTC.
  public static let systemWallMilliseconds: @Sendable () -> Int64 = {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) &* 1000 &+ Int64(time.tv_nsec) / 1_000_000
  }
}
