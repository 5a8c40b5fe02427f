// What a client says of its ICE in a PATCH (RFC 9725 §4.3, RFC 8840 §9): SDP's lines for ICE alone. The server is ICE-lite and learns
// addresses from checks, so candidates are looked at, and nothing is done with them.
import Basics
import SDP

/// A fragment that was looked at.
struct WhipFragment: Hashable, Sendable {
  /// Bytes of its content, at most.
  static let longest = 16 << 10
  /// Lines that it may have.
  static let mostLines = 512
  /// What makes a description of a fragment.
  private static let frame = "v=0\r\no=- 0 0 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\n"

  /// Those of the client.
  let credentials: ICECredentials

  /// Reads the content of a PATCH.
  /// - Throws: 400 where it is no fragment, names no credentials, or several.
  init(_ body: [UInt8]) throws(WhipProblem) {
    guard let text = String(validating: body, as: UTF8.self) else { throw Self.wrong("it is not UTF-8") }
    let lines = text.split(omittingEmptySubsequences: true, whereSeparator: \.isNewline)
    guard lines.count <= Self.mostLines else { throw Self.wrong("it has more than \(Self.mostLines) lines") }
    let description: SessionDescription
    do throws(SDPError) {
      description = try SessionDescription.parse(Self.frame + text)
    } catch {
      throw Self.wrong("\(error)")
    }
    // What the parser does not take for a candidate it keeps as an attribute that it does not know.
    let others = description.media.reduce(description.otherAttributes) { $0 + $1.otherAttributes }
    guard !others.contains(where: { $0.name == "candidate" }) else { throw Self.wrong("a candidate has eight parts") }
    let told = [description.transport] + description.media.map(\.transport)
    let (names, secrets) = (Set(told.compactMap(\.iceUfrag)), Set(told.compactMap(\.icePwd)))
    guard let name = names.first, let secret = secrets.first, names.count == 1, secrets.count == 1 else {
      throw Self.wrong("it must have one a=ice-ufrag and one a=ice-pwd")
    }
    credentials = ICECredentials(ufrag: name, password: secret)
  }

  private static func wrong(_ what: String) -> WhipProblem {
    .sdp(.badRequest, "The body is no fragment of SDP for ICE (RFC 8840): \(what).")
  }

  /// The same as an answer says it: the lines for ICE of its first media line that is taken (port 0 is not). Media are bundled, so they
  /// are those of all.
  static func answering(_ sdp: String) -> String {
    var sections: [[Substring]] = [[]]
    for line in sdp.split(whereSeparator: \.isNewline) {
      if line.hasPrefix("m=") { sections.append([]) }
      sections[sections.count - 1].append(line)
    }
    let media = sections.dropFirst().first { $0.first?.split(separator: " ").dropFirst().first != "0" } ?? []
    let ofSession = ["a=ice-lite", "a=group:", "a=ice-"]
    let ofMedia = ["m=", "a=mid:", "a=ice-ufrag:", "a=ice-pwd:", "a=candidate:", "a=end-of-candidates"]
    let lines =
      sections[0].filter { line in ofSession.contains { line.hasPrefix($0) } }
      + media.filter { line in ofMedia.contains { line.hasPrefix($0) } }
    return lines.map { $0 + "\r\n" }.joined()
  }
}

/// The credentials in the content of a PATCH; nil where it is refused. For fuzzing.
package func readWhipFragment(_ body: [UInt8]) -> ICECredentials? { try? WhipFragment(body).credentials }

extension WhipOffer {
  /// The same offer as its client would make it to restart ICE: with other credentials, and without the old candidates.
  func restarted(_ new: ICECredentials) -> WhipOffer {
    let lines = sdp.split(whereSeparator: \.isNewline).compactMap { line -> String? in
      if line.hasPrefix("a=ice-ufrag:") { return "a=ice-ufrag:" + new.ufrag }
      if line.hasPrefix("a=ice-pwd:") { return "a=ice-pwd:" + new.password }
      return line.hasPrefix("a=candidate:") ? nil : String(line)
    }
    return WhipOffer(
      sdp: lines.joined(separator: "\r\n") + "\r\n", tracks: tracks, credentials: new, videoLine: videoLine)
  }
}
