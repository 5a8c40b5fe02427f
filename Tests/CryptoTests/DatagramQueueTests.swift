// What a handshake has waiting to go out: so many datagrams of a flight, and not one more.

import COpenSSL
import Testing

@testable import Crypto

@Suite struct DatagramQueueTests {
  /// Nobody takes them; what is beyond is lost as on a network, and OpenSSL is not told.
  @Test func soManyWaitToGoOutAndNotOneMore() throws {
    let queue = DatagramQueue(mtu: 1_200)
    let bio = try #require(queue.makeBIO())
    defer { BIO_free(bio) }
    func write(_ count: UInt8) {
      for number in 0..<count {
        let written = withUnsafeBytes(of: number) { BIO_write(bio, $0.baseAddress, 1) }
        #expect(written == 1)
      }
    }
    let most = (0..<64).map { [UInt8($0)] }
    write(64)
    #expect(queue.outgoing == most)
    write(1)
    #expect(queue.outgoing == most)
    // The same of a flight that is written once more.
    _ = queue.nextTimeout()
    _ = queue.nextTimeout()
    write(65)
    #expect(queue.copies == [most] && queue.outgoing == most)
  }
}
