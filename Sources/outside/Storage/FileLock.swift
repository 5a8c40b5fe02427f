// The files around the database: a lock against a second server, private permissions, and setting aside.

import Glibc

/// Held by one process at a time; the system lets go of it when the process ends, however it ends.
///
/// It is a file of its own because closing any descriptor of the database itself would drop SQLite's locks.
struct FileLock: ~Copyable {
  private let descriptor: Int32

  /// Takes the lock.
  init(path: String) throws(StorageError) {
    descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      // EROFS and EACCES are about the place, not about who else has it.
      let kind: StorageError.Kind = errno == EROFS ? .readOnly : errno == ENOSPC ? .full : .cannotOpen
      throw StorageError(kind, "\(path): \(String(cString: strerror(errno)))")
    }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      close(descriptor)
      throw StorageError(.inUse, "another process has \(path)")
    }
  }

  deinit { close(descriptor) }
}

/// Makes an empty file that its owner alone may read, where there is none: it will hold what people write.
func makePrivateFile(_ path: String) throws(StorageError) {
  let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
  guard descriptor >= 0 else {
    let kind: StorageError.Kind = errno == ENOSPC ? .full : errno == EROFS || errno == EACCES ? .readOnly : .cannotOpen
    throw StorageError(kind, "\(path): \(String(cString: strerror(errno)))")
  }
  close(descriptor)
}

/// Renames a database with its log; what is not there is not needed.
func moveDatabase(from path: String, to name: String) throws(StorageError) {
  for suffix in ["-wal", "-shm"] { rename(path + suffix, name + suffix) }
  guard rename(path, name) == 0 else {
    throw StorageError(.cannotOpen, "\(path) cannot be renamed: \(String(cString: strerror(errno)))")
  }
}

private let suffixes = ["", "-wal", "-shm", "-journal", "-lock"]

/// Suffixes of the database's files that are there.
func existingFiles(of path: String) -> Set<String> { Set(suffixes.filter { access(path + $0, F_OK) == 0 }) }

/// Removes the database's files but those with these suffixes. Only for files that a look has made.
func removeFiles(of path: String, except kept: Set<String>) {
  for suffix in suffixes where !kept.contains(suffix) { unlink(path + suffix) }
}
