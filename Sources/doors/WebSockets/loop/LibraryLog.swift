// What libwebsockets has to say. Its log is one per process, so this is too.
import Basics

internal import CWebSockets

/// The log of libwebsockets: its errors and warnings, which are kept off standard error.
public enum LibraryLog {
  private struct State {
    var installed = false
    var lastLine = ""
    var forward: (@Sendable (String) -> Void)?
  }
  private static let state = Locked(State())

  /// From now on every error or warning of the library goes to `receiver`, on whichever thread it occurs.
  public static func forward(to receiver: @escaping @Sendable (String) -> Void) {
    install()
    state.withLock { $0.forward = receiver }
  }

  static func install() {
    state.withLock { state in
      guard !state.installed else { return }
      state.installed = true
      lws_set_log_level(LLL_ERR | LLL_WARN) { _, line in
        guard let line else { return }
        LibraryLog.take(String(cString: line))
      }
    }
  }

  /// The latest line, for errors that the library explains nowhere else.
  static var lastLine: String { state.withLock { $0.lastLine } }

  private static func take(_ line: String) {
    let text = String(line.prefix { !$0.isNewline })
    let forward = state.withLock { state in
      state.lastLine = text
      return state.forward
    }
    forward?(text)
  }
}
