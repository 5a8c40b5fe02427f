// Who may read /metrics, by the address that asks.
import Basics
import Configuration
import Testing
import WebSockets

@testable import Server

@Suite struct MetricsAudienceTests {
  @Test(arguments: [
    ("127.0.0.1", true), ("127.9.9.9", true), ("::1", true), ("192.0.2.1", false), ("2001:db8::1", false),
    ("0.0.0.0", false), (nil, false),
  ]) func localIsThisMachineAlone(host: String?, isAdmitted: Bool) {
    let request = HTTPRequest(path: "/metrics", peer: host.flatMap { SocketAddress(host: $0, port: 40_000) })
    #expect(MetricsAudience(.local).admits(request) == isAdmitted)
    #expect(MetricsAudience(.everyone).admits(request))
    #expect(!MetricsAudience(.nobody).admits(request))
  }
}
