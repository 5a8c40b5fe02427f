// Whether a path still names the file that was opened, and whether somebody else has written it: what SQLite writes to a file
// that was removed is on no disk that anybody finds again.

import Glibc

/// Which file a path names, and what its last change was.
struct FileIdentity: Equatable {
  /// Device and inode: another file has others.
  struct Location: Equatable {
    var device: UInt64
    var inode: UInt64
  }
  /// Any write changes one of them.
  struct Content: Equatable {
    var bytes: Int64
    var modified: Int64
    var changed: Int64
  }

  var location: Location
  var content: Content

  /// What is at the path; nil where nothing is. The file is not opened: closing it would drop SQLite's locks.
  init?(path: String) {
    var facts = stat()
    guard stat(path, &facts) == 0 else { return nil }
    location = Location(device: UInt64(facts.st_dev), inode: UInt64(facts.st_ino))
    content = Content(
      bytes: Int64(facts.st_size), modified: Self.nanoseconds(facts.st_mtim), changed: Self.nanoseconds(facts.st_ctim))
  }

  private static func nanoseconds(_ time: timespec) -> Int64 {
    Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
  }
}

/// The first bytes of a file that stays open. While SQLite has the file no descriptor of it may be closed: that drops SQLite's locks.
private final class FileHead {
  private let descriptor: Int32

  init(path: String) { descriptor = open(path, O_RDONLY | O_CLOEXEC) }

  deinit { if descriptor >= 0 { close(descriptor) } }

  /// Format, page size and program (SQLite's file format, section 1.3): what no write to a database changes. Empty where the file
  /// has no head.
  var facts: [UInt8] {
    var bytes = [UInt8](repeating: 0, count: 100)
    guard pread(descriptor, &bytes, bytes.count, 0) == bytes.count else { return [] }
    return Array(bytes[0..<18] + bytes[68..<72])
  }
}

/// The database and its log as they were when they were last written here.
struct FileWatch {
  private let path: String
  private let head: FileHead
  private var facts: [UInt8] = []
  private var file: FileIdentity?
  private var log: FileIdentity.Location?

  /// Begins after the file was opened, and its log with it.
  init(path: String) {
    self.path = path
    head = FileHead(path: path)
    note()
  }

  /// What is there now is what was written here.
  mutating func note() {
    file = FileIdentity(path: path)
    log = FileIdentity(path: path + "-wal")?.location
    facts = head.facts
  }

  /// The number of the program is in the file from the first checkpoint on.
  private func isOurs(_ now: [UInt8]) -> Bool {
    let ours = withUnsafeBytes(of: UInt32(truncatingIfNeeded: Schema.applicationID).bigEndian) { Array($0) }
    return now == facts || !now.isEmpty && now.prefix(18) == facts.prefix(18) && Array(now.suffix(4)) == ours
  }

  enum Finding: Equatable {
    case asItWas
    /// The path names another file, or none: of the database or of its log.
    case elsewhere(String)
    /// Somebody else has written the file.
    case changed
    /// And it is not that file any more.
    case overwritten(String)
  }

  /// What has become of the file since `note`.
  func look() -> Finding {
    let (now, logNow) = (FileIdentity(path: path), FileIdentity(path: path + "-wal")?.location)
    guard let file, let now else { return .elsewhere("\(path) was removed while it was open") }
    guard now.location == file.location else {
      return .elsewhere("\(path) was replaced by another file while it was open")
    }
    guard logNow == log else { return .elsewhere("\(path)-wal was removed or replaced while it was open") }
    guard now.content != file.content else { return .asItWas }
    if now.content.bytes < file.content.bytes { return .overwritten("it was cut off") }
    return isOurs(head.facts) ? .changed : .overwritten("it does not begin as a database of Roost does")
  }
}
