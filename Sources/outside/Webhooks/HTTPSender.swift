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

  /// Bytes of the answer's body that are read: a longer one is a failure. 0: whatever comes is thrown away.
  public var mostAnswerBytes: Int
  /// Whether somebody waits for the answer: then it takes HTTP/1.1, so that a dead connection is not used again, and never waits for a name server.
  public var isUrgent = false

  /// A request.
  public init(
    url: String, headers: [(name: String, value: String)], body: [UInt8], timeout: TimeDelta, mostAnswerBytes: Int = 0
  ) {
    (self.url, self.headers, self.body, self.timeout) = (url, headers, body, timeout)
    self.mostAnswerBytes = mostAnswerBytes
  }
}

/// What came of a request.
public struct HTTPAnswer: Hashable, Sendable {
  /// The name that it was sent under.
  public var id: String
  /// Its status, or why there is none.
  public var outcome: HTTPOutcome
  /// The body, where that was to be read.
  public var body: [UInt8]
  /// Whether it failed because the body was too long.
  public var isTooLong: Bool

  /// An answer.
  public init(id: String, outcome: HTTPOutcome, body: [UInt8], isTooLong: Bool = false) {
    (self.id, self.outcome, self.body, self.isTooLong) = (id, outcome, body, isTooLong)
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
    let answer: AnswerBuffer?
  }

  /// Where libcurl writes a body, which needs a place of its own for as long as the request is there.
  private final class AnswerBuffer {
    let body = UnsafeMutablePointer<ccurl_body>.allocate(capacity: 1)
    private let bytes: UnsafeMutablePointer<UInt8>

    init(_ capacity: Int) {
      bytes = .allocate(capacity: capacity)
      body.initialize(to: ccurl_body(bytes: bytes, capacity: capacity, count: 0, is_full: 0))
    }

    deinit {
      body.deallocate()
      bytes.deallocate()
    }

    /// What has come.
    var all: [UInt8] { Array(UnsafeBufferPointer(start: bytes, count: body.pointee.count)) }
    /// Why the request failed; nil where it has not failed by its length.
    var problem: String? {
      body.pointee.is_full == 0 ? nil : "the answer is longer than \(body.pointee.capacity) bytes"
    }
  }

  private let multi: UnsafeMutableRawPointer
  private var running: [UnsafeMutableRawPointer: Running] = [:]
  private var failed: [HTTPAnswer] = []

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
    // 0 would be no bound at all.
    let milliseconds = max(1, Int(clamping: post.timeout.milliseconds))
    let easy = post.body.withUnsafeBytes {
      ccurl_post(post.url, headers, $0.baseAddress, $0.count, milliseconds, milliseconds)
    }
    let answer = post.mostAnswerBytes > 0 ? AnswerBuffer(post.mostAnswerBytes) : nil
    guard let easy, answer.map({ ccurl_keep(easy, $0.body) == 0 }) ?? true, !post.isUrgent || ccurl_hurry(easy) == 0,
      ccurl_multi_add(multi, easy) == 0
    else {
      ccurl_free(easy)
      ccurl_headers_free(headers)
      let outcome = HTTPOutcome.failed("the request could not be made", mayHaveArrived: false)
      return failed.append(HTTPAnswer(id: id, outcome: outcome, body: []))
    }
    running[easy] = Running(id: id, easy: easy, headers: headers, answer: answer)
  }

  /// Sleeps until a request moves, `descriptor` becomes readable, or the time is over.
  public mutating func wait(descriptor: Int32, milliseconds: Int) {
    ccurl_multi_wait(multi, descriptor, Int32(clamping: failed.isEmpty ? milliseconds : 0))
  }

  /// Moves all requests on and takes those that are done, without what they were answered.
  public mutating func takeFinished() -> [(id: String, outcome: HTTPOutcome)] {
    takeAnswers().map { ($0.id, $0.outcome) }
  }

  /// Moves all requests on and takes those that are done.
  public mutating func takeAnswers() -> [HTTPAnswer] {
    ccurl_multi_perform(multi)
    defer { failed = [] }
    var finished = failed
    var result = CURLE_OK
    while let easy = ccurl_next_done(multi, &result) {
      guard let request = running.removeValue(forKey: easy) else { continue }
      let problem = request.answer?.problem
      let outcome = problem.map { .failed($0, mayHaveArrived: true) } ?? Self.outcome(easy, result)
      finished.append(
        HTTPAnswer(id: request.id, outcome: outcome, body: request.answer?.all ?? [], isTooLong: problem != nil))
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
