// Time per packet of each SRTP backend: `swift run -c release srtp-bench [payload bytes]`. One thread, one stream, packets
// of 1,200 bytes unless said otherwise; CPU time of the thread, the best of seven rounds, since other load only ever adds.

import Basics
import Glibc
import SRTP

/// CPU time that `body` takes on this thread, in nanoseconds.
func cpuTime(_ body: () throws -> Void) rethrows -> Double {
  func now() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
  }
  let start = now()
  try body()
  return now() - start
}

/// Nanoseconds per packet.
struct Cost {
  var protect = Double.infinity
  var unprotect = Double.infinity
}

func measure(_ profile: SRTPProfile, _ backend: SRTPBackend, packetLength: Int) throws -> Cost {
  guard
    let key = SRTPMasterKey(
      profile: profile, key: Array(repeating: 7, count: profile.keyLength),
      salt: Array(repeating: 9, count: profile.saltLength))
  else { return Cost() }
  let packets = 20_000
  let stride = packetLength + 32
  var sender = try SRTPSender(key: key, backend: backend)
  var receiver = try SRTPReceiver(key: key, backend: backend)
  var cost = Cost()
  var sequence: UInt16 = 0
  // A few hundred packets at a time: what a worker's buffers hold, not what one cache line does.
  let batch = 200
  var buffers = (0..<batch).map { _ in [UInt8](repeating: 0x80, count: stride) }
  for _ in 0..<7 {
    var spent = (protect: 0.0, unprotect: 0.0)
    for _ in 0..<(packets / batch) {
      for index in 0..<batch {
        buffers[index][0] = 0x80
        buffers[index][2] = UInt8(sequence >> 8)
        buffers[index][3] = UInt8(sequence & 0xff)
        sequence &+= 1
      }
      spent.protect += try cpuTime {
        for index in 0..<batch {
          var span = buffers[index].mutableSpan
          _ = try sender.protectRTP(&span, length: packetLength)
        }
      }
      spent.unprotect += try cpuTime {
        for index in 0..<batch {
          var span = buffers[index].mutableSpan
          _ = try receiver.unprotectRTP(&span, length: packetLength + profile.rtpOverhead)
        }
      }
    }
    cost.protect = min(cost.protect, spent.protect / Double(packets))
    cost.unprotect = min(cost.unprotect, spent.unprotect / Double(packets))
  }
  return cost
}

let packetLength = CommandLine.arguments.dropFirst().first.flatMap(Int.init).map { max(12, min($0, 60_000)) } ?? 1_200
print("\(packetLength) bytes: profile, backend, protect ns, unprotect ns")
for profile in SRTPProfile.preferenceOrder {
  for backend in SRTPBackend.available {
    let cost = try measure(profile, backend, packetLength: packetLength)
    print(profile, backend.rawValue, Int(cost.protect), Int(cost.unprotect))
  }
}
