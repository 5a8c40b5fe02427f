// What is told of refusals, as time goes on: seldom, whoever asks how often.
import Basics
import Testing

@testable import WebSockets

/// What was told, and a clock that is set by hand.
private final class Telling {
  var now = Instant.zero + .seconds(1)
  let told = Locked<[String]>([])
  private(set) lazy var news = RefusalNews(configuration) { [unowned self] in now }
  private let somebody = SocketAddress(v4: 0x7f00_0001, port: 4)

  private var configuration: WebServerConfiguration {
    var configuration = WebServerConfiguration(addresses: [somebody])
    let told = told
    configuration.hostRefused = { name, _ in told.withLock { $0.append(name) } }
    configuration.proxyRefused = { header, _ in told.withLock { $0.append(header) } }
    configuration.proxyHeaderMissing = { _ in told.withLock { $0.append("no PROXY header") } }
    configuration.forwardedForMissing = { _ in told.withLock { $0.append("no X-Forwarded-For") } }
    return configuration
  }

  /// All but names, once.
  func refuseAll() {
    news.refused(proxyHeader: "Forwarded", of: nil)
    news.missedProxyHeader(of: nil)
    news.missedForwardedFor(of: somebody)
  }
}

@Suite struct RefusalNewsTests {
  /// Seconds after the first refusal, and what is told then.
  @Test(
    arguments: [
      (59.999, []), (60, ["Forwarded", "no PROXY header"]), (3_599.999, ["Forwarded", "no PROXY header"]),
      (3_600, ["Forwarded", "no PROXY header", "no X-Forwarded-For"]),
    ] as [(Double, [String])])
  func theSameIsToldOnceAMinuteOrAnHour(_ seconds: Double, _ again: [String]) {
    let telling = Telling()
    telling.refuseAll()
    #expect(telling.told.withLock { $0 } == ["Forwarded", "no PROXY header", "no X-Forwarded-For"])
    telling.told.withLock { $0 = [] }
    telling.now = telling.now + .seconds(seconds)
    telling.refuseAll()
    telling.refuseAll()
    #expect(telling.told.withLock { $0 } == again)
  }

  @Test func aNameIsToldOnceAndSixtyFourOfThem() {
    let telling = Telling()
    for number in 0..<65 {
      telling.news.refused(name: "n\(number)", of: nil)
      telling.news.refused(name: "n\(number)", of: nil)
    }
    #expect(telling.told.withLock { $0 } == (0..<64).map { "n\($0)" })
  }
}
