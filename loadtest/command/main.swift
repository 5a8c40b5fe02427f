// The `loadtest` command.
import Glibc
import LoadGenerator

exit(await loadtest(Array(CommandLine.arguments.dropFirst())))
