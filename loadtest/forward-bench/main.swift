// What forwarding costs without the kernel: a worker's state in virtual time, fed with sealed packets.
//
//   swift run -c release forward-bench [video16|audio32|broadcast] [varied]     CPU time per forwarded packet, send calls
//   … video=US audio=US audience=US     another coalescing window than the default, in microseconds
//   … phases=N                          other phases of those who send, which decide who can share a call with whom
//   … srtp=openssl                      another SRTP backend than the fastest
//   … cold                              with the CPU's own caches emptied before each turn, as whoever runs between does it
//   … sockets                           with the kernel: through UDP on loopback; in every other turn a system call for each run
//   … sockets single                    in every other turn datagrams by themselves instead, without segments
//   … idle                              2,000 connected people who send nothing
//   … once                              one round, for counting instructions: scripts/instructions
//
// CPU time is the thread's, so other load disturbs it little; the best of several rounds counts.

import Basics
import Glibc
import Media
import SRTP

func threadNanoseconds() -> Int64 {
  var time = timespec()
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
  return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}

/// The worker's settings with the window and the backend that the arguments ask for.
func settings() -> WorkerState.Settings {
  var settings = WorkerState.Settings()
  for argument in CommandLine.arguments {
    let parts = argument.split(separator: "=")
    if parts.first == "srtp" { settings.srtpBackend = parts.last.flatMap { SRTPBackend(rawValue: String($0)) } }
    guard parts.count == 2, let microseconds = Int(parts[1]) else { continue }
    if parts[0] == "video" { settings.coalescing.video = .microseconds(microseconds) }
    if parts[0] == "audio" { settings.coalescing.audio = .microseconds(microseconds) }
    if parts[0] == "audience" { settings.coalescing.audience = .microseconds(microseconds) }
  }
  return settings
}

/// Which phases the arguments ask for.
func phases() -> UInt64 {
  CommandLine.arguments.compactMap { $0.hasPrefix("phases=") ? UInt64($0.dropFirst(7)) : nil }.last ?? 0
}

struct Result {
  var nanoseconds = Double.infinity
  var sink: CountingSink
}

func measure(_ load: Load, rounds: Int) throws -> Result {
  let bench = try Bench(load, settings: settings())
  bench.isCold = arguments.contains("cold")
  var best = Result(sink: CountingSink(at: bench.now))
  // The first round starts streams and lets tables grow.
  for round in 0...rounds {
    let arrivals = bench.traffic(.milliseconds(500))
    defer { for arrival in arrivals { arrival.bytes.deallocate() } }
    var sink = CountingSink(at: bench.now)
    bench.evicting = 0
    let (before, forwarded) = (threadNanoseconds(), bench.worker.counters.forwarded)
    bench.play(arrivals, into: &sink)
    let spent = Double(threadNanoseconds() - before - bench.evicting)
    let packets = Double(bench.worker.counters.forwarded - forwarded)
    if round > 0 && spent / packets < best.nanoseconds { best = Result(nanoseconds: spent / packets, sink: sink) }
  }
  return best
}

func delays(_ load: Load) throws -> [Int] {
  let bench = try Bench(load, settings: settings())
  var sink = CountingSink(at: bench.now)
  sink.watchesDelays = true
  let arrivals = bench.traffic(.milliseconds(1_000))
  defer { for arrival in arrivals { arrival.bytes.deallocate() } }
  bench.play(arrivals, into: &sink)
  return sink.delays
}

let arguments = CommandLine.arguments.dropFirst()
if arguments.contains("idle") {
  let bench = try Bench(Load(name: "idle", seats: 2_000, publishers: 0, framePackets: 0), settings: settings())
  var sink = CountingSink(at: bench.now)
  let before = threadNanoseconds()
  // Shorter than the media timeout, so that everybody stays connected.
  let wakeUps = bench.idle(.seconds(4), into: &sink)
  print(
    "idle: 2,000 people, wake-ups", wakeUps, "CPU us", (threadNanoseconds() - before) / 1_000, "in 4 s; sent",
    sink.packets)
  exit(0)
}
let chosen = Load.all.filter { arguments.contains($0.name) }
for var load in chosen.isEmpty ? Load.all : chosen {
  load.isVaried = arguments.contains("varied")
  if arguments.contains("once") {
    let bench = try Bench(load, settings: settings())
    // Streams start, tables grow, and lines become known.
    var unmeasured = CountingSink(at: bench.now)
    bench.isMeasured = false
    bench.play(bench.traffic(.seconds(2)), into: &unmeasured)
    bench.isMeasured = true
    var sink = CountingSink(at: bench.now)
    let before = bench.worker.counters.forwarded
    bench.play(bench.traffic(.milliseconds(500)), into: &sink)
    print(load.name, "forwarded", bench.worker.counters.forwarded - before)
    continue
  }
  if arguments.contains("sockets") {
    let bench = try Bench(load, settings: settings())
    let receivers = Receivers(load.seats)
    receivers.start()
    var sink = SocketSink(receivers, other: arguments.contains("single") ? .single : .oneByOne)
    _ = bench.forward(bench.traffic(.milliseconds(300)), through: &sink)
    (sink.calls, sink.packets) = (0, 0)
    (sink.usual, sink.otherwise) = (SocketSink.Spent(), SocketSink.Spent())
    let spent = bench.forward(bench.traffic(.milliseconds(1_500)), through: &sink)
    print(
      load.name, "with the kernel: ns/packet", Int(spent), "packets/call",
      Double(sink.packets * 100 / max(sink.calls, 1)) / 100, "refused", sink.refused, "sending ns:", sink.usual.text,
      "\(sink.other):", sink.otherwise.text)
    continue
  }
  let result = try measure(load, rounds: 6)
  let sink = result.sink
  let held = try delays(load)
  print(
    load.name, "ns/packet", Int(result.nanoseconds), "packets", sink.packets, "calls", sink.calls, "wake-ups",
    sink.wakeUps, "packets/call", Double(sink.packets * 100 / max(sink.calls, 1)) / 100, "bytes/packet",
    sink.bytes / max(sink.packets, 1), "held us p50",
    held.isEmpty ? 0 : held[held.count / 2], "p99", held.isEmpty ? 0 : held[held.count * 99 / 100])
}
