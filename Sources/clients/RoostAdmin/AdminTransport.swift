// What a client of the API needs of HTTP, so that it does not care whose HTTP it is.

/// Sends requests, each once.
public protocol AdminTransport: Sendable {
  /// Sends a request, and gives what is answered. It must not follow redirections: the secret is for this server alone.
  /// - Throws: whatever says why no answer came. An `AdminError` gets to who asked as it is.
  func send(_ request: AdminRequest) async throws -> AdminAnswer
}

/// A request of HTTP.
public struct AdminRequest: Hashable, Sendable {
  /// `GET` and so on.
  public var method: String
  /// With its query, percent-encoded.
  public var url: String
  /// By name. The secret is among them.
  public var headers: [String: String] = [:]
  /// JSON; empty where there is none.
  public var content: [UInt8] = []

  /// One without headers and content.
  public init(method: String, url: String) { (self.method, self.url) = (method, url) }
}

extension AdminRequest: CustomStringConvertible, CustomReflectable {
  /// What it asks for. Headers, and with them the secret, are not in it.
  public var description: String { "\(method) \(url)" }
  /// The same: a dump shows no secret.
  public var customMirror: Mirror { Mirror(self, children: ["method": method, "url": url]) }
}

/// What is answered.
public struct AdminAnswer: Hashable, Sendable {
  /// The status of HTTP.
  public var status: Int
  /// By lower-case name.
  public var headers: [String: String]
  /// All of it.
  public var content: [UInt8]

  /// All fields.
  public init(status: Int, headers: [String: String], content: [UInt8]) {
    (self.status, self.headers, self.content) = (status, headers, content)
  }
}
