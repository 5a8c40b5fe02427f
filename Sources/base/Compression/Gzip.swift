// The zlib fence: bytes as one gzip member (RFC 1952). A call keeps nothing, so any thread may make it.
internal import CZlib

/// Compression of what is sent many times and compressed once.
public enum Gzip {
  /// Higher is smaller and slower; 9 is the end of the scale. A file of 20 KB takes a millisecond or two.
  private static let level: Int32 = 9

  /// `bytes` compressed, without name or time, so equal bytes always give equal results.
  /// - Returns: nil where zlib has no memory, or `bytes` are more than 4 GB.
  public static func compress(_ bytes: [UInt8]) -> [UInt8]? {
    guard let length = UInt32(exactly: bytes.count) else { return nil }
    var stream = z_stream()
    guard czlib_begin_gzip(&stream, level) == Z_OK else { return nil }
    defer { deflateEnd(&stream) }
    let bound = Int(deflateBound(&stream, UInt(length)))
    guard let capacity = UInt32(exactly: bound) else { return nil }
    // zlib reads `next_in` and never writes there; its type is older than const.
    var input = bytes
    let result = input.withUnsafeMutableBufferPointer { input in
      [UInt8](unsafeUninitializedCapacity: bound) { output, count in
        stream.next_in = input.baseAddress
        stream.avail_in = length
        stream.next_out = output.baseAddress
        stream.avail_out = capacity
        count = deflate(&stream, Z_FINISH) == Z_STREAM_END ? Int(stream.total_out) : 0
      }
    }
    return result.isEmpty ? nil : result
  }
}
