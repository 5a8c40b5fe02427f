// Which names are let in. Swift takes texts for equal whose letters are, however they are made up: `é` is one code point or two, and the
// sign for kelvin is a K. Whoever gave the names compares bytes. Among texts in Unicode's form C, which every door asks for, both agree.

import RoostProtocol
@_spi(_Unicode) import Swift

/// The one rule for names of other people's making: users, rooms, devices, and what tokens are called by.
public enum NameForm {
  /// What is expected of a name, for people who read errors.
  public static let rule = "a name in Unicode form C (NFC) that begins with no combining mark"

  /// Whether a name is in form C and begins with no combining mark, which would join what stands before it. It is asked of the same tables
  /// that Swift's `==` uses, so that two names that pass are equal where their bytes are.
  public static func accepts(_ name: String) -> Bool {
    if name.utf8.allSatisfy({ $0 < 0x80 }) { return true }
    guard let first = name.unicodeScalars.first, !first.isMark else { return false }
    return name.unicodeScalars.elementsEqual(name._nfc)
  }

  /// The text in form C.
  public static func composed(_ text: String) -> String {
    if text.utf8.allSatisfy({ $0 < 0x80 }) { return text }
    var scalars = String.UnicodeScalarView()
    for scalar in text._nfc { scalars.append(scalar) }
    return String(scalars)
  }

  /// - Throws: −32602 with the field, which is asked for then alone.
  public static func check(_ name: String?, _ field: @autoclosure () -> String) throws(ErrorObject) {
    guard let name, !accepts(name) else { return }
    throw .parameter(field(), expected: rule)
  }
}

extension Unicode.Scalar {
  /// Whether it is written upon what stands before it (general category M).
  fileprivate var isMark: Bool {
    switch properties.generalCategory {
    case .nonspacingMark, .spacingMark, .enclosingMark: true
    default: false
    }
  }
}
