// Doctor: can records be kept where the configuration says?
import CLinux
import Configuration
import Glibc
import Storage

/// Free space below which the doctor warns: a busy server's records of some weeks.
private let wantedBytes: UInt64 = 256 << 20

/// Looks at the record file and its directory. What was not there before is not there afterwards.
func examineStorage(_ storage: ServerConfiguration.Storage) -> [Finding] {
  guard let path = storage.path else {
    return [.warning("storage: none, so chat ends with the process", mend: "name a file in storage.path")]
  }
  let isNew = access(path, F_OK) != 0
  do throws(StorageError) {
    try RecordFile.inspect(path: path)
  } catch {
    if error.kind == .damaged {
      return [.warning("storage: \(path) is damaged: \(error.message)", mend: error.remedy)]
    }
    if error.kind == .inUse {
      return [.warning("storage: \(error.message)", mend: "fine while Roost runs; else \(error.remedy)")]
    }
    return [.failure("storage: \(path): \(error)", mend: error.remedy)]
  }
  if let free = freeBytes(at: path), free < wantedBytes {
    return [
      .warning(
        "storage: \(path): only \(free >> 20) MiB are free", mend: "make space on its disk, or move storage.path")
    ]
  }
  return [.ok("storage: \(path) \(isNew ? "can be made" : "is sound")")]
}

/// Space for everybody on the disk of a file's directory.
private func freeBytes(at path: String) -> UInt64? {
  let directory = path.lastIndex(of: "/").map { String(path[..<$0]) + "/" } ?? "."
  var facts = statvfs()
  guard statvfs(directory, &facts) == 0 else { return nil }
  return UInt64(facts.f_bavail) * UInt64(facts.f_frsize)
}
