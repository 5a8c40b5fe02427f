// Having memory fetched into the CPU's caches before it is needed: with hundreds of receivers each one's state has been
// pushed out since his last packet, and waiting for it line by line costs more than the work on it.

internal import CPrefetch

/// Asks for `bytes` bytes from `start` on; goes on without waiting. Nothing is read, so no address is wrong.
public func prefetch(_ start: UnsafeRawPointer, bytes: Int) { cprefetch(start, bytes) }
