// What shows that the fuzzer finds something: a target with an error each, and one that does nothing, which must not pass for one that
// found nothing. scripts/fuzz runs them before the others.
import Glibc

/// The controls; they have no corpora.
public let fuzzControls = [
  FuzzTarget("does-nothing", leastEdges: 0) { _ in },
  FuzzTarget("traps", leastEdges: 0, maximumLength: 64, run: trap),
  FuzzTarget("uses-what-is-freed", leastEdges: 0, maximumLength: 64, run: useWhatIsFreed),
  FuzzTarget("leaks", leastEdges: 0, maximumLength: 64, run: leak),
]

/// Four bytes are guessed one after another where coverage leads, and hardly ever otherwise.
@Sendable private func trap(_ input: Span<UInt8>) {
  guard input.count >= 4, input[0] == 0x74 else { return }
  guard input[1] == 0x72 else { return }
  guard input[2] == 0x61 else { return }
  precondition(input[3] != 0x70, "the control has been found")
}

/// What the controls do is seen here, so that it is not left out.
nonisolated(unsafe) private var seen = 0
nonisolated(unsafe) private var kept: UnsafeMutableRawPointer?

@Sendable private func useWhatIsFreed(_ input: Span<UInt8>) {
  guard input.count >= 2, input[0] == 0x66, let bytes = malloc(input.count) else { return }
  memset(bytes, Int32(input[1]), input.count)
  kept = bytes
  free(bytes)
  seen += memchr(bytes, 7, input.count) == nil ? 0 : 1
}

/// What was kept before belongs to nobody then.
@Sendable private func leak(_ input: Span<UInt8>) {
  guard input.count >= 2, input[0] == 0x6c, let bytes = malloc(64) else { return }
  memset(bytes, Int32(input[1]), 64)
  kept = bytes
}
