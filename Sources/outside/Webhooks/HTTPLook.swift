// A look at a web server before anything is told to it: for `roost doctor`.

import Basics
internal import CCurl

/// What came of a look.
public enum HTTPLook: Hashable, Sendable {
  /// It answers, with this status.
  case reached(status: Int)
  case unknownName
  /// Nobody listens, or no way leads there; in libcurl's words.
  case unreachable(String)
  /// TLS does not come about, or whoever answers is not who was asked for.
  case untrusted(String)
  case late
  /// Anything else.
  case failed(String)
}

/// Sends `OPTIONS` to a server, which tells it nothing, and waits for the answer. Not for threads that must not wait.
public func probe(_ url: String, within time: TimeDelta) -> HTTPLook {
  guard isCurlReady else { return .failed("libcurl could not be loaded: install libcurl4") }
  var words = [CChar](repeating: 0, count: Int(CURL_ERROR_SIZE))
  var result = CURLE_OK
  let status = ccurl_options(url, Int(clamping: time.milliseconds), &words, &result)
  let reason = words[0] == 0 ? String(cString: ccurl_words(result)) : text(words)
  switch result {
  case CURLE_OK: return .reached(status: status)
  case CURLE_COULDNT_RESOLVE_HOST: return .unknownName
  case CURLE_COULDNT_CONNECT: return .unreachable(reason)
  case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION: return .untrusted(reason)
  case CURLE_OPERATION_TIMEDOUT: return .late
  default: return .failed(reason)
  }
}

private func text(_ words: [CChar]) -> String {
  String(decoding: words.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
}
