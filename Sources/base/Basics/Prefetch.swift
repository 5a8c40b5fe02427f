// Having memory fetched into the CPU's caches before it is needed: what others ran in the meantime has pushed each receiver's
// state out since his last packet, and waiting for it line by line costs more than the work on it.

public import CPrefetch

/// Asks for `bytes` bytes from `start` on; goes on without waiting. Nothing is read, so no address is wrong. That is what makes this safe.
@safe @inlinable @inline(__always)
public func prefetch(_ start: UnsafeRawPointer, bytes: Int) { unsafe cprefetch(start, bytes) }
