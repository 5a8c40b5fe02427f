// A table of noncopyable values addressed by index + generation, so that a stale handle finds nothing instead of
// somebody else's value. Values sit in one block of raw memory and are worked on in place; a slot holds a value
// exactly while its generation is odd.

/// Names one value of a `SlotMap<Value>`; maps of distinct values cannot mix up their handles.
public struct Handle<Value: ~Copyable>: Hashable, Sendable {
  /// Position in the table.
  public let index: UInt32
  /// Counts insertions and removals at this position: odd while a value is there.
  public let generation: UInt32

  @inlinable init(index: UInt32, generation: UInt32) {
    self.index = index
    self.generation = generation
  }
}

/// A growing table of `Value`s with O(1) insert, look-up and removal. Owned by one thread.
///
/// Safe to use but for `pointer(to:)`. The memory is its own, and has room for `capacity` values. It holds one exactly where the slot's
/// generation is odd: `insert`, `remove` and `deinit` keep that, and what is looked up is looked for in `slots` first.
@safe public struct SlotMap<Value: ~Copyable>: ~Copyable {
  /// What names a value of this map.
  public typealias ID = Handle<Value>

  @usableFromInline struct Slot {
    @usableFromInline var generation: UInt32
    @usableFromInline var nextFree: UInt32
  }

  @usableFromInline var values: UnsafeMutablePointer<Value>
  @usableFromInline var slots: [Slot] = []
  @usableFromInline var capacity: Int
  @usableFromInline var firstFree = UInt32.max
  /// Values in the table.
  public private(set) var count = 0

  /// An empty table with room for `minimumCapacity` values before it grows.
  public init(minimumCapacity: Int = 8) {
    capacity = max(minimumCapacity, 1)
    unsafe values = .allocate(capacity: capacity)
    slots.reserveCapacity(capacity)
  }

  deinit {
    for index in slots.indices where slots[index].generation & 1 == 1 {
      unsafe (values + index).deinitialize(count: 1)
    }
    unsafe values.deallocate()
  }

  /// Stores `value` and returns the handle that finds it until it is removed.
  public mutating func insert(_ value: consuming Value) -> ID {
    if firstFree == .max {
      if slots.count == capacity { grow() }
      firstFree = UInt32(slots.count)
      slots.append(Slot(generation: 0, nextFree: .max))
    }
    let index = Int(firstFree)
    firstFree = slots[index].nextFree
    slots[index].generation &+= 1
    unsafe (values + index).initialize(to: value)
    count += 1
    return ID(index: UInt32(index), generation: slots[index].generation)
  }

  /// Takes the value out; nil when the handle is stale.
  public mutating func remove(_ id: ID) -> Value? {
    guard contains(id) else { return nil }
    let index = Int(id.index)
    count -= 1
    slots[index].generation &+= 1
    slots[index].nextFree = firstFree
    firstFree = id.index
    return unsafe (values + index).move()
  }

  /// Whether the handle still finds a value.
  @inlinable public func contains(_ id: ID) -> Bool {
    Int(id.index) < slots.count && slots[Int(id.index)].generation == id.generation
  }

  /// The value in place. The handle must be live (`contains`): a stale one is a bug of the caller and traps.
  @inlinable public subscript(_ id: ID) -> Value {
    // Addresses, not coroutines: those allocate their frame in a build that is not optimised.
    unsafeAddress {
      precondition(contains(id), "stale handle")
      return unsafe UnsafePointer(values + Int(id.index))
    }
    unsafeMutableAddress {
      precondition(contains(id), "stale handle")
      return unsafe values + Int(id.index)
    }
  }

  /// Where the value is until the next insertion or removal; nil when the handle is stale. For work on many values at once:
  /// each look through the subscript asks anew whether the handle is live. That it is not kept for longer is up to the caller.
  @inlinable public mutating func pointer(to id: ID) -> UnsafeMutablePointer<Value>? {
    unsafe contains(id) ? values + Int(id.index) : nil
  }

  /// Has the first `bytes` bytes of a value fetched into the CPU's caches. A stale handle does no harm.
  @inlinable public func prefetch(_ id: ID, bytes: Int) {
    if Int(id.index) < capacity { unsafe Basics.prefetch(values + Int(id.index), bytes: bytes) }
  }

  /// Runs `body` on every value with its handle, in table order. `body` may not change the table.
  @inlinable public mutating func forEach(_ body: (ID, inout Value) -> Void) {
    for index in slots.indices where slots[index].generation & 1 == 1 {
      unsafe body(ID(index: UInt32(index), generation: slots[index].generation), &values[index])
    }
  }

  private mutating func grow() {
    let larger = UnsafeMutablePointer<Value>.allocate(capacity: capacity * 2)
    unsafe larger.moveInitialize(from: values, count: capacity)
    unsafe values.deallocate()
    unsafe values = larger
    capacity *= 2
  }
}
