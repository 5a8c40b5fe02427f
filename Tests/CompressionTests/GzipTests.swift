// What the fence makes is read back by somebody else's reader: `gzip`.
import Compression
import Foundation
import Testing

@Suite struct GzipTests {
  private func unpack(_ bytes: [UInt8]) throws -> (bytes: [UInt8], status: Int32) {
    let folder = FileManager.default.temporaryDirectory.appending(path: "gzip-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appending(path: "file.gz")
    try Data(bytes).write(to: file)
    let output = Pipe()
    let gzip = Process()
    gzip.executableURL = URL(filePath: "/bin/gzip")
    gzip.arguments = ["-dc", file.path()]
    gzip.standardOutput = output
    gzip.standardError = FileHandle.nullDevice
    try gzip.run()
    let data = try output.fileHandleForReading.readToEnd() ?? Data()
    gzip.waitUntilExit()
    return (Array(data), gzip.terminationStatus)
  }

  @Test(arguments: [0, 1, 100, 65_536, 1_000_000])
  func whatIsCompressedComesBack(_ count: Int) throws {
    let bytes = (0..<count).map { UInt8(truncatingIfNeeded: ($0 / 7) ^ ($0 >> 9)) }
    let packed = try #require(Gzip.compress(bytes))
    let read = try unpack(packed)
    #expect(read.status == 0 && read.bytes == bytes)
    if count > 1_000 { #expect(packed.count < count / 4) }
    #expect(Gzip.compress(bytes) == packed, "the same bytes, the same result")
  }

  /// The control: `gzip` does not take whatever it is given.
  @Test func aWrongByteIsSeen() throws {
    var packed = try #require(Gzip.compress(Array("hello, hello, hello".utf8)))
    packed[packed.count - 5] ^= 1
    #expect(try unpack(packed).status != 0)
  }
}
