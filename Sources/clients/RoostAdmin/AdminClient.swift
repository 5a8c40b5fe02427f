// What an application's own server asks of Roost: the API of docs/api.md, a method for each operation (generated/Operations.swift).
import Basics
import RoostProtocol

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The API of a Roost server, with the secret of a key.
///
///     let roost = AdminClient(at: "http://127.0.0.1:9091", secret: secret)
///     for entry in try await roost.listRooms().rooms { print(entry.room, entry.participants.count) }
///
/// A request is sent once and not tried again. It may have been done where no answer came: give a POST `once`, and it can be repeated.
public struct AdminClient: Sendable {
  private let base: String
  private let secret: String
  private let realm: String?
  private let transport: any AdminTransport

  /// - Parameters:
  ///   - base: where `api.port` is, without a path: `https://roost.example.org:9091`.
  ///   - secret: that of a key of `api.keys`. Blanks and line ends around it are left out, as files have them.
  ///   - realm: the realm that all requests are about. nil: the key's own.
  ///   - transport: how requests get to the server.
  public init(
    at base: String, secret: String, realm: String? = nil, transport: any AdminTransport = URLSessionAdmin()
  ) {
    self.base = Self.trimmed(base) { $0 == "/" } + "/api/v1"
    self.secret = Self.trimmed(secret, \.isWhitespace)
    (self.realm, self.transport) = (realm, transport)
  }

  private static func trimmed(_ text: String, _ isOut: (Character) -> Bool) -> String {
    String(text.drop(while: isOut).reversed().drop(while: isOut).reversed())
  }

  /// Carries out an operation.
  /// - Parameters:
  ///   - path: segments as they are.
  ///   - list: the field of the answer whose items are kept byte for byte, being any JSON.
  func ask<Answer: Decodable>(
    _ method: String, _ path: [String],
    query: [(name: String, value: (any LosslessStringConvertible & Sendable)?)] = [],
    body: (any Encodable & Sendable)? = nil, ifMatch: IfMatch? = nil, once: String? = nil, itemsOf list: String? = nil
  ) async throws(AdminError) -> Answer {
    var request = AdminRequest(method: method, url: try url(path, query))
    guard secret.utf8.allSatisfy({ (0x20...0x7e).contains($0) }) else {
      throw .invalid("The secret has a line end in it, or what is not ASCII.")
    }
    request.headers = ["Authorization": "Bearer \(secret)"]
    if let once { request.headers["Idempotency-Key"] = try Self.key(once) }
    switch ifMatch {
    case .any?: request.headers["If-Match"] = "*"
    case .version(let version)?: request.headers["If-Match"] = "\"\(try Self.word(version))\""
    case nil: break
    }
    if let body {
      request.headers["Content-Type"] = "application/json"
      do { request.content = try JSONText.bytes(of: body) } catch { throw .invalid("This is no JSON: \(error)") }
    }
    return try Self.read(try await send(request), itemsOf: list)
  }

  private func send(_ request: AdminRequest) async throws(AdminError) -> AdminAnswer {
    do {
      return try await transport.send(request)
    } catch {
      if Task.isCancelled { throw .cancelled }
      throw error as? AdminError ?? .unreachable("\(error)")
    }
  }

  private static func read<Answer: Decodable>(
    _ answer: AdminAnswer, itemsOf list: String?
  ) throws(AdminError) -> Answer {
    let decoder = JSONDecoder()
    guard (200..<300).contains(answer.status) else {
      guard let problem = try? decoder.decodeVerbatim(Problem.self, from: answer.content) else {
        throw .unreadable(status: answer.status)
      }
      throw .refused(Refusal(problem, answer.headers))
    }
    do {
      return try decoder.decodeVerbatim(Answer.self, from: answer.content, itemsOf: list)
    } catch {
      throw .unreadable(status: answer.status)
    }
  }

  private func url(
    _ path: [String], _ query: [(name: String, value: (any LosslessStringConvertible & Sendable)?)]
  ) throws(AdminError) -> String {
    for segment in path where ["", ".", ".."].contains(segment) {
      throw .invalid("“\(segment)” cannot be said in a path.")
    }
    let values = query.compactMap { name, value in value.map { (name, $0.description) } }
    let said = (values + (realm.map { [("realm", $0)] } ?? [])).map { "\($0)=\($1.percentEncoded)" }
    return base + path.map { "/" + $0.percentEncoded }.joined()
      + (said.isEmpty ? "" : "?\(said.joined(separator: "&"))")
  }

  /// A key for idempotency, as the server takes it.
  private static func key(_ text: String) throws(AdminError) -> String {
    guard (1...255).contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else {
      throw .invalid("“\(text)” is not of 1 to 255 visible characters of ASCII.")
    }
    return text
  }

  /// A version: visible ASCII, and no quotation marks, which stand around it.
  private static func word(_ text: String) throws(AdminError) -> String {
    guard !text.isEmpty, text.utf8.allSatisfy({ (0x21...0x7e).contains($0) && $0 != UInt8(ascii: "\"") }) else {
      throw .invalid("“\(text)” is not of visible ASCII without quotation marks.")
    }
    return text
  }
}

extension AdminClient: CustomStringConvertible, CustomReflectable {
  /// Where it asks. The secret is not in it.
  public var description: String { "AdminClient(\(base))" }
  /// The same: a dump shows no secret.
  public var customMirror: Mirror { Mirror(self, children: ["base": base]) }
}

/// What has to hold of what is changed (`If-Match`, RFC 9110 §13.1.1).
public enum IfMatch: Hashable, Sendable {
  /// That it is there.
  case any
  /// That it is this version, as it was read.
  case version(String)
}
