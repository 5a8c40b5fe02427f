// Requests of the API by URLSession: of Foundation on Apple's platforms, of FoundationNetworking on Linux.
import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Requests by a `URLSession` of its own, which keeps nothing, follows no redirection and knows no passwords.
public final class URLSessionAdmin: AdminTransport {
  /// Why there is no answer.
  enum Failure: String, Error, CustomStringConvertible {
    case noURL = "its address is no URL"
    case noHTTP = "what came is not HTTP"
    case tooLate = "the whole answer did not come in time"

    var description: String { rawValue }
  }

  private let session: URLSession
  private let answers: AdminAnswers
  private let deadline: Duration

  /// With connections of its own.
  /// - Parameters:
  ///   - deadline: how long a request may take, from its beginning to the last byte of its answer.
  ///   - answerBytes: bytes that an answer may have; one that is longer is `AdminError.tooLong`. A page of rooms has all who are in them, each with
  ///     up to 4 KiB of their metadata: some 25 MiB where 5,000 are there, the most unless `limits.sessions` says more.
  public init(deadline: Duration = .seconds(30), answerBytes: Int = 64 << 20) {
    self.deadline = deadline
    answers = AdminAnswers(bytes: answerBytes)
    let configuration = URLSessionConfiguration.ephemeral
    // Without a byte. The deadline ends a request before that.
    configuration.timeoutIntervalForRequest = TimeInterval(deadline.components.seconds) + 1
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
    return try await answer(to: session.dataTask(with: wanted))
  }

  private func answer(to task: URLSessionTask) async throws -> AdminAnswer {
    answers.begin(task)
    let late = Task { [answers, deadline] in
      try await Task.sleep(for: deadline)
      answers.giveUp(task, Failure.tooLate)
    }
    defer { late.cancel() }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { waiting in
        if answers.expect(task, waiting) { task.resume() }
      }
    } onCancel: {
      answers.giveUp(task, CancellationError())
    }
  }
}
