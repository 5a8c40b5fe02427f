// The budget of a packet: no allocation, in whichever library. libsrtp2 allocates, which is not ours to change.

import Basics
import CAllocationCounter
import SRTP
import Testing

@Suite struct AllocationTests {
  @Test(arguments: Setting.all.filter { $0.backend != .libSRTP })
  func aPacketAllocatesNothing(_ setting: Setting) throws {
    let key = try masterKey(setting.profile)
    var sender = try SRTPSender(key: key, backend: setting.backend)
    var receiver = try SRTPReceiver(key: key, backend: setting.backend)
    let streams: [UInt32] = [1, 2, 3, 4]
    let packets = streams.map { rtpPacket(0, ssrc: $0, payload: Array(repeating: 7, count: 1_180)) }
    let reports = streams.map { rtcpPacket(ssrc: $0) }
    var buffer = [UInt8](repeating: 0, count: 1_500)
    var span = buffer.mutableSpan
    var (opened, allocations) = (0, 0 as UInt)
    // The first round makes the streams known.
    for round in 0..<101 {
      let before = roost_thread_allocations()
      for stream in streams.indices {
        let packet = packets[stream]
        for index in packet.indices { span[index] = packet[index] }
        span[3] = UInt8(round)
        let sealed = try sender.protectRTP(&span, length: packet.count)
        opened += try receiver.unprotectRTP(&span, length: sealed)
        let report = reports[stream]
        for index in report.indices { span[index] = report[index] }
        let sealedReport = try sender.protectRTCP(&span, length: report.count)
        opened += try receiver.unprotectRTCP(&span, length: sealedReport)
      }
      if round > 0 { allocations += roost_thread_allocations() - before }
    }
    #expect(opened == 101 * (packets.map(\.count) + reports.map(\.count)).reduce(0, +))
    #expect(allocations == 0)
  }
}
