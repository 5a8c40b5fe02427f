// Small things of the operating system: files, what a process uses.

import Basics
import Glibc

/// The bytes of a file, 16 MiB at most; nil when it cannot be read.
func readFile(_ path: String) -> [UInt8]? {
  let descriptor = open(path, O_RDONLY | O_CLOEXEC)
  guard descriptor >= 0 else { return nil }
  defer { close(descriptor) }
  var bytes: [UInt8] = []
  var buffer = [UInt8](repeating: 0, count: 65_536)
  while bytes.count < 16 << 20 {
    let count = read(descriptor, &buffer, buffer.count)
    if count < 0 { return nil }
    if count == 0 { break }
    bytes += buffer[..<count]
  }
  return bytes
}

/// Writes a file anew; false when that fails.
func writeFile(_ path: String, _ text: String) -> Bool {
  let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
  guard descriptor >= 0 else { return false }
  defer { close(descriptor) }
  var rest = Array(text.utf8)[...]
  while !rest.isEmpty {
    let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
    if count <= 0 { return false }
    rest = rest.dropFirst(count)
  }
  return true
}

/// The names in a directory.
func namesIn(_ path: String) -> [String] {
  guard let directory = opendir(path) else { return [] }
  defer { closedir(directory) }
  var names: [String] = []
  while let entry = readdir(directory) {
    let name = withUnsafePointer(to: &entry.pointee.d_name) {
      $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
    }
    if name != "." && name != ".." { names.append(name) }
  }
  return names.sorted()
}

/// What a process has used so far, by the kernel's accounting.
struct ProcessUsage: Sendable, Equatable {
  /// CPU time of all its threads, in nanoseconds.
  var cpuNanoseconds: UInt64 = 0
  /// Resident memory in bytes.
  var residentBytes: UInt64 = 0

  /// Reads /proc; nil when there is no such process.
  init?(pid: Int32) {
    let tasks = "/proc/\(pid)/task"
    let threads = namesIn(tasks)
    guard !threads.isEmpty, let memory = readFile("/proc/\(pid)/statm") else { return nil }
    for thread in threads {
      // The first number of schedstat is time on a CPU in nanoseconds; stat has it in hundredths of a second only.
      guard let line = readFile("\(tasks)/\(thread)/schedstat") else { continue }
      cpuNanoseconds += Self.numbers(line).first ?? 0
    }
    let pages = Self.numbers(memory)
    residentBytes = (pages.count > 1 ? pages[1] : 0) * UInt64(max(1, sysconf(Int32(_SC_PAGESIZE))))
  }

  private static func numbers(_ bytes: [UInt8]) -> [UInt64] {
    bytes.split(whereSeparator: { $0 == 32 || $0 == 10 }).compactMap { UInt64(String(decoding: $0, as: UTF8.self)) }
  }
}
