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

  /// A logger that gives its lines to `sink` (default: standard error) and takes the time from `wallMilliseconds`
  /// (milliseconds since 1970 UTC; default: the system's clock).
  public init(
    level: LogLevel = .info, format: LogFormat = .text, sink: @escaping Sink = Logger.standardError,
    wallMilliseconds: @escaping @Sendable () -> Int64 = Logger.systemWallMilliseconds
  ) {
    self.level = level
    self.format = format
    self.output = Output(sink: sink)
    self.wallMilliseconds = wallMilliseconds
  }

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
    let time = Timestamp.rfc3339(wallMilliseconds: wallMilliseconds())
    let line =
      switch format {
      case .text: LineFormat.text(time: time, level: level, message: message, fields: fields)
      case .json: LineFormat.json(time: time, level: level, message: message, fields: fields)
      }
    output.write(line)
  }

  private final class Output: Sendable {
    private let sink: Locked<Sink>
    init(sink: @escaping Sink) { self.sink = Locked(sink) }
    func write(_ line: [UInt8]) { sink.withLock { $0(line) } }
  }
}

extension Logger {
  /// The sink that writes to standard error.
  public static let standardError: Sink = { writeAll($0, to: 2) }
  /// The sink that writes to standard output.
  public static let standardOutput: Sink = { writeAll($0, to: 1) }

  /// The system's wall clock, in milliseconds since 1970 UTC.
  public static let systemWallMilliseconds: @Sendable () -> Int64 = {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) &* 1000 &+ Int64(time.tv_nsec) / 1_000_000
  }

  /// A line that cannot be written is lost: there is nowhere left to complain to.
  private static func writeAll(_ line: [UInt8], to descriptor: Int32) {
    line.withUnsafeBytes { bytes in
      var rest = bytes[...]
      while !rest.isEmpty {
        let written = write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
        if written > 0 {
          rest = rest.dropFirst(written)
        } else if written < 0 && errno == EINTR {
          continue
        } else {
          return
        }
      }
    }
  }
}
