// The libcurl fence: POST requests, many at once, on one thread.
//
// Threads: a sender and its requests belong to the thread that made it; being noncopyable and not Sendable, it cannot be
// used from another. libcurl's global state is made once, under the lock of a global's initialisation.

import Basics
internal import CCurl

/// One request.
public struct HTTPPost: Sendable {
  /// `http:` or `https:`.
  public var url: String
  /// Names and values, without line ends.
  public var headers: [(name: String, value: String)]
  /// What is sent.
  public var body: [UInt8]
  /// For everything, from the look-up of the name to the end of the answer.
  public var timeout: TimeDelta

  /// A request.
  public init(url: String, headers: [(name: String, value: String)], body: [UInt8], timeout: TimeDelta) {
    (self.url, self.headers, self.body, self.timeout) = (url, headers, body, timeout)
  }
}

/// Whether libcurl is there. The first look loads it.
let isCurlReady: Bool = ccurl_start() == 0

/// Sends requests and tells what came of them. Redirects are not followed; certificates are verified.
public struct HTTPSender: ~Copyable {
  private struct Running {
    let id: String
    let easy: UnsafeMutableRawPointer
    let headers: UnsafeMutablePointer<curl_slist>?
  }

  private let multi: UnsafeMutableRawPointer
  private var running: [UnsafeMutableRawPointer: Running] = [:]
  private var failed: [(id: String, outcome: HTTPOutcome)] = []

  /// A sender; nil when libcurl has no memory for one.
  public init?() {
    guard isCurlReady, let multi = ccurl_multi_new() else { return nil }
    self.multi = multi
  }

  deinit {
    for request in running.values {
      ccurl_multi_remove(multi, request.easy)
      ccurl_free(request.easy)
      ccurl_headers_free(request.headers)
    }
    ccurl_multi_free(multi)
  }

  /// Requests on their way.
  public var count: Int { running.count }

  /// Begins a request; `takeFinished` names it by `id`.
  public mutating func send(_ id: String, _ post: HTTPPost) {
    var headers: UnsafeMutablePointer<curl_slist>?
    for (name, value) in post.headers { headers = ccurl_headers_append(headers, "\(name): \(value)") }
    let milliseconds = Int(clamping: post.timeout.milliseconds)
    let easy = post.body.withUnsafeBytes {
      ccurl_post(post.url, headers, $0.baseAddress, $0.count, milliseconds, milliseconds)
    }
    guard let easy, ccurl_multi_add(multi, easy) == 0 else {
      ccurl_free(easy)
      ccurl_headers_free(headers)
      failed.append((id, .failed("the request could not be made", mayHaveArrived: false)))
      return
    }
    running[easy] = Running(id: id, easy: easy, headers: headers)
  }

  /// Sleeps until a request moves, `descriptor` becomes readable, or the time is over.
  public mutating func wait(descriptor: Int32, milliseconds: Int) {
    ccurl_multi_wait(multi, descriptor, Int32(clamping: failed.isEmpty ? milliseconds : 0))
  }

  /// Moves all requests on and takes those that are done.
  public mutating func takeFinished() -> [(id: String, outcome: HTTPOutcome)] {
    ccurl_multi_perform(multi)
    defer { failed = [] }
    var finished = failed
    var result = CURLE_OK
    while let easy = ccurl_next_done(multi, &result) {
      guard let request = running.removeValue(forKey: easy) else { continue }
      finished.append((request.id, Self.outcome(easy, result)))
      ccurl_multi_remove(multi, easy)
      ccurl_free(easy)
      ccurl_headers_free(request.headers)
    }
    return finished
  }

  private static func outcome(_ easy: UnsafeMutableRawPointer, _ result: CURLcode) -> HTTPOutcome {
    guard result == CURLE_OK else {
      return .failed(String(cString: ccurl_words(result)), mayHaveArrived: !happensBeforeSending(result))
    }
    let status = ccurl_status(easy)
    // libcurl takes "HTTP/210. 0 408" for an answer too. What is no status is no refusal.
    guard (100...999).contains(status) else { return .failed("the answer has no HTTP status", mayHaveArrived: true) }
    let seconds = ccurl_retry_after(easy)
    return .answered(status: status, retryAfter: seconds > 0 ? .seconds(Int(min(seconds, 86_400))) : nil)
  }

  private static func happensBeforeSending(_ result: CURLcode) -> Bool {
    [
      CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL, CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_CONNECT,
      CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE,
    ].contains(result)
  }
}
