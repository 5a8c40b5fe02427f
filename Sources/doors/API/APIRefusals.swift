// Refusals as problem details (RFC 9457).
import FoundationEssentials
import RoostProtocol
import WebSockets

extension APIProblem {
  /// What the conference has refused, or a parameter is wrong about.
  init(_ error: ErrorObject) {
    self.init(error.code.form.operatorStatus, error.message)
    (code, name) = (error.code.rawValue, error.data.name)
    (field, expected) = (error.data.field, error.data.expected)
  }

  /// What HTTP's own rules say.
  init(_ status: Int, _ detail: String) {
    self.init(
      type: nil, title: Self.titles[status] ?? "Error", status: status, detail: detail, code: nil, name: nil,
      field: nil, expected: nil)
  }

  private static let titles = [
    400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 409: "Conflict",
    412: "Precondition Failed", 413: "Content Too Large", 415: "Unsupported Media Type", 422: "Unprocessable Content",
    428: "Precondition Required", 429: "Too Many Requests", 500: "Internal Server Error", 503: "Service Unavailable",
  ]

  /// The answer, with further headers.
  func response(_ headers: [HTTPHeader] = []) -> HTTPResponse {
    HTTPResponse(
      status: status, contentType: "application/problem+json", headers: API.headers + headers,
      body: API.text(self) ?? [])
  }
}
