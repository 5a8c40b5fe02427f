// What a client says of its ICE in a PATCH (RFC 9725 §4.3, RFC 8840 §9): SDP's lines for ICE alone. The server is ICE-lite and learns
// addresses from checks, so candidates are looked at, and nothing is done with them.
import Basics

/// A fragment that was looked at.
struct WhipFragment: Hashable, Sendable {
  /// Bytes of its content, at most.
  static let longest = 16 << 10
  /// Lines that it may have.
  static let mostLines = 512

  /// Those of the client.
  let credentials: ICECredentials

  /// Reads the content of a PATCH.
  /// - Throws: 400 where it is no fragment, names no credentials, or several.
  init(_ body: [UInt8]) throws(WhipProblem) {
    guard let text = String(validating: body, as: UTF8.self) else { throw Self.wrong("it is not UTF-8") }
    let lines = text.split(omittingEmptySubsequences: true, whereSeparator: \.isNewline)
    guard lines.count <= Self.mostLines else { throw Self.wrong("it has more than \(Self.mostLines) lines") }
    var (names, secrets): (Set<Substring>, Set<Substring>) = ([], [])
    for line in lines {
      guard line.utf8.dropFirst().first == UInt8(ascii: "="), let kind = line.utf8.first, 0x61...0x7a ~= kind else {
        throw Self.wrong("\"\(line.prefix(40))\" is no line of SDP")
      }
      let value = line.dropFirst(2)
      if kind != UInt8(ascii: "a") { continue }
      if let name = value.after("ice-ufrag:") { names.insert(name) }
      if let secret = value.after("ice-pwd:") { secrets.insert(secret) }
      if let candidate = value.after("candidate:"), candidate.split(separator: " ").count < 8 {
        throw Self.wrong("a candidate has eight parts")
      }
    }
    guard let name = names.first, let secret = secrets.first, names.count == 1, secrets.count == 1 else {
      throw Self.wrong("it must have one a=ice-ufrag and one a=ice-pwd")
    }
    guard name.isOfICE(4...256), secret.isOfICE(22...256) else {
      throw Self.wrong("a=ice-ufrag has 4 to 256 letters, digits, + and /, a=ice-pwd 22 to 256")
    }
    credentials = ICECredentials(ufrag: String(name), password: String(secret))
  }

  private static func wrong(_ what: String) -> WhipProblem {
    WhipProblem(.badRequest, "The body is no fragment of SDP for ICE (RFC 8840): \(what).")
  }

  /// The same as an answer says it: the lines for ICE of its first media line that is taken. Media are bundled, so they are those of all.
  static func answering(_ sdp: String) -> String {
    let wanted = ["m=", "a=mid:", "a=ice-ufrag:", "a=ice-pwd:", "a=candidate:", "a=end-of-candidates"]
    var (result, media, skips) = ("", 0, false)
    for line in sdp.split(whereSeparator: \.isNewline) {
      // A line that is rejected (port 0) has no transport.
      let isRejected = line.hasPrefix("m=") && line.split(separator: " ").dropFirst().first == "0"
      if isRejected && media == 0 { skips = true; continue }
      if line.hasPrefix("m=") { (media, skips) = (media + 1, false) }
      if skips { continue }
      let isSession = media == 0 && ["a=ice-lite", "a=group:", "a=ice-"].contains { line.hasPrefix($0) }
      let isMedia = media == 1 && wanted.contains { line.hasPrefix($0) }
      if isSession || isMedia { result += line + "\r\n" }
    }
    return result
  }
}

/// The credentials in the content of a PATCH; nil where it is refused. For fuzzing.
package func readWhipFragment(_ body: [UInt8]) -> ICECredentials? { try? WhipFragment(body).credentials }

extension WhipOffer {
  /// The credentials in it; nil where it has none.
  var credentials: ICECredentials? {
    func first(_ name: String) -> Substring? {
      sdp.split(whereSeparator: \.isNewline).lazy.compactMap { $0.after("a=" + name) }.first
    }
    guard let name = first("ice-ufrag:"), let secret = first("ice-pwd:") else { return nil }
    return ICECredentials(ufrag: String(name), password: String(secret))
  }

  /// The same offer as its client would make it to restart ICE: with other credentials, and without the old candidates.
  func restarted(_ new: ICECredentials) -> WhipOffer {
    let lines = sdp.split(whereSeparator: \.isNewline).compactMap { line -> String? in
      if line.hasPrefix("a=ice-ufrag:") { return "a=ice-ufrag:" + new.ufrag }
      if line.hasPrefix("a=ice-pwd:") { return "a=ice-pwd:" + new.password }
      return line.hasPrefix("a=candidate:") ? nil : String(line)
    }
    return WhipOffer(sdp: lines.joined(separator: "\r\n") + "\r\n", tracks: tracks)
  }
}

extension StringProtocol {
  /// What follows a beginning; nil where it begins otherwise.
  fileprivate func after(_ start: String) -> SubSequence? {
    hasPrefix(start) ? dropFirst(start.count) : nil
  }

  /// So many ice-chars (RFC 8839 §5.4).
  fileprivate func isOfICE(_ lengths: ClosedRange<Int>) -> Bool {
    lengths.contains(utf8.count)
      && utf8.allSatisfy { byte in
        switch byte {
        case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, UInt8(ascii: "+"), UInt8(ascii: "/"): true
        default: false
        }
      }
  }
}
