// What forwarding costs without the kernel: a worker's state in virtual time, fed with sealed packets.
//
//   swift run -c release forward-bench [video16|audio32|broadcast] [varied]     CPU time per forwarded packet, send calls
//   … once                              one round, for counting instructions: scripts/instructions
//
// CPU time is the thread's, so other load disturbs it little; the best of several rounds counts.

import Basics
import Glibc
import Media

func threadNanoseconds() -> Int64 {
  var time = timespec()
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
  return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}

struct Result {
  var nanoseconds = Double.infinity
  var sink: CountingSink
}

func measure(_ load: Load, rounds: Int) throws -> Result {
  let bench = try Bench(load, settings: WorkerState.Settings())
  var best = Result(sink: CountingSink(at: bench.now))
  // The first round starts streams and lets tables grow.
  for round in 0...rounds {
    let arrivals = bench.traffic(.milliseconds(500))
    defer { for arrival in arrivals { arrival.bytes.deallocate() } }
    var sink = CountingSink(at: bench.now)
    let (before, forwarded) = (threadNanoseconds(), bench.worker.counters.forwarded)
    bench.forward(arrivals[...], into: &sink)
    let spent = Double(threadNanoseconds() - before)
    let packets = Double(bench.worker.counters.forwarded - forwarded)
    if round > 0 && spent / packets < best.nanoseconds { best = Result(nanoseconds: spent / packets, sink: sink) }
  }
  return best
}

func delays(_ load: Load) throws -> [Int] {
  let bench = try Bench(load, settings: WorkerState.Settings())
  var sink = CountingSink(at: bench.now)
  sink.watchesDelays = true
  let arrivals = bench.traffic(.milliseconds(1_000))
  defer { for arrival in arrivals { arrival.bytes.deallocate() } }
  bench.forward(arrivals[...], into: &sink)
  return sink.delays
}

let arguments = CommandLine.arguments.dropFirst()
for var load in Load.all where arguments.isEmpty || arguments.contains(load.name) || arguments.first == "varied" {
  load.isVaried = arguments.contains("varied")
  if arguments.contains("once") {
    let bench = try Bench(load, settings: WorkerState.Settings())
    let (first, second) = (bench.traffic(.milliseconds(200)), bench.traffic(.milliseconds(400)))
    var sink = CountingSink(at: bench.now)
    bench.forward((first + second)[...], into: &sink)
    print(load.name, "forwarded", bench.worker.counters.forwarded)
    continue
  }
  let result = try measure(load, rounds: 6)
  let sink = result.sink
  let held = try delays(load)
  print(
    load.name, "ns/packet", Int(result.nanoseconds), "packets", sink.packets, "calls", sink.calls, "wake-ups",
    sink.wakeUps, "packets/call", Double(sink.packets * 100 / max(sink.calls, 1)) / 100, "held us p50",
    held.isEmpty ? 0 : held[held.count / 2], "p99", held.isEmpty ? 0 : held[held.count * 99 / 100])
}
