// The fuzzing program: `fuzz TARGET [libFuzzer options and corpus directories]`; `fuzz` alone lists the targets.
import CFuzzer
import FuzzTargets
import Glibc

guard CommandLine.arguments.count > 1, let target = fuzzTargets.first(where: { $0.name == CommandLine.arguments[1] })
else {
  for target in fuzzTargets { print("\(target.name) \(target.maximumLength)") }
  exit(CommandLine.arguments.count > 1 ? 2 : 0)
}

let chosen = target
var count = CommandLine.argc - 1
var words: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv + 1
exit(
  LLVMFuzzerRunDriver(&count, &words) { data, size in
    chosen.run(UnsafeBufferPointer(start: data, count: size).span)
    return 0
  })
