// What this process takes.

import Glibc

/// RAM that this process takes, in bytes, pages of files included; 0 where the system does not say.
public func residentBytes() -> Int {
  var pages = [CChar](repeating: 0, count: 256)
  guard let file = fopen("/proc/self/statm", "r") else { return 0 }
  defer { fclose(file) }
  guard fgets(&pages, 256, file) != nil else { return 0 }
  let fields = String(decoding: pages.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self).split(
    separator: " ")
  return fields.count > 1 ? (Int(fields[1]) ?? 0) * sysconf(Int32(_SC_PAGESIZE)) : 0
}
