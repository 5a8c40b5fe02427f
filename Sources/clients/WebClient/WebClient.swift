// WebClient: the page at `/` and the JavaScript SDK `roost.js`, embedded in the binary. The files themselves stand in
// `Assets/`; the C target CWebAssets carries their bytes.
import Compression

internal import CWebAssets

/// One file of the web client, ready to be sent.
public struct WebAsset: Sendable, Equatable {
  /// The path it is served at: starts with `/`.
  public let path: String
  /// For the `Content-Type` header.
  public let contentType: String
  /// The whole file.
  public let bytes: [UInt8]
  /// The same as one gzip member, compressed once; nil where that is no smaller.
  let gzipped: [UInt8]?
  /// A strong validator (RFC 9110 §8.8.3) of `bytes` with its quotes, changed by any change of them.
  public let etag: String
}

extension WebAsset {
  /// `WebClient.headers`; scripts may be imported by pages from elsewhere too, which is how the SDK is used without our page.
  /// They are the same for everybody, so there is nothing to guard.
  public var headers: [(name: String, value: String)] {
    WebClient.headers + (path.hasSuffix(".js") ? [("Access-Control-Allow-Origin", "*")] : [])
  }
}

/// The files of the web client.
public enum WebClient {
  /// Every file by path; `/` and `/index.html` are the same page. Compressing them takes some 20 ms, the first time that this is
  /// asked for: do so before there are clients who wait.
  public static let assets: [String: WebAsset] = loadAssets()

  /// Headers that belong on every answer with an asset. The page has no inline script or style and loads nothing from
  /// elsewhere, and this policy holds it to that.
  public static let headers: [(name: String, value: String)] = [
    (
      "Content-Security-Policy",
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        + "connect-src 'self' ws: wss:; media-src 'self' blob: mediastream:; base-uri 'none'; form-action 'none'; "
        + "frame-ancestors 'none'"
    ),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
    ("Permissions-Policy", "camera=(self), microphone=(self), display-capture=(self)"),
    // A browser may keep the files, but asks with If-None-Match each time: an upgraded server is seen at once.
    ("Cache-Control", "no-cache"),
    ("Vary", "Accept-Encoding"),
  ]

  /// The file at `path`, as it stands in a request line: a query (`/?room=demo`) is looked past.
  /// - Returns: nil where there is no such file (404).
  public static func asset(path: String) -> WebAsset? {
    guard let end = path.firstIndex(where: { $0 == "?" || $0 == "#" }) else { return assets[path] }
    return assets[String(path[..<end])]
  }

  private static func loadAssets() -> [String: WebAsset] {
    var assets: [String: WebAsset] = [:]
    for index in 0..<cwebassets_count() {
      let file = cwebassets_at(index)
      let bytes = Array(UnsafeBufferPointer(start: file.bytes, count: file.count))
      let name = String(cString: file.name)
      let gzipped = Gzip.compress(bytes).flatMap { $0.count < bytes.count ? $0 : nil }
      for path in name == "index.html" ? ["/", "/index.html"] : ["/" + name] {
        assets[path] = WebAsset(
          path: path, contentType: String(cString: file.content_type), bytes: bytes, gzipped: gzipped,
          etag: etag(of: bytes))
      }
    }
    return assets
  }

  /// FNV-1a over the bytes: it tells versions of our own files apart and guards nothing.
  private static func etag(of bytes: [UInt8]) -> String {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in bytes {
      hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3
    }
    return "\"" + String(hash, radix: 16) + "\""
  }
}
