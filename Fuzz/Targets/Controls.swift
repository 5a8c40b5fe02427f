// What shows that the fuzzer finds something: a target with an error each, and one that does nothing, which must not pass for one that
// found nothing. scripts/fuzz runs them before the others.

/// The controls; they have no corpora.
public let fuzzControls = [
  FuzzTarget("does-nothing") { _ in },
  FuzzTarget("traps", maximumLength: 64, run: trap),
  FuzzTarget("uses-what-is-freed", maximumLength: 64, run: useWhatIsFreed),
  FuzzTarget("leaks", maximumLength: 64, run: leak),
]

/// Four bytes are guessed one after another where coverage leads, and hardly ever otherwise.
@Sendable private func trap(_ input: Span<UInt8>) {
  guard input.count >= 4, input[0] == 0x74 else { return }
  guard input[1] == 0x72 else { return }
  guard input[2] == 0x61 else { return }
  precondition(input[3] != 0x70, "the control has been found")
}

/// Where what the controls do is seen, so that it is not left out.
nonisolated(unsafe) private var seen: UInt8 = 0
nonisolated(unsafe) private var kept: UnsafeMutablePointer<UInt8>?

@Sendable private func useWhatIsFreed(_ input: Span<UInt8>) {
  guard input.count >= 2, input[0] == 0x66 else { return }
  let bytes = UnsafeMutablePointer<UInt8>.allocate(capacity: input.count)
  bytes.initialize(repeating: input[1], count: input.count)
  kept = bytes
  bytes.deallocate()
  seen = kept?[1] ?? 0
  kept = nil
}

@Sendable private func leak(_ input: Span<UInt8>) {
  guard input.count >= 2, input[0] == 0x6c else { return }
  kept = UnsafeMutablePointer<UInt8>.allocate(capacity: 64)
  kept?.initialize(repeating: input[1], count: 64)
  kept = nil
}
