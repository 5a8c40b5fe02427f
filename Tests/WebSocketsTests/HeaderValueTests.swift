// The values of headers as text: trimmed, and read in time that their length alone decides, whatever characters they have.
import TestSupport
import Testing

@testable import WebSockets

@Suite struct HeaderValueTests {
  /// How long `body` takes: the least of several times, in nanoseconds: other load only makes one longer.
  private func time(_ body: () throws -> Void) rethrows -> Int64 {
    var times: [Int64] = []
    for _ in 0..<15 {
      let start = ContinuousClock.now
      try body()
      times.append(Int64((ContinuousClock.now - start) / .nanoseconds(1)))
    }
    return times.min() ?? 0
  }

  /// Reads a head with this value.
  private func head(_ value: String) throws -> RequestHead? {
    var heads = RequestHeads()
    var bytes = Array("GET / HTTP/1.1\r\nHost: a\r\nExpect: \(value)\r\n\r\n".utf8)
    _ = try bytes.withUnsafeMutableBufferPointer { try heads.read($0) }
    return heads.next()
  }

  @Test func blanksAtBothEndsAreNoneOfIt() throws {
    let cases = [
      ("\t x \t", "x"), (" \t  ", ""), ("", ""), ("a", "a"), (" a\t b ", "a\t b"), ("\u{e9} ", "\u{e9}"),
      ("\u{a0}x", "\u{a0}x"),
    ]
    for (value, text) in cases { #expect(try head(value)?.headers.last?.value == text) }
  }

  @Test func withManyBytesBeyondASCIIEachStandsForItself() throws {
    let most = String(repeating: "\u{e9}", count: HeaderValue.foreignBytes / 2)
    #expect(try head(most)?.headers.last?.value == most)
    #expect(try head(most + "\u{e9}")?.headers.last?.value.unicodeScalars.count == HeaderValue.foreignBytes + 2)
  }

  /// Flags have to be counted from the first one on to know where one ends; accents are sorted to compare a letter.
  @Test(arguments: [
    String(repeating: "\u{1F1E6}", count: 2_000), "100-continue" + String(repeating: "\u{301}\u{316}", count: 1_990),
  ])
  func noCharacterTakesLongerThanItsBytes(value: String) throws {
    let plain = String(repeating: "a", count: 8_000)
    let (usual, hostile) = (try time { _ = try head(plain) }, try time { _ = try head(value) })
    #expect(hostile < 6 * usual, "\(hostile) ns, and \(usual) ns for as many letters")
    let found = try head(value)?.headers.last?.value ?? ""
    let long = try head(plain)?.headers.last?.value ?? ""
    // What is done with values later: they are split, compared and looked up.
    let split = (time { _ = long.split(separator: " ") }, time { _ = found.split(separator: " ") })
    #expect(split.1 < 12 * split.0, "\(split)")
    let hashed = (time { _ = Set([long]) }, time { _ = Set([found]) })
    #expect(hashed.1 < 200 * hashed.0 + 100_000, "\(hashed)")
  }

  @Test(arguments: [OriginPolicy.sameName(allowing: []), .sameHost(allowing: ["https://b.example"])])
  func theOriginOfAPageIsComparedByBytes(policy: OriginPolicy) {
    let plain = "http://" + String(repeating: "a", count: 8_000)
    let flags = "http://" + String(repeating: "\u{1F1E6}", count: 2_000)
    let usual = time { _ = policy.allows(origin: plain, host: "a.example:80") }
    let hostile = time { _ = policy.allows(origin: flags, host: "a.example:80") }
    #expect(hostile < 20 * usual + 100_000, "\(hostile) ns, and \(usual) ns for as many letters")
  }

  @Test func aPathThatIsLongerThanEveryRouteIsNotLookedUp() {
    let table = RouteTable([
      HTTPRoute.get("/readyz") { _ in .text(200, "") }, HTTPRoute(.prefix("/"), handler: { _ in .text(200, "") }),
    ])
    let plain = "/" + String(repeating: "a", count: 8_000)
    let accents = "/e" + String(repeating: "\u{301}\u{316}", count: 2_000)
    let usual = time { _ = table.find(plain) }
    let hostile = time { _ = table.find(accents) }
    #expect(hostile < 20 * usual + 100_000, "\(hostile) ns, and \(usual) ns for as many letters")
  }
}
