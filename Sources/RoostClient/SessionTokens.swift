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

  /// What a hello says where tokens come from a source: with a fresh one.
  static func fresh(_ params: HelloParams, _ options: SessionOptions) async throws(RoostError) -> HelloParams {
    guard let source = options.token else { return params }
    var params = params
    do {
      params.token = try await source()
    } catch {
      throw .unreachable("no token: \(error)")
    }
    return params
  }

  /// The token is over soon. A source that fails is asked again; a token that is refused would be refused again.
  func renewInTime() {
    guard let source = options.token, renewing == nil else { return }
    renewing = Task { [weak self, pause = options.tokenPause] in
      while !Task.isCancelled {
        do {
          let token = try await source()
          try await self?.renew(token: token)
          break
        } catch let error as RoostError where !error.mayPass {
          break
        } catch {
          try? await Task.sleep(for: pause)
        }
      }
      await self?.endRenewing()
    }
  }

  private func endRenewing() { renewing = nil }
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
