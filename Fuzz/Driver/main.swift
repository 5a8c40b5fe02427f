// The fuzzing program: `fuzz TARGET [libFuzzer options and corpus directories]`; `fuzz` alone lists the targets, `fuzz --controls`
// those with an error that must be found. At its end it says how often the target's inputs got where they must get to.
import CFuzzer
import FuzzTargets
import Glibc

let names = CommandLine.arguments.dropFirst()
let known = names.first == "--controls" ? fuzzControls : fuzzTargets
guard let target = (fuzzTargets + fuzzControls).first(where: { $0.name == names.first }) else {
  for target in known { print("\(target.name) \(target.maximumLength) \(target.leastEdges)") }
  exit(names.isEmpty || names.first == "--controls" ? 0 : 2)
}

let chosen = target
// libFuzzer ends the process itself.
atexit {
  for (goal, count) in chosen.reached().sorted(by: { $0.key < $1.key }) {
    let line = Array("reached: \(goal) \(count)\n".utf8)
    _ = write(STDERR_FILENO, line, line.count)
  }
}
var count = CommandLine.argc - 1
var words: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv + 1
exit(
  LLVMFuzzerRunDriver(&count, &words) { data, size in
    precondition(Alarm.restartsCalls)
    chosen.run(UnsafeBufferPointer(start: data, count: size).span)
    return 0
  })

/// libFuzzer looks every few seconds, by a signal, for an input that takes too long. Calls that the signal interrupts go on.
private enum Alarm {
  static let restartsCalls: Bool = {
    var action = sigaction()
    guard sigaction(SIGALRM, nil, &action) == 0 else { return false }
    action.sa_flags |= SA_RESTART
    return sigaction(SIGALRM, &action, nil) == 0
  }()
}
