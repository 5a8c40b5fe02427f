// What each receiver may be sent at most while a worker cannot send all that is asked for: pictures step down, as on a thin line, and sound
// stays whole. Who is sent most gives way first, so that two who talk notice nothing of a full hall.
//
//   a queue stands in the kernel, or the CPU is used up ─▶ a ceiling below what the best supplied receiver gets ─▶ layers (LayerAllocator)
//                                                          ▲ higher while there is CPU time left, gone when nobody reaches it

import Basics
import Congestion

/// Decides the ceiling of a worker. Time comes in.
struct PictureCeiling {
  /// How long it is watched what a ceiling has led to, before there is another one.
  static let interval = TimeDelta.milliseconds(250)
  /// What the next ceiling is of what is sent, where datagrams stood in the kernel …
  static let cut = 0.7
  /// … and where the worker's CPU was used up, and nothing stood yet.
  static let trim = 0.93
  /// What a ceiling grows by in an interval in which there was CPU time left.
  static let growth = 1.05
  /// The share of a CPU from which on it counts as used up, and below which there is some left. Between them a ceiling stays as it is.
  static let usedUp = 0.94, left = 0.86
  /// The lowest ceiling in bits a second. What is below is sound, or pictures that cost next to nothing.
  static let lowest = 64_000.0
  /// The lowest one as a share of the average demand of a receiver, or of half of the largest one if that is less. Where less does not help,
  /// the time does not go into sending.
  static let lowestShare = 0.25
  /// A ceiling that nobody has reached for so many intervals is lifted.
  static let patience = 8

  /// In bits a second, sound and pictures of one receiver together; nil: there is none.
  private(set) var rate: BitRate?
  /// What the receiver that is sent most is sent, in bits a second; of this interval, and of those before, where it counts less and less.
  private var highest = (now: 0.0, before: 0.0)
  /// The demands that were looked at in this interval.
  private var demands = (sum: 0.0, count: 0, most: 0.0)
  private var floor = lowest
  /// The last ceiling has not been in force for a whole interval: what stands in the kernel may be from before.
  private var isFresh = false
  private var isReached = false
  private var idle = 0
  private var hadQueue = false
  private var time = (total: TimeDelta.zero, used: TimeDelta.zero)
  private let isOn: Bool

  /// No ceiling; never one where it is not `on`, for control runs.
  init(isOn: Bool = true) { self.isOn = isOn }

  /// Notes what one receiver is sent, and its demand: what it would be sent if everything fitted.
  mutating func note(sent: BitRate, demand: BitRate) {
    highest.now = max(highest.now, sent.bitsPerSecond)
    demands.sum += demand.bitsPerSecond
    demands.count += 1
    demands.most = max(demands.most, demand.bitsPerSecond)
    if let rate, demand > rate { isReached = true }
  }

  /// Notes what an interval of `RoomShares` was like: how long it was, how long the worker's thread ran in it, and whether datagrams stood
  /// in the kernel. True when there is a lower ceiling than before, which is to take effect at once.
  mutating func passed(_ length: TimeDelta, used: TimeDelta, hasQueue: Bool) -> Bool {
    time = (time.total + length, time.used + used)
    hadQueue = hadQueue || hasQueue
    guard isOn, time.total >= Self.interval else { return false }
    let share = Double(time.used.nanoseconds) / Double(max(time.total.nanoseconds, 1))
    let before = rate
    judge(share)
    (time, hadQueue, isReached) = ((.zero, .zero), false, false)
    highest = (0, max(highest.now, highest.before * 0.8))
    return rate.map { $0 < before ?? .unlimited } ?? false
  }

  private mutating func judge(_ share: Double) {
    let sent = max(highest.now, highest.before)
    let now = min(rate?.bitsPerSecond ?? .infinity, sent)
    if demands.count > 0 {
      let demand = min(demands.sum / Double(demands.count), demands.most / 2)
      floor = max(demand * Self.lowestShare, Self.lowest)
      demands = (0, 0, 0)
    }
    let hadQueue = hadQueue && !isFresh
    isFresh = false
    if hadQueue || share >= Self.usedUp {
      guard now > floor, now.isFinite else { return }
      rate = BitRate(bitsPerSecond: max(now * (hadQueue ? Self.cut : Self.trim), floor))
      isFresh = hadQueue
      idle = 0
      return
    }
    guard let current = rate else { return }
    idle = isReached ? 0 : idle + 1
    if idle >= Self.patience {
      rate = nil
    } else if share < Self.left, isReached {
      rate = current * Self.growth
    }
  }
}
