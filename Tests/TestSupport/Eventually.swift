// Waiting for what other threads do.

/// Waits until `condition` holds; false when it still does not after `timeout`. Deadlines are for broken servers, not for
/// slow machines.
public func eventually(
  within timeout: Duration = .seconds(60), every interval: Duration = .milliseconds(10),
  _ condition: () async throws -> Bool
) async rethrows -> Bool {
  let end = ContinuousClock.now + timeout
  repeat {
    if try await condition() { return true }
    try? await Task.sleep(for: interval)
  } while ContinuousClock.now < end
  return try await condition()
}
