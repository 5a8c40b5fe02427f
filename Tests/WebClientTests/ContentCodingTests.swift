// Which coding of a file is sent to whom.
import Testing

@testable import WebClient

@Suite struct ContentCodingTests {
  @Test(
    arguments: [
      (nil, false), ("", false), ("gzip", true), ("gzip, deflate, br, zstd", true),
      ("br;q=1.0, gzip;q=0.8, *;q=0.1", true),
      ("GZIP", true), ("x-gzip", true), ("deflate", false), ("identity", false), ("gzip;q=0", false),
      ("gzip; q=0.000", false),
      ("gzip;q=0.001", true), ("*", true), ("*;q=0", false), ("*;q=0, gzip", true), ("gzip;q=0, *", false),
      ("*, gzip;q=0", false), (" , ,gzip\t", true), ("gzipped", false), (";q=1", false),
    ] as [(String?, Bool)])
  func gzipIsForWhoTakesIt(_ field: String?, _ isTaken: Bool) throws {
    let asset = try #require(WebClient.asset(path: "/room.js"))
    let sent = asset.representation(accepting: field)
    #expect((sent.coding == "gzip") == isTaken)
    #expect((sent.bytes == asset.bytes) == !isTaken)
    #expect(isTaken ? sent.bytes.count < asset.bytes.count / 2 : sent.etag == asset.etag)
  }

  @Test func everyCodingHasItsOwnTag() throws {
    let asset = try #require(WebClient.asset(path: "/style.css"))
    let (plain, packed) = (asset.representation(accepting: nil), asset.representation(accepting: "gzip"))
    #expect(plain.etag != packed.etag && packed.etag.hasPrefix("\"") && packed.etag.hasSuffix("\""))
    #expect(plain.isKnown(plain.etag) && packed.isKnown(packed.etag))
    #expect(!plain.isKnown(packed.etag) && !packed.isKnown(plain.etag), "whoever has the one has not the other")
    for known in ["*", "\"x\", \(packed.etag)", "W/\(packed.etag)", " \(packed.etag) ,\"y\""] {
      #expect(packed.isKnown(known), "\(known)")
    }
    for unknown in [nil, "", "\"\"", "\"x\"", String(packed.etag.dropLast()), "w/\(packed.etag)"] {
      #expect(!packed.isKnown(unknown), "\(unknown ?? "no field")")
    }
  }
}
