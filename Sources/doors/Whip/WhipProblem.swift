// Refusals as HTTP says them: status codes, and problem details as JSON (RFC 9457). `ErrorForm` says which is which.
import FoundationEssentials
import RoostProtocol
import WebSockets

/// Why a request is not served.
struct WhipProblem: Error, Equatable {
  /// The status codes that the door answers with.
  enum Status: Int, Equatable, Sendable {
    case badRequest = 400
    case unauthorized = 401
    case forbidden = 403
    case notFound = 404
    case notAcceptable = 406
    /// WHEP alone: nothing is published yet.
    case conflict = 409
    case conditionFailed = 412
    case tooLarge = 413
    case unsupportedType = 415
    case unprocessable = 422
    case conditionRequired = 428
    case tooMany = 429
    case failed = 500
    case unavailable = 503

    fileprivate var title: String {
      switch self {
      case .badRequest: "Bad Request"
      case .unauthorized: "Unauthorized"
      case .forbidden: "Forbidden"
      case .notFound: "Not Found"
      case .notAcceptable: "Not Acceptable"
      case .conflict: "Conflict"
      case .conditionFailed: "Precondition Failed"
      case .tooLarge: "Content Too Large"
      case .unsupportedType: "Unsupported Media Type"
      case .unprocessable: "Unprocessable Content"
      case .conditionRequired: "Precondition Required"
      case .tooMany: "Too Many Requests"
      case .failed: "Internal Server Error"
      case .unavailable: "Service Unavailable"
      }
    }
  }

  /// Seconds after which a client may try again where nothing says it better. Shorter makes a full room be asked more often.
  static let patience: Int64 = 5

  let status: Status
  /// A sentence for people.
  let detail: String
  /// The core's name of it, such as `ROOM_FULL`; nil where the door itself refuses.
  var code: String?
  /// Seconds until the client may try again.
  var retryAfter: Int64?
  /// Whether the client's SDP is at fault: the same again is refused again.
  private(set) var isOfSDP = false
  /// What has come of the token.
  var credentials = Credentials.unseen

  init(_ status: Status, _ detail: String) {
    self.status = status
    self.detail = detail
  }

  /// A refusal of an offer or of a fragment.
  static func sdp(_ status: Status, _ detail: String) -> WhipProblem {
    var problem = WhipProblem(status, detail)
    problem.isOfSDP = true
    return problem
  }

  /// What the core has refused.
  init(_ error: ErrorObject) {
    self.init(Status(rawValue: error.code.form.status) ?? .failed, error.message)
    code = error.code.name
    isOfSDP = error.code.form.isOfDescription
    // The core says so too, of a token that was taken back.
    if error.code == .authFailed { credentials = .failed }
    switch status {
    case .unavailable, .tooMany: retryAfter = max(1, ((error.data.retryAfterMs ?? Self.patience * 1000) + 999) / 1000)
    case .badRequest, .unauthorized, .forbidden, .notFound, .notAcceptable, .conflict, .conditionFailed, .tooLarge,
      .unsupportedType, .unprocessable, .conditionRequired, .failed:
      break
    }
  }

  /// `{"type": "about:blank", "title": …, "status": …, "detail": …, "code": …}`.
  var response: HTTPResponse {
    let body = Body(title: status.title, status: status.rawValue, detail: detail, code: code)
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    var headers = [HTTPHeader("cache-control", "no-store")]
    if let retryAfter { headers.append(HTTPHeader("retry-after", String(retryAfter))) }
    if status == .unauthorized { headers.append(HTTPHeader("www-authenticate", "Bearer")) }
    var response = HTTPResponse(
      status: status.rawValue, contentType: "application/problem+json", headers: headers,
      body: (try? encoder.encode(body)).map { Array($0) } ?? [])
    response.credentials = credentials
    return response
  }

  private struct Body: Encodable {
    let type = "about:blank"
    let title: String
    let status: Int
    let detail: String
    let code: String?
  }
}
