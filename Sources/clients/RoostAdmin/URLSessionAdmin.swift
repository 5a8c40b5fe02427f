// Requests of the API by URLSession: of Foundation on Apple's platforms, of FoundationNetworking on Linux.
import Basics
import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Requests by a `URLSession` of its own, which keeps nothing and follows no redirection. A request waits for 30 seconds.
public final class URLSessionAdmin: AdminTransport {
  /// Bytes that an answer may have: a page of a thousand full rooms has fewer.
  public static let answerBytes = 16 << 20

  /// Why there is no answer.
  enum Failure: Error { case noURL, tooLong, noHTTP }

  private let session: URLSession
  private let answers = Answers()

  /// With connections of its own.
  public init() {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.timeoutIntervalForRequest = 30
    configuration.urlCache = nil
    configuration.httpCookieStorage = nil
    session = URLSession(configuration: configuration, delegate: answers, delegateQueue: nil)
  }

  deinit { session.finishTasksAndInvalidate() }

  /// Sends a request.
  public func send(_ request: AdminRequest) async throws -> AdminAnswer {
    guard let url = URL(string: request.url) else { throw Failure.noURL }
    var wanted = URLRequest(url: url)
    wanted.httpMethod = request.method
    wanted.allHTTPHeaderFields = request.headers
    if !request.content.isEmpty { wanted.httpBody = Data(request.content) }
    let task = session.dataTask(with: wanted)
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { waiting in
        answers.expect(task, waiting)
        task.resume()
      }
    } onCancel: {
      task.cancel()
    }
  }
}

/// Answers that are still to come, by the task that brings them.
private final class Answers: NSObject, URLSessionDataDelegate {
  private struct Coming {
    var content: [UInt8] = []
    var isTooLong = false
    let waiting: CheckedContinuation<AdminAnswer, any Error>
  }

  private let coming = Locked<[Int: Coming]>([:])

  func expect(_ task: URLSessionTask, _ waiting: CheckedContinuation<AdminAnswer, any Error>) {
    coming.withLock { $0[task.taskIdentifier] = Coming(waiting: waiting) }
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) { completionHandler(nil) }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    let isTooLong = coming.withLock { coming in
      guard var one = coming.removeValue(forKey: dataTask.taskIdentifier) else { return false }
      one.isTooLong = one.isTooLong || one.content.count + data.count > URLSessionAdmin.answerBytes
      if !one.isTooLong { one.content += data }
      coming[dataTask.taskIdentifier] = one
      return one.isTooLong
    }
    if isTooLong { dataTask.cancel() }
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    guard let one = coming.withLock({ $0.removeValue(forKey: task.taskIdentifier) }) else { return }
    if one.isTooLong { return one.waiting.resume(throwing: URLSessionAdmin.Failure.tooLong) }
    if let error { return one.waiting.resume(throwing: error) }
    guard let response = task.response as? HTTPURLResponse else {
      return one.waiting.resume(throwing: URLSessionAdmin.Failure.noHTTP)
    }
    let headers = response.allHeaderFields.map { ("\($0.key)".lowercased(), "\($0.value)") }
    one.waiting.resume(
      returning: AdminAnswer(
        status: response.statusCode, headers: Dictionary(headers) { first, _ in first }, content: one.content))
  }
}
