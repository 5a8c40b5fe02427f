// Crypto: the one target that imports OpenSSL.
//
// Threads: a context (HMAC, AES, DTLS engine) belongs to the thread that uses it and may move with its owner, but never
// be used by two threads at once; being noncopyable it cannot be by accident. A `Certificate` may be shared by all
// threads. OpenSSL's error queue is per thread: it is cleared before a call whose errors are read, and read right after.

internal import COpenSSL

/// Why something in OpenSSL, or in another library with the same duties, did not work. None of these come from what a peer sent.
public enum CryptoError: Error, Equatable, CustomStringConvertible {
  /// OpenSSL refused; the text is its own, for a log line.
  case openSSL(String)
  /// This machine cannot do it; the text says why, for a log line.
  case unavailable(String)
  /// A key or nonce has a length that the algorithm does not take.
  case wrongLength

  /// A line for people.
  public var description: String {
    switch self {
    case .openSSL(let text): "OpenSSL: \(text)"
    case .unavailable(let text): text
    case .wrongLength: "a key or nonce has the wrong length"
    }
  }
}

enum ErrorQueue {
  static func clear() { ERR_clear_error() }

  /// The oldest error of this thread as (code, text), emptying the queue; nil when there is none.
  static func removeAll() -> (code: UInt, text: String)? {
    let code = ERR_get_error()
    ERR_clear_error()
    guard code != 0 else { return nil }
    guard let reason = ERR_reason_error_string(code) else { return (code, "error \(String(code, radix: 16))") }
    return (code, String(cString: reason))
  }

  /// What OpenSSL says about the call that just failed.
  static func error(_ call: String) -> CryptoError {
    .openSSL("\(call): \(removeAll()?.text ?? "no reason given")")
  }
}
