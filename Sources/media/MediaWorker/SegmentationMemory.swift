// Who cannot take segments: remembered, so that the kernel is not asked in vain with every send.

import Media

/// Which sockets and paths get single datagrams.
struct SegmentationMemory {
  /// Paths remembered. With more all are tried anew; raise it and more peers behind small MTUs are spared that.
  static let capacity = 1_024

  private var sockets: Set<UInt8> = []
  private var paths: Set<Path> = []

  /// What a failed segmented send means.
  enum Verdict: Equatable {
    /// Send the datagrams singly, now and from now on.
    case sendSingly
    /// Not about segments.
    case other
  }

  /// Whether a segmented send may be tried.
  func allows(_ path: Path) -> Bool {
    (sockets.isEmpty || !sockets.contains(path.socket)) && (paths.isEmpty || !paths.contains(path))
  }

  /// Takes in a negated errno. EIO is the device's answer, which cannot checksum segments: it holds for the socket. EMSGSIZE,
  /// EINVAL before Linux 6.14, may be a path whose MTU is below the segment's size, and one peer's MTU must not cost the
  /// others anything.
  mutating func refused(_ status: Int32, _ path: Path) -> Verdict {
    switch status {
    case -5: sockets.insert(path.socket)
    case -22, -90:
      if paths.count >= Self.capacity { paths.removeAll(keepingCapacity: true) }
      paths.insert(path)
    default: return .other
    }
    return .sendSingly
  }
}
