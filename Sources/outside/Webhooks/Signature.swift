// How the receiver knows that a message is Roost's: HMAC-SHA256 over the time of sending and the body (RFC 2104).

import Crypto

/// The value of the `Roost-Signature` header: `t=<seconds since 1970>`, and for each of the endpoint's secrets `,v1=<64 hex digits>`, the
/// HMAC-SHA256 of `<t>.<body>` under it.
public func signature(of body: [UInt8], secrets: [[UInt8]], seconds: Int64) -> String {
  secrets.reduce("t=\(seconds)") { $0 + ",v1=" + tag(of: body, secret: $1, seconds: seconds) }
}

private func tag(of body: [UInt8], secret: [UInt8], seconds: Int64) -> String {
  var hmac = HMACSHA256(key: secret.span)
  hmac.update(Array("\(seconds).".utf8).span)
  hmac.update(body.span)
  let tag = hmac.finish()
  let digits = Array("0123456789abcdef")
  var text = ""
  for index in tag.indices {
    text.append(digits[Int(tag[index] >> 4)])
    text.append(digits[Int(tag[index] & 15)])
  }
  return text
}
