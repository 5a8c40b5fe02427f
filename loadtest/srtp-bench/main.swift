// Time per packet of each SRTP backend: `swift run -c release srtp-bench [payload bytes]`. One thread, one stream, packets
// of 1,200 bytes unless said otherwise; the best of seven rounds counts, since other load only ever adds.

import Basics
import SRTP

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
    var spent = (protect: Duration.zero, unprotect: Duration.zero)
    for _ in 0..<(packets / batch) {
      for index in 0..<batch {
        buffers[index][0] = 0x80
        buffers[index][2] = UInt8(sequence >> 8)
        buffers[index][3] = UInt8(sequence & 0xff)
        sequence &+= 1
      }
      let clock = ContinuousClock()
      spent.protect += try clock.measure {
        for index in 0..<batch {
          var span = buffers[index].mutableSpan
          _ = try sender.protectRTP(&span, length: packetLength)
        }
      }
      spent.unprotect += try clock.measure {
        for index in 0..<batch {
          var span = buffers[index].mutableSpan
          _ = try receiver.unprotectRTP(&span, length: packetLength + profile.rtpOverhead)
        }
      }
    }
    cost.protect = min(cost.protect, spent.protect / .nanoseconds(packets))
    cost.unprotect = min(cost.unprotect, spent.unprotect / .nanoseconds(packets))
  }
  return cost
}

let packetLength = CommandLine.arguments.dropFirst().first.flatMap(Int.init).map { max(12, min($0, 60_000)) } ?? 1_200
print("\(packetLength) bytes: profile, backend, protect ns, unprotect ns")
for profile in SRTPProfile.preferenceOrder {
  for backend in SRTPBackend.allCases {
    let cost = try measure(profile, backend, packetLength: packetLength)
    print(profile, backend.rawValue, Int(cost.protect), Int(cost.unprotect))
  }
}
