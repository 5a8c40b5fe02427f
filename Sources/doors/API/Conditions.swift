// What a request says that it means to change: `If-Match` (RFC 9110 §13.1.1).
import Members
import RoostProtocol

extension TagCondition {
  /// Tags that a request may name.
  static let mostTags = 16

  /// What the header says; without one nothing has to hold. Weak tags never match, so they are read and left out.
  /// Empty elements of the list are passed over (§5.6.1.2), and count.
  /// - Throws: −32602 `If-Match` for what is neither `*` nor a list of tags in quotation marks.
  init(ifMatch header: String?) throws(ErrorObject) {
    guard let header else {
      self = .none
      return
    }
    var rest = Array(header.utf8)[...]
    Self.skipBlanks(&rest)
    if rest.first == UInt8(ascii: "*"), rest.dropFirst().allSatisfy(Self.isBlank) {
      self = .any
      return
    }
    var (tags, count) = ([String](), 0)
    var hasTags = false
    while count < Self.mostTags {
      count += 1
      Self.skipBlanks(&rest)
      if let first = rest.first, first != UInt8(ascii: ",") {
        guard let (tag, isWeak) = Self.tag(&rest) else { throw Self.wrong }
        hasTags = true
        if !isWeak { tags.append(tag) }
      }
      guard let next = rest.popFirst() else { break }
      guard next == UInt8(ascii: ",") else { throw Self.wrong }
    }
    guard hasTags, rest.isEmpty else { throw Self.wrong }
    self = .tags(tags)
  }

  private static var wrong: ErrorObject {
    .parameter("If-Match", expected: "*, or at most \(mostTags) tags in quotation marks, with commas between them")
  }

  private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }

  private static func skipBlanks(_ rest: inout ArraySlice<UInt8>) { rest = rest.drop(while: isBlank) }

  /// One tag with the blanks around it (§8.8.3); nil where there is none.
  private static func tag(_ rest: inout ArraySlice<UInt8>) -> (text: String, isWeak: Bool)? {
    let quote = UInt8(ascii: "\"")
    skipBlanks(&rest)
    let isWeak = rest.prefix(2).elementsEqual("W/".utf8)
    if isWeak { rest = rest.dropFirst(2) }
    guard rest.popFirst() == quote, let end = rest.firstIndex(of: quote),
      rest[..<end].allSatisfy({ $0 >= 0x21 && $0 != 0x7f })
    else { return nil }
    let text = String(decoding: rest[..<end], as: UTF8.self)
    rest = rest[(end + 1)...]
    skipBlanks(&rest)
    return (text, isWeak)
  }
}
