// Mechanisms of the server beside the estimator, which rows about layers and sound switch off in their control runs.

import Congestion

extension Mechanisms {
  /// What is missing is sent again.
  static let repeats = Mechanisms(rawValue: 1 << 24)
  /// Sound does not wait behind video.
  static let soundFirst = Mechanisms(rawValue: 1 << 25)
  /// A layer begins with a keyframe.
  static let switchAtKeyframe = Mechanisms(rawValue: 1 << 26)

  /// Those of the estimator and those of the server.
  public static let ofServer: Mechanisms = all.union([.repeats, .soundFirst, .switchAtKeyframe])

  /// Each by itself, with its name.
  public static let namedOfServer: [(String, Mechanisms)] =
    named + [("repeats", .repeats), ("soundFirst", .soundFirst), ("switchAtKeyframe", .switchAtKeyframe)]
}
