// `/admin` where there is an API: what can be sent on is, and nothing is done.
import Testing
import WebSockets

@testable import Admin

@Suite struct MovedRoutesTests {
  private func ask(
    _ method: HTTPMethod, _ path: String, _ arguments: [String: String], host: String? = "conf.example.org:8080",
    isSecure: Bool = false, isLoopback: Bool = false, came isRequestSecure: Bool = false
  ) async throws -> (status: Int, place: String?) {
    let route = try #require(MovedRoutes(port: 9091, isSecure: isSecure, isLoopback: isLoopback).routes.first)
    var request = HTTPRequest(method, path: "/admin/\(path)", arguments: arguments, host: host)
    request.isSecure = isRequestSecure
    let given = await withCheckedContinuation { answered in
      route.handler(request) { answered.resume(returning: $0) }
    }
    return (given.status, given.headers.first { $0.name == "location" }?.value)
  }

  @Test(
    arguments: [
      (HTTPMethod.get, "rooms", ["page": "2", "realm": "clinic"], "/rooms?page=2&realm=clinic"),
      (.delete, "rooms", ["room": "A/B & C"], "/rooms/A%2FB%20%26%20C"),
      (.delete, "people", ["room": "A", "user": "änne"], "/rooms/A/participants/%C3%A4nne"),
      (.delete, "people", ["call": "c", "user": "anna"], "/calls/c/participants/anna"),
      (.delete, "calls", ["call": "c"], "/calls/c"), (.get, "bans", ["room": "A"], "/bans?room=A"),
      (.delete, "bans", ["address": "2001:db8::/32", "room": "A"], "/bans/2001%3Adb8%3A%3A%2F32?room=A"),
      (.delete, "bans", ["room": "A", "user": "anna"], "/rooms/A/bans/anna"), (.get, "blocks", [:], "/blocks"),
      (.get, "blocks", ["user": "anna"], "/users/anna/blocks"),
      (.delete, "blocks", ["user": "anna", "blocked": "ben"], "/users/anna/blocks/ben"),
      (.put, "revoked", ["jti": "t"], "/revoked/t"), (.delete, "revoked", ["jti": "t"], "/revoked/t"),
      (.get, "grants", ["user": "anna"], "/users/anna/grants"),
      (.delete, "grants", ["user": "anna", "room": "A"], "/users/anna/grants?room=A"),
    ] as [(HTTPMethod, String, [String: String], String)])
  func whatMethodAndQuerySayIsSentOn(
    _ method: HTTPMethod, _ path: String, _ arguments: [String: String], _ place: String
  ) async throws {
    let answer = try await ask(method, path, arguments)
    #expect(answer.status == 308 && answer.place == "http://conf.example.org:9091/api/v1\(place)")
    let secure = try await ask(method, path, arguments, host: "[2001:db8::7]:443", isSecure: true)
    #expect(secure.place == "https://[2001:db8::7]:9091/api/v1\(place)")
  }

  /// 308 keeps the method, and the API has it in the content.
  @Test(
    arguments: [
      (HTTPMethod.put, "locks", ["room": "A"]), (.delete, "locks", ["room": "A"]),
      (.put, "media", ["room": "A", "media": "audio"]), (.put, "bans", ["address": "203.0.113.7"]),
      (.put, "grants", ["user": "anna", "grants": "join"]), (.delete, "rooms", [:]), (.get, "nothing", [:]),
      // Clients would make another request of these.
      (.delete, "people", ["room": "A", "user": ".."]), (.delete, "people", ["call": "c", "user": "."]),
      (.delete, "bans", ["room": "A", "user": ".."]),
    ] as [(HTTPMethod, String, [String: String])])
  func theRestIsGone(_ method: HTTPMethod, _ path: String, _ arguments: [String: String]) async throws {
    let answer = try await ask(method, path, arguments)
    #expect(answer.status == 410 && answer.place == nil)
  }

  /// A token that was sent over TLS is not asked for without it, and nobody is sent where nothing listens for them.
  @Test func nobodyIsSentWhereTheirTokenIsSeenOrNothingIs() async throws {
    let look = ("rooms", [String: String]())
    #expect(try await ask(.get, look.0, look.1, isSecure: false, came: true).status == 410)
    #expect(try await ask(.get, look.0, look.1, isSecure: true, came: true).status == 308)
    #expect(try await ask(.get, look.0, look.1, isLoopback: true).status == 410)
    for host in ["127.0.0.1:8080", "localhost", "[::1]:8080"] {
      #expect(try await ask(.get, look.0, look.1, host: host, isLoopback: true).status == 308, "\(host)")
    }
  }
}
