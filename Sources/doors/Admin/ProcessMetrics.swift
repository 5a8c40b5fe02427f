// What the operating system says of this process (proc(5)).
import DoorKit

#if canImport(Glibc)
  import Glibc
#endif

/// CPU, memory and descriptors of this process, as `roost_process_…`.
public enum ProcessMetrics {
  /// Reads `/proc/self` now. What cannot be read is left out.
  public static func read() -> [Metric] {
    var metrics: [Metric] = []
    if let status = Status(file("/proc/self/stat") ?? "") {
      metrics.append(
        Metric(
          "roost_process_cpu_seconds_total", .counter, help: "CPU time used, user and system, in seconds.",
          [.init(status.cpuSeconds)]))
      metrics.append(
        .gauge("roost_process_resident_memory_bytes", help: "Resident memory in bytes.", status.residentBytes))
      metrics.append(.gauge("roost_process_threads", help: "Threads of the process.", status.threads))
      if let boot = bootTime() {
        metrics.append(
          Metric(
            "roost_process_start_time_seconds", .gauge, help: "When the process started, in seconds since 1970.",
            [.init(boot + status.startSeconds)]))
      }
    }
    if let open = openDescriptors() {
      metrics.append(.gauge("roost_process_open_fds", help: "Open file descriptors.", open))
    }
    var limit = rlimit()
    if getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 {
      metrics.append(
        .gauge("roost_process_max_fds", help: "Most file descriptors that may be open.", limit.rlim_cur))
    }
    return metrics
  }

  /// Bytes of RAM that hold no file: the heap, stacks, tables; nil where the system does not say.
  public static func anonymousBytes() -> UInt64? { file("/proc/self/statm").flatMap { anonymousBytes($0) } }

  /// The same of the text of `/proc/self/statm`: pages of all of the process, those that are resident, and of these those of files and
  /// shared memory.
  static func anonymousBytes(_ text: String, page: Int = sysconf(Int32(_SC_PAGESIZE))) -> UInt64? {
    let fields = text.split(whereSeparator: \.isWhitespace).prefix(3).compactMap { UInt64($0) }
    guard fields.count == 3, fields[1] >= fields[2], let page = UInt64(exactly: page) else { return nil }
    return (fields[1] - fields[2]).multipliedReportingOverflow(by: page).partialValue
  }

  /// The fields of `/proc/self/stat` that count here.
  struct Status {
    var cpuSeconds: Double
    var residentBytes: Int
    var threads: Int
    var startSeconds: Double

    /// The second field is the program's name in parentheses and may hold blanks, so counting starts after its last `)`.
    init?(_ text: String, ticks: Double = Double(sysconf(Int32(_SC_CLK_TCK))), page: Int = sysconf(Int32(_SC_PAGESIZE)))
    {
      guard let end = text.lastIndex(of: ")") else { return nil }
      let fields = text[text.index(after: end)...].split(whereSeparator: \.isWhitespace)
      guard fields.count > 21, ticks > 0, let user = Double(fields[11]), let system = Double(fields[12]),
        let threads = Int(fields[17]), let start = Double(fields[19]), let pages = Int(fields[21])
      else { return nil }
      cpuSeconds = (user + system) / ticks
      startSeconds = start / ticks
      residentBytes = pages.multipliedReportingOverflow(by: page).partialValue
      self.threads = threads
    }
  }

  private static func bootTime() -> Double? {
    guard let text = file("/proc/stat"), let line = text.split(separator: "\n").first(where: { $0.hasPrefix("btime ") })
    else { return nil }
    return Double(line.dropFirst("btime ".count))
  }

  private static func openDescriptors() -> Int? {
    guard let directory = opendir("/proc/self/fd") else { return nil }
    defer { closedir(directory) }
    var count = 0
    while readdir(directory) != nil { count += 1 }
    return count - 3  // ".", ".." and the directory itself
  }

  private static func file(_ path: String) -> String? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 16_384)
    while bytes.count < 1 << 20 {
      let count = Glibc.read(descriptor, &buffer, buffer.count)
      if count <= 0 { break }
      bytes += buffer.prefix(count)
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
