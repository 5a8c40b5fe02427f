// What comes of requests by URLSession, until it is whole, too long, too late or not wanted any more.
import Basics
import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Answers that are still to come, by the task that brings them. Each request ends once, whoever ends it first.
final class AdminAnswers: NSObject, URLSessionDataDelegate {
  private typealias Waiting = CheckedContinuation<AdminAnswer, any Error>

  private struct Coming {
    var content: [UInt8] = []
    var waiting: Waiting?
    /// It was over before anybody waited.
    var end: Result<AdminAnswer, any Error>?
  }

  private let bytes: Int
  private let coming = Locked<[Int: Coming]>([:])

  /// - Parameter bytes: that an answer may have.
  init(bytes: Int) { self.bytes = bytes }

  /// Keeps what comes of a task from now on. `expect` has to follow.
  func begin(_ task: URLSessionTask) {
    coming.withLock { $0[task.taskIdentifier] = Coming() }
  }

  /// Takes who waits for it.
  /// - Returns: whether it is to be sent. If not, it is over already.
  func expect(_ task: URLSessionTask, _ waiting: CheckedContinuation<AdminAnswer, any Error>) -> Bool {
    let end: Result<AdminAnswer, any Error>? = coming.withLock { coming in
      if let end = coming[task.taskIdentifier]?.end {
        coming[task.taskIdentifier] = nil
        return end
      }
      coming[task.taskIdentifier, default: Coming()].waiting = waiting
      return nil
    }
    if let end { waiting.resume(with: end) }
    return end == nil
  }

  /// Ends it without an answer.
  func giveUp(_ task: URLSessionTask, _ error: any Error) {
    end(task) { _ in .failure(error) }
    task.cancel()
  }

  /// Nothing happens where it is over.
  private func end(_ task: URLSessionTask, _ result: (_ content: [UInt8]) -> Result<AdminAnswer, any Error>) {
    let over: (Waiting, [UInt8])? = coming.withLock { coming in
      guard let one = coming[task.taskIdentifier] else { return nil }
      if let waiting = one.waiting {
        coming[task.taskIdentifier] = nil
        return (waiting, one.content)
      }
      if one.end == nil { coming[task.taskIdentifier]?.end = result(one.content) }
      return nil
    }
    if let (waiting, content) = over { waiting.resume(with: result(content)) }
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) { completionHandler(nil) }

  /// A password is asked for, as no Roost does: that is the answer. Without this, FoundationNetworking of Swift 6.3 never ends the request.
  func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    #if !canImport(FoundationNetworking)
      // Certificates are no passwords, and the system knows what to do about them.
      let method = challenge.protectionSpace.authenticationMethod
      if [NSURLAuthenticationMethodServerTrust, NSURLAuthenticationMethodClientCertificate].contains(method) {
        return completionHandler(.performDefaultHandling, nil)
      }
    #endif
    end(task) { _ in Self.answer(challenge.failureResponse, []) }
    completionHandler(.cancelAuthenticationChallenge, nil)
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    let isTooLong = coming.withLock { coming in
      guard let has = coming[dataTask.taskIdentifier]?.content.count else { return false }
      guard data.count <= bytes - has else { return true }
      coming[dataTask.taskIdentifier]?.content += data
      return false
    }
    if isTooLong { giveUp(dataTask, AdminError.tooLong(most: bytes)) }
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    end(task) { content in
      if let error { .failure(error) } else { Self.answer(task.response, content) }
    }
  }

  private static func answer(_ response: URLResponse?, _ content: [UInt8]) -> Result<AdminAnswer, any Error> {
    guard let response = response as? HTTPURLResponse else { return .failure(URLSessionAdmin.Failure.noHTTP) }
    let headers = response.allHeaderFields.map { ("\($0.key)".lowercased(), "\($0.value)") }
    return .success(
      AdminAnswer(
        status: response.statusCode, headers: Dictionary(headers) { first, _ in first }, content: content))
  }
}
