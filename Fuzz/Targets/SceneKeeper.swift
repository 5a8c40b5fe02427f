// Scenes that take long to set up are used for many inputs. Where ROOST_FUZZ_HISTORY names a folder, what the scene was given is
// written there, so that `fuzz TARGET FOLDER/*` does the same again.
import Basics
import Glibc

/// A scene that can be used again.
protocol KeptScene: AnyObject {
  /// Whether nothing more can come of it.
  var isOver: Bool { get }
  /// Runs an input, and leaves the scene as it found it.
  func run(_ input: [UInt8])
}

enum SceneKeeper {
  /// Inputs of one scene. More save time, and make longer histories.
  private static let most = 64

  private struct Kept {
    let scene: any KeptScene
    var inputs = 0
  }

  private static let lock = Locked<Void>(())
  /// Scenes that nobody uses, by target; behind the lock, since tests run beside each other.
  nonisolated(unsafe) private static var unused: [String: [Kept]] = [:]
  private static let history = getenv("ROOST_FUZZ_HISTORY").map { String(cString: $0) }

  static func run(_ name: String, _ input: [UInt8], make: () -> any KeptScene) {
    var kept = lock.withLock { _ in unused[name]?.popLast() } ?? Kept(scene: make())
    if let history { note(input, number: kept.inputs, in: history) }
    kept.inputs += 1
    kept.scene.run(input)
    guard !kept.scene.isOver, kept.inputs < most else { return }
    lock.withLock { _ in unused[name, default: []].append(kept) }
  }

  private static func note(_ input: [UInt8], number: Int, in folder: String) {
    if number == 0 { for old in 0..<most { unlink(path(old, folder)) } }
    guard let file = fopen(path(number, folder), "w") else { return }
    fwrite(input, 1, input.count, file)
    fclose(file)
  }

  private static func path(_ number: Int, _ folder: String) -> String {
    folder + (number < 10 ? "/0\(number)" : "/\(number)")
  }
}
