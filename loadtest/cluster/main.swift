// What `make cluster` runs.

import Glibc

do throws(WordsError) {
  let command = try Command(Array(CommandLine.arguments.dropFirst()))
  if let seed = command.seed { exit(showRun(of: seed, command.options) ? 0 : 1) }
  var bar = LeaseBar(command)
  exit(bar.run() ? 0 : 1)
} catch {
  print(error.text)
  exit(2)
}
