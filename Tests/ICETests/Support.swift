import Basics
import Crypto
import STUN

@testable import ICE

let server = ICECredentials(ufrag: "serv", password: "serverserverserverserver")
let client = ICECredentials(ufrag: "clnt", password: "clientclientclientclient")
let home = SocketAddress(v4: 0xc000_0201, port: 5_000)
let away = SocketAddress(v4: 0xc633_6401, port: 6_000)
let six = SocketAddress(high: 0x2001_0db8_0000_0000, low: 1, port: 7_000)

func seconds(_ n: Double) -> Instant { Instant.zero + TimeDelta.seconds(n) }

/// A check as a browser sends it, and what may be wrong with it.
struct Check {
  var username = "serv:clnt"
  var password = server.password
  var nominates = false
  var controlling: UInt64? = 1
  var controlled: UInt64?
  var hasPriority = true
  var priority: UInt32 = 1_853_824_767
  var isSigned = true
  var hasFingerprint = true
  var hasUsername = true
  var hasUnknownAttribute = false
  var type = MessageClass.request
  var id = TransactionID(high: 1, low: 2)

  var bytes: [UInt8] {
    get throws {
      var buffer = [UInt8](repeating: 0, count: MessageWriter.maximumLength)
      var span = buffer.mutableSpan
      var writer = try MessageWriter(MessageType(binding: type), id, into: &span)
      if hasUsername { try writer.appendUsername(Array(username.utf8).span, to: &span) }
      if hasPriority { try writer.appendPriority(priority, to: &span) }
      if let controlling { try writer.appendControlling(tieBreaker: controlling, to: &span) }
      if let controlled { try writer.appendControlled(tieBreaker: controlled, to: &span) }
      if nominates { try writer.appendUseCandidate(to: &span) }
      if hasUnknownAttribute {
        // PRIORITY again, renamed to a type that nobody knows.
        try writer.appendPriority(0, to: &span)
        span.store(0x7f01 as UInt16, at: writer.length - 8)
      }
      if isSigned {
        var hmac = HMACSHA1(key: Array(password.utf8).span)
        try writer.appendIntegrity(to: &span) { hmac.tag($0, $1) }
      }
      if hasFingerprint { try writer.appendFingerprint(to: &span) }
      let length = writer.length
      return Array(buffer[..<length])
    }
  }
}

/// What the agent answered, with the answer's bytes.
struct Answer {
  var action: ICEAction
  var bytes: [UInt8]

  var event: ICEEvent? {
    if case .reply(_, let event) = action { return event }
    return nil
  }
  var isSuccess: Bool {
    if case .reply = action { return true }
    return false
  }
  var errorCode: Int? { (try? MessageView.parse(bytes.span))?.errorCode }
  var mappedAddress: SocketAddress? { (try? MessageView.parse(bytes.span))?.mappedAddress }

  /// Whether fingerprint and integrity are right.
  func isAuthentic(_ password: String) throws -> Bool {
    let view = try MessageView.parse(bytes.span)
    var hmac = HMACSHA1(key: Array(password.utf8).span)
    return view.fingerprintHolds(bytes.span) && view.integrityHolds(bytes.span) { hmac.tag($0, $1) }
  }
}

extension ICELiteAgent {
  static func atServer() -> ICELiteAgent {
    ICELiteAgent(local: server)
  }

  mutating func take(_ message: [UInt8], from source: SocketAddress, at now: Instant) -> Answer {
    var buffer = [UInt8](repeating: 0, count: ICELiteAgent.replyCapacity)
    var reply = buffer.mutableSpan
    let isKnown = isValidated(source, at: now)
    let action = handle(message.span, from: source, isKnown: isKnown, at: now, reply: &reply)
    switch action {
    case .ignored: return Answer(action: action, bytes: [])
    case .refused(let length, _), .reply(let length, _): return Answer(action: action, bytes: Array(buffer[..<length]))
    }
  }

  mutating func take(_ check: Check, from source: SocketAddress, at now: Instant) throws -> Answer {
    take(try check.bytes, from: source, at: now)
  }
}
