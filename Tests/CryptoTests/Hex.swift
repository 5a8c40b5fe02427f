// Test vectors as text, and the functions under test on arrays.

import Crypto

func repeated(_ byte: UInt8, _ count: Int) -> [UInt8] { Array(repeating: byte, count: count) }

extension InlineArray where Element == UInt8 {
  var array: [UInt8] { indices.map { self[$0] } }
}

// `#expect` cannot hold spans: these take and give arrays.

func hmacSHA1(_ message: [UInt8], key: [UInt8]) -> [UInt8] {
  HMACSHA1.authenticate(message.span, key: key.span).array
}

func hmacSHA256(_ message: [UInt8], key: [UInt8]) -> [UInt8] {
  HMACSHA256.authenticate(message.span, key: key.span).array
}

func sha1(_ message: [UInt8]) -> [UInt8] { Digest.sha1(message.span).array }

func sha256(_ message: [UInt8]) -> [UInt8] { Digest.sha256(message.span).array }

func equal(_ a: [UInt8], _ b: [UInt8]) -> Bool { constantTimeEquals(a.span, b.span) }
