// The tokens of a session: the next one is shown before the one of before is over (docs/roost-client.md, "Tokens").
import RoostProtocol

/// Gets a token of the session's user, such as from the application's server. It throws what it likes; it is asked again then.
public typealias TokenSource = @Sendable () async throws -> String

extension RoostSession {
  /// Shows a further token of the same user, before the one of before is over. It is the one for a new hello, too. What one may do may
  /// change with it: event `sessionGrants`. Where `SessionOptions.token` is there, nobody else has to call this.
  /// - Throws: `.refused` with 1004 AUTH_FAILED for a token that is not accepted.
  public func renew(token: String) async throws(RoostError) {
    _ = try await request(.session(.token(TokenParams(token: token))))
    helloParams.token = token
  }
}

extension SessionOptions {
  /// What a hello says where tokens come from a source: with a fresh one.
  func fresh(_ params: HelloParams) async throws(RoostError) -> HelloParams {
    guard let token else { return params }
    var params = params
    do {
      params.token = try await token()
    } catch {
      throw .unreachable("no token: \(error)")
    }
    return params
  }
}

/// Gets a further token where one is over soon, and shows it. A source that fails is asked again; a token that is refused would be
/// refused again.
struct TokenRenewal {
  private var task: Task<Void, Never>?

  /// Begins, instead of what has begun before; does nothing without a source.
  mutating func begin(_ options: SessionOptions, show: @escaping @Sendable (String) async throws -> Void) {
    guard let source = options.token else { return }
    task?.cancel()
    task = Task { [pause = options.tokenPause] in
      while !Task.isCancelled {
        do {
          return try await show(try await source())
        } catch let error as RoostError where !error.mayPass {
          return
        } catch {
          try? await Task.sleep(for: pause)
        }
      }
    }
  }

  func cancel() { task?.cancel() }

  /// Waits until the token is shown, or given up.
  func end() async { await task?.value }
}

extension RoostError {
  /// Whether the same request may succeed a little later.
  fileprivate var mayPass: Bool {
    switch self {
    case .refused(let error): error.data.retryable
    case .timedOut, .unreachable: true
    case .closed, .cancelled, .unexpectedReply: false
    }
  }
}
